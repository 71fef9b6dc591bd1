/** Operations of XLA, as @jax-js/jax has them in lax, and those of jax.lax that it lacks. */

import type { Array, ArrayLike, DType, JsTree, Pair } from './index.js'
export * as linalg from './laxlinalg.js'

/** A padding mode, or the numbers of zeros before and after each spatial axis. */
export type PaddingType = 'VALID' | 'SAME' | 'SAME_LOWER' | Pair[]

/** The contracting axes and the batch axes of both operands. */
export type DotDimensionNumbers = {
  lhsContractingDims?: number[], rhsContractingDims?: number[], lhsBatchDims?: number[], rhsBatchDims?: number[]
}

/** A loop over the first axes of xs: f(carry, x) returns [next carry, output]. Returns [last carry, stacked outputs]. */
export function scan<C extends JsTree<Array>, X, Y>(
  f: (carry: C, x: X) => [C, Y], init: C, xs: X, options?: { length?: number | null, reverse?: boolean, unroll?: number | boolean }
): [C, Y]

/** A loop that applies bodyFun to the value while condFun of it is true. */
export function whileLoop<T extends JsTree<Array>>(condFun: (value: T) => Array | boolean, bodyFun: (value: T) => T, initVal: T): T

/** A loop over the integers lower … upper - 1. */
export function foriLoop<T extends JsTree<Array>>(
  lower: number | Array, upper: number | Array, bodyFun: (i: Array, value: T) => T, initVal: T
): T

/** Applies a function to each element along the first axis, one after the other or in batches of batchSize. */
export function map<X, Y>(f: (x: X) => Y, xs: X, options?: { batchSize?: number | null }): Y

/** Applies trueFun or falseFun to the operands. */
export function cond<A extends JsTree<Array>[], R>(
  pred: ArrayLike, trueFun: (...operands: A) => R, falseFun: (...operands: A) => R, ...operands: A
): R

/** Applies branch number index, which is clamped to the valid range, to the operands. */
declare function choose<A extends JsTree<Array>[], R>(
  index: number | Array, branches: ((...operands: A) => R)[], ...operands: A
): R
export { choose as switch }

/** The prefix scan of the elements by an associative function. */
export function associativeScan<T extends JsTree<Array>>(f: (a: T, b: T) => T, elems: T, options?: { reverse?: boolean, axis?: number }): T

/** onTrue where pred is true, else onFalse, without broadcasting. */
export function select(pred: Array, onTrue: ArrayLike, onFalse: ArrayLike): Array

/** The sum over a named batch axis. */
export function psum<T extends JsTree<Array>>(x: T, axisName: string | readonly string[]): T

/** The mean over a named batch axis. */
export function pmean<T extends JsTree<Array>>(x: T, axisName: string | readonly string[]): T

/** The maximum over a named batch axis. */
export function pmax<T extends JsTree<Array>>(x: T, axisName: string): T

/** The minimum over a named batch axis. */
export function pmin<T extends JsTree<Array>>(x: T, axisName: string): T

/** The index of this element along a named batch axis. */
export function axisIndex(axisName: string): Array

/** The size of a named batch axis. */
export function axisSize(axisName: string | readonly string[]): number

/** The arrays of all batch elements, stacked along a new axis, or with tiled concatenated along an existing one. */
export function allGather<T extends JsTree<Array>>(x: T, axisName: string, options?: { axis?: number, tiled?: boolean }): T

/** Sends arrays between batch elements, by pairs [from, to]; elements that receive none get zeros. */
export function ppermute<T extends JsTree<Array>>(x: T, axisName: string, perm: readonly (readonly [number, number])[]): T

/** The bits of the elements as another type of the same width. */
export function bitcastConvertType(x: ArrayLike, newDtype: DType): Array

/** convGeneralDilated without dilation. */
export function conv(lhs: Array, rhs: Array, windowStrides: number[], padding: PaddingType): Array

/** The convolution of images [N, C, ...spatial] with kernels [out, C / groups, ...spatial]. */
export function convGeneralDilated(lhs: Array, rhs: Array, windowStrides: number[], padding: PaddingType, options?: { lhsDilation?: number[]; rhsDilation?: number[]; featureGroupCount?: number; }): Array

/**
 * The convolution of an image dilated by strides: the transpose of a convolution. With transposeKernel the kernel is [C in, C
 * out, ...] and reversed.
 */
export function convTranspose(lhs: Array, rhs: Array, strides: number[], padding: PaddingType, options?: { rhsDilation?: number[]; transposeKernel?: boolean; }): Array

/** convGeneralDilated with positional dilations. */
export function convWithGeneralPadding(lhs: Array, rhs: Array, windowStrides: number[], padding: PaddingType, lhsDilation?: number[], rhsDilation?: number[]): Array

/** The sum of products over the contracting axes, for each index of the batch axes; the outer product without contracting axes. */
export function dot(lhs: Array, rhs: Array, options?: DotDimensionNumbers): Array

/** The error function. */
export function erf(x: ArrayLike): Array

/** 1 - erf(x), accurate where the result is small. */
export function erfc(x: ArrayLike): Array

/** Applies a function to each window of an array; windowStrides is 1 unless given. */
export function reduceWindow(operand: Array, computation: (x: Array) => Array, windowDimensions: number[], windowStrides?: number[]): Array

/** x, through which no gradient flows. */
export function stopGradient(x: ArrayLike): Array

/** [the k greatest elements along an axis, their positions as int32]; equal elements keep their order. */
export function topK(x: ArrayLike, k: number, axis?: number): [Array, Array]

/**
 * The slice of x of the given sizes from startIndices on.
 * startIndices has one integer for each axis. They are clamped so that the slice lies inside x.
 * @param sliceSizes 0 or more
 */
export function dynamicSlice(x: ArrayLike, startIndices: ArrayLike, slicenumbers: number | readonly number[]): Array
export function dynamicSlice(x: ArrayLike, startIndices: ArrayLike, options: { slicenumbers: number | readonly number[] }): Array
export function dynamicSlice(x: ArrayLike, options: { startIndices: ArrayLike, slicenumbers: number | readonly number[] }): Array

/**
 * The slice of x of the given size along an axis from startIndex on.
 * startIndex is clamped so that the slice lies inside x.
 * @param sliceSize 0 or more
 * @param axis 0 by default
 */
export function dynamicSliceInDim(x: ArrayLike, startIndex: ArrayLike, slicenumber: number, axis?: number): Array
export function dynamicSliceInDim(x: ArrayLike, startIndex: ArrayLike, options: { slicenumber: number, axis?: number }): Array
export function dynamicSliceInDim(x: ArrayLike, startIndex: ArrayLike, slicenumber: number, options: { axis?: number }): Array
export function dynamicSliceInDim(x: ArrayLike, options: { startIndex: ArrayLike, slicenumber: number, axis?: number }): Array

/**
 * The slice of x at an index along an axis; the axis is removed if keepdims is false.
 * @param axis 0 by default
 * @param keepdims true by default
 */
export function dynamicIndexInDim(x: ArrayLike, index: ArrayLike, axis?: number, keepdims?: boolean): Array
export function dynamicIndexInDim(x: ArrayLike, index: ArrayLike, options: { axis?: number, keepdims?: boolean }): Array
export function dynamicIndexInDim(x: ArrayLike, options: { index: ArrayLike, axis?: number, keepdims?: boolean }): Array

/**
 * x with the slice from startIndices on replaced by update.
 * startIndices are clamped so that the slice lies inside x.
 */
export function dynamicUpdateSlice(x: ArrayLike, update: ArrayLike, startIndices: ArrayLike): Array
export function dynamicUpdateSlice(x: ArrayLike, update: ArrayLike, options: { startIndices: ArrayLike }): Array
export function dynamicUpdateSlice(x: ArrayLike, options: { update: ArrayLike, startIndices: ArrayLike }): Array

/**
 * x with the slice from startIndex on along an axis replaced by update.
 * update has the sizes of x along the other axes.
 */
export function dynamicUpdateSliceInDim(x: ArrayLike, update: ArrayLike, startIndex: ArrayLike, axis: number): Array
export function dynamicUpdateSliceInDim(x: ArrayLike, update: ArrayLike, options: { startIndex: ArrayLike, axis: number }): Array
export function dynamicUpdateSliceInDim(x: ArrayLike, options: { update: ArrayLike, startIndex: ArrayLike, axis: number }): Array

/**
 * x with the slice at an index along an axis replaced by update.
 * update may lack that axis.
 */
export function dynamicUpdateIndexInDim(x: ArrayLike, update: ArrayLike, index: ArrayLike, axis: number): Array
export function dynamicUpdateIndexInDim(x: ArrayLike, update: ArrayLike, options: { index: ArrayLike, axis: number }): Array
export function dynamicUpdateIndexInDim(x: ArrayLike, options: { update: ArrayLike, index: ArrayLike, axis: number }): Array

/**
 * Windows of x, of sizes sliceSizes, at startIndices.
 * The last axis of startIndices holds the start of a window: an index for each axis of x in startIndexMap. offsetDims are the window axes
 * of the result: the axes of x without collapsedSliceDims, of size 1, and operandBatchingDims, which correspond to
 * startIndicesBatchingDims. Windows that reach out of bounds give fillValue (by default NaN, the least signed or the greatest unsigned
 * integer); with clip they are moved inside.
 * @param sliceSizes 0 or more
 * @param mode fill by default
 */
export function gather(x: ArrayLike, startIndices: ArrayLike, offsetDims: number | readonly number[], collapsedSliceDims: number | readonly number[], startIndexMap: number | readonly number[], slicenumbers: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, startIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds', fillValue?: number | boolean | null): Array
export function gather(x: ArrayLike, startIndices: ArrayLike, options: { offsetDims: number | readonly number[], collapsedSliceDims: number | readonly number[], startIndexMap: number | readonly number[], slicenumbers: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, startIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds', fillValue?: number | boolean | null }): Array
export function gather(x: ArrayLike, startIndices: ArrayLike, offsetDims: number | readonly number[], collapsedSliceDims: number | readonly number[], startIndexMap: number | readonly number[], slicenumbers: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, startIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds', fillValue?: number | boolean | null }): Array
export function gather(x: ArrayLike, options: { startIndices: ArrayLike, offsetDims: number | readonly number[], collapsedSliceDims: number | readonly number[], startIndexMap: number | readonly number[], slicenumbers: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, startIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds', fillValue?: number | boolean | null }): Array

/**
 * x with the windows at scatterIndices replaced by those of updates.
 * If several values are written to one element, the last one remains. The last axis of scatterIndices holds the start of a window: an index
 * for each axis of x in scatterDimsToOperandDims. updateWindowDims are the window axes of updates: the axes of x without insertedWindowDims
 * and operandBatchingDims. Windows that reach out of bounds are dropped; with clip they are moved inside.
 * @param mode fill by default
 */
export function scatter(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatter(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatter(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatter(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * x with the windows of updates added at scatterIndices.
 * The last axis of scatterIndices holds the start of a window: an index for each axis of x in scatterDimsToOperandDims. updateWindowDims
 * are the window axes of updates: the axes of x without insertedWindowDims and operandBatchingDims. Windows that reach out of bounds are
 * dropped; with clip they are moved inside.
 * @param mode fill by default
 */
export function scatterAdd(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatterAdd(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterAdd(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterAdd(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * x multiplied by the windows of updates at scatterIndices.
 * The last axis of scatterIndices holds the start of a window: an index for each axis of x in scatterDimsToOperandDims. updateWindowDims
 * are the window axes of updates: the axes of x without insertedWindowDims and operandBatchingDims. Windows that reach out of bounds are
 * dropped; with clip they are moved inside.
 * @param mode fill by default
 */
export function scatterMul(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatterMul(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMul(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMul(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * The minimum of x and the windows of updates at scatterIndices.
 * The last axis of scatterIndices holds the start of a window: an index for each axis of x in scatterDimsToOperandDims. updateWindowDims
 * are the window axes of updates: the axes of x without insertedWindowDims and operandBatchingDims. Windows that reach out of bounds are
 * dropped; with clip they are moved inside.
 * @param mode fill by default
 */
export function scatterMin(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatterMin(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMin(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMin(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * The maximum of x and the windows of updates at scatterIndices.
 * The last axis of scatterIndices holds the start of a window: an index for each axis of x in scatterDimsToOperandDims. updateWindowDims
 * are the window axes of updates: the axes of x without insertedWindowDims and operandBatchingDims. Windows that reach out of bounds are
 * dropped; with clip they are moved inside.
 * @param mode fill by default
 */
export function scatterMax(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatterMax(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMax(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMax(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * x with paddingValue before (low), after (high) and between (interior) the elements of each axis.
 * Negative low and high remove elements.
 * @param interior 0 or more
 */
export function pad(x: ArrayLike, paddingValue: ArrayLike, low: number | readonly number[], high?: number | readonly number[] | null, interior?: number | readonly number[] | null): Array
export function pad(x: ArrayLike, paddingValue: ArrayLike, options: { low: number | readonly number[], high?: number | readonly number[] | null, interior?: number | readonly number[] | null }): Array
export function pad(x: ArrayLike, paddingValue: ArrayLike, low: number | readonly number[], options: { high?: number | readonly number[] | null, interior?: number | readonly number[] | null }): Array
export function pad(x: ArrayLike, options: { paddingValue: ArrayLike, low: number | readonly number[], high?: number | readonly number[] | null, interior?: number | readonly number[] | null }): Array

/** x with some axes reversed. */
export function rev(x: ArrayLike, dimensions: number | readonly number[] | { dimensions: number | readonly number[] }): Array

/**
 * Elements selected from several tensors by the first one.
 * Where the first tensor, of bools or integers, is i, the result has the element of tensor i of those after it. The first has the shape of
 * the others, or ().
 */
export function selectN(xs: readonly ArrayLike[]): Array

/**
 * x clamped to [min, max].
 * The bounds are numbers, or tensors of the shape of x or ().
 */
export function clamp(x: ArrayLike, min: ArrayLike, max: ArrayLike): Array
export function clamp(x: ArrayLike, min: ArrayLike, options: { max: ArrayLike }): Array
export function clamp(x: ArrayLike, options: { min: ArrayLike, max: ArrayLike }): Array

/**
 * The reduction of x over axes by an operation, beginning with init.
 * The operations and, or and xor are bitwise.
 */
export function reduce(x: ArrayLike, init: ArrayLike, computation: 'add' | 'and' | 'max' | 'min' | 'mul' | 'or' | 'xor', dimensions?: number | readonly number[] | null): Array
export function reduce(x: ArrayLike, init: ArrayLike, options: { computation: 'add' | 'and' | 'max' | 'min' | 'mul' | 'or' | 'xor', dimensions?: number | readonly number[] | null }): Array
export function reduce(x: ArrayLike, init: ArrayLike, computation: 'add' | 'and' | 'max' | 'min' | 'mul' | 'or' | 'xor', options: { dimensions?: number | readonly number[] | null }): Array
export function reduce(x: ArrayLike, options: { init: ArrayLike, computation: 'add' | 'and' | 'max' | 'min' | 'mul' | 'or' | 'xor', dimensions?: number | readonly number[] | null }): Array

/** The sum along axes, in the type of x. */
export function reduceSum(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** The product along axes, in the type of x. */
export function reduceProd(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** The maximum along axes; of no elements the least value of the type. */
export function reduceMax(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** The minimum along axes; of no elements the greatest value of the type. */
export function reduceMin(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** Bitwise and of the elements along axes; logical and for bools. */
export function reduceAnd(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** Bitwise or of the elements along axes; logical or for bools. */
export function reduceOr(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** Bitwise exclusive or of the elements along axes. */
export function reduceXor(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/**
 * The position of the maximum along an axis; the first of equal ones.
 * @param indexDtype int by default
 */
export function argmax(x: ArrayLike, axis: number, indexDtype?: DType): Array
export function argmax(x: ArrayLike, axis: number, options: { indexDtype?: DType }): Array
export function argmax(x: ArrayLike, options: { axis: number, indexDtype?: DType }): Array

/**
 * The position of the minimum along an axis; the first of equal ones.
 * @param indexDtype int by default
 */
export function argmin(x: ArrayLike, axis: number, indexDtype?: DType): Array
export function argmin(x: ArrayLike, axis: number, options: { indexDtype?: DType }): Array
export function argmin(x: ArrayLike, options: { axis: number, indexDtype?: DType }): Array

/**
 * All windows of x: the result has the axes of window positions, then the axes within a window.
 * Windows are as in reduceWindow.
 * @param windowDimensions 0 or more
 * @param windowStrides 1 or more
 * @param padding VALID by default
 * @param baseDilation 1 or more
 * @param windowDilation 1 or more
 */
export function slidingWindows(x: ArrayLike, paddingValue: ArrayLike, windowDimensions: number | readonly number[], windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same', baseDilation?: number | readonly number[] | null, windowDilation?: number | readonly number[] | null): Array
export function slidingWindows(x: ArrayLike, paddingValue: ArrayLike, options: { windowDimensions: number | readonly number[], windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same', baseDilation?: number | readonly number[] | null, windowDilation?: number | readonly number[] | null }): Array
export function slidingWindows(x: ArrayLike, paddingValue: ArrayLike, windowDimensions: number | readonly number[], options: { windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same', baseDilation?: number | readonly number[] | null, windowDilation?: number | readonly number[] | null }): Array
export function slidingWindows(x: ArrayLike, options: { paddingValue: ArrayLike, windowDimensions: number | readonly number[], windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same', baseDilation?: number | readonly number[] | null, windowDilation?: number | readonly number[] | null }): Array

/**
 * Zeros in the shape of x, with each element of source added at one position of its window: the gradient of max pooling.
 * The position is that of the maximum (ge) or the minimum (le) of the window of x; the first of equal ones.
 * @param windowDimensions 1 or more
 * @param windowStrides 1 or more
 * @param padding VALID by default
 */
export function selectAndScatterAdd(x: ArrayLike, source: ArrayLike, select: 'ge' | 'le', windowDimensions: number | readonly number[], windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same'): Array
export function selectAndScatterAdd(x: ArrayLike, source: ArrayLike, options: { select: 'ge' | 'le', windowDimensions: number | readonly number[], windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same' }): Array
export function selectAndScatterAdd(x: ArrayLike, source: ArrayLike, select: 'ge' | 'le', windowDimensions: number | readonly number[], options: { windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same' }): Array
export function selectAndScatterAdd(x: ArrayLike, options: { source: ArrayLike, select: 'ge' | 'le', windowDimensions: number | readonly number[], windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same' }): Array

/**
 * The sum of products of x and rhs over the contracting axes, for each index of the batch axes.
 * The result has the batch axes, then the remaining axes of x, then those of rhs.
 */
export function dotGeneral(x: ArrayLike, rhs: ArrayLike, lhsContractingDims: number | readonly number[], rhsContractingDims: number | readonly number[], lhsBatchDims?: number | readonly number[] | null, rhsBatchDims?: number | readonly number[] | null, preferredElementType?: DType | null): Array
export function dotGeneral(x: ArrayLike, rhs: ArrayLike, options: { lhsContractingDims: number | readonly number[], rhsContractingDims: number | readonly number[], lhsBatchDims?: number | readonly number[] | null, rhsBatchDims?: number | readonly number[] | null, preferredElementType?: DType | null }): Array
export function dotGeneral(x: ArrayLike, rhs: ArrayLike, lhsContractingDims: number | readonly number[], rhsContractingDims: number | readonly number[], options: { lhsBatchDims?: number | readonly number[] | null, rhsBatchDims?: number | readonly number[] | null, preferredElementType?: DType | null }): Array
export function dotGeneral(x: ArrayLike, options: { rhs: ArrayLike, lhsContractingDims: number | readonly number[], rhsContractingDims: number | readonly number[], lhsBatchDims?: number | readonly number[] | null, rhsBatchDims?: number | readonly number[] | null, preferredElementType?: DType | null }): Array

/**
 * Tensors of one shape sorted together along an axis, by the first numKeys of them as keys.
 * Later keys decide where earlier ones are equal. The sort is stable; NaN is the greatest number.
 * @param dimension -1 by default
 * @param numKeys 1 by default, 1 or more
 */
export function sort(xs: readonly ArrayLike[], dimension?: number, numKeys?: number): Array[]
export function sort(xs: readonly ArrayLike[], dimension: number, options: { numKeys?: number }): Array[]
export function sort(xs: readonly ArrayLike[], options: { dimension?: number, numKeys?: number }): Array[]

/**
 * The cumulative sum along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cumsum(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cumsum(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cumsum(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * The cumulative product along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cumprod(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cumprod(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cumprod(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * The cumulative maximum along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cummax(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cummax(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cummax(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * The cumulative minimum along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cummin(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cummin(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cummin(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * The cumulative log(sum(exp(x))) along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cumlogsumexp(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cumlogsumexp(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cumlogsumexp(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * x rounded to a floating format with the given numbers of exponent and mantissa bits, ties to even.
 * Overflow gives infinity, underflow 0.
 * @param exponentBits 1 or more
 * @param mantissaBits 0 or more
 */
export function reducePrecision(x: ArrayLike, exponentBits: number, mantissaBits: number): Array
export function reducePrecision(x: ArrayLike, exponentBits: number, options: { mantissaBits: number }): Array
export function reducePrecision(x: ArrayLike, options: { exponentBits: number, mantissaBits: number }): Array

/** An array of a shape whose elements are their index along an axis. */
export function broadcastedIota(elementType: DType, shape: number | readonly number[], dimension: number): Array
export function broadcastedIota(elementType: DType, options: { shape: number | readonly number[], dimension: number }): Array
export function broadcastedIota(options: { elementType: DType, shape: number | readonly number[], dimension: number }): Array
