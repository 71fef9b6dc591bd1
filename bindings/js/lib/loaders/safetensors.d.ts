/** Types of elements. Types that JavaScript lacks are stored as their bits, complex numbers as alternating real and imaginary parts. */
export type DType = 'F16' | 'F32' | 'F64' | 'I8' | 'I16' | 'I32' | 'I64' | 'U8' | 'U16' | 'U32' | 'U64' | 'BOOL' | 'BF16' | 'F8_E4M3' |
  'F8_E5M2' | 'F8_E8M0' | 'F8_E4M3FNUZ' | 'F8_E5M2FNUZ' | 'C64'

export type TensorData = Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array |
  Uint32Array | BigUint64Array

export type Tensor = { dtype: DType, shape: number[], data: TensorData }

export type File = { tensors: { [key: string]: Tensor }, metadata?: Record<string, string>, totalSize: number }

/** The tensors of a file; bytes that are not such a file are a TypeError or a SyntaxError. */
export function parse(data: Uint8Array | ArrayBuffer): File

/** Turns dotted names into nested objects, and into lists where all keys are 0, 1, … */
export function toNested(tensors: { [key: string]: any }): any

/** Turns nested objects and lists into dotted names. */
export function fromNested(nested: any, prefix?: string): { [key: string]: any }
