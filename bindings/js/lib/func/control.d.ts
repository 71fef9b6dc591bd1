/**
 * Control flow: loops and branches are nodes of the graph and run in the library. Neither the graph nor the compile time of a loop grows
 * with the number of its steps.
 *
 * The functions that are passed are called on placeholders and must be pure, like those of polygrad/func; control flow and transformations
 * nest in any order. Arguments and results are trees of tensors. A number in an initial carry takes the type that the step returns for it.
 */

import type { Tensor } from '../../index.js'
import type { Given, Numbers, Tensors } from './index.js'

/** What a step returns for a carry C: a tree of its structure, whose leaves may be numbers. */
type Next<C> = Given<Tensors<C>>

/**
 * Loops over the first axis of xs with a carry; returns the last carry and the stacked outputs of the steps.
 *
 * f(carry, x) returns [next carry, output]: the carry is a tree of the same types and shapes as init, x a tree of slices of the tensors of
 * xs along their first axes. Outputs are stacked along a new first axis. With reverse the steps go from the last element of xs to the first.
 * length is needed if xs has no tensors. The loop has derivatives in both modes; reverse mode stores the carry before each step and values
 * that are expensive to compute, and recomputes the others. unroll is a hint that changes no result.
 *
 * @example
 * const [total, sums] = lax.scan((c, x) => [c.add(x), c.add(x)], 0, new Tensor([1, 2, 3])) // 6 and [1, 3, 6]
 */
export function scan<const C, const X, Y>(
  f: (carry: Tensors<C>, x: Tensors<X>) => readonly [Next<C>, Y], init: C, xs: X,
  options?: number | null | { length?: number | null, reverse?: boolean, unroll?: number | boolean }): [Tensors<C>, Tensors<Y>]

/**
 * Repeats bodyFun while condFun is true, and returns the last value.
 *
 * condFun returns a bool of shape [], bodyFun the next value, a tree of the same types and shapes. The trip count is not known before the loop
 * runs, so there are derivatives in forward mode only; for reverse mode use scan or foriLoop. In vmap the loop runs until the condition is
 * false for all elements; an element whose condition is false keeps its value.
 *
 * @example
 * lax.whileLoop((x) => x.lt(100), (x) => x.mul(2), 3).item() // 192
 */
export function whileLoop<const C>(
  condFun: (value: Tensors<C>) => Tensor | boolean, bodyFun: (value: Tensors<C>) => Next<C>, initVal: C): Tensors<C>

/**
 * Loops over the integers lower … upper - 1, and returns the last value.
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
 * Applies f to each element of xs along the first axis and stacks the results: one after the other, or batchSize at once. vmap computes all
 * elements at once.
 *
 * @example
 * lax.map((x) => x.a.mul(2), { a: new Tensor([1, 2, 3]) }).tolist() // [2, 4, 6]
 */
export function map<const X, R>(
  f: (x: Tensors<X>) => R, xs: X, batchSize?: number | null | { batchSize?: number | null }): Tensors<R>

/**
 * Applies trueFun or falseFun to the operands; only the selected one is computed.
 *
 * pred is a bool of shape [], or a number, where 0 is false. Both functions return trees of the same types and shapes. In vmap with a batched
 * pred both are computed.
 *
 * @example
 * lax.cond(new Tensor(3).gt(2), (x) => x.add(1), (x) => x.sub(1), 10).item() // 11
 */
export function cond<A extends any[], R>(
  pred: Numbers, trueFun: (...operands: { [K in keyof A]: Tensors<A[K]> }) => R,
  falseFun: (...operands: { [K in keyof A]: Tensors<A[K]> }) => Given<R>, ...operands: A): Tensors<R>

/** Applies one of several functions to the operands: see switch. */
declare function switchOf<A extends any[], R>(
  index: number | Tensor, branches: ReadonlyArray<(...operands: { [K in keyof A]: Tensors<A[K]> }) => R>, ...operands: A): Tensors<R>

export {
  /**
   * Applies branch number index to the operands; only the selected branch is computed.
   *
   * index is an integer of shape [], clamped to the valid range. All functions return trees of the same types and shapes. In vmap with a
   * batched index all of them are computed.
   *
   * @example
   * lax.switch(1, [(x) => x.mul(2), (x) => x.square()], 5).item() // 25
   */
  switchOf as switch
}

/**
 * The prefix scan of the elements along an axis by an associative function.
 *
 * Element i of the result combines elements 0 … i, or with reverse i … the last one. fn(a, b) combines two elements, trees like elems without
 * the axis; a comes before b, or after it with reverse. It is traced once, and computed for many elements at once.
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
