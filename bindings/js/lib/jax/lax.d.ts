/** Operations of XLA, as @jax-js/jax has them in lax, and those of jax.lax that it lacks. */

import type { Array, ArrayLike, DType, JsTree, Pair } from './index.js'
export * as linalg from './laxlinalg.js'

/** Names of padding, or the numbers of zeros before and behind each spatial axis. */
export type PaddingType = 'VALID' | 'SAME' | 'SAME_LOWER' | Pair[]

/** The axes that are summed over and those of batches, of both operands. */
export type DotDimensionNumbers = {
  lhsContractingDims?: number[], rhsContractingDims?: number[], lhsBatchDims?: number[], rhsBatchDims?: number[]
}

/** A loop over the first axes of xs: f gets the carry and an element, and returns the next carry and what is kept of the step. */
export function scan<C extends JsTree<Array>, X, Y>(
  f: (carry: C, x: X) => [C, Y], init: C, xs: X, options?: { length?: number | null, reverse?: boolean, unroll?: number | boolean }
): [C, Y]

/** A loop that lasts while condFun is true of the value. */
export function whileLoop<T extends JsTree<Array>>(condFun: (value: T) => Array | boolean, bodyFun: (value: T) => T, initVal: T): T

/** A loop for each number from lower up to but without upper. */
export function foriLoop<T extends JsTree<Array>>(
  lower: number | Array, upper: number | Array, bodyFun: (i: Array, value: T) => T, initVal: T
): T

/** A function of each element of the first axes, one after the other or in batches. */
export function map<X, Y>(f: (x: X) => Y, xs: X, options?: { batchSize?: number | null }): Y

/** One of two functions of the operands. */
export function cond<A extends JsTree<Array>[], R>(
  pred: ArrayLike, trueFun: (...operands: A) => R, falseFun: (...operands: A) => R, ...operands: A
): R

/** One of several functions of the operands, by a number that is brought into range. */
declare function choose<A extends JsTree<Array>[], R>(
  index: number | Array, branches: ((...operands: A) => R)[], ...operands: A
): R
export { choose as switch }

/** What an associative function of two elements makes of all up to each one. */
export function associativeScan<T extends JsTree<Array>>(f: (a: T, b: T) => T, elems: T, options?: { reverse?: boolean, axis?: number }): T

/** onTrue where pred is true, else onFalse, without broadcasting. */
export function select(pred: Array, onTrue: ArrayLike, onFalse: ArrayLike): Array

/** The sum over the elements of a batch whose axis has a name. */
export function psum<T extends JsTree<Array>>(x: T, axisName: string | readonly string[]): T

/** The mean over the elements of a batch whose axis has a name. */
export function pmean<T extends JsTree<Array>>(x: T, axisName: string | readonly string[]): T

/** The greatest of the elements of a batch whose axis has a name. */
export function pmax<T extends JsTree<Array>>(x: T, axisName: string): T

/** The least of the elements of a batch whose axis has a name. */
export function pmin<T extends JsTree<Array>>(x: T, axisName: string): T

/** The number of the element in the batch. */
export function axisIndex(axisName: string): Array

/** The size of the batch. */
export function axisSize(axisName: string | readonly string[]): number

/** All elements of the batch along a new axis, or one behind the other if tiled. */
export function allGather<T extends JsTree<Array>>(x: T, axisName: string, options?: { axis?: number, tiled?: boolean }): T

/** Elements of the batch at other places; zeros where none goes. */
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

/** Products summed over contracting axes, for each element of batch axes; without contracting axes all products. */
export function dot(lhs: Array, rhs: Array, options?: DotDimensionNumbers): Array

/** The error function. */
export function erf(x: ArrayLike): Array

/** 1 - erf(x), accurate where it is small. */
export function erfc(x: ArrayLike): Array

/** A function of each window of an array; windows begin at each place unless windowStrides is given. */
export function reduceWindow(operand: Array, computation: (x: Array) => Array, windowDimensions: number[], windowStrides?: number[]): Array

/** x, through which no gradient flows. */
export function stopGradient(x: ArrayLike): Array

/** [the k greatest elements along an axis, their positions as int32]; of equal ones the first comes first. */
export function topK(x: ArrayLike, k: number, axis?: number): [Array, Array]

/**
 * The part of x of some sizes from startIndices on.
 * These are a tensor of one integer for each axis. Starts are moved to where the part fits.
 * @param sliceSizes 0 or more
 */
export function dynamicSlice(x: ArrayLike, startIndices: ArrayLike, slicenumbers: number | readonly number[]): Array
export function dynamicSlice(x: ArrayLike, startIndices: ArrayLike, options: { slicenumbers: number | readonly number[] }): Array
export function dynamicSlice(x: ArrayLike, options: { startIndices: ArrayLike, slicenumbers: number | readonly number[] }): Array

/**
 * The part of x of a size along an axis from startIndex on.
 * It is moved to where the part fits.
 * @param sliceSize 0 or more
 * @param axis 0 by default
 */
export function dynamicSliceInDim(x: ArrayLike, startIndex: ArrayLike, slicenumber: number, axis?: number): Array
export function dynamicSliceInDim(x: ArrayLike, startIndex: ArrayLike, options: { slicenumber: number, axis?: number }): Array
export function dynamicSliceInDim(x: ArrayLike, startIndex: ArrayLike, slicenumber: number, options: { axis?: number }): Array
export function dynamicSliceInDim(x: ArrayLike, options: { startIndex: ArrayLike, slicenumber: number, axis?: number }): Array

/**
 * The part of x at an index along an axis, which is left out without keepdims.
 * @param axis 0 by default
 * @param keepdims true by default
 */
export function dynamicIndexInDim(x: ArrayLike, index: ArrayLike, axis?: number, keepdims?: boolean): Array
export function dynamicIndexInDim(x: ArrayLike, index: ArrayLike, options: { axis?: number, keepdims?: boolean }): Array
export function dynamicIndexInDim(x: ArrayLike, options: { index: ArrayLike, axis?: number, keepdims?: boolean }): Array

/**
 * x with the part from startIndices on replaced by update.
 * Starts are moved to where it fits.
 */
export function dynamicUpdateSlice(x: ArrayLike, update: ArrayLike, startIndices: ArrayLike): Array
export function dynamicUpdateSlice(x: ArrayLike, update: ArrayLike, options: { startIndices: ArrayLike }): Array
export function dynamicUpdateSlice(x: ArrayLike, options: { update: ArrayLike, startIndices: ArrayLike }): Array

/**
 * x with the part from startIndex on along an axis replaced by update.
 * update has all of the other axes.
 */
export function dynamicUpdateSliceInDim(x: ArrayLike, update: ArrayLike, startIndex: ArrayLike, axis: number): Array
export function dynamicUpdateSliceInDim(x: ArrayLike, update: ArrayLike, options: { startIndex: ArrayLike, axis: number }): Array
export function dynamicUpdateSliceInDim(x: ArrayLike, options: { update: ArrayLike, startIndex: ArrayLike, axis: number }): Array

/**
 * x with the part at an index along an axis replaced by update.
 * update may lack that axis.
 */
export function dynamicUpdateIndexInDim(x: ArrayLike, update: ArrayLike, index: ArrayLike, axis: number): Array
export function dynamicUpdateIndexInDim(x: ArrayLike, update: ArrayLike, options: { index: ArrayLike, axis: number }): Array
export function dynamicUpdateIndexInDim(x: ArrayLike, options: { update: ArrayLike, index: ArrayLike, axis: number }): Array

/**
 * Windows of x with sliceSizes at startIndices.
 * The last axis of startIndices has a number for each axis in startIndexMap. offsetDims are the axes of the result that are axes of
 * windows: all of x but collapsedSliceDims, of size 1, and operandBatchingDims, which go along with startIndicesBatchingDims.
 * Windows that reach outside are fillValue, by default NaN, the least signed or the greatest unsigned integer, or with clip moved
 * inside.
 * @param sliceSizes 0 or more
 * @param mode fill by default
 */
export function gather(x: ArrayLike, startIndices: ArrayLike, offsetDims: number | readonly number[], collapsedSliceDims: number | readonly number[], startIndexMap: number | readonly number[], slicenumbers: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, startIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds', fillValue?: number | boolean | null): Array
export function gather(x: ArrayLike, startIndices: ArrayLike, options: { offsetDims: number | readonly number[], collapsedSliceDims: number | readonly number[], startIndexMap: number | readonly number[], slicenumbers: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, startIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds', fillValue?: number | boolean | null }): Array
export function gather(x: ArrayLike, startIndices: ArrayLike, offsetDims: number | readonly number[], collapsedSliceDims: number | readonly number[], startIndexMap: number | readonly number[], slicenumbers: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, startIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds', fillValue?: number | boolean | null }): Array
export function gather(x: ArrayLike, options: { startIndices: ArrayLike, offsetDims: number | readonly number[], collapsedSliceDims: number | readonly number[], startIndexMap: number | readonly number[], slicenumbers: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, startIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds', fillValue?: number | boolean | null }): Array

/**
 * x with windows replaced by those of updates.
 * Of several values for one element the last stays. The last axis of scatterIndices has a number for each axis in
 * scatterDimsToOperandDims. updateWindowDims are the axes of updates that are axes of windows: all of x but insertedWindowDims and
 * operandBatchingDims. Windows that reach outside are dropped, or with clip moved inside.
 * @param mode fill by default
 */
export function scatter(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatter(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatter(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatter(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * x with windows of updates added.
 * The last axis of scatterIndices has a number for each axis in scatterDimsToOperandDims. updateWindowDims are the axes of updates
 * that are axes of windows: all of x but insertedWindowDims and operandBatchingDims. Windows that reach outside are dropped, or with
 * clip moved inside.
 * @param mode fill by default
 */
export function scatterAdd(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatterAdd(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterAdd(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterAdd(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * x multiplied by windows of updates.
 * The last axis of scatterIndices has a number for each axis in scatterDimsToOperandDims. updateWindowDims are the axes of updates
 * that are axes of windows: all of x but insertedWindowDims and operandBatchingDims. Windows that reach outside are dropped, or with
 * clip moved inside.
 * @param mode fill by default
 */
export function scatterMul(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatterMul(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMul(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMul(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * The least of the elements of x and those of windows of updates.
 * The last axis of scatterIndices has a number for each axis in scatterDimsToOperandDims. updateWindowDims are the axes of updates
 * that are axes of windows: all of x but insertedWindowDims and operandBatchingDims. Windows that reach outside are dropped, or with
 * clip moved inside.
 * @param mode fill by default
 */
export function scatterMin(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatterMin(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMin(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMin(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * The greatest of the elements of x and those of windows of updates.
 * The last axis of scatterIndices has a number for each axis in scatterDimsToOperandDims. updateWindowDims are the axes of updates
 * that are axes of windows: all of x but insertedWindowDims and operandBatchingDims. Windows that reach outside are dropped, or with
 * clip moved inside.
 * @param mode fill by default
 */
export function scatterMax(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds'): Array
export function scatterMax(x: ArrayLike, scatterIndices: ArrayLike, options: { updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMax(x: ArrayLike, scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], options: { operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array
export function scatterMax(x: ArrayLike, options: { scatterIndices: ArrayLike, updates: ArrayLike, updateWindowDims: number | readonly number[], insertedWindowDims: number | readonly number[], scatterDimsToArrayLikeDims: number | readonly number[], operandBatchingDims?: number | readonly number[] | null, scatterIndicesBatchingDims?: number | readonly number[] | null, mode?: 'fill' | 'drop' | 'clip' | 'promise_in_bounds' }): Array

/**
 * x with a value before, behind and between the elements of each axis.
 * Negative numbers before and behind take elements away.
 * @param interior 0 or more
 */
export function pad(x: ArrayLike, paddingValue: ArrayLike, low: number | readonly number[], high?: number | readonly number[] | null, interior?: number | readonly number[] | null): Array
export function pad(x: ArrayLike, paddingValue: ArrayLike, options: { low: number | readonly number[], high?: number | readonly number[] | null, interior?: number | readonly number[] | null }): Array
export function pad(x: ArrayLike, paddingValue: ArrayLike, low: number | readonly number[], options: { high?: number | readonly number[] | null, interior?: number | readonly number[] | null }): Array
export function pad(x: ArrayLike, options: { paddingValue: ArrayLike, low: number | readonly number[], high?: number | readonly number[] | null, interior?: number | readonly number[] | null }): Array

/** x with some axes reversed. */
export function rev(x: ArrayLike, dimensions: number | readonly number[] | { dimensions: number | readonly number[] }): Array

/**
 * The elements of one of several tensors, as a first one says.
 * It is of the tensor behind it whose number the first has: a bool, or an integer. The first has the shape of the others, or ().
 */
export function selectN(xs: readonly ArrayLike[]): Array

/**
 * x, not less than min and not greater than max.
 * These are numbers, or tensors of its shape or ().
 */
export function clamp(x: ArrayLike, min: ArrayLike, max: ArrayLike): Array
export function clamp(x: ArrayLike, min: ArrayLike, options: { max: ArrayLike }): Array
export function clamp(x: ArrayLike, options: { min: ArrayLike, max: ArrayLike }): Array

/**
 * The elements along axes, and init, combined by an operation.
 * The operations and, or and xor are of bits.
 */
export function reduce(x: ArrayLike, init: ArrayLike, computation: 'add' | 'and' | 'max' | 'min' | 'mul' | 'or' | 'xor', dimensions?: number | readonly number[] | null): Array
export function reduce(x: ArrayLike, init: ArrayLike, options: { computation: 'add' | 'and' | 'max' | 'min' | 'mul' | 'or' | 'xor', dimensions?: number | readonly number[] | null }): Array
export function reduce(x: ArrayLike, init: ArrayLike, computation: 'add' | 'and' | 'max' | 'min' | 'mul' | 'or' | 'xor', options: { dimensions?: number | readonly number[] | null }): Array
export function reduce(x: ArrayLike, options: { init: ArrayLike, computation: 'add' | 'and' | 'max' | 'min' | 'mul' | 'or' | 'xor', dimensions?: number | readonly number[] | null }): Array

/** The sum along axes, in the type of x. */
export function reduceSum(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** The product along axes, in the type of x. */
export function reduceProd(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** The greatest elements along axes; of no elements the least of the type. */
export function reduceMax(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** The least elements along axes; of no elements the greatest of the type. */
export function reduceMin(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** The bits that all elements along axes have, or whether all are true. */
export function reduceAnd(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** The bits that any element along axes has, or whether any is true. */
export function reduceOr(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/** The bits that an odd number of elements along axes has. */
export function reduceXor(x: ArrayLike, axes: number | readonly number[] | { axes: number | readonly number[] }): Array

/**
 * The position of the greatest element along an axis; the first of several.
 * @param indexDtype int by default
 */
export function argmax(x: ArrayLike, axis: number, indexDtype?: DType): Array
export function argmax(x: ArrayLike, axis: number, options: { indexDtype?: DType }): Array
export function argmax(x: ArrayLike, options: { axis: number, indexDtype?: DType }): Array

/**
 * The position of the least element along an axis; the first of several.
 * @param indexDtype int by default
 */
export function argmin(x: ArrayLike, axis: number, indexDtype?: DType): Array
export function argmin(x: ArrayLike, axis: number, options: { indexDtype?: DType }): Array
export function argmin(x: ArrayLike, options: { axis: number, indexDtype?: DType }): Array

/**
 * All windows of x: the axes of their places, then those of their elements.
 * Windows are those of reduceWindow.
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
 * Zeros in the shape of x, with each element of source added to one of its window.
 * That is the greatest element of the window of x (ge), or the least (le); the first of several.
 * @param windowDimensions 1 or more
 * @param windowStrides 1 or more
 * @param padding VALID by default
 */
export function selectAndScatterAdd(x: ArrayLike, source: ArrayLike, select: 'ge' | 'le', windowDimensions: number | readonly number[], windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same'): Array
export function selectAndScatterAdd(x: ArrayLike, source: ArrayLike, options: { select: 'ge' | 'le', windowDimensions: number | readonly number[], windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same' }): Array
export function selectAndScatterAdd(x: ArrayLike, source: ArrayLike, select: 'ge' | 'le', windowDimensions: number | readonly number[], options: { windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same' }): Array
export function selectAndScatterAdd(x: ArrayLike, options: { source: ArrayLike, select: 'ge' | 'le', windowDimensions: number | readonly number[], windowStrides?: number | readonly number[] | null, padding?: number | readonly number[] | 'same' }): Array

/**
 * The sums of products of x and rhs over contracting axes, for each pair of batch axes.
 * The result has the batch axes, then the others of x, then those of rhs.
 */
export function dotGeneral(x: ArrayLike, rhs: ArrayLike, lhsContractingDims: number | readonly number[], rhsContractingDims: number | readonly number[], lhsBatchDims?: number | readonly number[] | null, rhsBatchDims?: number | readonly number[] | null, preferredElementType?: DType | null): Array
export function dotGeneral(x: ArrayLike, rhs: ArrayLike, options: { lhsContractingDims: number | readonly number[], rhsContractingDims: number | readonly number[], lhsBatchDims?: number | readonly number[] | null, rhsBatchDims?: number | readonly number[] | null, preferredElementType?: DType | null }): Array
export function dotGeneral(x: ArrayLike, rhs: ArrayLike, lhsContractingDims: number | readonly number[], rhsContractingDims: number | readonly number[], options: { lhsBatchDims?: number | readonly number[] | null, rhsBatchDims?: number | readonly number[] | null, preferredElementType?: DType | null }): Array
export function dotGeneral(x: ArrayLike, options: { rhs: ArrayLike, lhsContractingDims: number | readonly number[], rhsContractingDims: number | readonly number[], lhsBatchDims?: number | readonly number[] | null, rhsBatchDims?: number | readonly number[] | null, preferredElementType?: DType | null }): Array

/**
 * Tensors of one shape sorted along an axis by the first of them, or by the first numKeys.
 * By each of these where the earlier ones are equal. Equal elements keep their order; NaN is the greatest number.
 * @param dimension -1 by default
 * @param numKeys 1 by default, 1 or more
 */
export function sort(xs: readonly ArrayLike[], dimension?: number, numKeys?: number): Array[]
export function sort(xs: readonly ArrayLike[], dimension: number, options: { numKeys?: number }): Array[]
export function sort(xs: readonly ArrayLike[], options: { dimension?: number, numKeys?: number }): Array[]

/**
 * The sums of all elements up to each one along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cumsum(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cumsum(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cumsum(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * The products of all elements up to each one along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cumprod(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cumprod(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cumprod(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * The greatest of all elements up to each one along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cummax(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cummax(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cummax(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * The least of all elements up to each one along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cummin(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cummin(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cummin(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * log(sum(exp(x))) of all elements up to each one along an axis, from its end with reverse.
 * @param axis 0 by default
 */
export function cumlogsumexp(x: ArrayLike, axis?: number, reverse?: boolean): Array
export function cumlogsumexp(x: ArrayLike, axis: number, options: { reverse?: boolean }): Array
export function cumlogsumexp(x: ArrayLike, options: { axis?: number, reverse?: boolean }): Array

/**
 * x rounded to numbers with so many bits of exponent and mantissa, half to even.
 * Beyond them it is infinite or 0.
 * @param exponentBits 1 or more
 * @param mantissaBits 0 or more
 */
export function reducePrecision(x: ArrayLike, exponentBits: number, mantissaBits: number): Array
export function reducePrecision(x: ArrayLike, exponentBits: number, options: { mantissaBits: number }): Array
export function reducePrecision(x: ArrayLike, options: { exponentBits: number, mantissaBits: number }): Array

/** The numbers from 0 on along an axis of a shape, the same along the others. */
export function broadcastedIota(elementType: DType, shape: number | readonly number[], dimension: number): Array
export function broadcastedIota(elementType: DType, options: { shape: number | readonly number[], dimension: number }): Array
export function broadcastedIota(options: { elementType: DType, shape: number | readonly number[], dimension: number }): Array
