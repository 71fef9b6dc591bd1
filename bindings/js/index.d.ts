/// <reference lib="esnext.disposable" />
/** Tensors, gradients and a compiler behind one native library. */

import { Methods } from './lib/methods.js'

/** The name of a data type. */
export type DType =
  | 'bool' | 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64' | 'uint64'
  | 'fp8e4m3' | 'fp8e5m2' | 'float16' | 'bfloat16' | 'float32' | 'float64'

/** The name of a data type, or another name for it. */
export type DTypeLike = DType
  | 'char' | 'uchar' | 'short' | 'ushort' | 'int' | 'uint' | 'long' | 'ulong' | 'half' | 'float' | 'double'

/** A typed array that holds elements of a tensor. */
export type TypedArray =
  | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array | Float32Array | Float64Array

/** One number: 64-bit integers are bigints. */
export type Scalar = number | bigint | boolean

/** Numbers, or tensors of one shape, in nested lists. */
export type NestedList = ReadonlyArray<Scalar | Tensor | NestedList>

/** What tolist gives: a scalar for a tensor without axes. */
export type Listed = Scalar | Listed[]

/** What a tensor is made from. */
export type TensorData = Scalar | NestedList | TypedArray | Tensor

/** What meets a tensor in an operation; a number takes the type of the tensor. */
export type Operand = Scalar | Tensor | SymInt | NestedList | TypedArray

/** A tensor, or numbers that become one. */
export type TensorLike = Tensor | NestedList | TypedArray

/** One number, or one for each axis. */
export type PerAxis = number | readonly number[]

/** One axis or several; null means all of them. */
export type Axes = number | readonly number[] | null

/** A start (included), an end (excluded) and a step; null stands for an omitted part. */
export type Slice =
  | readonly [start?: Size | null, stop?: Size | null, step?: number | null]
  | { start?: Size | null, stop?: Size | null, step?: number | null }

/** Booleans in nested lists. */
export type BooleanList = ReadonlyArray<boolean | BooleanList>

/** Integers in nested lists of two levels or more: a single level is a slice. */
export type PositionList = ReadonlyArray<readonly number[] | PositionList>

/**
 * One item of an index: an integer, a slice, a new axis, all other axes ('...'), positions (a tensor, a typed array or
 * nested lists), or a mask (a tensor or a list of booleans). Other texts are slices: 'start:stop:step'.
 */
export type IndexItem = number | bigint | SymInt | Slice | null | '...' | (string & {}) | Tensor | TypedArray | BooleanList | PositionList

/** What becomes of the losses of the elements. */
export type LossReduction = 'mean' | 'sum' | 'none'

/** Options of every tensor that is made. */
export interface CreationOptions {
  /** The data type. */
  dtype?: DTypeLike | null
  /** Where the tensor lives: 'cpu'. */
  device?: string | null
  /** Whether backward gives the tensor a gradient. */
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
  /** Groups of channels that do not mix. */
  groups?: number
  stride?: number | readonly number[]
  dilation?: number | readonly number[]
  /** One number, one for each spatial axis, or two for each, the last axis first. */
  padding?: number | readonly number[]
}

/** Options of pools. */
export interface PoolOptions {
  /** The size of the window, [2, 2] if it is not given. */
  kernelSize?: number | readonly number[]
  /** How far windows are apart: the size of the window if it is not given. */
  stride?: number | readonly number[] | null
  dilation?: number | readonly number[]
  padding?: number | readonly number[]
  /** Whether windows may begin in the padding after the end. */
  ceilMode?: boolean
}

/** An error that the library reports: its message names function and argument, what was given and what was expected. */
export class PolygradError extends Error {}

/** A tensor that dispose ended cannot be used; the node behind it goes when nothing else needs it. */
interface Disposing {
  /** Frees the object without waiting for the garbage collector. */
  dispose(): void
  /** dispose(), for `using`. */
  [Symbol.dispose](): void
}

/** A number or a symbolic size. */
export type Size = number | SymInt

/**
 * An integer made of variables: a size, a bound or an index of a tensor. What is computed from
 * sizes are sizes, or numbers where no variable is left.
 */
export class SymInt {
  protected constructor()
  /** The least value. */
  readonly min: number
  /** The greatest value. */
  readonly max: number
  /** The value; an error unless all variables are bound. */
  readonly val: number
  /** The same without the values of its variables. */
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
 * An integer from min to max, both included, whose value a program gets as it runs: one compiled
 * program serves all values.
 */
export class Variable extends SymInt {
  constructor(name: string, min: number, max: number)
  /** The name. */
  readonly name: string
  /** The variable with a value. */
  bind(value: number): SymInt
}

/**
 * An array that is computed when its value is needed.
 *
 * Numbers become float32, booleans bool and bigints int64 if no dtype is given; typed arrays keep
 * their type and are used in place: the tensor and the array share memory.
 *
 * Arguments may be given by position, by name in one object, or both: sum(1, true), sum(1, { keepdim:
 * true }) and sum({ axis: 1, keepdim: true }) are the same.
 */
export class Tensor extends Methods implements Disposing, Iterable<Tensor> {
  constructor(data: TensorData, options?: TensorOptions)

  /** Whether dropout drops and batch norms use the batch: see train. */
  static training: boolean

  /** A tensor of numbers: the same as new Tensor(data, options). */
  static from(data: TensorData, options?: TensorOptions): Tensor

  // Construction

  /** A tensor filled with a value: float32 for numbers, bool for booleans, int64 for bigints. */
  static full(shape: Size | readonly Size[], fillValue: Scalar, options?: CreationOptions): Tensor
  static full(options: CreationOptions & { shape: readonly Size[], fillValue: Scalar }): Tensor

  /** A tensor whose contents do not matter. */
  static empty(...shape: Shape): Tensor
  static empty(options: ShapeOptions): Tensor

  /**
   * A tensor on memory that belongs to somebody else, at an address, as foreign functions give it. Nothing is copied:
   * the elements must stay there, in row-major order, as long as the tensor and lazy values computed from it.
   */
  static fromBlob(ptr: number | bigint, shape: number | readonly number[], options?: CreationOptions): Tensor

  /**
   * The contents of a URL (http, https, file or data) as bytes, uint8. What comes over the network is kept in
   * polygrad/downloads of the user's cache folder and read from there the next time. gunzip unpacks it; dtype reads
   * the bytes as another type.
   */
  static fromUrl(url: string | URL, options?: CreationOptions & { gunzip?: boolean }): Promise<Tensor>

  /** A tensor of the shape and type of this one, whose contents do not matter. */
  emptyLike(options?: CreationOptions): Tensor

  /** A tensor of the shape and type of this one, filled with a number that the type holds. */
  constLike(b: Scalar): Tensor

  /** start, start + step, … before stop; start is 0 and step 1. Integers give int32, others float32. */
  static arange(stop: Size, start?: Size, step?: Size, options?: CreationOptions): Tensor
  static arange(stop: Size, options: CreationOptions & { start?: Size, step?: Size }): Tensor
  static arange(options: CreationOptions & { stop: Size, start?: Size, step?: Size }): Tensor

  /** Seeds later random tensors: equal to tinygrad's, and to polygrad's in Python, for the same seed. */
  static manualSeed(seed?: number | bigint): void

  /** Elements set to 0 with probability p (0.5) and the others scaled, if Tensor.training. */
  dropout(p?: number): Tensor
  dropout(options: { p?: number }): Tensor

  // What it is

  /** The size of each axis; a symbolic size is a SymInt, which stands there for a number. */
  readonly shape: number[]
  /** The number of axes. */
  readonly ndim: number
  /** The name of the data type. */
  readonly dtype: DType
  /** Where the tensor lives. */
  readonly device: string
  /** The size of the first axis. */
  readonly length: number
  /** The tensor with its last two axes swapped. */
  readonly T: Tensor
  /** Whether dispose was called. */
  readonly isDisposed: boolean
  /**
   * Whether backward gives this tensor, or one that it was computed from, a gradient. null means that nobody has
   * said: an optimizer makes it true, and leaves alone what is false.
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
  /** Whether the values of the tensor, or of its root, are computed. */
  readonly isRealized: boolean
  /** The values if they have been computed, in short for large tensors, and shape and type; nothing is computed. */
  toString(): string
  /** The tensors along the first axis. */
  [Symbol.iterator](): Iterator<Tensor>

  // Values

  /** Computes this tensor, and others with it, and returns it. A compiled function computes them into memory of their own. */
  realize(...others: Tensor[]): this
  /** realize in another thread: the event loop goes on meanwhile. */
  realizeAsync(...others: Tensor[]): Promise<this>

  /**
   * The memory of the computed tensor, without a copy: writes to it change the tensor.
   * float16, bfloat16 and fp8 are there as bits (Uint16Array, Uint8Array), bools as 0 and 1
   * (Uint8Array), 64-bit integers as bigints.
   */
  readonly data: any

  /**
   * The values as a typed array of the type's kind: the memory itself, as data; float16, bfloat16 and
   * fp8 as a new Float32Array.
   */
  toArray<A extends TypedArray = Float32Array>(): A
  /** toArray computed in another thread. */
  toArrayAsync<A extends TypedArray = Float32Array>(): Promise<A>

  /** The value of a tensor with one element: a bigint for 64-bit integers, a boolean for bools. */
  item<S extends Scalar = number>(): S
  /** item computed in another thread. */
  itemAsync<S extends Scalar = number>(): Promise<S>

  /** The values as nested lists; a number for a tensor without axes. */
  tolist<L extends Listed = Listed>(): L
  /** What JSON.stringify writes of the tensor: tolist. JSON has no 64-bit integers: convert these first. */
  toJSON(): Listed
  /** tolist computed in another thread. */
  tolistAsync<L extends Listed = Listed>(): Promise<L>

  /** The tensor without its history: no gradient flows through it. */
  detach(): Tensor
  /** A tensor with the same elements, of its own: memory is shared until one of the two is written. Gradients flow through it. */
  clone(): Tensor
  /** The tensor on a device. */
  to(device: string): this

  /** The tensor, moved to a device. */
  to_(device: string): this

  /** What functions make of the tensor, each of the result of the one before. */
  sequential(functions: ReadonlyArray<(x: Tensor) => Tensor>): Tensor
  /** to('cpu'). */
  cpu(): this
  /** to('cuda'). */
  cuda(): this

  dispose(): void
  [Symbol.dispose](): void
  /** Keeps the tensor when the tidy in which it was made ends; returns it. */
  keep(): this

  /**
   * Runs a function and disposes of the tensors that were made meanwhile, except those in its result
   * and those that require a gradient. A loop that never awaits should run in it: the garbage
   * collector tells of unused tensors only between turns of the event loop.
   */
  static tidy<R>(fn: () => R): R

  // Changing a tensor

  /** Gives the tensor new values, of its shape, in its memory; they are computed at once. */
  assign(x: TensorData): this
  /** assign computed in another thread. */
  assignAsync(x: TensorData): Promise<this>
  /** Lets the tensor stand for what x stands for; whether it requires a gradient stays. */
  replace(x: Tensor): this
  /** Changes the elements that getitem(...items) takes. */
  setitem(items: IndexItem | readonly IndexItem[], value: Operand): this

  // Gradients

  /** Sets requiresGrad and returns the tensor. */
  requiresGrad_(wanted?: boolean | null): this
  /**
   * Computes the gradients of this tensor for all tensors that require one and adds them to grad. A
   * tensor that is not a scalar needs its incoming gradient, of its own shape.
   */
  backward(gradient?: Tensor | null): this
  backward(options: { gradient?: Tensor | null }): this
  /** backward computed in another thread. */
  backwardAsync(gradient?: Tensor | null): Promise<this>
  /** The gradients of this tensor with respect to others, as lazy tensors. */
  gradient(...targets: Array<Tensor | { gradient?: Tensor | null }>): Tensor[]

  /** Runs a function while Tensor.training has a value (true if none is given); it may be async. */
  static train<R>(fn: () => R, mode?: boolean): R

  // Operations that are called in ways of their own; the others are in Methods

  /** clamp(min, max). */
  clip(min?: number | Tensor | null, max?: number | Tensor | null): Tensor
  clip(options: { min?: number | Tensor | null, max?: number | Tensor | null }): Tensor
  /** Whether isclose holds everywhere; computed at once. */
  allclose(other: Operand, options?: { rtol?: number, atol?: number, equalNan?: boolean }): boolean

  /** The same elements in another shape; one size may be -1, null keeps the size of that axis. */
  reshape(...shape: Array<Size | null>): Tensor
  reshape(shape: ReadonlyArray<Size | null> | { shape: ReadonlyArray<Size | null> }): Tensor
  /** reshape(...shape). */
  view(...shape: Array<Size | null>): Tensor
  view(shape: ReadonlyArray<Size | null> | { shape: ReadonlyArray<Size | null> }): Tensor
  /** Axes of size 1 repeated up to a shape; -1 or null keeps a size. */
  expand(...shape: Array<Size | null>): Tensor
  expand(shape: ReadonlyArray<Size | null> | { shape: ReadonlyArray<Size | null> }): Tensor
  /** The first elements of each axis, as many as a shape says; null keeps all. */
  shrinkTo(...shape: Array<Size | null | ReadonlyArray<Size | null>>): Tensor
  /** Zeros added at the end of axes up to a shape; null keeps a size. */
  padTo(...shape: Array<Size | null | ReadonlyArray<Size | null>>): Tensor
  /**
   * Elements added before and after each axis; null adds none. A flat list has before and after of the
   * last axis first. mode is the kind of padding: a value, or elements of the tensor.
   */
  pad(padding: Padding, mode?: PadMode, value?: number): Tensor
  pad(padding: Padding, options: { mode?: PadMode, value?: number }): Tensor
  pad(options: { padding: Padding, mode?: PadMode, value?: number }): Tensor
  /** Axes rearranged as einops does: rearrange('b (h w) -> b h w', { h: 2 }). */
  rearrange(formula: string, sizes?: Record<string, number>): Tensor
  rearrange(options: { formula: string, sizes?: Record<string, number> }): Tensor

  /**
   * Elements chosen by one item for each axis: integers, slices, null (a new axis), '...' (all other axes), positions
   * and masks. A mask has the shape of the axes that it stands for, which become one; it is computed, since the graph
   * must know how many elements it selects. Without positions and masks the result is a view.
   */
  getitem(...indices: IndexItem[]): Tensor

  /** x @ weight + bias for a weight of shape (in, out), or x * weight + bias for one of one axis; with dtype, all three are converted first. One of shape (out, in) is turned where only that fits. */
  linear(weight: Tensor, bias?: Tensor | null, options?: { dtype?: DTypeLike | null }): Tensor
  linear(weight: Tensor, options: { bias?: Tensor | null, dtype?: DTypeLike | null }): Tensor
  linear(options: { weight: Tensor, bias?: Tensor | null, dtype?: DTypeLike | null }): Tensor
  /** Sums of products of elements, as the formula says: Tensor.einsum('ij,jk->ik', a, b). */
  static einsum(formula: string, ...operands: Array<Tensor | readonly Tensor[]>): Tensor
  /** The hash of the bytes of the last axis, as FIPS 202 defines it: a name, or the rate in bytes and the suffix. */
  keccak(cfg?: Sponge | readonly [rate: number, suffix: number]): Tensor
  /** 16 bytes that depend on all bytes of the tensor: a tree of SHAKE128. */
  hash(): Tensor

  /** The convolution with weights of shape (out, in/groups, …), plus a bias of shape (out); with dtype, both are converted first. */
  conv2d(weight: Tensor, options?: ConvOptions & { bias?: Tensor | null, dtype?: DTypeLike | null }): Tensor
  conv2d(weight: Tensor, bias: Tensor | null, options?: ConvOptions & { dtype?: DTypeLike | null }): Tensor
  conv2d(options: ConvOptions & { weight: Tensor, bias?: Tensor | null, dtype?: DTypeLike | null }): Tensor
  /** The greatest value of windows, and with returnIndices also where it was. */
  maxPool2d(options: PoolOptions & { returnIndices: true }): [values: Tensor, indices: Tensor]
  maxPool2d(options?: PoolOptions & { returnIndices?: false }): Tensor

  /** binaryCrossentropy(target). */
  binaryCrossEntropy(target: Operand, options?: { reduction?: LossReduction }): Tensor
}

/** The sizes of f(2, 3), f([2, 3]) or f(2, 3, { dtype }). */
type Shape<More = unknown> = Array<Size | readonly Size[] | (CreationOptions & More)>
type ShapeOptions = CreationOptions & { shape: readonly Size[] }
type Padding = ReadonlyArray<readonly [Size, Size] | null> | readonly Size[]
type PadMode = 'constant' | 'reflect' | 'replicate' | 'circular'
type Sponge = 'sha3_224' | 'sha3_256' | 'sha3_384' | 'sha3_512' | 'shake_128' | 'shake_256'

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

/** What the library can compute on. */
export const Device: {
  /** Where tensors live if nothing else is said. */
  readonly DEFAULT: string
  /** The name of a device as tensors show it; nothing means the default. */
  canonicalize(name?: string | null): string
  /** The name of a device, which must be there. */
  require(name?: string | null): string
  /** Whether kernels can run on an NVIDIA GPU. */
  cudaAvailable(): boolean
  /** The library's number of a device or back end. */
  number(name: string): number
  /** The names of the devices and back ends that can run kernels here. */
  available(): string[]
}

/** Something that turns a tensor into another. */
export interface Layer {
  forward(x: Tensor): Tensor
}

/** y = x @ weight.T + bias, with weight of shape (outFeatures, inFeatures). */
export class Linear implements Layer {
  constructor(inFeatures: number, outFeatures: number, bias?: boolean | { bias?: boolean })
  weight: Tensor
  bias: Tensor | null
  /** Outputs of shape (…, outFeatures) of inputs of shape (…, inFeatures). */
  forward(x: Tensor): Tensor
}

/** (x - mean) / sqrt(variance + eps) * weight + bias over the last axes. */
export class LayerNorm implements Layer {
  constructor(normalizedShape: number | readonly number[], eps?: number, elementwiseAffine?: boolean)
  constructor(normalizedShape: number | readonly number[], options: { eps?: number, elementwiseAffine?: boolean })
  readonly normalizedShape: number[]
  eps: number
  weight: Tensor | null
  bias: Tensor | null
  /** x normalised, of the same shape. */
  forward(x: Tensor): Tensor
}

/** LayerNorm over the channels of images (N, C, height, width). */
export class LayerNorm2d extends LayerNorm {}

/** x / sqrt(mean(x^2) + eps) * weight over the last axis; eps is 1e-6 (arXiv:1910.07467). */
export class RMSNorm implements Layer {
  constructor(dim: number, eps?: number, elementwiseAffine?: boolean)
  constructor(dim: number, options: { eps?: number, elementwiseAffine?: boolean })
  eps: number
  weight: Tensor | null
  /** x normalised, of the same shape. */
  forward(x: Tensor): Tensor
}

/** The channels of x, shape (N, C, …), normalised in groups; then weight and bias per channel. */
export class GroupNorm implements Layer {
  constructor(numGroups: number, numChannels: number, eps?: number, affine?: boolean)
  constructor(numGroups: number, numChannels: number, options: { eps?: number, affine?: boolean })
  readonly numGroups: number
  readonly numChannels: number
  eps: number
  weight: Tensor | null
  bias: Tensor | null
  /** x normalised, of the same shape. */
  forward(x: Tensor): Tensor
}

/** The channels of x normalised one by one: GroupNorm with as many groups as channels. */
export class InstanceNorm implements Layer {
  constructor(numFeatures: number, eps?: number, affine?: boolean)
  constructor(numFeatures: number, options: { eps?: number, affine?: boolean })
  weight: Tensor | null
  bias: Tensor | null
  /** x normalised, of the same shape. */
  forward(x: Tensor): Tensor
}

/**
 * The channels of x, shape (N, C, …), normalised over the batch while Tensor.training is set, and by
 * running statistics otherwise; then weight and bias per channel.
 */
export class BatchNorm implements Layer {
  constructor(numFeatures: number, options?: { eps?: number, affine?: boolean, trackRunningStats?: boolean, momentum?: number })
  eps: number
  momentum: number
  weight: Tensor | null
  bias: Tensor | null
  runningMean: Tensor | null
  runningVar: Tensor | null
  numBatchesTracked: Tensor
  /** x normalised, of the same shape. */
  forward(x: Tensor): Tensor
}

/** Options of convolution layers; padding 'same' keeps the size. */
export interface ConvLayerOptions extends Omit<ConvOptions, 'padding'> {
  padding?: number | readonly number[] | 'same'
  bias?: boolean
}

/** The convolution of x, shape (N, in, length), with weight of shape (out, in/groups, kernelSize). */
export class Conv1d implements Layer {
  constructor(inChannels: number, outChannels: number, kernelSize: number | readonly [number], options?: ConvLayerOptions)
  weight: Tensor
  bias: Tensor | null
  /** The convolution plus bias. */
  forward(x: Tensor): Tensor
}

/** The convolution of x, shape (N, in, height, width), with weight of shape (out, in/groups, …). */
export class Conv2d implements Layer {
  constructor(inChannels: number, outChannels: number, kernelSize: number | readonly number[], options?: ConvLayerOptions)
  weight: Tensor
  bias: Tensor | null
  /** The convolution plus bias. */
  forward(x: Tensor): Tensor
}

/** The convolution of x, shape (N, in, depth, height, width), with weight of shape (out, in/groups, …). */
export class Conv3d implements Layer {
  constructor(inChannels: number, outChannels: number, kernelSize: number | readonly number[], options?: ConvLayerOptions)
  weight: Tensor
  bias: Tensor | null
  /** The convolution plus bias. */
  forward(x: Tensor): Tensor
}

/** The transposed convolution of x, shape (N, in, length), with weight of shape (in, out/groups, kernelSize). */
export class ConvTranspose1d implements Layer {
  constructor(inChannels: number, outChannels: number, kernelSize: number | readonly number[],
    options?: ConvOptions & { bias?: boolean, outputPadding?: number | readonly number[] })
  weight: Tensor
  bias: Tensor | null
  /** The transposed convolution plus bias. */
  forward(x: Tensor): Tensor
}

/** The transposed convolution of x, shape (N, in, height, width), with weight of shape (in, out/groups, …). */
export class ConvTranspose2d implements Layer {
  constructor(inChannels: number, outChannels: number, kernelSize: number | readonly number[],
    options?: ConvOptions & { bias?: boolean, outputPadding?: number | readonly number[] })
  weight: Tensor
  bias: Tensor | null
  /** The transposed convolution plus bias. */
  forward(x: Tensor): Tensor
}

/** A table with a row for each of vocabSize tokens. */
export class Embedding implements Layer {
  constructor(vocabSize: number, embedSize: number)
  readonly vocabSize: number
  readonly embedSize: number
  weight: Tensor
  /** The rows of tokens idx, shape idx.shape + (embedSize). */
  forward(idx: Tensor): Tensor
}

/** Elements set to 0 with probability p (0.5) while Tensor.training is set. */
export class Dropout implements Layer {
  constructor(p?: number | { p?: number })
  p: number
  /** x with some elements dropped and the others scaled by 1 / (1 - p). */
  forward(x: Tensor): Tensor
}

/** Layers and functions one after another. */
export class Sequential implements Layer {
  constructor(...layers: Array<Layer | ((x: Tensor) => Tensor)>)
  readonly layers: Array<Layer | ((x: Tensor) => Tensor)>
  /** What the last layer makes of x. */
  forward(x: Tensor): Tensor
}

/** The state of an LSTM: h and c. */
export type LSTMState = readonly [h: Tensor, c: Tensor]

/**
 * One step of long short-term memory (Hochreiter and Schmidhuber, 1997). The quarters i, f, g, o of
 * x @ weightIh.T + biasIh + h @ weightHh.T + biasHh give c = sigmoid(f) * c + sigmoid(i) * tanh(g) and
 * h = sigmoid(o) * tanh(c). Weights begin uniform in 1/sqrt(hiddenSize), biases at 0.
 */
export class LSTMCell {
  constructor(inputSize: number, hiddenSize: number, bias?: boolean | { bias?: boolean })
  /** (4 * hiddenSize, inputSize) */
  weightIh: Tensor
  /** (4 * hiddenSize, hiddenSize) */
  weightHh: Tensor
  biasIh: Tensor | null
  biasHh: Tensor | null
  /** [h, c], each (…, hiddenSize), after an input of shape (…, inputSize) from the state before, or zeros. */
  forward(x: Tensor, hc?: LSTMState | null): [h: Tensor, c: Tensor]
}

/**
 * Layers of long short-term memory over a sequence, as PyTorch has them. Layer k has weightIhL{k}, weightHhL{k},
 * biasIhL{k} and biasHhL{k}, as LSTMCell has them; bidirectional layers also those of the way back, with Reverse
 * behind the name. dropout acts on what a layer gives to the next one, while Tensor.training is set. All begin
 * uniform in 1/sqrt(hiddenSize). The program has a part for each step of the sequence.
 */
export class LSTM {
  constructor(inputSize: number, hiddenSize: number, options?: {
    numLayers?: number, bias?: boolean, batchFirst?: boolean, dropout?: number, bidirectional?: boolean
  })
  readonly hiddenSize: number
  readonly numLayers: number
  readonly batchFirst: boolean
  dropout: number
  readonly ways: string[]
  /**
   * [outputs, [h, c]] of a sequence x, (T, N, inputSize), or (N, T, inputSize) with batchFirst, from the state
   * [h, c], (numLayers, N, hiddenSize) (twice as many layers, forwards and backwards in turn, if bidirectional), or
   * zeros. The outputs of all steps have the order of x, with hiddenSize, or twice that, in the last axis.
   */
  forward(x: Tensor, hc?: LSTMState | null): [outputs: Tensor, state: [h: Tensor, c: Tensor]]
}

/**
 * Attention of numHeads heads (Vaswani et al., Attention Is All You Need, arXiv:1706.03762). qProj, kProj and vProj
 * make queries, keys and values of embedDim / numHeads numbers for each head, oProj makes the result of what all heads
 * give. numKvHeads, a divisor of numHeads, lets several query heads share one of keys and values (Ainslie et al., GQA,
 * arXiv:2305.13245). dropout (0) acts on the weights while Tensor.training is set.
 */
export class MultiHeadAttention implements Layer {
  constructor(embedDim: number, numHeads: number, options?: { numKvHeads?: number | null, bias?: boolean, dropout?: number })
  readonly numHeads: number
  readonly numKvHeads: number
  readonly headDim: number
  dropout: number
  qProj: Linear
  kProj: Linear
  vProj: Linear
  oProj: Linear
  /**
   * The attention of query (…, L, embedDim) to key and value (…, S, embedDim); key is query if it is not given, and
   * value is key. attnMask, which broadcasts to (…, heads, L, S), is bool and tells which pairs may attend, or is added
   * to the scores; isCausal masks the keys after the query.
   */
  forward(query: Tensor, options?: { key?: Tensor | null, value?: Tensor | null, attnMask?: Tensor | null, isCausal?: boolean }): Tensor
  forward(query: Tensor, key: Tensor | null, value?: Tensor | null, attnMask?: Tensor | null, isCausal?: boolean): Tensor
}

/**
 * The block of a transformer: attention, then two linear layers, each beside a way past it:
 * x + attn(attnNorm(x)), and that plus down(activation(up(ffNorm(…)))). norm says which: "layer" (default) or "rms";
 * without preNorm the norms come behind the sums instead. up has ffDim units, 4 * embedDim by default; activation is
 * gelu by default. dropout (0) acts on weights of attention and on what is added, while Tensor.training is set. causal
 * hides what comes later.
 */
export class TransformerBlock implements Layer {
  constructor(embedDim: number, numHeads: number, options?: {
    ffDim?: number | null, numKvHeads?: number | null, bias?: boolean, dropout?: number, causal?: boolean, preNorm?: boolean,
    norm?: 'layer' | 'rms', activation?: (x: Tensor) => Tensor
  })
  causal: boolean
  readonly preNorm: boolean
  activation: (x: Tensor) => Tensor
  attnNorm: LayerNorm | RMSNorm
  attn: MultiHeadAttention
  ffNorm: LayerNorm | RMSNorm
  up: Linear
  down: Linear
  dropout: Dropout
  /** A tensor of the shape of x, (…, L, embedDim); attnMask as in attention. */
  forward(x: Tensor, options?: { attnMask?: Tensor | null }): Tensor
}

/**
 * What all optimizers share. step() computes all new values from the old ones, in one program, and
 * writes them in place; it works outside of Tensor.train() too.
 */
export abstract class Optimizer {
  /** The parameters, each once. */
  readonly params: Tensor[]
  /** What no step changes: tensors whose requiresGrad is false, and integers. */
  readonly buffers: Tensor[]
  /** The learning rate. Programs of compileStep read it: another one compiles nothing. */
  lr: number
  /** Forgets the gradients of all parameters. */
  zeroGrad(): void
  /** Changes each parameter that has a gradient. */
  step(): void
  /** step computed in another thread. */
  stepAsync(): Promise<void>
}

/** Several optimizers whose step is one program. */
export class OptimizerGroup {
  constructor(...optimizers: Optimizer[])
  readonly optimizers: Optimizer[]
  /** The parameters of all optimizers. */
  readonly params: Tensor[]
  /** What the optimizers were given and do not change. */
  readonly buffers: Tensor[]
  /** Forgets the gradients of all parameters. */
  zeroGrad(): void
  /** Changes each parameter that has a gradient. */
  step(): void
  /** step computed in another thread. */
  stepAsync(): Promise<void>
}

/** Options of SGD. */
export interface SGDOptions {
  lr?: number
  momentum?: number
  weightDecay?: number
  nesterov?: boolean
  classic?: boolean
}

/** Options of LARS. */
export interface LARSOptions extends SGDOptions {
  nsSteps?: number
  nsCoefficients?: readonly number[] | null
  preWd?: boolean
  tcoef?: number
}

/**
 * Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv:1708.03888). The rate of a parameter p with the
 * gradient g is lr * tcoef (0.001) * |p| / (|g| + weightDecay (1e-4) * |p|), or lr if tcoef is 0. g += weightDecay * p;
 * b = momentum (0.9) * b + rate * g; p -= b. Unless classic, b = momentum * b + g and p -= rate * b. nesterov looks one
 * step ahead: momentum * b + g stands for b in the last step. With nsCoefficients the step is made orthogonal by nsSteps
 * of Newton and Schulz's iteration. Without preWd the parameter itself shrinks, by lr * weightDecay.
 */
export class LARS extends Optimizer {
  constructor(params: Iterable<Tensor>, options?: LARSOptions)
  constructor(params: Iterable<Tensor>, lr: number, options?: Omit<LARSOptions, 'lr'>)
}

/**
 * Gradient descent: g += weightDecay * p, b = momentum * b + g, p -= lr (0.001) * b. nesterov looks one step ahead:
 * p -= lr * (g + momentum * b). With classic the rate goes into the momentum: b = momentum * b + lr * g, p -= b.
 */
export class SGD extends LARS {
  constructor(params: Iterable<Tensor>, options?: SGDOptions)
  constructor(params: Iterable<Tensor>, lr: number, options?: Omit<SGDOptions, 'lr'>)
}

/** Options of Muon. */
export interface MuonOptions {
  lr?: number
  momentum?: number
  weightDecay?: number
  nsSteps?: number
  nsCoefficients?: readonly number[]
  nesterov?: boolean
}

/**
 * Gradient descent by steps that are made orthogonal (Jordan et al., 2024; arXiv:2502.16982): the step is
 * newtonSchulz(g + momentum (0.95) * b, nsSteps (5)), of a parameter as a matrix of its first axis and all others
 * together; weightDecay (0.1) shrinks the parameter itself. It is meant for matrices: give biases, norms and embeddings
 * to AdamW (see OptimizerGroup).
 */
export class Muon extends LARS {
  constructor(params: Iterable<Tensor>, options?: MuonOptions)
  constructor(params: Iterable<Tensor>, lr: number, options?: Omit<MuonOptions, 'lr'>)
}

/** Options of Adam and AdamW. */
export interface AdamOptions {
  lr?: number
  betas?: readonly [number, number]
  eps?: number
  weightDecay?: number
}

/**
 * Moments, and the ratio of norms of each parameter (You et al., arXiv:1904.00962). With the betas b1 and b2,
 * m = b1 * m + (1 - b1) * g, v = b2 * v + (1 - b2) * g^2, and after t steps the step is
 * s = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps (1e-6)) + weightDecay (0) * p; p -= lr * |p| / |s| * s. A ratio of
 * which a norm is 0 counts as 1; adam leaves it out.
 */
export class LAMB extends Optimizer {
  constructor(params: Iterable<Tensor>, options?: AdamOptions & { adam?: boolean })
  constructor(params: Iterable<Tensor>, lr: number, options?: Omit<AdamOptions, 'lr'> & { adam?: boolean })
}

/** Adam (Kingma and Ba, arXiv:1412.6980); weightDecay (0) is added to the gradient. */
export class Adam extends LAMB {
  constructor(params: Iterable<Tensor>, options?: AdamOptions)
  constructor(params: Iterable<Tensor>, lr: number, options?: Omit<AdamOptions, 'lr'>)
}

/** Adam whose weight decay (0.01) acts on the parameter itself (Loshchilov and Hutter, arXiv:1711.05101). */
export class AdamW extends LAMB {
  constructor(params: Iterable<Tensor>, options?: AdamOptions)
  constructor(params: Iterable<Tensor>, lr: number, options?: Omit<AdamOptions, 'lr'>)
}

/**
 * What schedules of learning rates share. They have PyTorch's names and conventions, set the rate of their optimizer
 * when they are made and again by each step(), which comes after the optimizer's. A step that stands in a function given
 * to compileStep is part of the program; one that stands outside changes the rate that the program reads. In neither
 * case is anything compiled again. All schedules of an optimizer begin with the rate that it had before the first.
 */
export abstract class LRScheduler {
  readonly optimizer: Optimizer
  /** The rate that the schedule begins with. */
  readonly baseLr: Tensor
  /** The number of steps so far. */
  readonly epochCounter: Tensor
  /** The rate for the number of steps so far, a tensor of one element. */
  getLr(): Tensor
  /** The rate of the optimizer, in a list. */
  getLastLr(): number[]
  /** Counts a step and sets the rate of the next one. */
  step(): void
}

/** The rate times gamma (0.1) after each stepSize steps. */
export class StepLR extends LRScheduler {
  constructor(optimizer: Optimizer, stepSize: number, gamma?: number)
  constructor(optimizer: Optimizer, options: { stepSize: number, gamma?: number })
}

/** The rate times gamma (0.1) for each milestone that the number of steps has reached. */
export class MultiStepLR extends LRScheduler {
  constructor(optimizer: Optimizer, milestones: readonly number[], gamma?: number)
  constructor(optimizer: Optimizer, options: { milestones: readonly number[], gamma?: number })
}

/** The rate times gamma after each step. */
export class ExponentialLR extends LRScheduler {
  constructor(optimizer: Optimizer, gamma: number | { gamma: number })
}

/** The rate times factor (1/3) before totalIters (5) steps, then the rate itself. */
export class ConstantLR extends LRScheduler {
  constructor(optimizer: Optimizer, factor?: number, totalIters?: number)
  constructor(optimizer: Optimizer, options: { factor?: number, totalIters?: number })
}

/** The rate times a factor that goes from startFactor (1/3) to endFactor (1) in totalIters (5) steps: a warmup. */
export class LinearLR extends LRScheduler {
  constructor(optimizer: Optimizer, startFactor?: number, endFactor?: number, totalIters?: number)
  constructor(optimizer: Optimizer, options: { startFactor?: number, endFactor?: number, totalIters?: number })
}

/** The rate times (1 - t/totalIters)^power after t steps, 0 from totalIters (5) on; power is 1. */
export class PolynomialLR extends LRScheduler {
  constructor(optimizer: Optimizer, totalIters?: number, power?: number)
  constructor(optimizer: Optimizer, options: { totalIters?: number, power?: number })
}

/** The rate goes down to etaMin (0) along a half cosine of TMax steps, and up again (arXiv:1608.03983). */
export class CosineAnnealingLR extends LRScheduler {
  constructor(optimizer: Optimizer, TMax: number, etaMin?: number)
  constructor(optimizer: Optimizer, options: { TMax: number, etaMin?: number })
}

/** A rise to baseLr in warmupSteps steps, then a half cosine of decaySteps down to endLr. */
export class CosineAnnealingLRWithWarmup extends LRScheduler {
  constructor(optimizer: Optimizer, baseLr: number, endLr: number, warmupSteps: number, decaySteps: number)
  constructor(optimizer: Optimizer, options: { baseLr: number, endLr: number, warmupSteps: number, decaySteps: number })
}

/** Half cosines down to etaMin (0) in T0, T0 * TMult (1), T0 * TMult^2 … steps (arXiv:1608.03983). */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  constructor(optimizer: Optimizer, T0: number, TMult?: number, etaMin?: number)
  constructor(optimizer: Optimizer, options: { T0: number, TMult?: number, etaMin?: number })
}

/**
 * One cycle: from maxLr/divFactor (25) up to maxLr, and down to that /finalDivFactor (1e4). The rise takes the share
 * pctStart (0.3) of totalSteps. With threePhase the rate goes back to where it began as fast as it rose, and falls
 * after that. Smith and Topin, Super-convergence, arXiv:1708.07120.
 */
export class OneCycleLR extends LRScheduler {
  constructor(optimizer: Optimizer, options: {
    maxLr: number, totalSteps: number, pctStart?: number, annealStrategy?: 'cos' | 'linear', divFactor?: number,
    finalDivFactor?: number, threePhase?: boolean
  })
}

/**
 * The rate times lrLambda(t) after t steps. t is a number, but inside of compileStep a tensor of one element, of which
 * lrLambda must make its result by operations of tensors.
 */
export class LambdaLR extends LRScheduler {
  constructor(optimizer: Optimizer, lrLambda: ((t: number) => number) | ((t: Tensor) => Tensor))
  readonly lrLambda: ((t: number) => number) | ((t: Tensor) => Tensor)
}

/** Schedules of one optimizer one after the other; each begins anew at its milestone. */
export class SequentialLR extends LRScheduler {
  constructor(optimizer: Optimizer, schedulers: readonly LRScheduler[], milestones: readonly number[])
  readonly schedulers: readonly LRScheduler[]
  readonly milestones: number[]
}

/**
 * The rate times factor (0.1) when a metric has stopped getting better. step(metric) counts the steps without a metric
 * that is less ('min', the default) or greater ('max') than the best one so far by more than threshold (1e-4), or
 * threshold times the best ('rel', the default, not 'abs'). After more than patience (10) of them the rate falls, to at
 * least minLr (0) and by more than eps (1e-8), and cooldown (0) steps do not count. Inside of compileStep the metric is
 * a tensor.
 */
export class ReduceLROnPlateau {
  constructor(optimizer: Optimizer, options?: {
    mode?: 'min' | 'max', factor?: number, patience?: number, threshold?: number, thresholdMode?: 'rel' | 'abs',
    cooldown?: number, minLr?: number, eps?: number
  })
  readonly optimizer: Optimizer
  /** The best metric so far. */
  readonly best: Tensor
  readonly numBadEpochs: Tensor
  readonly cooldownCounter: Tensor
  /** Looks at a metric, which is a number or a tensor of one element. */
  step(metric: number | Tensor): void
  /** The rate of the optimizer, in a list. */
  getLastLr(): number[]
}

/**
 * Scales gradients so that their norm, as one vector, is at most maxNorm, and returns the norm before, a scalar tensor.
 * They are multiplied by min(1, maxNorm / (norm + 1e-6)) (Pascanu, Mikolov and Bengio, arXiv:1211.5063). normType (2)
 * is the order of the norm, Infinity for the greatest element. With errorIfNonfinite a norm that is infinite or NaN is
 * an error, which looks at its value: not inside of compileStep. Parameters without a gradient do not count.
 */
export function clipGradNorm(parameters: Tensor | Iterable<Tensor>, maxNorm: number,
  options?: { normType?: number, errorIfNonfinite?: boolean }): Tensor

/** Clips the elements of gradients to -clipValue … clipValue. */
export function clipGradValue(parameters: Tensor | Iterable<Tensor>, clipValue: number): void

/** The tensors in an object, its properties, lists and maps, by dotted name. */
export function getStateDict(object: unknown, prefix?: string): Record<string, Tensor>

/**
 * The tensors in an object that an optimizer may change, each once: those of floating types whose requiresGrad is
 * true, or null, which an optimizer makes true.
 */
export function getParameters(object: unknown): Tensor[]

/**
 * Copies tensors (or lists, or typed arrays) into the tensors of the same names in a model, converted to their
 * types. With strict (the default), each tensor of the model must be there; what the model lacks is a warning, if
 * verbose (the default). A tensor of shape [] may stand for one of [1]. All is checked before the first tensor changes.
 */
export function loadStateDict(model: unknown, stateDict: Record<string, TensorData> | Map<string, TensorData>,
  options?: { strict?: boolean, verbose?: boolean }): void

/** A program that was traced from a function of tensors; see compileStep. */
export class CompiledTrainingStep implements Disposing {
  private constructor()
  /** Executes all kernels: forward, backward and the update. */
  run(): void
  /** run in another thread: the event loop goes on meanwhile. */
  runAsync(): Promise<void>
  /** The loss of the last run, computed before its update. */
  lossValue(): number
  /** The memory of all results of the function, written by each run. */
  readonly outputs: TypedArray[]
  /** The number of compiled kernels. */
  readonly nKernels: number
  /** The number of intermediate buffers. */
  readonly nIntermediates: number
  dispose(): void
  [Symbol.dispose](): void
}

/**
 * Traces a training step and compiles it into one program.
 *
 * fn(...args) is called once. It may compute, call backward and step an optimizer, and returns the
 * loss, a list of tensors (the loss first) or nothing; it must not look at values. The tensors it
 * used are inputs of the program: change them in place (x.data.set(…)) and run() again. What it did
 * not find in tensors (numbers, the shape of things) stays as it was.
 */
export function compileStep<A extends unknown[]>(fn: (...args: A) => Tensor | Tensor[] | void, ...args: A): CompiledTrainingStep

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
 * A function of tensors that is compiled, and then only run.
 *
 * The first call runs the function as it is, the second one captures it: all that it computes, and what it
 * assigns, becomes one program. From then on the program runs on the tensors that are given, and the function
 * itself is not called again. A training step may be such a function.
 *
 * Tensors are found among the arguments, also in arrays and object literals, and must keep their shapes and
 * types; sizes may be variables, which one program serves with all values. Variables may be arguments too. All
 * other arguments must stay what they were, and what the function found elsewhere is seen as it is when the
 * program runs if it is a tensor, or else as it was. Random tensors are new in each call. Results have memory
 * of their own and no history. A violation is a JitError. As a method of a class it has one program for each object.
 * With the environment variable JIT=0 nothing is captured: each call runs the function.
 *
 * With prune, what depends on no argument, no random number and nothing that the function assigns is computed once, when
 * the function is captured: sums, products and contiguous tensors of weights that never change.
 *
 * @example
 * const scaled = new TinyJit((x: Tensor, y: Tensor) => x.mul(2).add(y))
 * for (let i = 0; i < 4; i++) scaled(new Tensor([1, i]), new Tensor([0.5, 0.5]))
 */
export class TinyJit<A extends any[] = any[], R extends JitResult = any, This = any> {
  constructor(fn: (this: This, ...args: A) => R, options?: { prune?: boolean })
  /** Whether what never changes is computed once. */
  readonly prune: boolean
  /** The function. */
  readonly fn: (this: This, ...args: A) => R
  /** The number of calls so far. */
  readonly cnt: number
  /** The program, null before the second call. */
  readonly captured: CapturedJit | null
  /** The call in another thread; the first two calls run and capture the function in this one. */
  callAsync(...args: A): Promise<R>
  /** Forgets the program: the next call runs the function, the one after it captures. */
  reset(): void
}
export interface TinyJit<A extends any[], R extends JitResult, This> {
  (this: This, ...args: A): R
  readonly name: string
  readonly length: number
}

/** What goes into an instance: nested lists, or float32 numbers in row-major order, or a tensor. */
export type InstanceInput = number | NestedList | TypedArray | Tensor

/** What models from a configuration share. */
export interface ModelConfig {
  /** mse, cross_entropy or none (default). */
  loss?: 'mse' | 'cross_entropy' | 'none'
  /** Rows of x, output and y (1). */
  batchSize?: number
  /** Seed of the parameters (42). */
  seed?: number
}

/**
 * A model that owns its parameters, inputs, outputs and optimizer. Arrays of the model (params,
 * buffers) are views of its memory: writes to them change the model.
 */
export class Instance implements Disposing {
  private constructor()
  /** A multi-layer perceptron: layers [inputs, …, outputs]. */
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
  /** Loads what exportIr and (or zeros) exportWeights wrote. */
  static fromIr(ir: ArrayBufferView | ArrayBuffer, weights?: ArrayBufferView | ArrayBuffer | null): Instance
  /** Loads what saveBundle wrote. */
  static fromBundle(data: ArrayBufferView | ArrayBuffer): Instance

  /** The parameters by name: their memory, row by row. */
  readonly params: Record<string, Float32Array>
  /** All named arrays by name. */
  readonly buffers: Record<string, Float32Array>
  /** The shape of each array by name. */
  readonly shapes: Record<string, number[]>
  /** What each array is for. */
  readonly roles: Record<string, 'param' | 'input' | 'target' | 'output' | 'aux'>
  /** What was odd about the weights that were read last: missing, unknown, other shapes. */
  readonly notes: string[]
  /** The tokens that end a text, of a model that loadHf has read. */
  eosTokenIds: number[]

  /**
   * Runs the model on named inputs and returns copies of its outputs by name. Inputs that are not given
   * keep their last value. A nested input may be smaller than the model's: the rest is 0.
   */
  forward(inputs?: Record<string, InstanceInput>): Record<string, Float32Array>
  /** forward in another thread: the event loop goes on meanwhile. */
  forwardAsync(inputs?: Record<string, InstanceInput>): Promise<Record<string, Float32Array>>
  /** Runs an entry point on named inputs and targets; returns copies of the outputs. */
  call(entry: string, arrays?: Record<string, InstanceInput>): Record<string, Float32Array>
  /** call in another thread. */
  callAsync(entry: string, arrays?: Record<string, InstanceInput>): Promise<Record<string, Float32Array>>
  /** The loss and copies of its gradients by parameter; parameters stay. */
  valueAndGrad(arrays?: Record<string, InstanceInput>, entry?: string): [loss: number, grads: Record<string, Float32Array>]
  /** valueAndGrad in another thread. */
  valueAndGradAsync(arrays?: Record<string, InstanceInput>, entry?: string): Promise<[loss: number, grads: Record<string, Float32Array>]>
  /** Chooses what runs the model's kernels, one of Device.available(). */
  setDevice(name: string): void
  /** Chooses how trainStep changes parameters. */
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
   * Reads parameters from a safetensors file of float32. With strict (the default), every tensor must
   * fit and every parameter must be there, or nothing is changed.
   */
  importWeights(data: ArrayBufferView | ArrayBuffer, options?: { strict?: boolean }): void

  dispose(): void
  [Symbol.dispose](): void
}

/** Options of models in Hugging Face's format; maxSeqLen 0 (the default): as long as the model allows. */
export interface HfOptions {
  maxBatch?: number
  maxSeqLen?: number
  /** The type in which matrices are kept: the others take less memory and time, and cannot be trained or saved. */
  dtype?: 'float32' | 'float16' | 'bfloat16' | 'int8'
}

/** A model (gpt2; llama, mistral, qwen2, qwen3; bert) from a folder with config.json and *.safetensors. */
export function loadHf(folder: string, options?: HfOptions): Instance

/** Options of downloads from the Hugging Face Hub. */
export interface DownloadOptions {
  /** Where models are kept; without it HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub, as Python's huggingface_hub has it. */
  cacheDir?: string | null
  /** A branch, a tag or a commit: "main" without it. */
  revision?: string
  /**
   * What allows to read private and gated models. Without it, and without endpoint: HF_TOKEN of the environment, or what
   * logging in to the Hub has saved in HF_HOME/token.
   */
  token?: string | null
  /** The server: HF_ENDPOINT of the environment, or https://huggingface.co, without it. */
  endpoint?: string | null
  /** Whether a line of the standard error shows how far each file has come; without it, if that is a terminal. */
  show?: boolean | null
  /** Gets told how many bytes of a file are there, of all that it has, null if the server does not say. */
  onProgress?: ((state: { file: string, have: number, total: number | null }) => unknown) | null
}

/**
 * Downloads a model of the Hugging Face Hub and returns the folder for loadHf: config.json, generation_config.json, the
 * tokenizer's files, and of the safetensors files those that loadHf reads.
 *
 * What is in the cache is not downloaded again, what was cut off goes on where it ended, and the bytes are checked by their
 * hashes. A commit that is there, HF_HUB_OFFLINE=1 and a server that cannot be reached need no network if the model is in the
 * cache. A PolygradError says what the server refused: 401 and 403 are about the token, 404 about the name or the revision.
 *
 * @example
 * const model = loadHf(await downloadHf('openai-community/gpt2'))
 */
export function downloadHf(repoId: string, options?: DownloadOptions): Promise<string>

/** A model from the contents of config.json and of safetensors files. */
export function loadHfBytes(config: string | ArrayBufferView, weights: readonly ArrayBufferView[], options?: HfOptions): Instance

/** Tokens of one row or of several, which may be of different lengths. */
export type Tokens = ArrayLike<number> | ReadonlyArray<ArrayLike<number>>

/** How tokens are drawn: temperature 0 takes the most likely one; topK > 0 and topP < 1 leave the most likely ones. */
export interface Sampling {
  temperature?: number
  topK?: number
  topP?: number
  seed?: number | bigint
}

/** What turns text into tokens and back, such as a Tokenizer of @huggingface/tokenizers. */
export interface TextTokenizer {
  encode(text: string): ArrayLike<number> | { ids: ArrayLike<number> }
  decode(ids: number[], options: { skip_special_tokens: boolean }): string
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

/** What comes of a text, and of texts, one after the other. */
type Piece<T extends string | readonly string[]> = T extends string ? string : string[]

/** Token sequences continued by up to maxNewTokens tokens, or a text or texts; the input comes first. */
export function generate(instance: Instance, tokens: Tokens, maxNewTokens: number, options?: ToldOptions<Int32Array>): number[][]
export function generate<T extends string | readonly string[]>(
  instance: Instance, texts: T, maxNewTokens: number, options: Told<T>): Piece<T>

/** generate in another thread: the event loop goes on meanwhile. */
export function generateAsync(
  instance: Instance, tokens: Tokens, maxNewTokens: number, options?: ToldOptions<Int32Array>): Promise<number[][]>
export function generateAsync<T extends string | readonly string[]>(
  instance: Instance, texts: T, maxNewTokens: number, options: Told<T>): Promise<Piece<T>>

/** generate one step after the other: the new tokens, one a row, or for a text the next piece of it. */
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

/** Rows of tokens that a causal language model continues: it keeps the keys and values of the tokens so far. */
export class Generator {
  constructor(instance: Instance, rows?: number)
  readonly rows: number
  readonly vocab: number
  readonly room: number
  sampling(options?: Sampling): this
  /** Appends tokens to each row. Only the first rows may be of different lengths. */
  feed(tokens: Tokens): this
  /** Draws the next token of each row, appends and returns it. */
  next(): Int32Array
  /** next in another thread: the event loop goes on meanwhile. */
  nextAsync(): Promise<Int32Array>
  /** A copy of the logits of the tokens that come next, row by row. */
  logits(): Float32Array
  reset(): this
  dispose(): void
  [Symbol.dispose](): void
}

/** Layers, optimizers, and tools for training loops. */
export const nn: {
  Linear: typeof Linear
  LayerNorm: typeof LayerNorm
  LayerNorm2d: typeof LayerNorm2d
  RMSNorm: typeof RMSNorm
  GroupNorm: typeof GroupNorm
  InstanceNorm: typeof InstanceNorm
  BatchNorm: typeof BatchNorm
  Conv1d: typeof Conv1d
  Conv2d: typeof Conv2d
  Conv3d: typeof Conv3d
  ConvTranspose1d: typeof ConvTranspose1d
  ConvTranspose2d: typeof ConvTranspose2d
  Embedding: typeof Embedding
  Dropout: typeof Dropout
  Sequential: typeof Sequential
  LSTMCell: typeof LSTMCell
  LSTM: typeof LSTM
  MultiHeadAttention: typeof MultiHeadAttention
  TransformerBlock: typeof TransformerBlock
  Optimizer: typeof Optimizer
  OptimizerGroup: typeof OptimizerGroup
  LARS: typeof LARS
  SGD: typeof SGD
  Muon: typeof Muon
  LAMB: typeof LAMB
  Adam: typeof Adam
  AdamW: typeof AdamW
  LRScheduler: typeof LRScheduler
  StepLR: typeof StepLR
  MultiStepLR: typeof MultiStepLR
  ExponentialLR: typeof ExponentialLR
  ConstantLR: typeof ConstantLR
  LinearLR: typeof LinearLR
  PolynomialLR: typeof PolynomialLR
  CosineAnnealingLR: typeof CosineAnnealingLR
  CosineAnnealingLRWithWarmup: typeof CosineAnnealingLRWithWarmup
  CosineAnnealingWarmRestarts: typeof CosineAnnealingWarmRestarts
  OneCycleLR: typeof OneCycleLR
  LambdaLR: typeof LambdaLR
  SequentialLR: typeof SequentialLR
  ReduceLROnPlateau: typeof ReduceLROnPlateau
  clipGradNorm: typeof clipGradNorm
  clipGradValue: typeof clipGradValue
  getStateDict: typeof getStateDict
  getParameters: typeof getParameters
  loadStateDict: typeof loadStateDict
  safeLoad: typeof safeLoad
  safeLoadMetadata: typeof safeLoadMetadata
  safeSave: typeof safeSave
  ggufLoad: typeof ggufLoad
  torchLoad: typeof torchLoad
  ggmlDataToTensor: typeof ggmlDataToTensor
  CompiledTrainingStep: typeof CompiledTrainingStep
  compileStep: typeof compileStep
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

/** One thing that runs. */
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
  /** What it computes, as a tree. */
  graph: string
  /** What runs, and in which language. */
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

/** What is computed and how: graphs, kernels, their code and their times. */
export const viz: {
  /** The graph by which tensors are computed. */
  graph(tensors: Tensor | Tensor[], options?: { format?: ViewFormat }): string
  /** The kernels of tensors, a compiled step or a TinyJit; with runs each is timed. */
  kernels(what: Tensor | Tensor[] | CompiledTrainingStep | TinyJit<any, any, any>, options?: { format?: ViewFormat, runs?: number }): string
  /** Times each kernel, 20 times if runs is not given. What is written is put back. */
  profile(what: Tensor | Tensor[] | CompiledTrainingStep | TinyJit<any, any, any>, options?: { runs?: number }): Profile
  Profile: { readonly prototype: Profile }
}

/** A model file: a path, or its contents. */
export type ModelFile = string | ArrayBufferView | ArrayBuffer | Tensor

/**
 * The tensors of a safetensors file by name, on its mapped memory. A path may be that of a folder with model.safetensors or
 * with shards and their index, or of such an index.
 */
export function safeLoad(file: ModelFile): Record<string, Tensor>

/** What a safetensors file says about itself. */
export function safeLoadMetadata(file: ModelFile): Record<string, string> | null

/** Options of safeSave: texts about the tensors, and the most bytes of a file before it is cut into shards. */
export interface SaveOptions {
  metadata?: Record<string, string> | null
  maxShardSize?: number | null
}

/** Writes tensors to a safetensors file, or to shards and their index. */
export function safeSave(tensors: Record<string, Tensor>, path: string, options?: SaveOptions): void

/**
 * The metadata of a GGUF file and its tensors by name. Quantised tensors stay packed; realize() unpacks them for good.
 */
export function ggufLoad(file: ModelFile): [Record<string, unknown>, Record<string, Tensor>]

/** What torch.save of PyTorch wrote, with tensors of polygrad; no code of it is run. */
export function torchLoad(file: ModelFile): any

/** The n numbers, float32, that blocks of a quantised type stand for; type is ggml's number for it. */
export function ggmlDataToTensor(blocks: Tensor, n: number, type: number): Tensor

/** Files of tensors in the safetensors format. */
export const safetensors: {
  /** The tensors of a file, by name. */
  decode(data: ArrayBufferView | ArrayBuffer): Record<string, Tensor>
  /** A file of float32 tensors, and metadata, an object of strings. */
  encode(tensors: Record<string, Tensor>, metadata?: Record<string, string> | null): Uint8Array
}

/** The number of nodes that the library keeps for this thread, for leak tests. */
export function liveNodes(): number

/** The version of the library that was loaded. */
export const version: string
