/**
 * Function transformations: gradients, Jacobians, tangents and batches, in any order and depth.
 *
 * A function takes and returns tensors, also in nested arrays and object literals. Each call of the transformed function calls it once,
 * on placeholders that have no elements. It must be pure: it cannot read elements, call backward or write tensors that it has not created
 * itself. Tensors from outside are constants. Options are given by position, or by name in an object as the last argument.
 *
 * @example
 * const loss = (w, x) => x.mul(w).sum().sub(1).square()
 * const w = new Tensor([1, 2])
 * const xs = new Tensor([[1, 0], [0, 1], [1, 1]])
 * grad(loss)(w, xs.getitem(0)).tolist()           // [0, 0]
 * vmap(grad(loss), [null, 0])(w, xs).tolist()     // [[0, 0], [0, 2], [4, 4]]: one for each example
 */

import type { DType, Tensor, TypedArray } from '../../index.js'

/** Leaves in nested arrays and objects; null and undefined are trees without leaves. */
export type JsTree<Leaf = Tensor> = Leaf | null | undefined | ReadonlyArray<JsTree<Leaf>> | { readonly [key: string]: JsTree<Leaf> }

/** Values that are converted to a tensor. */
export type Numbers = Tensor | TypedArray | number | bigint | boolean

/** What a caller may pass for an argument: a tensor may be given as numbers. */
export type Given<T> = T extends Tensor ? Numbers : T extends Numbers | string | null | undefined ? T | Tensor : { [K in keyof T]: Given<T[K]> }

/** A tree of tensors like T. */
export type Tensors<T> = T extends Numbers ? Tensor : T extends null | undefined ? T : { [K in keyof T]: Tensors<T[K]> }

/** For each result in a tree R, a tree of Jacobians with respect to an argument X. */
export type Jacobians<R, X> = R extends Numbers ? X : R extends null | undefined ? R : { [K in keyof R]: Jacobians<R[K], X> }

/** Argument N; negative N count from the end. */
type At<A extends readonly any[], N> = N extends number ? `${N}` extends keyof A ? A[`${N}` & keyof A] : A[number] : never

/** Trees like the arguments with respect to which a function is differentiated: one, or an array for several. */
type By<A extends readonly any[], N> = N extends readonly number[] ? { -readonly [K in keyof N]: Tensors<At<A, N[K]>> } : Tensors<At<A, N>>

/** The number of an argument, or an array of numbers. */
type Argnums = number | readonly number[]

/** A result and auxiliary output, as a function returns them with hasAux. */
type WithAux<R, Aux> = readonly [R, Aux] | [R, Aux]

/**
 * A function that computes the gradients of f, a loss, with respect to some arguments.
 *
 * The loss is a scalar. argnums is the number of an argument, 0 by default, or an array of numbers; a gradient is a tree like its argument.
 * With hasAux f returns [loss, auxiliary output], and the result is [gradients, auxiliary output].
 * With holomorphic the loss and the arguments are complex, and the gradients are the derivatives of the loss.
 *
 * @example
 * grad(grad((x) => x.pow(3)))(2).item() // 12
 */
export function grad<A extends any[], const N extends Argnums = 0>(
  f: (...args: A) => Tensor, argnums?: N | { argnums?: N, hasAux?: false, holomorphic?: boolean }): (...args: Given<A>) => By<A, N>
export function grad<A extends any[], Aux, const N extends Argnums = 0>(
  f: (...args: A) => WithAux<Tensor, Aux>, options: { argnums?: N, hasAux: true, holomorphic?: boolean }): (...args: Given<A>) => [By<A, N>, Tensors<Aux>]
export function grad<A extends any[], Aux, const N extends Argnums = 0>(
  f: (...args: A) => WithAux<Tensor, Aux>, argnums: N, hasAux: true): (...args: Given<A>) => [By<A, N>, Tensors<Aux>]

/**
 * A function that computes f, a loss, and its gradients with respect to some arguments: see grad.
 *
 * With hasAux the first result is [loss, auxiliary output].
 *
 * @example
 * const [value, gradient] = valueAndGrad((p) => p.w.square().sum())({ w: new Tensor([1, 3]) })
 * // value.item() is 10, gradient.w.tolist() is [2, 6]
 */
export function valueAndGrad<A extends any[], const N extends Argnums = 0>(
  f: (...args: A) => Tensor, argnums?: N | { argnums?: N, hasAux?: false, holomorphic?: boolean }): (...args: Given<A>) => [Tensor, By<A, N>]
export function valueAndGrad<A extends any[], Aux, const N extends Argnums = 0>(
  f: (...args: A) => WithAux<Tensor, Aux>,
  options: { argnums?: N, hasAux: true, holomorphic?: boolean }): (...args: Given<A>) => [[Tensor, Tensors<Aux>], By<A, N>]
export function valueAndGrad<A extends any[], Aux, const N extends Argnums = 0>(
  f: (...args: A) => WithAux<Tensor, Aux>, argnums: N, hasAux: true): (...args: Given<A>) => [[Tensor, Tensors<Aux>], By<A, N>]

/**
 * f of primals, an array with a tree for each argument, and its pullback: the function from a cotangent of the result to the gradients
 * (reverse mode).
 *
 * A cotangent is a tree like the result; the gradients are an array with a tree for each argument, with null for integers. The pullback
 * does not call f. With hasAux f returns [result, auxiliary output], and the auxiliary output comes third.
 *
 * @example
 * const [value, pullback] = vjp((x, y) => x.mul(y), [new Tensor(2), new Tensor(3)])
 * pullback(new Tensor(1)).map((g) => g.item()) // [3, 2]
 */
export function vjp<A extends any[], R>(
  f: (...args: A) => R, primals: Given<A>, options?: { hasAux?: false }): [Tensors<R>, (cotangent: Given<R>) => Tensors<A>]
export function vjp<A extends any[], R, Aux>(
  f: (...args: A) => WithAux<R, Aux>, primals: Given<A>,
  hasAux: true | { hasAux: true }): [Tensors<R>, (cotangent: Given<R>) => Tensors<A>, Tensors<Aux>]

/**
 * f of primals, and its directional derivative along tangents (forward mode).
 *
 * Primals and tangents are arrays with a tree for each argument. Tangents of integers are ignored. hasAux is as in vjp.
 *
 * @example
 * const [value, change] = jvp((x) => x.sin(), [new Tensor(0)], [new Tensor(2)]) // 0 and 2
 */
export function jvp<A extends any[], R>(
  f: (...args: A) => R, primals: Given<A>, tangents: Given<A>, options?: { hasAux?: false }): [Tensors<R>, Tensors<R>]
export function jvp<A extends any[], R, Aux>(
  f: (...args: A) => WithAux<R, Aux>, primals: Given<A>, tangents: Given<A>,
  hasAux: true | { hasAux: true }): [Tensors<R>, Tensors<R>, Tensors<Aux>]

/**
 * f of primals, and its linearization: the function from tangents of the primals to the tangent of the result, which does not call f.
 * hasAux is as in vjp.
 *
 * @example
 * const [value, change] = linearize((x) => x.square(), [new Tensor(3)])
 * change(new Tensor(1)).item() // 6
 */
export function linearize<A extends any[], R>(
  f: (...args: A) => R, primals: Given<A>, options?: { hasAux?: false }): [Tensors<R>, (...tangents: Given<A>) => Tensors<R>]
export function linearize<A extends any[], R, Aux>(
  f: (...args: A) => WithAux<R, Aux>, primals: Given<A>,
  hasAux: true | { hasAux: true }): [Tensors<R>, (...tangents: Given<A>) => Tensors<R>, Tensors<Aux>]

/**
 * The transpose of a linear function: a function of one argument, a cotangent of the result. A function that is not linear is an error.
 *
 * @example
 * linearTranspose((x) => x.mul(3), [new Tensor(0)])(new Tensor(2))[0].item() // 6
 */
export function linearTranspose<A extends any[], R>(f: (...args: A) => R, primals: Given<A>): (cotangent: Given<R>) => Tensors<A>

/** Batch axes: a number, null for a value that is the same for all elements, or a tree of these that is a prefix of the argument's or result's. */
export type BatchAxes = number | null | ReadonlyArray<BatchAxes> | { readonly [key: string]: BatchAxes }

/** The batch axes of the arguments: one for all, or an array with one entry for each. */
type ArgumentAxes = number | null | readonly BatchAxes[]

/**
 * A function that computes f for all elements of a batch at once.
 *
 * inAxes gives the batch axis of each argument, outAxes that of each result; 0 by default. axisSize is needed if no argument has a batch axis.
 * axisName names the axis for collective operations, such as psum of polygrad/lax. Random numbers are the same for all elements.
 *
 * @example
 * const x = new Tensor([[1, 2], [3, 4]])
 * vmap((v, w) => v.mul(w).sum(), [1, null])(x, new Tensor([1, 10])).tolist() // [31, 42]
 */
export function vmap<A extends any[], R>(
  f: (...args: A) => R, inAxes?: ArgumentAxes, outAxes?: number | null | readonly BatchAxes[], axisSize?: number | null,
  axisName?: string | null
): (...args: Given<A>) => Tensors<R>
export function vmap<A extends any[], R>(
  f: (...args: A) => R, inAxes: ArgumentAxes,
  options: { outAxes?: BatchAxes, axisSize?: number | null, axisName?: string | null }): (...args: Given<A>) => Tensors<R>
export function vmap<A extends any[], R>(
  f: (...args: A) => R,
  options: { inAxes?: ArgumentAxes, outAxes?: BatchAxes, axisSize?: number | null, axisName?: string | null }
): (...args: Given<A>) => Tensors<R>

/**
 * A function that computes the Jacobian of f with respect to some arguments, in forward mode: fast if the arguments have fewer elements than
 * the results.
 *
 * For each result the Jacobian is a tree like the argument (an array of trees if argnums is an array) of tensors whose shape is the shape of
 * the result followed by that of the argument. With hasAux f returns [result, auxiliary output], and the function [Jacobian, auxiliary output].
 *
 * @example
 * jacfwd((x) => x.square())(new Tensor([1, 2])).tolist() // [[2, 0], [0, 4]]
 */
export function jacfwd<A extends any[], R, const N extends Argnums = 0>(
  f: (...args: A) => R, argnums?: N | { argnums?: N, hasAux?: false, holomorphic?: boolean }): (...args: Given<A>) => Jacobians<R, By<A, N>>
export function jacfwd<A extends any[], R, Aux, const N extends Argnums = 0>(
  f: (...args: A) => WithAux<R, Aux>,
  options: { argnums?: N, hasAux: true, holomorphic?: boolean }): (...args: Given<A>) => [Jacobians<R, By<A, N>>, Tensors<Aux>]

/** jacfwd in reverse mode: fast if the results have fewer elements than the arguments. */
export function jacrev<A extends any[], R, const N extends Argnums = 0>(
  f: (...args: A) => R, argnums?: N | { argnums?: N, hasAux?: false, holomorphic?: boolean }): (...args: Given<A>) => Jacobians<R, By<A, N>>
export function jacrev<A extends any[], R, Aux, const N extends Argnums = 0>(
  f: (...args: A) => WithAux<R, Aux>,
  options: { argnums?: N, hasAux: true, holomorphic?: boolean }): (...args: Given<A>) => [Jacobians<R, By<A, N>>, Tensors<Aux>]

/**
 * A function that computes the second derivatives of f with respect to some arguments: jacfwd of jacrev.
 *
 * @example
 * hessian((x) => x.pow(3).sum())(new Tensor([1, 2])).tolist() // [[6, 0], [0, 12]]
 */
export function hessian<A extends any[], R, const N extends Argnums = 0>(
  f: (...args: A) => R, argnums?: N | { argnums?: N, hasAux?: false, holomorphic?: boolean }): (...args: Given<A>) => Jacobians<Jacobians<R, By<A, N>>, By<A, N>>
export function hessian<A extends any[], R, Aux, const N extends Argnums = 0>(
  f: (...args: A) => WithAux<R, Aux>,
  options: { argnums?: N, hasAux: true, holomorphic?: boolean }): (...args: Given<A>) => [Jacobians<Jacobians<R, By<A, N>>, By<A, N>>, Tensors<Aux>]

/**
 * The Hessian-vector product of f, a loss, without computing the Hessian.
 *
 * Primals and vectors are arrays with a tree for each argument, and so is the result.
 *
 * @example
 * hvp((x) => x.pow(3).sum(), [new Tensor([1, 2])], [new Tensor([1, 1])])[0].tolist() // [6, 12]
 */
export function hvp<A extends any[]>(f: (...args: A) => Tensor, primals: Given<A>, vectors: Given<A>): Tensors<A>

/**
 * A tree through which no derivative flows.
 *
 * @example
 * grad((x) => x.mul(stopGradient(x)))(3).item() // 3
 */
export function stopGradient<T>(tree: T): T

/** The shape and data type of a tensor: see evalShape. */
export interface ShapeDtype {
  shape: Tensor['shape']
  dtype: DType
}

/** A tree like T of shapes and data types. */
export type Shapes<T> = T extends Numbers ? ShapeDtype : T extends null | undefined ? T : { [K in keyof T]: Shapes<T[K]> }

/**
 * The shapes and data types of what f returns, without computing it.
 *
 * @example
 * evalShape((x) => x.matmul(x.T), Tensor.empty(1000, 2)) // { shape: [1000, 1000], dtype: 'float32' }
 */
export function evalShape<A extends any[], R>(f: (...args: A) => R, ...args: Given<A>): Shapes<R>

/**
 * Applies f to the leaves of a tree, and to those of further trees of the same structure; returns a tree of the results.
 *
 * @example
 * treeMap((p, g) => p.sub(g.mul(0.1)), params, gradients)
 */
export function treeMap<T, R>(f: (leaf: any, ...rest: any[]) => R, tree: T, ...rest: unknown[]): Mapped<T, R>

/** A tree like T with leaves R. */
export type Mapped<T, R> = T extends Numbers | string ? R : T extends null | undefined ? T : { [K in keyof T]: Mapped<T[K], R> }

/**
 * Calls a layer with its parameters replaced, by their names in its state (getStateDict). The layer itself does not change.
 *
 * @example
 * const layer = new Linear(2, 1, { bias: false })
 * functionalCall(layer, { weight: new Tensor([[1, 10]]) }, new Tensor([3, 4])).tolist() // [43]
 */
export function functionalCall<A extends any[], R>(
  module: { forward(...args: A): R }, parameters: { readonly [name: string]: Tensor }, ...args: A): R

/** The values that checkpoint stores in addition to the arguments. */
export type CheckpointPolicy = 'nothingSaveable' | 'dotsSaveable' | 'everythingSaveable'

/**
 * f with rematerialization: its derivatives recompute intermediate values instead of storing them.
 *
 * Stored are the arguments and, depending on the policy, nothing else, the results of matrix products and convolutions, or everything, as
 * without checkpoint. The arguments staticArgnums are passed to f as they are.
 *
 * @example
 * const block = checkpoint((x, w) => x.matmul(w).tanh().matmul(w).tanh(), { policy: 'dotsSaveable' })
 */
export function checkpoint<A extends any[], R>(
  f: (...args: A) => R, policy?: CheckpointPolicy | { policy?: CheckpointPolicy, staticArgnums?: Argnums }
): (...args: Given<A>) => Tensors<R>

/** Trees of tensors, one for each argument. */
type All<A extends any[]> = { [K in keyof A]: Tensors<A[K]> }

/** A rule of customJvp: takes primals and tangents, returns [result, tangent of the result]; the latter must be linear in the tangents. */
export type JvpRule<A extends any[], R> = (primals: All<A>, tangents: All<A>) => readonly [Given<R>, Given<R>]

/** A function with a custom derivative in forward mode, set by defjvp: see customJvp. */
export interface CustomJvp<A extends any[], R, Rule = JvpRule<A, R>> {
  (...args: Given<A>): Tensors<R>
  /** Sets the rule, and returns the function. */
  defjvp(rule: Rule): this
  /** Sets one rule for each argument, a function of its tangent, the result and the arguments; null for an argument with a zero derivative. */
  defjvps(...rules: Array<((tangent: any, result: Tensors<R>, ...primals: All<A>) => Tensor) | null | undefined>): this
}

/**
 * A function with a custom rule for forward mode; reverse mode uses the transpose of the rule.
 *
 * The rule may call the function. The arguments nondiffArgnums are not differentiated; the rule receives them first.
 *
 * @example
 * const f = customJvp((x) => x.sin())
 * f.defjvp(([x], [t]) => [f(x), t.mul(10)])
 * grad(f)(0).item() // 10
 */
export function customJvp<A extends any[], R>(f: (...args: A) => R): CustomJvp<A, R>
export function customJvp<A extends any[], R>(
  f: (...args: A) => R, nondiffArgnums: Argnums | { nondiffArgnums?: Argnums }
): CustomJvp<A, R, (...args: any[]) => readonly [Given<R>, Given<R>]>

/** A function with custom gradients, set by defvjp: see customVjp. */
export interface CustomVjp<A extends any[], R, Whole extends boolean = true> {
  (...args: Given<A>): Tensors<R>
  /**
   * Sets the rules, and returns the function. fwd returns [result, residuals]; bwd takes the residuals and a cotangent of the result, and
   * returns an array with a gradient for each argument, null for zero.
   */
  defvjp<S>(
    fwd: (...args: A) => readonly [Given<R>, S],
    bwd: Whole extends true ? (stored: Tensors<S>, cotangent: Tensors<R>) => Gradients<A> : (...args: any[]) => readonly unknown[]
  ): this
}

/** A gradient for each argument, null for zero. */
type Gradients<A extends any[]> = Readonly<{ [K in keyof A]: Given<Tensors<A[K]>> | null }>

/**
 * A function with a custom rule for reverse mode.
 *
 * The arguments nondiffArgnums are not differentiated; bwd receives them first. Forward mode uses the transpose of bwd, at cotangents of 0.
 *
 * @example
 * const clipped = customVjp((x) => x).defvjp((x) => [x, null], (_, g) => [g.clamp(-1, 1)])
 * grad((x) => clipped(x).square())(3).item() // 1
 */
export function customVjp<A extends any[], R>(f: (...args: A) => R): CustomVjp<A, R>
export function customVjp<A extends any[], R>(
  f: (...args: A) => R, nondiffArgnums: Argnums | { nondiffArgnums?: Argnums }): CustomVjp<A, R, false>

/** A tree of booleans of the structure of T. */
type Flags<T> = T extends Tensor | number | bigint | boolean | ArrayBufferView ? boolean : { [K in keyof T]: Flags<T[K]> }

/** A function with a custom batching rule, set by defVmap: see customVmap. */
export interface CustomVmap<A extends any[], R> {
  (...args: Given<A>): Tensors<R>
  /**
   * Sets the rule, and returns the function. The rule takes the batch size, an array with a tree of booleans for each argument (true: batched),
   * and the arguments; batched ones have the batch as first axis. It returns [result, a tree of booleans that say which results are batched].
   */
  defVmap(rule: (axisSize: number, inBatched: Flags<A>, ...args: All<A>) => readonly [Given<R>, Flags<R>]): this
}

/**
 * A function with a custom batching rule, which vmap uses. The rule may call the function, and vmap.
 *
 * Inside vmap, tangents are those of the rule and gradients those of the function; derivatives of vmap are those of the rule's computation.
 *
 * @example
 * const product = customVmap((a, b) => a.mul(b).sum()).defVmap((size, [inA, inB], a, b) => [a.mul(b).sum(1), true])
 * vmap(product, [null, 0])(new Tensor([1, 10]), new Tensor([[1, 2], [3, 4]])).tolist() // [21, 43]
 */
export function customVmap<A extends any[], R>(f: (...args: A) => R): CustomVmap<A, R>

/**
 * f, which vmap applies to the elements of the batch one after the other, as lax.map does.
 *
 * @example
 * vmap(sequentialVmap((x) => x.mul(2)))(new Tensor([1, 2])).tolist() // [2, 4]
 */
export function sequentialVmap<A extends any[], R>(f: (...args: A) => R): CustomVmap<A, R>

/** A function that is compiled for arguments of one signature; others are errors. */
export interface CompiledFunction<A extends any[], R> {
  (...args: Given<A>): Tensors<R>
  /** The number of kernels that a run launches. */
  readonly nKernels: number
}

/** A function that is compiled once for each signature of its arguments: see jit. */
export interface Jitted<A extends any[], R> {
  (...args: Given<A>): Tensors<R>
  /** The function for such arguments, to print it or to compile it ahead of time. */
  lower(...args: Given<A>): { asText(): string, compile(): CompiledFunction<A, R> }
  /** The numbers of cache hits, of misses (compilations) and of cached programs. */
  cacheInfo(): { hits: number, misses: number, size: number }
  /** The number of cached programs. */
  cacheSize(): number
  /** Drops all cached programs. */
  clearCache(): void
}

/**
 * A function that is compiled once for each signature of its arguments; later calls only run the program.
 *
 * The signature is the tree of the arguments, the shapes and types of its tensors, and the values of the arguments staticArgnums and of other
 * leaves; objects in trees are compared by their contents, functions by identity. Numbers and typed arrays are tensors. Results of the same
 * shape and type reuse the memory of the arguments donateArgnums: the argument's tensor then is that result. Transformations of the function
 * call f itself, not the compiled program.
 *
 * @example
 * const slope = jit(grad((x, n) => x.pow(n)), { staticArgnums: 1 })
 * slope(2, 3).item() // 12
 * slope(3, 3).item() // 27, by the same program
 * slope.cacheInfo()  // { hits: 1, misses: 1, size: 1 }
 */
export function jit<A extends any[], R>(
  f: (...args: A) => R, options?: Argnums | { staticArgnums?: Argnums, donateArgnums?: Argnums }): Jitted<A, R>

/**
 * A function that returns f, traced on its arguments, as text: inputs, one equation a line, outputs, with their types; bodies of loops are
 * indented.
 *
 * @example
 * console.log(makeJaxpr((x) => x.mul(2).sin())(1))
 * // { lambda ; a:float32[]. let
 * //     b:float32[] = mul a 2.0
 * //     c:float32[] = sin b
 * //   in (c) }
 */
export function makeJaxpr<A extends any[], R>(
  f: (...args: A) => R, staticArgnums?: Argnums | { staticArgnums?: Argnums }): (...args: Given<A>) => string
