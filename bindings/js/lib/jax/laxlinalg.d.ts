/** Linear algebra, as lax.linalg. */

import type { Array, ArrayLike } from './index.js'

/** The Cholesky factor, lower unless upper is true. */
export function cholesky(a: ArrayLike, options?: { upper?: boolean; }): Array

/** [eigenvectors as columns, eigenvalues in ascending order] of symmetric matrices. */
export function eigh(x: ArrayLike, options?: { lower?: boolean; sortEigenvalues?: boolean; symmetrizeInput?: boolean; }): [Array, Array]

/** LU decomposition of square matrices: [L and U in one matrix, pivots, permutation of the rows]. */
export function lu(x: ArrayLike): [Array, Array, Array]

/** [u, s, vh] with a = u diag(s) vh, thin unless fullMatrices is true; only s with computeUv false. */
export function svd(a: ArrayLike, options?: { computeUv?: boolean; fullMatrices?: boolean; }): [Array, Array, Array] | Array

/** Solves a x = b, or x a = b unless leftSide is true, for a triangular matrix a: upper unless lower is true. */
export function triangularSolve(a: ArrayLike, b: ArrayLike, options?: { leftSide?: boolean; lower?: boolean; transposeA?: boolean; unitDiagonal?: boolean; }): Array
