/** Layers, optimizers, and tools for training loops. */

import type { Disposing, Tensor, TensorData, TypedArray } from '../../index.js'
import type { Dropout, LayerNorm, Linear, RMSNorm } from './layers.js'

export type { PerAxis, Tensor } from '../../index.js'
export * from './layers.js'
export * from './optim.js'
export * from './schedules.js'
export { LRScheduler, LambdaLR, SequentialLR } from './scheduler.js'

/** A layer: a function of tensors with parameters. */
export interface Layer {
  forward(x: Tensor): Tensor
}

/** Layers and functions, applied in order. */
export class Sequential implements Layer {
  constructor(...layers: Array<Layer | ((x: Tensor) => Tensor)>)
  readonly layers: Array<Layer | ((x: Tensor) => Tensor)>
  /** The result of the last layer. */
  forward(x: Tensor): Tensor
}

/** The state of an LSTM: h and c. */
export type LSTMState = readonly [h: Tensor, c: Tensor]

/**
 * Attention of numHeads heads (Vaswani et al., Attention Is All You Need, arXiv:1706.03762). qProj, kProj and vProj
 * make queries, keys and values of width embedDim / numHeads for each head, oProj projects the concatenated heads.
 * numKvHeads, a divisor of numHeads, lets several query heads share one key-value head (Ainslie et al., GQA,
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
 * A transformer block: attention, then two linear layers, each with a residual connection:
 * x + attn(attnNorm(x)), and that plus down(activation(up(ffNorm(…)))). norm is "layer" (default) or "rms";
 * without preNorm the norms follow the sums instead. up has ffDim units, 4 * embedDim by default; activation is
 * gelu by default. dropout (0) acts on attention weights and on both residual branches in training mode. causal masks later
 * positions.
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
 * The base class of optimizers. step() computes all new values from the old ones, in one program, and
 * writes them in place; it works outside of Tensor.train(), too.
 */
export abstract class Optimizer {
  /** The parameters, each once. */
  readonly params: Tensor[]
  /** The given tensors that no step changes: those with requiresGrad false, and integers. */
  readonly buffers: Tensor[]
  /** The learning rate. Programs of compileStep read it, so a change compiles nothing. */
  lr: number
  /** Removes the gradients of all parameters. */
  zeroGrad(): void
  /** Updates each parameter that has a gradient. */
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
  /** The given tensors that the optimizers do not change. */
  readonly buffers: Tensor[]
  /** Removes the gradients of all parameters. */
  zeroGrad(): void
  /** Updates each parameter that has a gradient. */
  step(): void
  /** step computed in another thread. */
  stepAsync(): Promise<void>
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

/**
 * The tensors in an object, its properties, lists and maps, by dotted name. Layers and optimizers of the package give the
 * names of Python and PyTorch: the property runningMean is running_mean.
 */
export function getStateDict(object: unknown, prefix?: string): Record<string, Tensor>

/**
 * The tensors in an object that an optimizer may change, each once: those of floating types whose requiresGrad is
 * true, or null, which an optimizer makes true.
 */
export function getParameters(object: unknown): Tensor[]

/**
 * Copies tensors (or lists, or typed arrays) into the tensors of the same names in a model, converted to their
 * types. With strict (the default), each tensor of the model must be there; what the model lacks is a warning, if
 * verbose (the default). Names of properties (runningMean) are taken, too. A tensor of shape [] may stand for one of
 * [1]. All is checked before the first tensor changes.
 */
export function loadStateDict(model: unknown, stateDict: Record<string, TensorData> | Map<string, TensorData>,
  options?: { strict?: boolean, verbose?: boolean }): void

/** A program that was traced from a function of tensors; see compileStep. */
export class CompiledTrainingStep implements Disposing {
  private constructor()
  /** Executes all kernels: forward, backward and the update. */
  run(): void
  /** run in another thread, without blocking the event loop. */
  runAsync(): Promise<void>
  /** The loss of the last run, computed before its update. */
  lossValue(): number
  /** lossValue for a device whose results come by await only. */
  lossValueAsync(): Promise<number>
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
 * loss, a list of tensors (the loss first) or nothing; it must not read values. The tensors it uses are
 * inputs of the program: write new data into them (x.data.set(…)) and call run() again. Numbers and
 * shapes are constants of the program.
 */
export function compileStep<A extends unknown[]>(fn: (...args: A) => Tensor | Tensor[] | void, ...args: A): CompiledTrainingStep

/** A model file: a path, or its contents. */
export type ModelFile = string | ArrayBufferView | ArrayBuffer | Tensor

/**
 * The tensors of a safetensors file by name, in the order of its header, on its mapped memory.
 *
 * @param file a path: of a file, of a folder with model.safetensors or with shards and their index, or of such an index;
 *   or the contents of a file
 * @example
 * safeSave({ weight: new Tensor([[1, 2]]) }, 'model.safetensors')
 * safeLoad('model.safetensors').weight.tolist() // [[1, 2]]
 */
export function safeLoad(file: ModelFile): Record<string, Tensor>

/** The metadata of a safetensors file, null if it has none. */
export function safeLoadMetadata(file: ModelFile): Record<string, string> | null

/** Options of safeSave: metadata, and the limit of bytes of a file, beyond which shards are written. */
export interface SaveOptions {
  metadata?: Record<string, string> | null
  maxShardSize?: number | null
}

/**
 * Writes tensors, given by name, to a safetensors file.
 *
 * If they have more bytes than maxShardSize together, they are written to shards, model-00001-of-00003.safetensors and so on
 * for model.safetensors, with an index. Each file is replaced as a whole.
 *
 * @param options metadata, an object of strings, and maxShardSize, in bytes
 */
export function safeSave(tensors: Record<string, Tensor>, path: string, options?: SaveOptions): void

/**
 * The metadata of a GGUF file and its tensors by name. Quantised tensors stay packed in the mapped memory: kernels that use
 * them compute their elements, float32; realize() unpacks them to memory.
 */
export function ggufLoad(file: ModelFile): [Record<string, unknown>, Record<string, Tensor>]

/**
 * What torch.save wrote, with tensors of polygrad: objects, arrays, numbers (BigInt beyond 53 bits), strings; a Map where
 * keys are not strings. A file that needs Python code is an error that names it; no code is run.
 */
export function torchLoad(file: ModelFile): any

/**
 * The n elements of ggml's quantised blocks, lazily: blocks are uint8 in any shape, and type is ggml's number: 0 F32, 1 F16,
 * 2 Q4_0, 3 Q4_1, 6 Q5_0, 7 Q5_1, 8 Q8_0, 10 Q2_K, 11 Q3_K, 12 Q4_K, 13 Q5_K, 14 Q6_K, 30 BF16, 39 MXFP4.
 */
export function ggmlDataToTensor(blocks: Tensor, n: number, type: number): Tensor
