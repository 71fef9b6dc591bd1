/** Linear algebra, as numpy.linalg. */

import type { Array, ArrayLike } from './index.js'

export type EighOpts = { symmetrizeInput?: boolean }
export type SvdOpts = { fullMatrices?: boolean, computeUv?: boolean }

/**
 * The Cholesky factor of positive definite matrices: lower, or upper if upper is true. The input is symmetrised unless
 * symmetrizeInput is false.
 */
export function cholesky(a: ArrayLike, options?: { upper?: boolean; symmetrizeInput?: boolean; }): Array

/** The cross product of vectors of 3 elements along an axis. */
export function cross(x1: ArrayLike, x2: ArrayLike, axis?: number): Array

/** The determinant. */
export function det(a: ArrayLike): Array

/** A diagonal of the last two axes. */
export function diagonal(a: ArrayLike, offset?: number, axis1?: number, axis2?: number): Array

/** [eigenvalues in ascending order, eigenvectors as columns] of symmetric matrices. */
export function eigh(a: ArrayLike, opts?: EighOpts): [Array, Array]

/** The eigenvalues of symmetric matrices in ascending order. */
export function eigvalsh(a: ArrayLike, opts?: EighOpts): Array

/** The inverse. */
export function inv(a: ArrayLike): Array

/** Least squares: the x of least norm among those that minimise |a x - b|. */
export function lstsq(a: ArrayLike, b: ArrayLike): Array

/** The product of matrices. */
export function matmul(x: ArrayLike, y: ArrayLike): Array

/** A norm of matrices: "fro", "nuc", 1, -1, 2, -2, Infinity or -Infinity. */
export function matrixNorm(x: ArrayLike, options?: { ord?: number | "fro" | "nuc"; keepdims?: boolean; }): Array

/** An integer power of square matrices; a power of the inverse if n is negative. */
export function matrixPower(a: ArrayLike, n: number): Array

/** The array with its last two axes exchanged. */
export function matrixTranspose(a: ArrayLike): Array

/** The product of several matrices in the cheapest order. */
export function multiDot(arrays: Array[]): Array

/** A norm of vectors or matrices, along one or two axes; of all elements if neither ord nor axis is given. */
export function norm(x: ArrayLike, options?: { ord?: number | "f" | "fro" | "nuc" | null; axis?: number | number[] | null; keepdims?: boolean; }): Array

/** The outer product: products of each element of x with each of y. */
export function outer(x: ArrayLike, y: ArrayLike): Array

/** [the sign, the logarithm of the absolute value] of the determinant. */
export function slogdet(a: ArrayLike): [Array, Array]

/** Solves a x = b. */
export function solve(a: ArrayLike, b: ArrayLike): Array

/** [u, s, vh] with a = u diag(s) vh, thin unless fullMatrices is true; only s with computeUv false. */
export function svd(a: ArrayLike, opts: SvdOpts & { computeUv: false; }): Array
export function svd(a: ArrayLike, opts?: SvdOpts): [Array, Array, Array]

/** The singular values in descending order. */
export function svdvals(a: ArrayLike): Array

/** The sum of products over axes of x and y (contraction). */
export function tensordot(x: ArrayLike, y: ArrayLike, axes?: number | [number[], number[]]): Array

/** The sum of a diagonal of the last two axes. */
export function trace(a: ArrayLike, offset?: number, axis1?: number, axis2?: number): Array

/** The sum of products along an axis. */
export function vecdot(x: ArrayLike, y: ArrayLike, options?: { axis?: number; }): Array

/** A norm of vectors, of order 2 unless given; 0 counts nonzero elements, Infinity and -Infinity are the maximum and minimum of |x|. */
export function vectorNorm(x: ArrayLike, options?: { ord?: number; axis?: number | number[] | null; keepdims?: boolean; }): Array

/**
 * Solves x y = b, given the Cholesky factor of x.
 * @param lower true by default
 */
export function choSolve(c: ArrayLike, b: ArrayLike, lower?: boolean): Array
export function choSolve(c: ArrayLike, b: ArrayLike, options: { lower?: boolean }): Array
export function choSolve(c: ArrayLike, options: { b: ArrayLike, lower?: boolean }): Array

/**
 * Solves a x = b for triangular matrices a.
 * With trans it solves a^T x = b.
 */
export function solveTriangular(a: ArrayLike, b: ArrayLike, lower?: boolean, trans?: boolean, unitDiagonal?: boolean): Array
export function solveTriangular(a: ArrayLike, b: ArrayLike, options: { lower?: boolean, trans?: boolean, unitDiagonal?: boolean }): Array
export function solveTriangular(a: ArrayLike, options: { b: ArrayLike, lower?: boolean, trans?: boolean, unitDiagonal?: boolean }): Array

/**
 * The Moore-Penrose pseudo-inverse.
 * Singular values up to rtol times the greatest count as 0; rtol is max(m, n) times the machine epsilon unless given.
 */
export function pinv(x: ArrayLike, rtol?: ArrayLike | null | { rtol?: ArrayLike | null }): Array

/** Solves tensordot(a, x) = b; the contraction is over all axes of x, which are the last axes of a. */
export function tensorsolve(a: ArrayLike, b: ArrayLike | { b: ArrayLike }): Array

/**
 * The inverse of a as a linear map of tensors.
 * The first ind axes of a are the axes of its results.
 * @param ind 2 by default
 */
export function tensorinv(a: ArrayLike, ind?: number | { ind?: number }): Array

/**
 * Orthogonal q and upper triangular r with x = q r.
 * With "complete", q is square.
 * @param mode reduced by default
 */
export function qr(x: ArrayLike, mode?: 'reduced' | 'complete' | { mode?: 'reduced' | 'complete' }): [Array, Array]

/**
 * LU decomposition of square matrices: the permutation of the rows, lower and upper, with x[permutation] = lower upper.
 */
export function lu(x: ArrayLike): [Array, Array, Array]

/** The exponential of square matrices, for norms up to 2^15. */
export function expm(x: ArrayLike): Array

/** The number of singular values above rtol times the greatest, int32. rtol is max(m, n) times the machine epsilon unless given. */
export function matrixRank(x: ArrayLike, rtol?: ArrayLike | null | { rtol?: ArrayLike | null }): Array

/**
 * The condition number in a matrix norm.
 * @param p 2 by default
 */
export function cond(x: ArrayLike, p?: number | readonly number[] | 'same' | { p?: number | readonly number[] | 'same' }): Array
