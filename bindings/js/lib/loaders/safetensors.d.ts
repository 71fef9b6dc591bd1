/** Types of elements; those that JavaScript lacks are their bits, complex numbers their real and imaginary parts in turn. */
export type DType = 'F16' | 'F32' | 'F64' | 'I8' | 'I16' | 'I32' | 'I64' | 'U8' | 'U16' | 'U32' | 'U64' | 'BOOL' | 'BF16' | 'F8_E4M3' |
  'F8_E5M2' | 'F8_E8M0' | 'F8_E4M3FNUZ' | 'F8_E5M2FNUZ' | 'C64'

export type TensorData = Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array |
  Uint32Array | BigUint64Array

export type Tensor = { dtype: DType, shape: number[], data: TensorData }

export type File = { tensors: { [key: string]: Tensor }, metadata?: Record<string, string>, totalSize: number }

/** The tensors of a file; what is no such file is a TypeError or a SyntaxError. */
export function parse(data: Uint8Array | ArrayBuffer): File

/** Names with dots as nested objects, and as lists where all keys are 0, 1, … */
export function toNested(tensors: { [key: string]: any }): any

/** Nested objects and lists as names with dots. */
export function fromNested(nested: any, prefix?: string): { [key: string]: any }
