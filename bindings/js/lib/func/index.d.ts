/**
 * Functions of functions: gradients, Jacobians, tangents and batches, in any order and depth.
 *
 * A function takes and returns tensors, also in nested arrays and object literals. It is called once for each call of the new function,
 * on placeholders that have no elements, and must be pure: it cannot read elements, call backward or write tensors that it has not made
 * itself. Tensors from outside are constants. Options are given by position, or by name as an object in the last place.
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

/** What becomes a tensor. */
export type Numbers = Tensor | TypedArray | number | bigint | boolean

/** What is given for an argument: for a tensor also numbers. */
export type Given<T> = T extends Tensor ? Numbers : T extends Numbers | string | null | undefined ? T | Tensor : { [K in keyof T]: Given<T[K]> }

/** A tree of tensors like T. */
export type Tensors<T> = T extends Numbers ? Tensor : T extends null | undefined ? T : { [K in keyof T]: Tensors<T[K]> }

/** For each result of a tree R a tree of Jacobians by an argument X. */
export type Jacobians<R, X> = R extends Numbers ? X : R extends null | undefined ? R : { [K in keyof R]: Jacobians<R[K], X> }

/** The argument of number N, which counts from the end if it is negative. */
type At<A extends readonly any[], N> = N extends number ? `${N}` extends keyof A ? A[`${N}` & keyof A] : A[number] : never

/** Trees like the arguments that are differentiated by: one, or an array for several. */
type By<A extends readonly any[], N> = N extends readonly number[] ? { -readonly [K in keyof N]: Tensors<At<A, N[K]>> } : Tensors<At<A, N>>

/** The number of an argument, or an array of numbers. */
type Argnums = number | readonly number[]

/** A result and what comes with it, as a function returns both with hasAux. */
type WithAux<R, Aux> = readonly [R, Aux] | [R, Aux]

/**
 * A function that computes the gradients of f, a loss, by some arguments.
 *
 * The loss is a scalar. argnums is the number of an argument, 0 by default, or an array of numbers; a gradient is a tree like its argument.
 * With hasAux f returns an array of the loss and anything else, and the result is an array of the gradients and that.
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
 * A function that computes f, a loss, and its gradients by some arguments: see grad.
 *
 * With hasAux the first result is an array of the loss and what comes with it.
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
 * f of primals, an array with a tree for each argument, and the function from a cotangent of the result to gradients (reverse mode).
 *
 * A cotangent is a tree like the result; the gradients are an array with a tree for each argument, where integers have null. The function
 * does not call f. With hasAux f returns an array of its result and anything else, which comes third.
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
 * f of primals, and its change if these change by tangents (forward mode).
 *
 * Both are arrays with a tree for each argument. Tangents of integers do not matter. hasAux is that of vjp.
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
 * f of primals, and the function from tangents of primals to those of the result, which does not call f. hasAux is that of vjp.
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
 * The transpose of a linear function, of one argument like its result; a function that is not linear is an error.
 *
 * @example
 * linearTranspose((x) => x.mul(3), [new Tensor(0)])(new Tensor(2))[0].item() // 6
 */
export function linearTranspose<A extends any[], R>(f: (...args: A) => R, primals: Given<A>): (cotangent: Given<R>) => Tensors<A>

/** Axes of a batch: a number, null for what is the same for all elements, or a tree of them like arguments or results, or its beginning. */
export type BatchAxes = number | null | ReadonlyArray<BatchAxes> | { readonly [key: string]: BatchAxes }

/** The axes of arguments: one for all, or an array with those of each. */
type ArgumentAxes = number | null | readonly BatchAxes[]

/**
 * A function that computes f for all elements of a batch at once.
 *
 * inAxes says along which axis of each argument the elements lie, outAxes along which axis of each result; 0 by default. axisSize is needed
 * if no argument has an axis. axisName is a name for psum and the like of polygrad/lax. Random numbers are the same for all elements.
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
 * A function that computes the Jacobian of f by some arguments in forward mode, which suits functions with fewer arguments than results.
 *
 * For each result it is a tree like the argument, or an array of trees if argnums is one, of tensors of the shape of the result followed by
 * that of the argument. With hasAux f returns an array of its result and anything else, and so does the function.
 *
 * @example
 * jacfwd((x) => x.square())(new Tensor([1, 2])).tolist() // [[2, 0], [0, 4]]
 */
export function jacfwd<A extends any[], R, const N extends Argnums = 0>(
  f: (...args: A) => R, argnums?: N | { argnums?: N, hasAux?: false, holomorphic?: boolean }): (...args: Given<A>) => Jacobians<R, By<A, N>>
export function jacfwd<A extends any[], R, Aux, const N extends Argnums = 0>(
  f: (...args: A) => WithAux<R, Aux>,
  options: { argnums?: N, hasAux: true, holomorphic?: boolean }): (...args: Given<A>) => [Jacobians<R, By<A, N>>, Tensors<Aux>]

/** jacfwd in reverse mode, for functions with fewer results than arguments. */
export function jacrev<A extends any[], R, const N extends Argnums = 0>(
  f: (...args: A) => R, argnums?: N | { argnums?: N, hasAux?: false, holomorphic?: boolean }): (...args: Given<A>) => Jacobians<R, By<A, N>>
export function jacrev<A extends any[], R, Aux, const N extends Argnums = 0>(
  f: (...args: A) => WithAux<R, Aux>,
  options: { argnums?: N, hasAux: true, holomorphic?: boolean }): (...args: Given<A>) => [Jacobians<R, By<A, N>>, Tensors<Aux>]

/**
 * A function that computes the second derivatives of f by some arguments: jacfwd of jacrev.
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
 * The products of the second derivatives of f, a loss, with vectors, without the Hessian.
 *
 * Both are arrays with a tree for each argument, and so is the result.
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
 * A tree of f of the leaves of a tree, and of those of trees like it.
 *
 * @example
 * treeMap((p, g) => p.sub(g.mul(0.1)), params, gradients)
 */
export function treeMap<T, R>(f: (leaf: any, ...rest: any[]) => R, tree: T, ...rest: unknown[]): Mapped<T, R>

/** A tree like T with leaves R. */
export type Mapped<T, R> = T extends Numbers | string ? R : T extends null | undefined ? T : { [K in keyof T]: Mapped<T[K], R> }

/**
 * Calls a layer with other parameters than its own, by their names in its state (getStateDict). The layer is as before afterwards.
 *
 * @example
 * const layer = new Linear(2, 1, { bias: false })
 * functionalCall(layer, { weight: new Tensor([[1, 10]]) }, new Tensor([3, 4])).tolist() // [43]
 */
export function functionalCall<A extends any[], R>(
  module: { forward(...args: A): R }, parameters: { readonly [name: string]: Tensor }, ...args: A): R

/** What checkpoint stores beside the arguments. */
export type CheckpointPolicy = 'nothingSaveable' | 'dotsSaveable' | 'everythingSaveable'

/**
 * f, whose derivatives compute it again instead of storing what they need of it.
 *
 * They store the arguments, and what the policy says: nothing else, the results of matrix products and convolutions, or everything, as
 * without checkpoint. The arguments staticArgnums stay as they are.
 *
 * @example
 * const block = checkpoint((x, w) => x.matmul(w).tanh().matmul(w).tanh(), { policy: 'dotsSaveable' })
 */
export function checkpoint<A extends any[], R>(
  f: (...args: A) => R, policy?: CheckpointPolicy | { policy?: CheckpointPolicy, staticArgnums?: Argnums }
): (...args: Given<A>) => Tensors<R>

/** Trees of tensors, one for each argument. */
type All<A extends any[]> = { [K in keyof A]: Tensors<A[K]> }

/** A rule of customJvp: of primals and tangents, an array of the result and its tangent, in which it is linear. */
export type JvpRule<A extends any[], R> = (primals: All<A>, tangents: All<A>) => readonly [Given<R>, Given<R>]

/** A function with tangents by a rule, which defjvp states: see customJvp. */
export interface CustomJvp<A extends any[], R, Rule = JvpRule<A, R>> {
  (...args: Given<A>): Tensors<R>
  /** States the rule, and returns the function. */
  defjvp(rule: Rule): this
  /** States a rule for each argument, of its tangent, the result and the arguments; null where the tangent is zero. */
  defjvps(...rules: Array<((tangent: any, result: Tensors<R>, ...primals: All<A>) => Tensor) | null | undefined>): this
}

/**
 * A function with tangents by a rule, which serves both modes.
 *
 * The rule may call the function. Arguments nondiffArgnums stay as they are; they come first in the rule.
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

/** A function with gradients by rules, which defvjp states: see customVjp. */
export interface CustomVjp<A extends any[], R, Whole extends boolean = true> {
  (...args: Given<A>): Tensors<R>
  /**
   * States the rules, and returns the function. fwd returns the result and what bwd needs; bwd returns an array of gradients, one for each
   * argument, where null is zero.
   */
  defvjp<S>(
    fwd: (...args: A) => readonly [Given<R>, S],
    bwd: Whole extends true ? (stored: Tensors<S>, cotangent: Tensors<R>) => Gradients<A> : (...args: any[]) => readonly unknown[]
  ): this
}

/** A gradient for each argument, null for zero. */
type Gradients<A extends any[]> = Readonly<{ [K in keyof A]: Given<Tensors<A[K]>> | null }>

/**
 * A function with gradients by two rules.
 *
 * Arguments nondiffArgnums stay as they are; they come first in the second rule. Forward mode takes the transpose of that rule, at
 * cotangents of 0.
 *
 * @example
 * const clipped = customVjp((x) => x).defvjp((x) => [x, null], (_, g) => [g.clamp(-1, 1)])
 * grad((x) => clipped(x).square())(3).item() // 1
 */
export function customVjp<A extends any[], R>(f: (...args: A) => R): CustomVjp<A, R>
export function customVjp<A extends any[], R>(
  f: (...args: A) => R, nondiffArgnums: Argnums | { nondiffArgnums?: Argnums }): CustomVjp<A, R, false>

/** A tree of booleans like another one. */
type Flags<T> = T extends Tensor | number | bigint | boolean | ArrayBufferView ? boolean : { [K in keyof T]: Flags<T[K]> }

/** A function with a rule for batches, which defVmap states: see customVmap. */
export interface CustomVmap<A extends any[], R> {
  (...args: Given<A>): Tensors<R>
  /**
   * States the rule, and returns the function. It gets the size of the batch, a tree of booleans for each argument, which say whether it is
   * batched, and the arguments, those that are batched along a first axis. It returns the result, and a tree of booleans like it.
   */
  defVmap(rule: (axisSize: number, inBatched: Flags<A>, ...args: All<A>) => readonly [Given<R>, Flags<R>]): this
}

/**
 * A function with a rule for batches, which vmap uses. The rule may call the function, and vmap.
 *
 * Tangents in a batch are those of the rule, gradients those of the function; around vmap both are those of what the rule computes.
 *
 * @example
 * const product = customVmap((a, b) => a.mul(b).sum()).defVmap((size, [inA, inB], a, b) => [a.mul(b).sum(1), true])
 * vmap(product, [null, 0])(new Tensor([1, 10]), new Tensor([[1, 2], [3, 4]])).tolist() // [21, 43]
 */
export function customVmap<A extends any[], R>(f: (...args: A) => R): CustomVmap<A, R>

/**
 * The function f, which vmap computes for one element of the batch after the other, as lax.map does.
 *
 * @example
 * vmap(sequentialVmap((x) => x.mul(2)))(new Tensor([1, 2])).tolist() // [2, 4]
 */
export function sequentialVmap<A extends any[], R>(f: (...args: A) => R): CustomVmap<A, R>

/** A function that is compiled for one kind of arguments: other ones are errors. */
export interface CompiledFunction<A extends any[], R> {
  (...args: Given<A>): Tensors<R>
  /** The number of kernels that a run launches. */
  readonly nKernels: number
}

/** A function that is compiled once for each kind of its arguments: see jit. */
export interface Jitted<A extends any[], R> {
  (...args: Given<A>): Tensors<R>
  /** The function for such arguments: as text, and to compile it before it is called. */
  lower(...args: Given<A>): { asText(): string, compile(): CompiledFunction<A, R> }
  /** How often a program was found and compiled, and how many there are. */
  cacheInfo(): { hits: number, misses: number, size: number }
  /** How many programs there are. */
  cacheSize(): number
  /** Forgets all programs. */
  clearCache(): void
}

/**
 * A function that is compiled once for each kind of its arguments, and then only run.
 *
 * A kind are the tree of the arguments, the shapes and types of its tensors, and the values of the arguments staticArgnums and of other
 * leaves; objects in trees are compared by what they hold, functions by identity. Numbers and typed arrays are tensors. The memory of the
 * arguments donateArgnums becomes that of results of their shape and type: the tensor is then this result. Transformations of the function
 * call f as it is.
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
 * The function from arguments of f to f as text: inputs, one equation a line, outputs, with their types; bodies of loops are indented.
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
