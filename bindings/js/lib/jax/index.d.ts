/**
 * Programs that are written for @jax-js/jax run on this module with only the import changed: the same names, arguments and defaults.
 *
 * Calls do not consume their arguments: arrays are garbage collected. `.ref` and `dispose` count references, but need not be called. After
 * `setOwnership('strict')` calls consume their arguments as those of jax-js do, and the use of a consumed array is a ReferenceError.
 *
 * Arguments of the wrong kind, and shapes and types that do not fit, are a TypeError; axes, positions and numbers out of range are a RangeError.
 *
 * @example
 * import { grad, numpy as np, vmap } from 'polygrad/jax'
 *
 * const x = np.linspace(-10, 10, 1000)
 * const y = vmap(grad(np.sin))(x)
 * np.allclose(y, np.cos(x)) // true
 */

import type { JsTree, JsTreeDef, MapJsTree } from './tree.js'

/** Operations of XLA and control flow. */
export * as lax from './lax.js'
/** Functions of neural networks. */
export * as nn from './nn.js'
/** Functions of arrays, linear algebra and Fourier transforms. */
export * as numpy from './numpy.js'
/** Random numbers by key. */
export * as random from './random.js'
/** Special functions. */
export * as scipySpecial from './special.js'
/** Trees of arrays. */
export * as tree from './tree.js'
export type { JsTree, JsTreeDef, MapJsTree }

/** Names of data types: numpy.float32 and so on, or the texts themselves. */
export type DType = 'float32' | 'int32' | 'uint32' | 'bool' | 'float16' | 'float64' | 'bfloat16' | 'int8' | 'uint8' | 'int16' |
  'uint16' | 'int64' | 'uint64' | 'complex64' | 'complex128'

/** The data types by their names. */
export const DType: {
  readonly Float32: 'float32', readonly Int32: 'int32', readonly Uint32: 'uint32', readonly Bool: 'bool', readonly Float16: 'float16',
  readonly Float64: 'float64', readonly BFloat16: 'bfloat16', readonly Int8: 'int8', readonly Uint8: 'uint8', readonly Int16: 'int16',
  readonly Uint16: 'uint16', readonly Int64: 'int64', readonly Uint64: 'uint64', readonly Complex64: 'complex64',
  readonly Complex128: 'complex128'
}

export type Device = 'cpu' | 'wasm' | 'webgpu' | 'webgl'
export type Pair = [number, number]
export type Axis = number | number[] | null
export type ReduceOpts = { keepdims?: boolean }
export type DTypeAndDevice = { dtype?: DType, device?: Device }
export type DTypeShapeAndDevice = { dtype?: DType, shape?: number[], device?: Device }
export type RecursiveArray<T> = T | RecursiveArray<T>[]
/** Typed arrays that hold the elements of arrays. */
export type DataArray = Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array |
  BigInt64Array | BigUint64Array
/** Complex numbers are { re, im }. */
export type ArrayLike = Array | number | boolean | { re: number, im: number }

/** A function with dispose(), which frees what it has compiled or cached. */
export type OwnedFunction<F extends Function> = F & { dispose: () => void }

/** The shape and data type of an array, without its values. */
export interface ShapedArray {
  readonly shape: number[]
  readonly dtype: DType
  /** Whether it was created from a number, which takes the type of the array that it is combined with. */
  readonly weakType: boolean
  readonly ndim: number
  readonly size: number
  scalar(): ShapedArray
  equals(other: ShapedArray): boolean
  /** As in float32[2,3]. */
  toString(): string
}

/** An array of numbers: lazy, computed when its values are read. */
export class Array {
  private constructor()
  readonly aval: ShapedArray
  readonly shape: number[]
  readonly ndim: number
  readonly size: number
  readonly dtype: DType
  readonly weakType: boolean
  readonly device: Device
  /** The array itself, with its reference count incremented. */
  readonly ref: this
  /** The reference count. */
  readonly refCount: number

  /** Decrements the reference count; at 0 the memory is freed, and the array may not be used any more. */
  dispose(): void
  [Symbol.dispose](): void
  /** As in Array:float32[2,3]. */
  toString(): string
  /** The value of a scalar, for JavaScript's operators. */
  [Symbol.toPrimitive](hint?: string): any
  /** The elements as a typed array: bools as int32, float16 as Float16Array where there is one, else as float32. */
  dataSync(): DataArray
  /** dataSync, computed in another thread. */
  data(): Promise<DataArray>
  /** Nested lists of numbers or booleans; a number for a scalar. */
  js(): any
  /** js, computed in another thread. */
  jsAsync(): Promise<any>
  /** The only element. */
  item(): number
  /** Waits until the values are computed. */
  blockUntilReady(): Promise<Array>
  /** The memory of an array on webgpu; a TypeError on other devices. */
  gpuBuffer(): Promise<unknown>
  gpuBufferSync(): unknown
  fullLower(): this

  neg(): Array
  add(other: ArrayLike): Array
  sub(other: ArrayLike): Array
  mul(other: ArrayLike): Array
  /** The quotient; integers give float32. */
  div(other: ArrayLike): Array
  /** The remainder with the sign of the dividend, as % of JavaScript; numpy.remainder has the sign of the divisor. */
  mod(other: ArrayLike): Array
  greater(other: ArrayLike): Array
  greaterEqual(other: ArrayLike): Array
  less(other: ArrayLike): Array
  lessEqual(other: ArrayLike): Array
  equal(other: ArrayLike): Array
  notEqual(other: ArrayLike): Array
  sum(axis?: Axis, opts?: ReduceOpts): Array
  prod(axis?: Axis, opts?: ReduceOpts): Array
  mean(axis?: Axis, opts?: ReduceOpts): Array
  min(axis?: Axis, opts?: ReduceOpts): Array
  max(axis?: Axis, opts?: ReduceOpts): Array
  all(axis?: Axis, opts?: ReduceOpts): Array
  any(axis?: Axis, opts?: ReduceOpts): Array
  transpose(perm?: number[]): Array
  reshape(shape: number | number[]): Array
  flatten(): Array
  ravel(): Array
  astype(dtype: DType): Array
  /** The bits as another type of the same width. */
  view(dtype?: DType): Array
  diagonal(offset?: number, axis1?: number, axis2?: number): Array
  sort(axis?: number): Array
  argsort(axis?: number): Array
  /**
   * Indexing, with an item for each axis: a number selects one element, [] all, [i] the elements from i on, [i, j] those from i to j - 1, an
   * array of integers those at its positions; null adds an axis. Negative numbers count from the end.
   */
  slice(...index: (number | [] | [number] | Pair | null | Array)[]): Array
  /** Updates at an index as in slice; each returns a new array: `x.at(0, [2]).add(1)` is JAX's `x.at[0, 2:].add(1)`. */
  at(...index: (number | [] | [number] | Pair | null | Array)[]): At
  /** The slices along the first axis. */
  [Symbol.iterator](): IterableIterator<Array>
}

/**
 * Updates of an array at an index. Each method returns a new array, and values broadcast to the selected elements. Where an index selects an
 * element several times, sums, products and extremes use all values, and set one of them. Derivatives flow through the array and the values.
 */
export interface At {
  /** The selected elements. */
  get(): Array
  /** The array with the selected elements replaced. */
  set(values: ArrayLike): Array
  /** The array with values added to the elements. */
  add(values: ArrayLike): Array
  /** The array with values subtracted from the elements. */
  subtract(values: ArrayLike): Array
  /** The array with the selected elements multiplied by values; mul is the same. */
  multiply(values: ArrayLike): Array
  mul(values: ArrayLike): Array
  /** The array with the selected elements divided by values, of a floating type. */
  divide(values: ArrayLike): Array
  /** The array with the lesser of elements and values. */
  min(values: ArrayLike): Array
  /** The array with the greater of elements and values. */
  max(values: ArrayLike): Array
  /** The array with elements to the power of values. */
  power(values: ArrayLike): Array
  /** The array with f of the elements. */
  apply(f: (elements: Array) => Array): Array
}

/** Sets whether calls consume their arguments ('strict') or not ('shared'); returns the previous setting. */
export function setOwnership(kind: 'shared' | 'strict'): 'shared' | 'strict'

/**
 * A function that consumes the arrays among its arguments, as the functions of this module do after setOwnership('strict'); its body may use
 * them any number of times. Its results are computed at once.
 */
export function consumes<F extends (...args: any[]) => any>(f: F): F

/**
 * The names of devices. cpu is the library's interpreter, slow and meant for comparison; wasm runs compiled kernels: machine code in Node,
 * WebAssembly in browsers; webgpu is the GPU, once init('webgpu') has opened it. Arrays that were put on no device are computed on the
 * default device, or on that of the arrays that they are combined with.
 */
export const devices: readonly Device[]

/** Sets the device of new arrays if one is given, and returns it. */
export function defaultDevice(device?: Device): Device

/** Returns the available devices among the given ones, or among all; opens webgpu if it is one of these. */
export function init(...devicesToInit: Device[]): Promise<Device[]>

/**
 * The GPUDevice of webgpu if the library uses it in this thread; else a TypeError: pass a GPUDevice of the program to Device.init.
 * The type is object in programs without the types of WebGPU.
 */
export function getWebGPUDevice(): typeof globalThis extends { GPUDevice: { prototype: infer T } } ? T : object

/** Puts the arrays and numbers of a tree on a device. */
export function devicePut<T extends JsTree<any>>(x: T, device?: Device): Promise<MapJsTree<T, number | boolean, Array>>

/** Waits until the values of the arrays of a tree are computed. */
export function blockUntilReady<T extends JsTree<any>>(x: T): Promise<T>

/** From level 1 on, jitted functions log to the console when they are traced. */
export function setDebug(level: number): void

/** Between startTrace and stopTrace, traces of jitted functions are recorded as entries of `performance`. */
export const profiler: { startTrace: () => void, stopTrace: () => void }

type Tree = JsTree<Array>
type Given<F extends (...args: any[]) => any> = MapJsTree<Parameters<F>, Array, ArrayLike>
type GradOutput<I, F extends (...args: any[]) => any> = MapJsTree<
  I extends undefined ? Parameters<F>[0]
    : I extends number ? Parameters<F>[I]
      : I extends number[] ? { [K in keyof I]: I[K] extends number ? Parameters<F>[I[K]] : never } : never,
  ArrayLike, Array>
type GradOptions<I, HA> = {
  /** The number of the argument with respect to which the function is differentiated, 0 by default, or several numbers. */
  argnums?: I
  /** The function returns [value, auxiliary output]; the auxiliary output is returned with the gradient. */
  hasAux?: HA
  /** Arguments and results are complex, and gradients are complex derivatives. */
  holomorphic?: boolean
}

/** The gradient of a function whose result is a scalar. With hasAux [gradient, aux]. */
export const grad: <
  F extends (...args: any[]) => Tree, const I extends undefined | number | number[] = undefined, const HA extends boolean = false
>(f: F, opts?: GradOptions<I, HA>) => (...primals: Given<F>) => HA extends true
  ? (ReturnType<F> extends [any, infer Aux] ? [GradOutput<I, F>, Aux] : never)
  : GradOutput<I, F>

/** The value and the gradient of a function whose result is a scalar. With hasAux [[value, aux], gradient]. */
export const valueAndGrad: <
  F extends (...args: any[]) => Tree, const I extends undefined | number | number[] = undefined, const HA extends boolean = false
>(f: F, opts?: GradOptions<I, HA>) => (...primals: Given<F>) => [ReturnType<F>, GradOutput<I, F>]

/** [the value, its directional derivative along tangents of the arguments]; with hasAux also the auxiliary output. */
export const jvp: <F extends (...args: any[]) => Tree, HA extends boolean = false>(
  f: F, primals: Given<F>, tangents: Given<F>, opts?: { hasAux?: HA }
) => HA extends true
  ? (ReturnType<F> extends [infer Out, infer Aux] ? [Out, Out, Aux] : never)
  : [ReturnType<F>, ReturnType<F>]

/** [the value, its linearization: a function of tangents of the arguments]; with hasAux also the auxiliary output. */
export const linearize: <F extends (...args: any[]) => Tree, HA extends boolean = false>(
  f: F, primals: Given<F>, opts?: { hasAux?: HA }
) => HA extends true
  ? (ReturnType<F> extends [infer Out, infer Aux] ? [Out, OwnedFunction<(...tangents: Given<F>) => Out>, Aux] : never)
  : [ReturnType<F>, OwnedFunction<(...tangents: Given<F>) => ReturnType<F>>]

type Pullback<F extends (...args: any[]) => any, Out> =
  OwnedFunction<(cotangents: MapJsTree<Out, Array, ArrayLike>) => MapJsTree<Parameters<F>, ArrayLike, Array>>

/** [the value, its pullback: a function of cotangents of the result]; with hasAux also the auxiliary output. */
export const vjp: <F extends (...args: any[]) => Tree, const HA extends boolean = false>(
  f: F, primals: Given<F>, opts?: { hasAux?: HA }
) => HA extends true
  ? (ReturnType<F> extends [infer Out, infer Aux] ? [Out, Pullback<F, Out>, Aux] : never)
  : [ReturnType<F>, Pullback<F, ReturnType<F>>]

/** The function applied to all elements of a batch: inAxes are the batch axes of the arguments, a number for all or one for each; null: none. */
export const vmap: <F extends (...args: any[]) => Tree>(
  f: F, inAxes?: number | (number | null | JsTree<number | null>)[], outAxes?: number | null | JsTree<number | null>
) => (...args: Given<F>) => ReturnType<F>

type DerivativeOptions = { argnums?: number | number[], hasAux?: boolean, holomorphic?: boolean }
type Derivative = <F extends (x: any) => Tree>(f: F, opts?: DerivativeOptions) => (...args: Given<F>) => ReturnType<F>

/** The Jacobian in forward mode, column by column. */
export const jacfwd: Derivative

/** The Jacobian in reverse mode, row by row. */
export const jacrev: Derivative

/** jacrev by its other name. */
export const jacobian: Derivative

/** The second derivatives of a function whose result is a scalar; of trees too. */
export const hessian: Derivative

/** A function that is compiled once for each signature of its arguments; the arguments staticArgnums are compile-time constants. */
export const jit: <F extends (...args: any[]) => Tree>(
  f: F, opts?: { staticArgnums?: number[] }
) => OwnedFunction<(...args: Given<F>) => ReturnType<F>>

/** A function as an expression, printed in the format of jax-js; which functions are composed of others follows this library. */
export const makeJaxpr: <F extends (...args: any[]) => Tree>(
  f: F
) => (...args: Parameters<F>) => { jaxpr: ClosedJaxpr, treedef: JsTreeDef }

/** A function with rematerialization: its derivatives recompute intermediate values instead of storing them. */
export const checkpoint: <F extends (...args: any[]) => Tree>(
  f: F, options?: { policy?: string }
) => OwnedFunction<(...args: Given<F>) => ReturnType<F>>

/** The Hessian-vector product of a function. */
export const hvp: <F extends (...args: any[]) => Tree>(f: F, primals: Given<F>, vectors: Given<F>) => any

/** The shapes and types of the results of a function, without computing them. */
export const evalShape: (f: (...args: any[]) => Tree, ...args: any[]) => any

/** An expression. */
export class Jaxpr {
  private constructor()
  readonly inBinders: { toString(): string, readonly type: string }[]
  readonly eqns: { readonly primitive: string, readonly params: Record<string, unknown>, toString(): string }[]
  readonly outs: { toString(): string }[]
  toString(): string
}

/** An expression and the arrays that are its constants. */
export class ClosedJaxpr {
  private constructor()
  readonly jaxpr: Jaxpr
  readonly consts: Array[]
  mapJaxpr(f: (jaxpr: Jaxpr) => Jaxpr): ClosedJaxpr
  toString(): string
  dispose(): void
}
