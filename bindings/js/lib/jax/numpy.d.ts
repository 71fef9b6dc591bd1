/** Functions of arrays, as @jax-js/jax has them in numpy, and those of NumPy that it lacks. */

import type { Array, ArrayLike, Axis, DType, DTypeAndDevice, DTypeShapeAndDevice, DataArray, JsTree, MapJsTree, OwnedFunction, Pair, RecursiveArray, ReduceOpts } from './index.js'
export { Array, ArrayLike, DType } from './index.js'
export * as fft from './fft.js'
export * as linalg from './linalg.js'

/** The limits of a floating type. */
export type FInfo = Readonly<{
  bits: number, dtype: DType, eps: number, epsneg: number, machep: number, max: number, maxexp: number, min: number, minexp: number,
  negep: number, nexp: number, nmant: number, precision: number, resolution: number, smallestNormal: number, smallestSubnormal: number
}>

/** The limits of an integer type. */
export type IInfo = Readonly<{ bits: number, dtype: DType, max: number, min: number }>

export const newaxis: null
export const bfloat16: 'bfloat16'
export const int8: 'int8'
export const int16: 'int16'
export const int64: 'int64'
export const uint8: 'uint8'
export const uint16: 'uint16'
export const uint64: 'uint64'

/** |x|. */
export function abs(x: ArrayLike): Array

/** |x|. */
export function absolute(x: ArrayLike): Array

/** The arc cosine, in [0, pi]. */
export function acos(x: ArrayLike): Array

/** The inverse hyperbolic cosine. */
export const acosh: OwnedFunction<(x: ArrayLike) => Array>

/** The sum x + y, with broadcasting. */
export const add: (x: ArrayLike, y: ArrayLike) => Array

/** Whether all elements along axes are other than 0: bool. */
export function all(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** Whether |actual - expected| <= atol + rtol |expected| everywhere; lists and typed arrays are compared too. */
export function allclose(actual: Parameters<typeof array>[0], expected: Parameters<typeof array>[0], options?: { rtol?: number; atol?: number; equalNaN?: boolean; }): boolean

/** Whether an element along axes is other than 0: bool. */
export function any(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** Appends values to an array along an axis, or to the flattened array. */
export function append(arr: ArrayLike, values: ArrayLike, axis?: number | null): Array

/** A function of one-dimensional arrays, applied to each of them along an axis; it is batched, not called in a loop. */
export function applyAlongAxis(func1d: (x: Array) => Array, axis: number, x: ArrayLike): Array

/** A function of an array and an axis, applied for one axis after the other. */
export function applyOverAxes(func: (x: Array, axis: number) => Array, a: ArrayLike, axes: number[]): Array

/**
 * Numbers from start, or from 0 if there is one argument, up to but not including stop. int32 if all arguments are integers, else
 * float32.
 */
export function arange(start: number, stop?: number, step?: number, options?: DTypeAndDevice): Array

/** acos by its other name. */
export function arccos(x: ArrayLike): Array

/** acosh by its other name. */
export const arccosh: OwnedFunction<(x: ArrayLike) => Array>

/** asin by its other name. */
export const arcsin: (x: ArrayLike) => Array

/** asinh by its other name. */
export const arcsinh: OwnedFunction<(x: ArrayLike) => Array>

/** atan by its other name. */
export const arctan: (x: ArrayLike) => Array

/** atan2 by its other name. */
export const arctan2: OwnedFunction<(y: ArrayLike, x: ArrayLike) => Array>

/** atanh by its other name. */
export const arctanh: OwnedFunction<(x: ArrayLike) => Array>

/** The position of the first greatest element along an axis, or in the flattened array: int32. */
export function argmax(a: ArrayLike, axis?: number, opts?: ReduceOpts): Array

/** The position of the first least element along an axis, or in the flattened array: int32. */
export function argmin(a: ArrayLike, axis?: number, opts?: ReduceOpts): Array

/** The positions that sort along an axis; equal elements keep their order. int32. */
export function argsort(a: ArrayLike, axis?: number): Array

/** round by its other name. */
export const around: OwnedFunction<(a: ArrayLike, decimals?: number) => Array>

/**
 * An array from numbers, nested lists of numbers or a typed array, which is copied. A number without a dtype is weakly typed;
 * an array of the wanted type is returned as it is.
 */
export function array(values: Array | DataArray | RecursiveArray<number> | RecursiveArray<boolean>, options?: { shape?: number[]; } & DTypeAndDevice): Array

/** Whether two arrays have one shape and equal elements: bool. NaN is equal to NaN with equalNaN. */
export function arrayEqual(a1: ArrayLike, a2: ArrayLike, opts?: { equalNaN?: boolean; }): Array

/** Whether two arrays are equal once they are broadcast: bool. */
export function arrayEquiv(a1: ArrayLike, a2: ArrayLike): Array

/** Splits along an axis; the first parts have one element more if the sections do not divide the size. */
export function arraySplit(a: ArrayLike, indicesOrSections: number | number[], axis?: number): Array[]

/** The arc sine, in [-pi/2, pi/2]. */
export const asin: (x: ArrayLike) => Array

/** The inverse hyperbolic sine. */
export const asinh: OwnedFunction<(x: ArrayLike) => Array>

/** The elements in another type. */
export function astype(a: ArrayLike, dtype: DType): Array

/** The arc tangent, in [-pi/2, pi/2]. */
export const atan: (x: ArrayLike) => Array

/** The angle of the point (y, x), in [-pi, pi]. */
export const atan2: OwnedFunction<(y: ArrayLike, x: ArrayLike) => Array>

/** The inverse hyperbolic tangent. */
export const atanh: OwnedFunction<(x: ArrayLike) => Array>

/** The mean along axes, weighted by weights. */
export function average(a: ArrayLike, axis?: Axis, opts?: { weights?: ArrayLike; } & ReduceOpts): Array

/** The triangular window of M points, float32. */
export function bartlett(M: number): Array

/** Bitwise x and y, for integers and bools. */
export function bitwiseAnd(x: ArrayLike, y: ArrayLike): Array

/** The number of ones in the binary form of |x|, in the type of x. */
export function bitwiseCount(x: ArrayLike): Array

/** Bitwise not x, for integers and bools. */
export function bitwiseInvert(x: ArrayLike): Array

/** x shifted to the left by y bits, for integers. */
export function bitwiseLeftShift(x: ArrayLike, y: ArrayLike): Array

/** bitwiseInvert by its other name. */
export function bitwiseNot(x: ArrayLike): Array

/** Bitwise x or y, for integers and bools. */
export function bitwiseOr(x: ArrayLike, y: ArrayLike): Array

/** x shifted to the right by y bits, for integers. */
export function bitwiseRightShift(x: ArrayLike, y: ArrayLike): Array

/** Bitwise exclusive or of x and y, for integers and bools. */
export function bitwiseXor(x: ArrayLike, y: ArrayLike): Array

/** The Blackman window of M points, float32. */
export function blackman(M: number): Array

/** The data type bool. */
export const bool: 'bool'

/** Arrays broadcast to one shape. */
export function broadcastArrays(...arrays: ArrayLike[]): Array[]

/** The shape to which several shapes broadcast. */
export function broadcastShapes(...shapes: number[][]): number[]

/** The array broadcast to a shape: repeated along new axes and axes of size 1. */
export function broadcastTo(a: ArrayLike, shape: number[]): Array

/** The cube root, of negative numbers too. */
export const cbrt: OwnedFunction<(x: ArrayLike) => Array>

/** x rounded up. */
export const ceil: (x: ArrayLike) => Array

/** x clamped to bounds, either of which may be left out. */
export function clip(a: ArrayLike, min?: ArrayLike, max?: ArrayLike): Array

/** Columns side by side: one-dimensional arrays become columns. */
export function columnStack(xs: ArrayLike[]): Array

/** Concatenates arrays along an axis. */
export function concatenate(xs: Array[], axis?: number): Array

/** The convolution of two one-dimensional arrays. */
export function convolve(x: Array, y: Array, mode?: "full" | "same" | "valid"): Array

/** |x| with the sign of y. */
export const copysign: OwnedFunction<(x: ArrayLike, y: ArrayLike) => Array>

/** Correlation coefficients of the rows of x, and of y. */
export function corrcoef(x: ArrayLike, y?: ArrayLike): Array

/** The correlation of two one-dimensional arrays; mode is "valid" unless given. */
export function correlate(x: Array, y: Array, mode?: "full" | "same" | "valid"): Array

/** The cosine. */
export const cos: (x: ArrayLike) => Array

/** The hyperbolic cosine. */
export const cosh: OwnedFunction<(x: ArrayLike) => Array>

/** The number of elements other than 0 along axes: int32. */
export function countNonzero(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** Covariances of the rows of x, and of y; of columns if rowvar is false. */
export function cov(x: ArrayLike, y?: ArrayLike | null, options?: { rowvar?: boolean; }): Array

/** The cross product of vectors of 2 or 3 elements along axes; a scalar for each two of 2. */
export const cross: OwnedFunction<(a: ArrayLike, b: ArrayLike, options?: { axisa?: number; axisb?: number; axisc?: number; axis?: number; }) => Array>

/** The cumulative product along an axis, or of the flattened array. */
export function cumprod(a: ArrayLike, axis?: number): Array

/** The cumulative sum along an axis, or of the flattened array. */
export function cumsum(a: ArrayLike, axis?: number): Array

/** The cumulative product; with includeInitial a 1 comes first. */
export function cumulativeProd(x: ArrayLike, opts?: { axis?: number; includeInitial?: boolean; }): Array

/** The cumulative sum; with includeInitial a 0 comes first. */
export function cumulativeSum(x: ArrayLike, opts?: { axis?: number; includeInitial?: boolean; }): Array

/** Degrees as radians. */
export function deg2rad(x: ArrayLike): Array

/** rad2deg by its other name. */
export const degrees: typeof rad2deg

/** A diagonal of a matrix, or the matrix with a vector on a diagonal. */
export function diag(v: ArrayLike, k?: number): Array

/** The positions of the main diagonal of an array of ndim axes of n elements, one array for each axis. */
export function diagIndices(n: number, ndim?: number): Array[]

/** The positions of the main diagonal of an array. */
export function diagIndicesFrom(arr: ArrayLike): Array[]

/** The matrix with the flattened array on a diagonal. */
export function diagflat(v: ArrayLike, k?: number): Array

/** The elements of a diagonal of two axes, along a new last axis. */
export function diagonal(a: ArrayLike, offset?: number, axis1?: number, axis2?: number): Array

/** Differences of neighbours along an axis, n times; prepend and append are put at the ends first. */
export function diff(a: ArrayLike, n?: number, axis?: number, opts?: { prepend?: ArrayLike; append?: ArrayLike; }): Array

/** The quotient x / y; integers give float32. */
export function divide(x: ArrayLike, y: ArrayLike): Array

/** [floorDivide(x, y), remainder(x, y)]. */
export function divmod(x: ArrayLike, y: ArrayLike): [Array, Array]

/** The sum of products over the last axis of x and the second last of y. */
export function dot(x: ArrayLike, y: ArrayLike): Array

/** Splits along axis 2. */
export function dsplit(a: ArrayLike, indicesOrSections: number | number[]): Array[]

/** Concatenates arrays along axis 2. */
export function dstack(xs: ArrayLike[]): Array

/** Euler's number. */
export const e: number

/** Differences of neighbours of the flattened array, with toBegin before and toEnd after them. */
export function ediff1d(ary: ArrayLike, opts?: { toEnd?: ArrayLike; toBegin?: ArrayLike; }): Array

/** Einstein summation: a formula such as 'ij,j->i' and arrays, or arrays each followed by the labels of its axes, as numbers. */
export function einsum(...args: (ArrayLike | number[])[]): Array
export function einsum(subscripts: string, ...operands: ArrayLike[]): Array

/** Whether x = y, elementwise: bool. NaN is equal to nothing. */
export const equal: (x: ArrayLike, y: ArrayLike) => Array

/** The Euler-Mascheroni constant. */
export const eulerGamma: number

/** e^x. */
export const exp: (x: ArrayLike) => Array

/** 2^x. */
export function exp2(p: ArrayLike): Array

/** The array with new axes of size 1 at the given positions of the result. */
export function expandDims(a: ArrayLike, axis: number | number[]): Array

/** e^x - 1, accurate near 0. */
export function expm1(x: ArrayLike): Array

/** The matrix with ones on the main diagonal. */
export function eye(numRows: number, numCols?: number, options?: DTypeAndDevice): Array

/** The limits of a floating type. */
export function finfo(dtype: DType): FInfo

/** Elements in reverse order along axes, all unless given. */
export function flip(x: ArrayLike, axis?: Axis): Array

/** Elements in reverse order along axis 1. */
export function fliplr(x: ArrayLike): Array

/** Elements in reverse order along axis 0. */
export function flipud(x: ArrayLike): Array

/** The data type complex128. */
export const complex128: 'complex128'

/** The data type complex64. */
export const complex64: 'complex64'

/** The data type float16. */
export const float16: 'float16'

/** The data type float32. */
export const float32: 'float32'

/** The data type float64. */
export const float64: 'float64'

/** x1^x2 in a floating type. */
export function floatPower(x1: ArrayLike, x2: ArrayLike): Array

/** x rounded down. */
export const floor: (x: ArrayLike) => Array

/** The quotient x / y, rounded down. */
export function floorDivide(x: ArrayLike, y: ArrayLike): Array

/** The greater of x and y. Where one is NaN, the result is the other. */
export const fmax: OwnedFunction<(x1: ArrayLike, x2: ArrayLike) => Array>

/** The lesser of x and y. Where one is NaN, the result is the other. */
export const fmin: OwnedFunction<(x1: ArrayLike, x2: ArrayLike) => Array>

/** The remainder of x / y with the sign of x. */
export const fmod: OwnedFunction<(x: ArrayLike, y: ArrayLike) => Array>

/** [mantissa, exponent] with x = mantissa * 2^exponent and |mantissa| in [0.5, 1). */
export function frexp(x: ArrayLike): [Array, Array]

/** The result of a function of the arrays of indices along each axis, which are float32 unless dtype is given. */
export function fromfunction(func: (...indices: Array[]) => ArrayLike, shape: number[], opts?: DTypeAndDevice): Array
export function fromfunction<Tree extends JsTree<ArrayLike>[] | { [key: string]: JsTree<ArrayLike>; }>(func: (...indices: Array[]) => Tree, shape: number[], opts?: DTypeAndDevice): MapJsTree<Tree, ArrayLike, Array>

/** An array of a shape with one value: float32, or bool for a boolean, unless dtype is given. */
export function full(shape: number[], fillValue: number | boolean | Array, options?: DTypeAndDevice): Array

/** An array like another one with one value. */
export const fullLike: (a: ArrayLike, fillValue: number | boolean | Array, opts?: DTypeShapeAndDevice) => Array

/** num numbers from start to stop in geometric progression. */
export function geomspace(start: number, stop: number, num?: number, endpoint?: boolean, options?: DTypeAndDevice): Array

/** Whether x > y, elementwise: bool. */
export const greater: (x: ArrayLike, y: ArrayLike) => Array

/** Whether x >= y, elementwise: bool. */
export const greaterEqual: (x: ArrayLike, y: ArrayLike) => Array

/** The Hann window of M points. */
export function hann(M: number): Array

/** 0 where x is negative, 1 where it is positive, and y where it is 0. */
export const heaviside: OwnedFunction<(x1: ArrayLike, x2: ArrayLike) => Array>

/** Splits along axis 1, one-dimensional arrays along axis 0. */
export function hsplit(a: ArrayLike, indicesOrSections: number | number[]): Array[]

/** Concatenates arrays along axis 1, one-dimensional ones along axis 0. */
export function hstack(xs: ArrayLike[]): Array

/** sqrt(x1^2 + x2^2) without overflow. */
export const hypot: OwnedFunction<(x1: ArrayLike, x2: ArrayLike) => Array>

/** The square matrix with ones on the main diagonal. */
export function identity(n: number, options?: DTypeAndDevice): Array

/** The limits of an integer type. */
export function iinfo(dtype: DType): IInfo

/** The index arrays of a grid, [dimensions.length, ...dimensions]; with sparse one array for each axis. */
export function indices(dimensions: number[], opts: DTypeAndDevice & { sparse: boolean; }): Array | Array[]
export function indices(dimensions: number[], opts: DTypeAndDevice & { sparse: true; }): Array[]
export function indices(dimensions: number[], opts?: DTypeAndDevice & { sparse?: false; }): Array

/** Infinity. */
export const inf: number

/** The sum of products over the last axes of x and y. */
export function inner(x: ArrayLike, y: ArrayLike): Array

/** The data type int32. */
export const int32: 'int32'

/** bitwiseInvert by its other name. */
export function invert(x: ArrayLike): Array

/** Whether x is neither infinite nor NaN, elementwise: bool. */
export const isfinite: OwnedFunction<(x: ArrayLike) => Array>

/** Where elements are among others: bool; where they are not with invert. */
export function isin(element: ArrayLike, testElements: ArrayLike, opts?: { invert?: boolean; }): Array

/** Whether x is infinite, elementwise: bool. */
export function isinf(x: ArrayLike): Array

/** Whether x is NaN, elementwise: bool. */
export function isnan(x: ArrayLike): Array

/** Whether elements are -infinity: bool. */
export function isneginf(x: ArrayLike): Array

/** Whether elements are infinity: bool. */
export function isposinf(x: ArrayLike): Array

/** Whether something is a number, a boolean or an array without axes. Consumes nothing. */
export function isscalar(element: unknown): boolean

/** x1 * 2^x2. */
export function ldexp(x1: ArrayLike, x2: ArrayLike): Array

/** bitwiseLeftShift by its other name. */
export function leftShift(x: ArrayLike, y: ArrayLike): Array

/** Whether x < y, elementwise: bool. */
export const less: (x: ArrayLike, y: ArrayLike) => Array

/** Whether x <= y, elementwise: bool. */
export const lessEqual: (x: ArrayLike, y: ArrayLike) => Array

/** num numbers from start to stop, which is the last one if endpoint is true. */
export function linspace(start: number, stop: number, num?: number, endpoint?: boolean, options?: DTypeAndDevice): Array

/** The natural logarithm. */
export const log: (x: ArrayLike) => Array

/** The logarithm of base 10. */
export function log10(x: ArrayLike): Array

/** log(1 + x), accurate near 0. */
export function log1p(x: ArrayLike): Array

/** The logarithm of base 2. */
export function log2(x: ArrayLike): Array

/** log(e^x + e^y), without overflow. */
export const logaddexp: OwnedFunction<(x1: ArrayLike, x2: ArrayLike) => Array>

/** log2(2^x + 2^y), without overflow. */
export const logaddexp2: OwnedFunction<(x1: ArrayLike, x2: ArrayLike) => Array>

/** Whether both x and y are not 0: bool. */
export function logicalAnd(x: ArrayLike, y: ArrayLike): Array

/** Whether x is 0, elementwise: bool. */
export function logicalNot(x: ArrayLike): Array

/** Whether x or y is not 0: bool. */
export function logicalOr(x: ArrayLike, y: ArrayLike): Array

/** Whether exactly one of x and y is not 0: bool. */
export function logicalXor(x: ArrayLike, y: ArrayLike): Array

/** num powers of base, whose exponents go from start to stop. */
export function logspace(start: number, stop: number, num?: number, endpoint?: boolean, base?: number, options?: DTypeAndDevice): Array

/** The product of matrices, batched over the axes before the last two. */
export function matmul(x: ArrayLike, y: ArrayLike): Array

/** The array with its last two axes exchanged. */
export function matrixTranspose(a: ArrayLike): Array

/** Products of matrices [..., M, N] and vectors [..., N]. */
export function matvec(x1: ArrayLike, x2: ArrayLike): Array

/** The greatest element along axes. */
export function max(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** The greater of x and y. */
export const maximum: (x: ArrayLike, y: ArrayLike) => Array

/** The mean along axes; integers give float32. */
export function mean(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** The coordinates of a grid, one array for each vector. */
export function meshgrid(xs: Array[], options?: { indexing?: "xy" | "ij"; }): Array[]

/** The least element along axes. */
export function min(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** The lesser of x and y. */
export const minimum: (x: ArrayLike, y: ArrayLike) => Array

/** [the fraction, the whole part], both with the sign of x. */
export function modf(x: ArrayLike): [Array, Array]

/** The array with an axis at another place. */
export const moveaxis: (x: ArrayLike, src: number, dst: number) => Array

/** The product x * y. */
export const multiply: (x: ArrayLike, y: ArrayLike) => Array

/** NaN. */
export const nan: number

/** x with numbers for NaN (0 unless given) and for infinities (the limits of the type unless given). */
export function nanToNum(x: ArrayLike, options?: { nan?: ArrayLike; posinf?: ArrayLike | null; neginf?: ArrayLike | null; }): Array

/** argmax that ignores NaN; -1 where there is nothing else. */
export function nanargmax(a: ArrayLike, axis?: number, opts?: ReduceOpts): Array

/** argmin that ignores NaN; -1 where there is nothing else. */
export function nanargmin(a: ArrayLike, axis?: number, opts?: ReduceOpts): Array

/** cumprod with 1 for NaN. */
export function nancumprod(a: ArrayLike, axis?: number): Array

/** cumsum with 0 for NaN. */
export function nancumsum(a: ArrayLike, axis?: number): Array

/** max that ignores NaN. */
export function nanmax(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** mean that ignores NaN. */
export function nanmean(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** min that ignores NaN. */
export function nanmin(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** prod with 1 for NaN. */
export function nanprod(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** std that ignores NaN. */
export function nanstd(x: ArrayLike, axis?: Axis, opts?: { correction?: number; } & ReduceOpts): Array

/** sum with 0 for NaN. */
export function nansum(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** var_ that ignores NaN. */
export function nanvar(x: ArrayLike, axis?: Axis, opts?: { correction?: number; } & ReduceOpts): Array

/** The number of axes. Consumes nothing. */
export const ndim: (x: ArrayLike) => number

/** -x. */
export const negative: (x: ArrayLike) => Array

/** Whether x and y differ, elementwise: bool. */
export const notEqual: (x: ArrayLike, y: ArrayLike) => Array

/** An array of ones. */
export function ones(shape: number[], opts?: DTypeAndDevice): Array

/** An array of ones like another one. */
export const onesLike: (a: ArrayLike, opts?: DTypeShapeAndDevice) => Array

/** The outer product: products of each element of x with each of y. */
export function outer(x: ArrayLike, y: ArrayLike): Array

/**
 * The array with zeros around it: one width, a pair for all axes, a pair for each axis, or pairs by the numbers of axes.
 */
export const pad: (x: ArrayLike, width: number | Pair | Pair[] | Record<number, Pair>) => Array

/** transpose by its other name. */
export const permuteDims: (x: ArrayLike, perm?: number[]) => Array

/** The ratio of a circle's circumference to its diameter. */
export const pi: number

/** The sum of two polynomials, highest degree first. */
export function polyadd(a1: ArrayLike, a2: ArrayLike): Array

/** The m-th derivative of a polynomial. */
export function polyder(p: ArrayLike, m?: number): Array

/** The product of two polynomials. */
export function polymul(a1: ArrayLike, a2: ArrayLike): Array

/** The difference of two polynomials. */
export function polysub(a1: ArrayLike, a2: ArrayLike): Array

/** The value of a polynomial p, highest degree first, at x. */
export function polyval(p: ArrayLike, x: ArrayLike): Array

/** x. */
export const positive: (x: ArrayLike) => Array

/** x1^x2. */
export const pow: OwnedFunction<(x1: ArrayLike, x2: ArrayLike) => Array>

/** x1^x2. */
export const power: OwnedFunction<(x1: ArrayLike, x2: ArrayLike) => Array>

/** The product along axes. */
export function prod(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/**
 * The type that holds values of two types: bool, uint32, int32, float16, float32, float64 in this order, the narrower types
 * between them.
 */
export function promoteTypes(dtype1: DType, dtype2: DType): DType

/** The maximum minus the minimum along axes. */
export function ptp(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** Radians as degrees. */
export function rad2deg(x: ArrayLike): Array

/** deg2rad by its other name. */
export const radians: typeof deg2rad

/** The flattened array. */
export function ravel(a: ArrayLike): Array

/** 1 / x. */
export const reciprocal: (x: ArrayLike) => Array

/** The remainder of x / y with the sign of y. */
export const remainder: OwnedFunction<(x: ArrayLike, y: ArrayLike) => Array>

/** Each element several times. */
export function repeat(a: ArrayLike, repeats: number, axis?: number): Array

/** The array in another shape; one size may be -1. */
export const reshape: (x: ArrayLike, shape: number[]) => Array

/** The type of a result of arrays, numbers and types. Consumes nothing. */
export function resultType(...args: (ArrayLike | DType)[]): DType

/** bitwiseRightShift by its other name. */
export function rightShift(x: ArrayLike, y: ArrayLike): Array

/** The nearest integer, ties to even. */
export const rint: OwnedFunction<(x: ArrayLike) => Array>

/** Elements shifted cyclically along axes, or in the flattened array. */
export function roll(a: ArrayLike, shift: number | number[], axis?: Axis): Array

/** The array rotated by k times 90 degrees in the plane of two axes. */
export function rot90(m: ArrayLike, k?: number, axes?: number[]): Array

/** x rounded to decimals after the point, ties to even. */
export const round: OwnedFunction<(a: ArrayLike, decimals?: number) => Array>

/** The element of the choice whose condition is the first true one, else defaultValue. */
export function select(condlist: ArrayLike[], choicelist: ArrayLike[], defaultValue?: ArrayLike): Array

/** The shape. Consumes nothing. */
export const shape: (x: ArrayLike) => number[]

/** The sign: -1, 0 or +1, NaN for NaN. */
export function sign(x: ArrayLike): Array

/** Where the sign bit is set: bool. */
export function signbit(x: ArrayLike): Array

/** The sine. */
export const sin: (x: ArrayLike) => Array

/** sin(pi x) / (pi x). */
export const sinc: OwnedFunction<(x: ArrayLike) => Array>

/** The hyperbolic sine. */
export const sinh: OwnedFunction<(x: ArrayLike) => Array>

/** The number of elements, or that of an axis. Consumes nothing. */
export function size(a: ArrayLike, axis?: number): number

/** Elements in ascending order along an axis; NaN last. */
export function sort(a: ArrayLike, axis?: number): Array

/** Splits along an axis into equal parts, or at positions. */
export function split(a: ArrayLike, indicesOrSections: number | number[], axis?: number): Array[]

/** The square root; NaN for negative numbers. */
export const sqrt: (x: ArrayLike) => Array

/** x * x. */
export function square(x: ArrayLike): Array

/** The array without axes of size 1. */
export function squeeze(a: ArrayLike, axis?: Axis): Array

/** Arrays along a new axis. */
export function stack(xs: ArrayLike[], axis?: number): Array

/** The standard deviation along axes, with divisor N - correction. */
export function std(x: ArrayLike, axis?: Axis, opts?: { mean?: ArrayLike; correction?: number; } & ReduceOpts): Array

/** The difference x - y. */
export function subtract(x: ArrayLike, y: ArrayLike): Array

/** The sum along axes; bools count as integers. */
export function sum(a: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** The array with two axes exchanged. */
export function swapaxes(a: ArrayLike, axis1: number, axis2: number): Array

/** Elements at positions along an axis, or of the flattened array. */
export function take(a: ArrayLike, indices: ArrayLike, axis?: number | null): Array

/** Elements at positions along an axis, which are arrays of the same number of axes. */
export function takeAlongAxis(a: ArrayLike, indices: ArrayLike, axis?: number): Array

/** The tangent. */
export function tan(x: ArrayLike): Array

/** The hyperbolic tangent. */
export const tanh: OwnedFunction<(x: ArrayLike) => Array>

/** The sum of products over axes of x and y (contraction). */
export function tensordot(x: ArrayLike, y: ArrayLike, axes?: number | [number[], number[]]): Array

/** The array repeated along axes. */
export function tile(a: ArrayLike, reps: number | number[]): Array

/** The sum of a diagonal. */
export function trace(a: ArrayLike, offset?: number, axis1?: number, axis2?: number): Array

/** The array with its axes in another order, the reverse one unless given. */
export const transpose: (x: ArrayLike, perm?: number[]) => Array

/** The integral along an axis by the trapezoidal rule, of samples at x or dx apart. */
export function trapezoid(y: ArrayLike, x?: ArrayLike | null, opts?: { dx?: ArrayLike; axis?: number; }): Array

/** A matrix with ones on a diagonal and below. */
export function tri(n: number, m?: number, k?: number, options?: DTypeAndDevice): Array

/** Elements on a diagonal and below, zeros above. */
export function tril(a: ArrayLike, k?: number): Array

/** Elements on a diagonal and above, zeros below. */
export function triu(a: ArrayLike, k?: number): Array

/** divide by its other name. */
export function trueDivide(x: ArrayLike, y: ArrayLike): Array

/** x rounded towards zero. */
export function trunc(x: ArrayLike): Array

/** The data type uint32. */
export const uint32: 'uint32'

/** The slices along an axis, without that axis. */
export function unstack(x: ArrayLike, axis?: number): Array[]

/** Unwraps a phase: removes jumps of more than half a period. */
export function unwrap(p: ArrayLike, discont?: number | null, axis?: number, period?: number): Array

/** The Vandermonde matrix: columns are powers of a vector, in descending order unless increasing is true. */
export function vander(x: ArrayLike, options?: { n?: number; increasing?: boolean; }): Array

/** The variance along axes, with divisor N - correction. */
export function var_(x: ArrayLike, axis?: Axis, opts?: { mean?: ArrayLike; correction?: number; } & ReduceOpts): Array

/** The sum of products of the flattened arrays. */
export function vdot(x: ArrayLike, y: ArrayLike): Array

/** The sum of products along an axis. */
export function vecdot(x: ArrayLike, y: ArrayLike, options?: { axis?: number; }): Array

/** Products of vectors [..., N] and matrices [..., N, M]. */
export function vecmat(x1: ArrayLike, x2: ArrayLike): Array

/** Splits along axis 0. */
export function vsplit(a: ArrayLike, indicesOrSections: number | number[]): Array[]

/** Concatenates arrays along axis 0. */
export function vstack(xs: ArrayLike[]): Array

/** x where cond is other than 0, else y. */
export const where: (cond: ArrayLike, x: ArrayLike, y: ArrayLike) => Array

/** An array of zeros. */
export function zeros(shape: number[], opts?: DTypeAndDevice): Array

/** An array of zeros like another one. */
export const zerosLike: (a: ArrayLike, opts?: DTypeShapeAndDevice) => Array

/** The modified Bessel function of the first kind and order 0. */
export function i0(x: ArrayLike): Array

/** The next representable number after x towards y. */
export function nextafter(x: ArrayLike, y: ArrayLike | { y: ArrayLike }): Array

/** The greatest common divisor of integers. */
export function gcd(x: ArrayLike, y: ArrayLike | { y: ArrayLike }): Array

/** The least common multiple of integers. */
export function lcm(x: ArrayLike, y: ArrayLike | { y: ArrayLike }): Array

/**
 * Whether |a - b| <= atol + rtol * |b|: bool; with equalNan NaN is close to NaN.
 * @param rtol 1e-05 by default
 * @param atol 1e-08 by default
 */
export function isclose(x: ArrayLike, y: ArrayLike, rtol?: number, atol?: number, equalNan?: boolean): Array
export function isclose(x: ArrayLike, y: ArrayLike, options: { rtol?: number, atol?: number, equalNan?: boolean }): Array
export function isclose(x: ArrayLike, options: { y: ArrayLike, rtol?: number, atol?: number, equalNan?: boolean }): Array

/**
 * The quantiles along axes.
 * q has values from 0 to 1; its axes come first in the result. method says how to interpolate between two elements.
 * @param method linear by default
 */
export function quantile(x: ArrayLike, q: ArrayLike, axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean): Array
export function quantile(x: ArrayLike, q: ArrayLike, options: { axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean }): Array
export function quantile(x: ArrayLike, options: { q: ArrayLike, axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean }): Array

/**
 * The percentiles along axes.
 * q has values from 0 to 100; its axes come first in the result. method says how to interpolate between two elements.
 * @param method linear by default
 */
export function percentile(x: ArrayLike, q: ArrayLike, axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean): Array
export function percentile(x: ArrayLike, q: ArrayLike, options: { axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean }): Array
export function percentile(x: ArrayLike, options: { q: ArrayLike, axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean }): Array

/**
 * The quantiles along axes of the elements that are not NaN.
 * q has values from 0 to 1; its axes come first in the result. method says how to interpolate between two elements.
 * @param method linear by default
 */
export function nanquantile(x: ArrayLike, q: ArrayLike, axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean): Array
export function nanquantile(x: ArrayLike, q: ArrayLike, options: { axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean }): Array
export function nanquantile(x: ArrayLike, options: { q: ArrayLike, axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean }): Array

/**
 * The percentiles along axes of the elements that are not NaN.
 * q has values from 0 to 100; its axes come first in the result. method says how to interpolate between two elements.
 * @param method linear by default
 */
export function nanpercentile(x: ArrayLike, q: ArrayLike, axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean): Array
export function nanpercentile(x: ArrayLike, q: ArrayLike, options: { axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean }): Array
export function nanpercentile(x: ArrayLike, options: { q: ArrayLike, axis?: number | readonly number[] | null, method?: 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest', keepdims?: boolean }): Array

/** The median along axes. */
export function median(x: ArrayLike, axis?: number | readonly number[] | null, keepdims?: boolean): Array
export function median(x: ArrayLike, axis: number | readonly number[] | null, options: { keepdims?: boolean }): Array
export function median(x: ArrayLike, options: { axis?: number | readonly number[] | null, keepdims?: boolean }): Array

/** The median along axes of the elements that are not NaN. */
export function nanmedian(x: ArrayLike, axis?: number | readonly number[] | null, keepdims?: boolean): Array
export function nanmedian(x: ArrayLike, axis: number | readonly number[] | null, options: { keepdims?: boolean }): Array
export function nanmedian(x: ArrayLike, options: { axis?: number | readonly number[] | null, keepdims?: boolean }): Array

/**
 * The derivatives along axes by finite differences, one array for each axis.
 * spacing is the distance between elements, or their coordinates along the axis.
 * @param spacing 1 by default
 * @param edgeOrder 1 by default
 */
export function gradient(f: ArrayLike, spacing?: ArrayLike, axis?: number | readonly number[] | null, edgeOrder?: '1' | '2' | number | readonly number[]): Array[]
export function gradient(f: ArrayLike, spacing: ArrayLike, options: { axis?: number | readonly number[] | null, edgeOrder?: '1' | '2' | number | readonly number[] }): Array[]
export function gradient(f: ArrayLike, options: { spacing?: ArrayLike, axis?: number | readonly number[] | null, edgeOrder?: '1' | '2' | number | readonly number[] }): Array[]

/**
 * The piecewise linear interpolation at x of the points (xp, fp), for ascending xp.
 * left and right are the values below and above all points, by default those of the end points.
 */
export function interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left?: number | null, right?: number | null): Array
export function interp(x: ArrayLike, xp: ArrayLike, options: { fp: ArrayLike, left?: number | null, right?: number | null }): Array
export function interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, options: { left?: number | null, right?: number | null }): Array
export function interp(x: ArrayLike, options: { xp: ArrayLike, fp: ArrayLike, left?: number | null, right?: number | null }): Array

/**
 * The positions that sort by several keys: the last array is the primary key.
 * @param axis -1 by default
 */
export function lexsort(keys: readonly ArrayLike[], axis?: number | { axis?: number }): Array

/**
 * The elements along an axis, partitioned at kth; all are sorted.
 * @param axis -1 by default
 */
export function partition(x: ArrayLike, kth: number | readonly number[], axis?: number): Array
export function partition(x: ArrayLike, kth: number | readonly number[], options: { axis?: number }): Array
export function partition(x: ArrayLike, options: { kth: number | readonly number[], axis?: number }): Array

/**
 * The indices of the elements of partition.
 * @param axis -1 by default
 */
export function argpartition(x: ArrayLike, kth: number | readonly number[], axis?: number): Array
export function argpartition(x: ArrayLike, kth: number | readonly number[], options: { axis?: number }): Array
export function argpartition(x: ArrayLike, options: { kth: number | readonly number[], axis?: number }): Array

/**
 * The positions, int32, at which values can be inserted to keep the vector x sorted.
 * They are before equal elements, or after them with "right". sorter are the positions that sort x.
 * @param side left by default
 */
export function searchsorted(x: ArrayLike, values: ArrayLike, side?: 'left' | 'right', sorter?: ArrayLike | null): Array
export function searchsorted(x: ArrayLike, values: ArrayLike, options: { side?: 'left' | 'right', sorter?: ArrayLike | null }): Array
export function searchsorted(x: ArrayLike, options: { values: ArrayLike, side?: 'left' | 'right', sorter?: ArrayLike | null }): Array

/**
 * The number of the bin of each element; bins are the edges, ascending or descending.
 * A bin includes its lower edge, or with right its upper edge.
 */
export function digitize(x: ArrayLike, bins: ArrayLike, right?: boolean): Array
export function digitize(x: ArrayLike, bins: ArrayLike, options: { right?: boolean }): Array
export function digitize(x: ArrayLike, options: { bins: ArrayLike, right?: boolean }): Array

/**
 * The number of elements equal to 0, 1, …, or the sum of their weights.
 * length is the length of the result, by default the greatest element + 1, at least minlength.
 * @param minlength 0 by default, 0 or more
 * @param length 0 or more
 */
export function bincount(x: ArrayLike, weights?: ArrayLike | null, minlength?: number, length?: number | null): Array
export function bincount(x: ArrayLike, weights: ArrayLike | null, options: { minlength?: number, length?: number | null }): Array
export function bincount(x: ArrayLike, options: { weights?: ArrayLike | null, minlength?: number, length?: number | null }): Array

/**
 * The number of elements in each bin, and the edges of the bins.
 * bins is the number of bins of equal width over range, by default from the least to the greatest element, or a tensor of edges. With
 * density the counts are divided by their sum and the width of the bin.
 * @param bins 10 by default
 */
export function histogram(x: ArrayLike, bins?: ArrayLike, range?: readonly number[] | null, weights?: ArrayLike | null, density?: boolean): [Array, Array]
export function histogram(x: ArrayLike, bins: ArrayLike, options: { range?: readonly number[] | null, weights?: ArrayLike | null, density?: boolean }): [Array, Array]
export function histogram(x: ArrayLike, options: { bins?: ArrayLike, range?: readonly number[] | null, weights?: ArrayLike | null, density?: boolean }): [Array, Array]

/**
 * The distinct elements in ascending order, with the index of the first occurrence of each in the flattened array, the index of each
 * element of the array among them, and the number of occurrences.
 * Each NaN is distinct.
 * @param size 0 or more
 */
export function uniqueAll(x: ArrayLike, size?: number | null, fillValue?: number | boolean | null): [Array, Array, Array, Array]
export function uniqueAll(x: ArrayLike, size: number | null, options: { fillValue?: number | boolean | null }): [Array, Array, Array, Array]
export function uniqueAll(x: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): [Array, Array, Array, Array]

/**
 * The distinct elements in ascending order. NaN is equal to none.
 * @param size 0 or more
 */
export function uniqueValues(x: ArrayLike, size?: number | null, fillValue?: number | boolean | null): Array
export function uniqueValues(x: ArrayLike, size: number | null, options: { fillValue?: number | boolean | null }): Array
export function uniqueValues(x: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): Array

/**
 * The distinct elements of both arrays in ascending order.
 * @param size 0 or more
 */
export function union1d(x: ArrayLike, y: ArrayLike, size?: number | null, fillValue?: number | boolean | null): Array
export function union1d(x: ArrayLike, y: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): Array
export function union1d(x: ArrayLike, options: { y: ArrayLike, size?: number | null, fillValue?: number | boolean | null }): Array

/**
 * The distinct elements that are in both arrays, in ascending order.
 * @param size 0 or more
 */
export function intersect1d(x: ArrayLike, y: ArrayLike, size?: number | null, fillValue?: number | boolean | null): Array
export function intersect1d(x: ArrayLike, y: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): Array
export function intersect1d(x: ArrayLike, options: { y: ArrayLike, size?: number | null, fillValue?: number | boolean | null }): Array

/**
 * The distinct elements that are not in y, in ascending order.
 * @param size 0 or more
 */
export function setdiff1d(x: ArrayLike, y: ArrayLike, size?: number | null, fillValue?: number | boolean | null): Array
export function setdiff1d(x: ArrayLike, y: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): Array
export function setdiff1d(x: ArrayLike, options: { y: ArrayLike, size?: number | null, fillValue?: number | boolean | null }): Array

/**
 * The distinct elements that are in exactly one of the arrays, in ascending order.
 * @param size 0 or more
 */
export function setxor1d(x: ArrayLike, y: ArrayLike, size?: number | null, fillValue?: number | boolean | null): Array
export function setxor1d(x: ArrayLike, y: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): Array
export function setxor1d(x: ArrayLike, options: { y: ArrayLike, size?: number | null, fillValue?: number | boolean | null }): Array

/**
 * The indices of the elements that are not 0, one vector for each axis, int32.
 * @param size 0 or more
 */
export function nonzero(x: ArrayLike, size?: number | null, fillValue?: number | boolean | null): Array[]
export function nonzero(x: ArrayLike, size: number | null, options: { fillValue?: number | boolean | null }): Array[]
export function nonzero(x: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): Array[]

/**
 * The indices of the elements that are not 0, one row for each element, int32.
 * @param size 0 or more
 */
export function argwhere(x: ArrayLike, size?: number | null, fillValue?: number | boolean | null): Array
export function argwhere(x: ArrayLike, size: number | null, options: { fillValue?: number | boolean | null }): Array
export function argwhere(x: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): Array

/**
 * The indices of the elements of the flattened array that are not 0, int32.
 * @param size 0 or more
 */
export function flatnonzero(x: ArrayLike, size?: number | null, fillValue?: number | boolean | null): Array
export function flatnonzero(x: ArrayLike, size: number | null, options: { fillValue?: number | boolean | null }): Array
export function flatnonzero(x: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): Array

/**
 * The elements of x where condition is true, as a vector.
 * @param size 0 or more
 */
export function extract(condition: ArrayLike, x: ArrayLike, size?: number | null, fillValue?: number | boolean | null): Array
export function extract(condition: ArrayLike, x: ArrayLike, options: { size?: number | null, fillValue?: number | boolean | null }): Array
export function extract(condition: ArrayLike, options: { x: ArrayLike, size?: number | null, fillValue?: number | boolean | null }): Array

/**
 * The array with values written at the positions that takeAlongAxis reads.
 * An index out of bounds is an error if it is already computed. In a lazy tensor it writes nothing.
 */
export function putAlongAxis(x: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: number): Array
export function putAlongAxis(x: ArrayLike, indices: ArrayLike, options: { values: ArrayLike, axis: number }): Array
export function putAlongAxis(x: ArrayLike, options: { indices: ArrayLike, values: ArrayLike, axis: number }): Array

/**
 * The array with values at indices of the flattened array, repeated as needed.
 * An index out of bounds is an error if it is already computed. In a lazy tensor it writes nothing.
 */
export function put(x: ArrayLike, indices: ArrayLike, values: ArrayLike): Array
export function put(x: ArrayLike, indices: ArrayLike, options: { values: ArrayLike }): Array
export function put(x: ArrayLike, options: { indices: ArrayLike, values: ArrayLike }): Array

/** The array without the elements at the indices obj along an axis. Without axis the array is flattened. */
export function delete_(x: ArrayLike, obj: number | readonly number[], axis?: number | null): Array
export function delete_(x: ArrayLike, obj: number | readonly number[], options: { axis?: number | null }): Array
export function delete_(x: ArrayLike, options: { obj: number | readonly number[], axis?: number | null }): Array

/** The array with values inserted in front of the indices obj along an axis. Without axis the array is flattened. */
export function insert(x: ArrayLike, obj: number | readonly number[], values: ArrayLike, axis?: number | null): Array
export function insert(x: ArrayLike, obj: number | readonly number[], options: { values: ArrayLike, axis?: number | null }): Array
export function insert(x: ArrayLike, obj: number | readonly number[], values: ArrayLike, options: { axis?: number | null }): Array
export function insert(x: ArrayLike, options: { obj: number | readonly number[], values: ArrayLike, axis?: number | null }): Array

/**
 * The elements along an axis packed as bits, 1 where they are not 0, eight to a byte, uint8.
 * @param bitorder big by default
 */
export function packbits(x: ArrayLike, axis?: number | null, bitorder?: 'big' | 'little'): Array
export function packbits(x: ArrayLike, axis: number | null, options: { bitorder?: 'big' | 'little' }): Array
export function packbits(x: ArrayLike, options: { axis?: number | null, bitorder?: 'big' | 'little' }): Array

/**
 * The bits of the bytes along an axis, uint8: all, or the first count.
 * @param bitorder big by default
 */
export function unpackbits(x: ArrayLike, axis?: number | null, count?: number | null, bitorder?: 'big' | 'little'): Array
export function unpackbits(x: ArrayLike, axis: number | null, options: { count?: number | null, bitorder?: 'big' | 'little' }): Array
export function unpackbits(x: ArrayLike, options: { axis?: number | null, count?: number | null, bitorder?: 'big' | 'little' }): Array

/** The Kronecker product. */
export function kron(x: ArrayLike, y: ArrayLike | { y: ArrayLike }): Array

/**
 * The coefficients of the polynomial of degree deg that fits y at x by least squares.
 * The highest coefficient comes first; w are weights.
 * @param deg 0 or more
 */
export function polyfit(x: ArrayLike, y: ArrayLike, deg: number, w?: ArrayLike | null): Array
export function polyfit(x: ArrayLike, y: ArrayLike, options: { deg: number, w?: ArrayLike | null }): Array
export function polyfit(x: ArrayLike, y: ArrayLike, deg: number, options: { w?: ArrayLike | null }): Array
export function polyfit(x: ArrayLike, options: { y: ArrayLike, deg: number, w?: ArrayLike | null }): Array

/**
 * The coefficients of the integral of order m of a polynomial, with integration constants k.
 * @param m 1 by default, 0 or more
 */
export function polyint(p: ArrayLike, m?: number, k?: readonly number[] | null): Array
export function polyint(p: ArrayLike, m: number, options: { k?: readonly number[] | null }): Array
export function polyint(p: ArrayLike, options: { m?: number, k?: readonly number[] | null }): Array

/** The Hamming window of M points, float32. */
export function hamming(M: number | { M: number }): Array

/** The Hann window of M points, float32. */
export function hanning(M: number | { M: number }): Array

/** The Kaiser window of M points with the parameter beta, float32. */
export function kaiser(M: number, beta: number): Array
export function kaiser(M: number, options: { beta: number }): Array
export function kaiser(options: { M: number, beta: number }): Array

export {
  /** concatenate by its other name. */
  concatenate as concat
}

export {
  /** abs by its other name. */
  abs as fabs
}

export {
  /** remainder by its other name. */
  remainder as mod
}

export {
  /** max by its other name. */
  max as amax
}

export {
  /** min by its other name. */
  min as amin
}

export {
  /** trunc by its other name. */
  trunc as fix
}
