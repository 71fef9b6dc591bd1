/**
 * Loops and branches: parts of the graph, which run in the library. Neither the graph nor the time to compile a loop grow with the number of
 * its steps.
 *
 * Their functions are called on placeholders and must be pure, as those of polygrad/func; both nest in each other in any order. Arguments and
 * results are trees of tensors. Numbers that begin a carry take the type that a step gives them.
 */

import type { Tensor } from '../../index.js'
import type { Given, Numbers, Tensors } from './index.js'

/** What a step returns for a carry C: a tree like it, also of numbers. */
type Next<C> = Given<Tensors<C>>

/**
 * Runs a step for each element of sequences, and returns the last carry and what it keeps.
 *
 * f(carry, x) returns an array of the next carry, a tree of the same types and shapes as init, and a tree that is kept. x is xs, a tree, at
 * one place along the first axes; what is kept is stacked along such an axis. With reverse the steps begin at the end of xs. length is needed
 * if xs has no tensors. The loop has derivatives in both modes; reverse mode stores the carry before each step and computes the step again.
 * unroll is a hint that changes no result.
 *
 * @example
 * const [total, sums] = lax.scan((c, x) => [c.add(x), c.add(x)], 0, new Tensor([1, 2, 3])) // 6 and [1, 3, 6]
 */
export function scan<const C, const X, Y>(
  f: (carry: Tensors<C>, x: Tensors<X>) => readonly [Next<C>, Y], init: C, xs: X,
  options?: number | null | { length?: number | null, reverse?: boolean, unroll?: number | boolean }): [Tensors<C>, Tensors<Y>]

/**
 * The value after a loop that lasts while a condition holds.
 *
 * condFun returns a bool of shape [], bodyFun the next value, a tree of the same types and shapes. The number of steps is only known when they
 * have run, so there are derivatives in forward mode only; for reverse mode use scan or foriLoop. In vmap the loop goes on until the condition
 * is false for all elements, each of which keeps its value from when it is false.
 *
 * @example
 * lax.whileLoop((x) => x.lt(100), (x) => x.mul(2), 3).item() // 192
 */
export function whileLoop<const C>(
  condFun: (value: Tensors<C>) => Tensor | boolean, bodyFun: (value: Tensors<C>) => Next<C>, initVal: C): Tensors<C>

/**
 * The value after a loop over the integers from lower to upper - 1.
 *
 * bodyFun(i, value) returns the next value, a tree of the same types and shapes; i is an int32 of shape []. The loop is a scan if the bounds
 * are numbers, and a whileLoop, with derivatives in forward mode only, if one is a tensor.
 *
 * @example
 * lax.foriLoop(1, 6, (i, x) => x.mul(i), 1).item() // 120
 */
export function foriLoop<const C>(
  lower: number | Tensor, upper: number | Tensor, bodyFun: (i: Tensor, value: Tensors<C>) => Next<C>, initVal: C): Tensors<C>

/**
 * f of the elements of trees along their first axes, stacked: one after the other, or batchSize at once. vmap computes all at once.
 *
 * @example
 * lax.map((x) => x.a.mul(2), { a: new Tensor([1, 2, 3]) }).tolist() // [2, 4, 6]
 */
export function map<const X, R>(
  f: (x: Tensors<X>) => R, xs: X, batchSize?: number | null | { batchSize?: number | null }): Tensors<R>

/**
 * trueFun or falseFun of operands, of which only that one is computed.
 *
 * pred is a bool of shape [], or a number, of which 0 is false. Both functions return trees of the same types and shapes. In vmap with a pred
 * for each element both are computed.
 *
 * @example
 * lax.cond(new Tensor(3).gt(2), (x) => x.add(1), (x) => x.sub(1), 10).item() // 11
 */
export function cond<A extends any[], R>(
  pred: Numbers, trueFun: (...operands: { [K in keyof A]: Tensors<A[K]> }) => R,
  falseFun: (...operands: { [K in keyof A]: Tensors<A[K]> }) => Given<R>, ...operands: A): Tensors<R>

/** One of several functions of operands: see switch. */
declare function switchOf<A extends any[], R>(
  index: number | Tensor, branches: ReadonlyArray<(...operands: { [K in keyof A]: Tensors<A[K]> }) => R>, ...operands: A): Tensors<R>

export {
  /**
   * One of several functions of operands, of which only that one is computed.
   *
   * index is an integer of shape []; numbers out of range stand for the first and the last. All functions return trees of the same types and
   * shapes. In vmap with an index for each element all of them are computed.
   *
   * @example
   * lax.switch(1, [(x) => x.mul(2), (x) => x.square()], 5).item() // 25
   */
  switchOf as switch
}

/**
 * The results of an associative function of all elements up to each place.
 *
 * fn(a, b) takes two trees like elems with one place along the axis; a comes before b, or behind it with reverse. It is called once, and
 * computed for many places at once.
 *
 * @example
 * lax.associativeScan((a, b) => a.mul(b), new Tensor([1, 2, 3, 4])).tolist() // [1, 2, 6, 24]
 */
export function associativeScan<const T>(
  fn: (a: Tensors<T>, b: Tensors<T>) => Next<T>, elems: T, options?: boolean | { reverse?: boolean, axis?: number }): Tensors<T>

/**
 * The elements of onTrue where pred is true, else those of onFalse: of the same type and shape. pred is a bool of that shape, or of shape [].
 *
 * @example
 * lax.select(new Tensor([true, false]), new Tensor([1, 2]), new Tensor([3, 4])).tolist() // [1, 4]
 */
export function select(pred: Numbers, onTrue: Numbers, onFalse: Numbers): Tensor
