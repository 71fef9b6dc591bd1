/// <reference lib="esnext.disposable" />
/** A tensor library with gradients and its own compiler. */

import { Methods } from './lib/methods.js'
import type { CompiledTrainingStep, safeLoad } from './lib/nn/index.js'

export * from './lib/nn/index.js'
/** Layers, optimizers, and tools for training loops. */
export * as nn from './lib/nn/index.js'
/** Random numbers by key. */
export * as random from './lib/random.js'
/** Control flow, collective operations along batch axes, and operations of XLA. */
export * as lax from './lib/lax.js'
export * as special from './lib/special.js'
export * as linalg from './lib/linalg.js'
export * as fft from './lib/fft.js'
export * as numpy from './lib/numpy.js'
/** Function transformations: gradients, Jacobians, tangents, batches, custom rules and compiled functions. */
export * as func from './lib/func/index.js'

/** The name of a data type. */
export type DType =
  | 'bool' | 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64' | 'uint64'
  | 'fp8e4m3' | 'fp8e5m2' | 'float16' | 'bfloat16' | 'float32' | 'float64' | 'complex64' | 'complex128'

/** The name of a data type, or another name for it. */
export type DTypeLike = DType
  | 'char' | 'uchar' | 'short' | 'ushort' | 'int' | 'uint' | 'long' | 'ulong' | 'half' | 'float' | 'double'

/** A typed array that holds elements of a tensor. */
export type TypedArray =
  | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array | Float32Array | Float64Array

/** A complex number. */
export interface Complex { readonly re: number, readonly im: number }

/** One number: 64-bit integers are bigints. */
export type Scalar = number | bigint | boolean | Complex

/** Numbers, or tensors of one shape, in nested lists. */
export type NestedList = ReadonlyArray<Scalar | Tensor | NestedList>

/** The result of tolist: a scalar for a tensor without axes. */
export type Listed = Scalar | Listed[]

/** The data of a new tensor. */
export type TensorData = Scalar | NestedList | TypedArray | Tensor

/** An operand of an operation; a number takes the type of the tensor that it is combined with. */
export type Operand = Scalar | Tensor | SymInt | NestedList | TypedArray

/** A tensor, or numbers that become one. */
export type TensorLike = Tensor | NestedList | TypedArray

/** One number, or one for each axis. */
export type PerAxis = number | readonly number[]

/** One axis or several; null means all of them. */
export type Axes = number | readonly number[] | null

/** A start (included), an end (excluded) and a step; null stands for an omitted part. */
export interface Slice { start?: Size | null, stop?: Size | null, step?: number | null }

/** Booleans in nested lists. */
export type BooleanList = ReadonlyArray<boolean | BooleanList>

/** Integers in nested lists. */
export type PositionList = ReadonlyArray<number | PositionList>

/**
 * One item of an index: an integer, a slice ('1:3', '::-1', or { start: 1, stop: 3 }), a new axis (null), all other axes ('...'),
 * indices (integers in a list, a typed array or a tensor), or a mask (booleans in a list or a tensor).
 */
export type IndexItem = number | bigint | SymInt | Slice | null | '...' | (string & {}) | Tensor | TypedArray | BooleanList | PositionList

/** The reduction of the losses of all elements. */
export type LossReduction = 'mean' | 'sum' | 'none'

/** Options of functions that create tensors. */
export interface CreationOptions {
  /** The data type. */
  dtype?: DTypeLike | null
  /** The device that the tensor is put on, 'cpu' or 'webgpu': see to. */
  device?: string | null
  /** Whether backward computes a gradient for the tensor. */
  requiresGrad?: boolean | null
}

/** Options of new Tensor. */
export interface TensorOptions extends CreationOptions {
  /** The shape of data in row-major order. */
  shape?: number | readonly number[]
}

/** Options of reductions: the axes, null for all, and whether they stay, with size 1. */
export interface ReduceOptions { axis?: Axes, keepdim?: boolean }

/** Windows of convolutions and pools: one number for all spatial axes or one for each. */
export interface ConvOptions {
  /** The number of groups of channels, each with its own filters. */
  groups?: number
  stride?: number | readonly number[]
  dilation?: number | readonly number[]
  /** One number, one for each spatial axis, or two for each, the last axis first. */
  padding?: number | readonly number[]
}

/** Options of pools. */
export interface PoolOptions {
  /** The size of the window, [2, 2] by default. */
  kernelSize?: number | readonly number[]
  /** The distance between windows, by default the size of the window. */
  stride?: number | readonly number[] | null
  dilation?: number | readonly number[]
  padding?: number | readonly number[]
  /** Whether the number of windows is rounded up. */
  ceilMode?: boolean
}

/** An error of the library: its message names the function, the argument, the given and the expected value. */
export class PolygradError extends Error {}

/** An object that can be freed with dispose; it cannot be used afterwards. */
export interface Disposing {
  /** Frees the object without waiting for the garbage collector. */
  dispose(): void
  /** dispose(), for `using`. */
  [Symbol.dispose](): void
}

/** A number or a symbolic size. */
export type Size = number | SymInt

/**
 * An integer expression of variables: a size, a bound or an index of a tensor. Arithmetic on sizes gives
 * sizes, or numbers if no variable is left; equal expressions are the same object.
 */
export class SymInt {
  protected constructor()
  /** The least value. */
  readonly min: number
  /** The greatest value. */
  readonly max: number
  /** The value; an error unless all variables are bound. */
  readonly val: number
  /** The expression with its variables unbound. */
  readonly unbound: Size
  /** The variables of the size, with their values, null for unbound ones. */
  readonly variables: Map<SymInt, number | null>
  /** this + other. */
  add(other: Size): SymInt
  /** this - other. */
  sub(other: Size): SymInt
  /** this times other. */
  mul(other: Size): SymInt
  /** this divided by other, rounded down. */
  floordiv(other: Size): SymInt
  /** The remainder of floordiv, which has the sign of other. */
  mod(other: Size): SymInt
  /** -this. */
  neg(): SymInt
  /** The lesser of two. */
  minimum(other: Size): SymInt
  /** The greater of two. */
  maximum(other: Size): SymInt
  /** Whether other is the same expression with the same values. */
  equals(other: unknown): boolean
  /** The size as text: n*2+1, with values (n=3). */
  toString(): string
  /** The number that stands for the size in a call of the library. */
  readonly symbolicSize: number
}

/**
 * An integer from min to max, both included, whose value is given when a program runs: one compiled
 * program serves all values.
 *
 * @example
 * const n = new Variable('n', 1, 4)
 * new Tensor([1, 2, 3, 4]).getitem({ stop: n.bind(3) }).sum().item() // 6
 */
export class Variable extends SymInt {
  constructor(name: string, min: number, max: number)
  /** The name. */
  readonly name: string
  /** The variable with a value. */
  bind(value: number): SymInt
}

/**
 * A multi-dimensional array that is computed when its values are needed.
 *
 * Numbers become float32, booleans bool and bigints int64 if no dtype is given; typed arrays keep
 * their type and are used in place: the tensor and the array share memory (WebAssembly and GPUs copy them).
 *
 * Arguments may be given by position, by name in one object, or both: sum(1, true), sum(1, { keepdim:
 * true }) and sum({ axis: 1, keepdim: true }) are the same.
 */
export class Tensor extends Methods implements Disposing, Iterable<Tensor> {
  constructor(data: TensorData, options?: TensorOptions)

  /** Whether training mode is on: dropout drops elements, batch normalisation uses the batch. See train. */
  static training: boolean

  /** A tensor of numbers: the same as new Tensor(data, options). */
  static from(data: TensorData, options?: TensorOptions): Tensor

  /**
   * A tensor on a GPUBuffer of the device that Device.init('webgpu', { device }) was given, without a copy: both have the same memory. The buffer
   * must have the usages STORAGE, COPY_SRC and COPY_DST; otherwise, or if it is too small, it is an error.
   *
   * @param options dtype: float32 unless given; shape: by default all of the buffer, in one axis; offset: in bytes, a multiple of 256
   */
  static fromGpuBuffer(buffer: GPUBufferLike, options?: { shape?: number[], dtype?: DTypeLike, offset?: number }): Tensor

  /**
   * The pixels of an image as uint8 of shape [height, width, 4]: red, green, blue and alpha, which does not weight the colors. If the default
   * device is webgpu, they do not leave the GPU.
   *
   * @param source what createImageBitmap takes: a canvas, an element with an image or a video, an ImageBitmap, ImageData, a VideoFrame
   */
  static fromImage(source: object): Promise<Tensor>

  // Construction

  /** A tensor filled with a value: float32 for numbers, bool for booleans, int64 for bigints. */
  static full(shape: Size | readonly Size[], fillValue: Scalar, options?: CreationOptions): Tensor
  static full(options: CreationOptions & { shape: readonly Size[], fillValue: Scalar }): Tensor

  /** A tensor for later writes. Do not rely on its elements. */
  static empty(...shape: Shape): Tensor
  static empty(options: ShapeOptions): Tensor

  /**
   * A tensor on foreign memory, by its address. Nothing is copied: the elements must stay at the address, in row-major
   * order, as long as the tensor, and lazy tensors that were built from it, are in use.
   */
  static fromBlob(ptr: number | bigint, shape: number | readonly number[], options?: CreationOptions): Tensor

  /**
   * The contents of a URL (http, https, file or data) as bytes, uint8. Downloads are kept in
   * polygrad/downloads of the user's cache folder and read from there the next time. gunzip unpacks it; dtype reads
   * the bytes as another type.
   */
  static fromUrl(url: string | URL, options?: CreationOptions & { gunzip?: boolean }): Promise<Tensor>

  /** A tensor of the shape and type of this one for later writes. Do not rely on its elements. */
  emptyLike(options?: CreationOptions): Tensor

  /** A tensor of the shape and type of this one, filled with a number that the type can represent. */
  constLike(b: Scalar): Tensor

  /** The vector start, start + step, … up to, not including, stop. Default: start 0, step 1. Integers give int32, others float32. */
  static arange(stop: Size, start?: Size, step?: Size, options?: CreationOptions): Tensor
  static arange(stop: Size, options: CreationOptions & { start?: Size, step?: Size }): Tensor
  static arange(options: CreationOptions & { stop: Size, start?: Size, step?: Size }): Tensor

  /** Seeds later random tensors: equal to tinygrad's, and to polygrad's in Python, for the same seed. */
  static manualSeed(seed?: number | bigint): void

  /** In training mode elements are 0 with probability p (0.5), and the others are divided by 1 - p. */
  dropout(p?: number): Tensor
  dropout(options: { p?: number }): Tensor

  // What it is

  /** The size of each axis; a symbolic size is a SymInt. */
  readonly shape: number[]
  /** The number of axes. */
  readonly ndim: number
  /** The name of the data type. */
  readonly dtype: DType
  /** The device that the tensor was put on (see to), else Device.default: 'CPU' or 'WEBGPU'. */
  readonly device: string
  /** The size of the first axis. */
  readonly length: number
  /** The tensor with its last two axes swapped. */
  readonly T: Tensor
  /** Whether dispose was called. */
  readonly isDisposed: boolean
  /**
   * Whether backward computes a gradient for this tensor, or for one that it was computed from. null is unset: an
   * optimizer sets it to true, and leaves false.
   */
  requiresGrad: boolean | null
  /** The gradient, after backward. */
  grad: Tensor | null

  /** The number of elements. */
  numel(): number
  /** The shape, or the size of one axis. */
  size(): number[]
  size(dim: number): number
  /** The number of bytes of an element. */
  elementSize(): number
  /** The number of bytes of all elements. */
  nbytes(): number
  /** Whether the data type is a floating one. */
  isFloatingPoint(): boolean
  /** Whether the elements of the tensor, or of the tensor that it is a view of, are computed. */
  readonly isRealized: boolean
  /** The values, shortened for large tensors, shape and type. It does not compute a lazy tensor. */
  toString(): string
  /** The tensors along the first axis. */
  [Symbol.iterator](): Iterator<Tensor>

  // Values

  /** Computes this tensor, and others with it in one program, and returns it. */
  realize(...others: Tensor[]): this
  /**
   * realize in another thread, without blocking the event loop. Typed arrays that tensors share, and data, must not be written before
   * the promise settles; assign and setitem may write at any time.
   */
  realizeAsync(...others: Tensor[]): Promise<this>

  /**
   * The memory of the computed tensor, without a copy: writes to it change the tensor.
   * float16, bfloat16 and fp8 are bits (Uint16Array, Uint8Array), bools 0 and 1
   * (Uint8Array), 64-bit integers as bigints; the real and imaginary parts of complex numbers lie in turn.
   */
  readonly data: any

  /**
   * The values as a typed array of the tensor's type: the memory of the tensor, as data; for float16, bfloat16 and
   * fp8 a new Float32Array.
   */
  toArray<A extends TypedArray = Float32Array>(): A
  /** toArray computed in another thread. */
  toArrayAsync<A extends TypedArray = Float32Array>(): Promise<A>

  /** The value of a tensor with one element: a bigint for 64-bit integers, a boolean for bools, { re, im } of a complex type. */
  item<S extends Scalar = number>(): S
  /** item computed in another thread. */
  itemAsync<S extends Scalar = number>(): Promise<S>

  /** The values as nested lists; a number for a tensor without axes. Complex numbers are { re, im }. */
  tolist<L extends Listed = Listed>(): L
  /** tolist, for JSON.stringify. JSON has no 64-bit integers: convert them first. */
  toJSON(): Listed
  /** tolist computed in another thread. */
  tolistAsync<L extends Listed = Listed>(): Promise<L>

  /** A view of the tensor through which no gradient flows. */
  detach(): Tensor
  /** A copy; its memory is shared until one of the two is written. Gradients flow through it. */
  clone(): Tensor
  /**
   * The tensor on a device; operations on it run there. They may combine it with tensors that were put on no device; tensors on two devices in
   * one operation are an error. Gradients flow back. A tensor that is on the device already is returned as it is.
   */
  to(device: string): this

  /**
   * The tensor's buffer on the GPU, without a copy, for WebGPU code of the program; it has at least as many bytes as the elements. The tensor
   * is computed first, and commands that the program submits afterwards see its elements. The buffer is the memory of the tensor until that is
   * moved or disposed: a write to either is visible in both, so each read of the elements is awaited anew (toArrayAsync). The buffer belongs to
   * the GPUDevice that Device.init('webgpu', { device }) was given: a GPU on a thread of its own, a view and a tensor on another device are errors.
   */
  gpuBuffer(): GPUBufferLike

  /** Puts the tensor itself on a device, as to does, without a copy: its memory moves when it is used there. */
  to_(device: string): this

  /** Calls functions in order, each with the result of the one before. */
  sequential(functions: ReadonlyArray<(x: Tensor) => Tensor>): Tensor
  /** to('cpu'). */
  cpu(): this
  /** to('cuda'). */
  cuda(): this

  /**
   * Frees the tensor without waiting for the garbage collector. Tensors that were computed from it stay valid;
   * the tensor itself cannot be used any more. A second call does nothing.
   */
  dispose(): void
  [Symbol.dispose](): void
  /** Exempts the tensor from the tidy in which it was created; returns it. */
  keep(): this

  /**
   * Runs a function and disposes of the tensors that it created, except those in its result and those
   * that require a gradient. Use it in loops without await: the garbage collector reports unused
   * tensors only between turns of the event loop.
   */
  static tidy<R>(fn: () => R): R

  // Changing a tensor

  /**
   * Writes new values into the tensor: of its type, broadcast to its shape, computed at once. A write to a view
   * (of reshape, permute, flip, slices …) changes the tensor. A tensor that was built before the write has the old
   * values, even if it is computed later.
   */
  assign(x: TensorData): this
  /** assign computed in another thread. */
  assignAsync(x: TensorData): Promise<this>
  /** Makes the tensor an alias of x: a write to one changes both. requiresGrad does not change. */
  replace(x: Tensor): this
  /** Writes value to the elements that getitem(...items) selects: setitem(items, value). */
  setitem(items: IndexItem | readonly IndexItem[], value: Operand): this

  // Gradients

  /** Sets requiresGrad and returns the tensor. */
  requiresGrad_(wanted?: boolean | null): this
  /**
   * Computes the gradients of this tensor with respect to all tensors that require one and adds them to grad. A
   * tensor that is not a scalar needs its incoming gradient, of its own shape.
   */
  backward(gradient?: Tensor | null): this
  backward(options: { gradient?: Tensor | null }): this
  /** backward computed in another thread. */
  backwardAsync(gradient?: Tensor | null): Promise<this>
  /**
   * The gradients of this tensor with respect to others, as lazy tensors: x.gradient(a, b, { gradient }). A target that
   * the tensor does not depend on is an error, or has a gradient of zeros with materializeGrads.
   */
  gradient(...targets: Array<Tensor | { gradient?: Tensor | null, materializeGrads?: boolean }>): Tensor[]

  /** Runs a function with Tensor.training set to mode (true by default); the function may be async. */
  static train<R>(fn: () => R, mode?: boolean): R

  /** Runs a function in which results of operations do not require gradients; the function may be async. */
  static noGrad<R>(fn: () => R): R

  // Operations that are called in ways of their own; the others are in Methods

  /** clamp(min, max). */
  clip(min?: number | Tensor | null, max?: number | Tensor | null): Tensor
  clip(options: { min?: number | Tensor | null, max?: number | Tensor | null }): Tensor
  /** Whether isclose is true for all elements; computed at once. */
  allclose(other: Operand, options?: { rtol?: number, atol?: number, equalNan?: boolean }): boolean

  /** Axes rearranged as einops does: rearrange('b (h w) -> b h w', { h: 2 }). */
  rearrange(formula: string, sizes?: Record<string, number>): Tensor
  rearrange(options: { formula: string, sizes?: Record<string, number> }): Tensor

  /**
   * The elements that the items select, one item for each axis: integers, slices, null (a new axis), '...' (all other
   * axes), indices and masks. A mask has the shape of the axes that it indexes, which become one axis; it is computed at
   * once, because its count is the size of the result. With integers and slices only the result is a view.
   */
  getitem(...indices: IndexItem[]): Tensor

  /** Einstein summation: Tensor.einsum('ij,jk->ik', a, b). */
  static einsum(formula: string, ...operands: Array<Tensor | readonly Tensor[]>): Tensor
  /** The maximum of windows; with returnIndices also its index. */
  maxPool2d(options: PoolOptions & { returnIndices: true }): [values: Tensor, indices: Tensor]
  maxPool2d(options?: PoolOptions & { returnIndices?: false }): Tensor

  /** binaryCrossentropy(target). */
  binaryCrossEntropy(target: Operand, options?: { reduction?: LossReduction }): Tensor
}

/** The sizes of f(2, 3), f([2, 3]) or f(2, 3, { dtype }). */
export type Shape<More = unknown> = Array<Size | readonly Size[] | (CreationOptions & More)>
export type ShapeOptions = CreationOptions & { shape: readonly Size[] }

/** All data types by name: dtypes.float32 is 'float32'. */
export const dtypes: Readonly<Record<DType, DType> & Record<Exclude<DTypeLike, DType>, DType>> & {
  readonly defaultFloat: 'float32'
  readonly defaultInt: 'int32'
  /** Whether a type is a floating one. */
  isFloat(dtype: DTypeLike): boolean
  /** Whether a type is an integer one (bool is not). */
  isInt(dtype: DTypeLike): boolean
  /** Whether a type is an unsigned integer one. */
  isUnsigned(dtype: DTypeLike): boolean
}

/** What a GPUBuffer has, which the types of TypeScript may lack: see `@webgpu/types`. */
export interface GPUBufferLike {
  readonly size: number
  readonly usage: number
}

/** The devices of the library. */
export const Device: {
  /**
   * The device of tensors that were put on no other (tensor.to, the option device), 'CPU' or 'WEBGPU'. Names may be in small letters. Memory
   * moves to the device that uses it; functions that were compiled before stay on their device. A device that is not available is an error.
   */
  default: string
  /** The same as default. */
  DEFAULT: string
  /**
   * Opens a device, and returns its name. A browser needs it for 'webgpu', before that becomes the default device, as it grants GPUs by
   * promises; Node needs no init. A browser without WebGPU, or a machine without a GPU for it, is an error.
   *
   *     await Device.init('webgpu')
   *     Device.default = 'webgpu'
   *
   * In a page that is cross-origin isolated the GPU is used on a thread of its own, and results may be read at once or by await. In another
   * page, and on a GPUDevice of the program, they come by toArrayAsync(), itemAsync(), tolistAsync() and a step's
   * lossValueAsync() only.
   *
   * An open device is used again, unless options are given: then a new one is opened, and tensors that are on the old one lose their values.
   *
   * A device may be lost: its driver crashes, or the browser takes it away. Reading tensors whose elements were only there is then an error, "the
   * device was lost", and never blocks. The next computation opens another device, with the same options; tensors with a copy on the host, and
   * compiled functions, continue there. A page that is not isolated opens it in the background, and computations throw until it is open. A GPUDevice
   * of the program is not replaced: call init again.
   *
   * Errors: a name that is unknown (RangeError); no WebGPU in this browser, or the page is neither https: nor localhost; no GPU that WebGPU can
   * use; a device that is not available here (PolygradError).
   *
   * @param options those of navigator.gpu.requestAdapter, or { device }, a GPUDevice of the program; it should have its adapter's limits
   */
  init(name: string, options?: { device?: object, powerPreference?: 'low-power' | 'high-performance' }): Promise<string>
  /** The name of a device as tensor.device has it; by default that of the default device. */
  canonicalize(name?: string | null): string
  /** The name of a device; an error if it is not available. */
  require(name?: string | null): string
  /** Whether kernels can run on an NVIDIA GPU. */
  cudaAvailable(): boolean
  /** The library's number of a device or back end. */
  number(name: string): number
  /** The names of the devices and back ends that can run kernels here. */
  available(): string[]
}

/** A function that TinyJit cannot capture, or a call that does not match the captured one. */
export class JitError extends PolygradError {}

/** What a TinyJit function returns: tensors, in arrays and object literals, or nothing. */
export type JitResult = Tensor | null | undefined | void | readonly JitResult[] | { readonly [name: string]: JitResult }

/** The program of a TinyJit. */
export interface CapturedJit {
  /** The number of kernels that a call launches. */
  readonly nKernels: number
  /** The number of intermediate buffers. */
  readonly nIntermediates: number
}

/**
 * Compiles a function of tensors; later calls only run the program.
 *
 * The first call runs the function, the second call captures it: all its computations and assignments become one
 * program. Later calls run the program on their arguments and do not call the function. A training step may be such
 * a function: gradients and optimizer steps are captured, too.
 *
 * Tensors are found among the arguments, also in arrays and object literals. Their shapes and types must stay as they
 * were captured; sizes may be variables, so that one program serves all values. Variables may be arguments, too. All
 * other arguments must not change, since their values are constants of the program, and so are captured globals. (A
 * captured tensor is read at each run.) Random tensors are new in each call. The function returns tensors, in arrays
 * and object literals, or nothing; they have memory of their own and no gradient history. A violation is a JitError.
 *
 * With prune, sums, products and contiguous tensors that depend on no argument, no random number and nothing that the
 * function assigns are computed once, when the function is captured.
 *
 * With the environment variable JIT=0 nothing is captured: each call runs the function.
 *
 * A method of a class has one program for each object.
 *
 * @example
 * const scaled = new TinyJit((x, y) => x.mul(2).add(y))
 * let result
 * for (let i = 0; i < 4; i++) result = scaled(new Tensor([1, i]), new Tensor([0.5, 0.5]))
 * result.tolist() // [2.5, 6.5]
 */
export class TinyJit<A extends any[] = any[], R extends JitResult = any, This = any> {
  constructor(fn: (this: This, ...args: A) => R, options?: { prune?: boolean })
  /** Whether parts that do not change are computed once. */
  readonly prune: boolean
  /** The function. */
  readonly fn: (this: This, ...args: A) => R
  /** The number of calls so far. */
  readonly cnt: number
  /** The program, null before the second call. */
  readonly captured: CapturedJit | null
  /** The call in another thread; the first two calls run and capture the function in this one. */
  callAsync(...args: A): Promise<R>
  /** Discards the program: the next call runs the function, the one after it captures it. */
  reset(): void
}
export interface TinyJit<A extends any[], R extends JitResult, This> {
  (this: This, ...args: A): R
  readonly name: string
  readonly length: number
}

/** Data for an instance: nested lists, float32 numbers in row-major order, or a tensor. */
export type InstanceInput = number | NestedList | TypedArray | Tensor

/** The settings that all models from a configuration have. */
export interface ModelConfig {
  /** mse, cross_entropy or none (default). */
  loss?: 'mse' | 'cross_entropy' | 'none'
  /** Rows of x, output and y (1). */
  batchSize?: number
  /** Seed of the parameters (42). */
  seed?: number
}

/**
 * A model that owns its parameters, inputs, outputs and optimizer.
 *
 * Arrays of the model (params, buffers) are views of its memory: writes to them change the model. Input
 * arrays may be flat or nested, typed or not, or tensors.
 */
export class Instance implements Disposing {
  private constructor()
  /**
   * A multi-layer perceptron: layers [inputs, …, outputs]; activation relu, gelu, silu, tanh, sigmoid
   * or none; bias; loss mse, cross_entropy or none; batchSize; seed.
   */
  static mlp(config: ModelConfig & {
    layers: readonly number[], activation?: 'relu' | 'gelu' | 'silu' | 'tanh' | 'sigmoid' | 'none', bias?: boolean
  }): Instance
  /** An ensemble of nEnsemble (32) perceptrons that share weights. */
  static tabm(config: ModelConfig & {
    layers: readonly number[], activation?: 'relu' | 'gelu' | 'silu' | 'none', nEnsemble?: number
  }): Instance
  /** A neural additive model. */
  static nam(config: ModelConfig & {
    nFeatures: number, hiddenSizes?: readonly number[], activation?: 'exu' | 'relu' | 'gelu' | 'silu', nOutputs?: number
  }): Instance
  /** Loads a model from the bytes of exportIr and of exportWeights (null: zeros). */
  static fromIr(ir: ArrayBufferView | ArrayBuffer, weights?: ArrayBufferView | ArrayBuffer | null): Instance
  /** Loads a model from the bytes of saveBundle. */
  static fromBundle(data: ArrayBufferView | ArrayBuffer): Instance

  /** The parameters by name: their memory, in row-major order. */
  readonly params: Record<string, Float32Array>
  /** All named arrays by name. */
  readonly buffers: Record<string, Float32Array>
  /** The shape of each array by name. */
  readonly shapes: Record<string, number[]>
  /** The role of each array. */
  readonly roles: Record<string, 'param' | 'input' | 'target' | 'output' | 'aux'>
  /** Warnings about the weights that were read last: missing, unknown, or of another shape. */
  readonly notes: string[]
  /** The tokens that end a text, of a model that loadHf has read. */
  eosTokenIds: number[]

  /**
   * Runs the model on named inputs and returns copies of its outputs by name. Inputs that are not given
   * keep their last value. A nested input may be smaller than the model's: the rest is 0.
   */
  forward(inputs?: Record<string, InstanceInput>): Record<string, Float32Array>
  /** forward in another thread, without blocking the event loop. */
  forwardAsync(inputs?: Record<string, InstanceInput>): Promise<Record<string, Float32Array>>
  /** Runs an entry point on named inputs and targets; returns copies of the outputs. */
  call(entry: string, arrays?: Record<string, InstanceInput>): Record<string, Float32Array>
  /** call in another thread. */
  callAsync(entry: string, arrays?: Record<string, InstanceInput>): Promise<Record<string, Float32Array>>
  /** The loss and copies of its gradients by parameter; parameters do not change. */
  valueAndGrad(arrays?: Record<string, InstanceInput>, entry?: string): [loss: number, grads: Record<string, Float32Array>]
  /** valueAndGrad in another thread. */
  valueAndGradAsync(arrays?: Record<string, InstanceInput>, entry?: string): Promise<[loss: number, grads: Record<string, Float32Array>]>
  /** Sets the device that runs the model's kernels, one of Device.available(). */
  setDevice(name: string): void
  /** Sets the optimizer of trainStep. */
  setOptimizer(kind: 'none' | 'sgd' | 'adam' | 'adamw', options?: {
    lr?: number, beta1?: number, beta2?: number, eps?: number, weightDecay?: number
  }): void
  /** Does one step of the optimizer on named inputs and targets; returns the loss before it. */
  trainStep(arrays?: Record<string, InstanceInput>): number
  /** trainStep in another thread. */
  trainStepAsync(arrays?: Record<string, InstanceInput>): Promise<number>

  /** The graph as bytes. */
  exportIr(): Uint8Array
  /** The parameters as a safetensors file. */
  exportWeights(): Uint8Array
  /** Graph, parameters and the state of the optimizer as bytes. */
  saveBundle(): Uint8Array
  /**
   * Reads parameters from a safetensors file of float32. With strict (the default), every tensor must fit and every
   * parameter must be there, or nothing is changed; otherwise mismatches are left out and listed in notes.
   */
  importWeights(data: ArrayBufferView | ArrayBuffer, options?: { strict?: boolean }): void

  /**
   * Frees the model. Its memory is freed at once, or, if params or buffers returned arrays on it, with the last of
   * these arrays.
   */
  dispose(): void
  [Symbol.dispose](): void
}

/** Options of models in Hugging Face's format; maxSeqLen 0 (the default): as long as the model allows. */
export interface HfOptions {
  maxBatch?: number
  maxSeqLen?: number
  /** The type in which matrices are stored. Types other than float32 take less memory and time, but cannot be trained or saved. */
  dtype?: 'float32' | 'float16' | 'bfloat16' | 'int8'
  /**
   * Whether a file that cannot be read, a parameter that is missing or has another shape, and a tensor that the model has no
   * parameter for are errors (the default). Masks, positions, a tied output layer and heads for tasks (classifier, score,
   * qa_outputs, …) may be there: the model has no need of them. Without it what does not fit is left out, what is missing is
   * zeros, and notes lists both.
   */
  strict?: boolean
}

/**
 * A model (gpt2; llama, mistral, qwen2, qwen3; bert) from a folder with config.json and *.safetensors; maxSeqLen 0: as long as the model allows, but
 * 4096 for models with rotary positions. dtype is explained at loadHfBytes.
 */
export function loadHf(folder: string, options?: HfOptions): Instance

/** Options of downloads from the Hugging Face Hub. */
export interface DownloadOptions {
  /** The cache folder; by default HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub, as in Python's huggingface_hub. */
  cacheDir?: string | null
  /** A branch, a tag or a commit; "main" by default. */
  revision?: string
  /**
   * The access token for private and gated models. By default, without endpoint: HF_TOKEN of the environment, or the token that
   * logging in to the Hub saved in HF_HOME/token.
   */
  token?: string | null
  /** The server; by default HF_ENDPOINT of the environment, or https://huggingface.co. */
  endpoint?: string | null
  /** Whether to show the progress of each file on the standard error; by default if that is a terminal. */
  show?: boolean | null
  /** Called with the number of downloaded bytes of a file, and its size (null if the server does not send it). */
  onProgress?: ((state: { file: string, have: number, total: number | null }) => unknown) | null
}

/**
 * Downloads a model of the Hugging Face Hub and returns the folder for loadHf: config.json, generation_config.json, the
 * tokenizer's files, and of the safetensors files those that loadHf reads.
 *
 * Cached files are not downloaded again, interrupted downloads are continued, and the bytes are checked by their hashes.
 * A cached model needs no network if revision is its commit, with HF_HUB_OFFLINE=1, or if the server cannot be reached.
 * A refusal of the server is a PolygradError: status 401 or 403 means the token, 404 the name or the revision.
 *
 * @example
 * const model = loadHf(await downloadHf('openai-community/gpt2'))
 */
export function downloadHf(repoId: string, options?: DownloadOptions): Promise<string>

/**
 * The bytes at a URL (http:, https:, data:; in Node file:, too), unpacked if gunzip is set. What was downloaded is kept for later calls, unless
 * cache is false: in Node in the user's cache folder, in browsers in the private file system of the page's origin. onProgress is called with the number of
 * bytes so far, and of all (null if the server does not say). A file that is cut off, a refusal, and more than 4 GiB in a page are a PolygradError.
 * safeLoad, ggufLoad and loadHfBytes take the bytes.
 */
export function download(url: string | URL, options?: {
  gunzip?: boolean
  cache?: boolean
  onProgress?: ((state: { have: number, total: number | null }) => unknown) | null
}): Promise<Uint8Array>

/**
 * A model from the contents of config.json (text or bytes) and of safetensors files. dtype is the type in which matrices are
 * stored: float32; float16 and bfloat16, which round; int8, which stores q * s with one number s
 * for each output of a layer, the greatest |w| there / 127. Smaller ones make generate faster; they cannot
 * be trained or saved.
 */
export function loadHfBytes(config: string | ArrayBufferView, weights: readonly ArrayBufferView[], options?: HfOptions): Instance

/** Tokens of one row or of several, which may be of different lengths. */
export type Tokens = ArrayLike<number> | ReadonlyArray<ArrayLike<number>>

/** The result for a row of tokens, and for rows. */
type Continued<T extends Tokens> = T extends ArrayLike<number> ? number[] : number[][]

/** How tokens are drawn: temperature 0 takes the most likely one; topK > 0 and topP < 1 restrict the draw to the most likely ones. */
export interface Sampling {
  temperature?: number
  topK?: number
  topP?: number
  seed?: number | bigint
}

/** Converts text to tokens and back, such as a Tokenizer of @huggingface/tokenizers. */
export interface TextTokenizer {
  encode(text: string): ArrayLike<number> | { ids: ArrayLike<number> }
  decode(ids: number[], options: { skip_special_tokens: boolean, skipSpecialTokens: boolean }): string
}

/**
 * Options of generate; without a seed, draws depend on Tensor.manualSeed. A row ends at eosTokenId; for texts the
 * model's own if it is not given. Texts need a tokenizer.
 */
export interface GenerateOptions extends Sampling {
  eosTokenId?: number | readonly number[]
  tokenizer?: TextTokenizer
}

/** Options of generate with a callback for each token; a true result of it ends the generation. */
export interface ToldOptions<P> extends GenerateOptions {
  onToken?: (piece: P) => unknown
}

/** Options of the continuation of a text or texts. */
type Told<T extends string | readonly string[]> = ToldOptions<Piece<T>> & { tokenizer: TextTokenizer }

/** The result for a text, and for texts, piece by piece. */
type Piece<T extends string | readonly string[]> = T extends string ? string : string[]

/**
 * Texts continued by up to maxNewTokens tokens. tokens are numbers, or rows of numbers, which may be of different
 * lengths; or a text or texts, which need a tokenizer: an object with encode and decode, such as that of
 * @huggingface/tokenizers. The result includes the input: a row or rows of numbers, or a text or texts.
 *
 * temperature 0 always takes the most likely token; topK > 0 chooses among the k most likely ones, topP < 1 among
 * the most likely ones whose probabilities first sum up to p. Draws depend on seed, which follows from
 * Tensor.manualSeed if it is not given. A row ends at eosTokenId (a number or several; for texts the model's own
 * if it is not given), and is filled with it while others continue. onToken is called with each step of generateSteps;
 * a true result of it ends the generation. A model with room for T tokens sees the last T.
 */
export function generate<T extends Tokens>(instance: Instance, tokens: T, maxNewTokens: number, options?: ToldOptions<Int32Array>): Continued<T>
export function generate<T extends string | readonly string[]>(
  instance: Instance, texts: T, maxNewTokens: number, options: Told<T>): Piece<T>

/** generate in another thread, without blocking the event loop. */
export function generateAsync<T extends Tokens>(
  instance: Instance, tokens: T, maxNewTokens: number, options?: ToldOptions<Int32Array>): Promise<Continued<T>>
export function generateAsync<T extends string | readonly string[]>(
  instance: Instance, texts: T, maxNewTokens: number, options: Told<T>): Promise<Piece<T>>

/**
 * generate one step after the other: an iterator over the new tokens (Int32Array, one a row); for a text over the
 * next pieces of it, for texts over lists of pieces.
 */
export function generateSteps(instance: Instance, tokens: Tokens, maxNewTokens: number, options?: GenerateOptions): Generator_<Int32Array>
export function generateSteps<T extends string | readonly string[]>(
  instance: Instance, texts: T, maxNewTokens: number, options: GenerateOptions & { tokenizer: TextTokenizer }): Generator_<Piece<T>>

/** generateSteps as an asynchronous iterator: each token is computed in another thread. */
export function generateStream(
  instance: Instance, tokens: Tokens, maxNewTokens: number, options?: GenerateOptions): AsyncGenerator<Int32Array, void, unknown>
export function generateStream<T extends string | readonly string[]>(
  instance: Instance, texts: T, maxNewTokens: number, options: GenerateOptions & { tokenizer: TextTokenizer }
): AsyncGenerator<Piece<T>, void, unknown>

type Generator_<T> = globalThis.Generator<T, void, unknown>

/**
 * Rows of tokens that a causal language model continues. Keys and values of earlier tokens are cached, so
 * each further token costs one pass over the weights. Models of loadHf can continue any number of rows;
 * others, such as a GPT-2 from a bundle, as many rows as they have, and they process all tokens again for
 * each new one.
 */
export class Generator {
  constructor(instance: Instance, rows?: number)
  readonly rows: number
  readonly vocab: number
  readonly room: number
  /**
   * Sets how tokens are drawn; by default the most likely one is taken. temperature divides the logits, 0
   * takes the most likely token; topK > 0 draws among the k most likely ones, topP < 1 among the most
   * likely ones whose probabilities first sum up to p. The same seed draws the same tokens everywhere.
   */
  sampling(options?: Sampling): this
  /** Appends tokens to each row. Only the first call may give rows of different lengths. */
  feed(tokens: Tokens): this
  /** Draws the next token of each row, appends and returns it. */
  next(): Int32Array
  /** next in another thread, without blocking the event loop. */
  nextAsync(): Promise<Int32Array>
  /** A copy of the logits of the next tokens, row by row. */
  logits(): Float32Array
  /** Removes all tokens and restarts the random stream. */
  reset(): this
  dispose(): void
  [Symbol.dispose](): void
}

/** Models in Hugging Face's format. */
export const hf: {
  downloadHf: typeof downloadHf
  loadHf: typeof loadHf
  loadHfBytes: typeof loadHfBytes
  Generator: typeof Generator
  generate: typeof generate
  generateAsync: typeof generateAsync
  generateSteps: typeof generateSteps
  generateStream: typeof generateStream
}

/** An output format of viz. */
export type ViewFormat = 'text' | 'json' | 'dot' | 'svg' | 'code'

/** A kernel. */
export interface KernelProfile {
  name: string
  /** Numbers of buffers. */
  reads: number[]
  writes: number[]
  /** Estimates of the arithmetic operations and of the memory of a run. */
  flops: number
  bytes: number
  /** The fastest run and the mean of all. */
  seconds: number
  meanSeconds: number
  /** The graph that it computes, as a tree. */
  graph: string
  /** The generated code, and its language. */
  language: string
  code: string
}

/** Memory that kernels work on. */
export interface BufferProfile {
  role: 'input' | 'output' | 'updated' | 'temporary'
  dtype: string
  shape: number[]
  bytes: number
}

/** The kernels of a computation, in the order in which they run; prints as tables. */
export interface Profile {
  device: string
  kernels: KernelProfile[]
  buffers: BufferProfile[]
  copies: Array<{ from: number, to: number, bytes: number }>
  temporaryBytes: number
  compileSeconds: number
  runs: number
  /** The tables. */
  text: string
  /** The sum of the fastest runs of all kernels. */
  readonly seconds: number
  toString(): string
}

/** Shows how tensors are computed: graphs, kernels, their code and their times. */
export const viz: {
  /**
   * The graph by which a tensor, or several, are computed: as "text" (a tree), for Graphviz ("dot"), as a picture
   * ("svg", at most 3000 nodes), as "json", or with nothing left out, one node a line ("code").
   */
  graph(tensors: Tensor | Tensor[], options?: { format?: ViewFormat }): string
  /**
   * The kernels that compute tensors, or those of a compiled step or a TinyJit. They are compiled anew and, with runs, run and
   * timed that often; memory is restored. Formats are those of graph; "text" are tables, "code" what each kernel
   * computes and its machine code.
   */
  kernels(what: Tensor | Tensor[] | CompiledTrainingStep | TinyJit<any, any, any>, options?: { format?: ViewFormat, runs?: number }): string
  /** Times each kernel with runs (20) runs. Memory is restored. */
  profile(what: Tensor | Tensor[] | CompiledTrainingStep | TinyJit<any, any, any>, options?: { runs?: number }): Profile
  Profile: { readonly prototype: Profile }
}

/** Files of tensors in the safetensors format. */
export const safetensors: {
  /** safeLoad. */
  decode: typeof safeLoad
  /** A file of float32 tensors, and metadata, an object of strings. */
  encode(tensors: Record<string, Tensor>, metadata?: Record<string, string> | null): Uint8Array
}

/** What polygrad/jax and its like stand on: no part of the interface, it changes without notice. */
export const internals: Readonly<Record<string, unknown>>

/** The number of nodes of this thread in the library, for leak tests. */
export function liveNodes(): number

/** The version of the library that was loaded. */
export const version: string
