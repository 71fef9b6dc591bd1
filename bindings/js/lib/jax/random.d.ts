/** Random numbers by key, with the same bits as JAX. */

import type { Array, ArrayLike, DType, OwnedFunction } from './index.js'

/** Points in the unit ball of the p-norm in d dimensions. */
export const ball: OwnedFunction<(key: ArrayLike, d: number, options?: { p?: number; shape?: number[]; }) => Array>

/** true with the probability p. */
export function bernoulli(key: Array, p?: ArrayLike, shape?: number[]): Array

/** Random uint32. */
export function bits(key: Array, shape?: number[]): Array

/** Indices drawn along an axis with the probabilities softmax(logits): int32. */
export const categorical: OwnedFunction<(key: ArrayLike, logits: ArrayLike, options?: { axis?: number; shape?: number[]; replace?: boolean; }) => Array>

/** Cauchy's distribution. */
export const cauchy: OwnedFunction<(key: ArrayLike, shape?: number[]) => Array>

/** Elements of a, or numbers below it, with the probabilities p. */
export function choice(key: Array, a: number | ArrayLike, options?: { shape?: number[]; replace?: boolean; p?: ArrayLike; axis?: number; }): Array

/** Maxwell's distribution with random sign, location and scale. */
export const doubleSidedMaxwell: OwnedFunction<(key: ArrayLike, loc: ArrayLike, scale: ArrayLike, shape?: number[]) => Array>

/** The exponential distribution of rate 1. */
export const exponential: OwnedFunction<(key: ArrayLike, shape?: number[]) => Array>

/** Numbers of trials until the first success: int32. */
export const geometric: OwnedFunction<(key: ArrayLike, p: ArrayLike, options?: { shape?: number[]; dtype?: DType; }) => Array>

/** Gumbel's distribution. */
export const gumbel: OwnedFunction<(key: ArrayLike, shape?: number[]) => Array>

/** A key made of a seed: uint32[2]. */
export function key(seed: ArrayLike): Array

/** Laplace's distribution. */
export const laplace: OwnedFunction<(key: ArrayLike, shape?: number[]) => Array>

/** The logistic distribution. */
export const logistic: OwnedFunction<(key: ArrayLike, shape?: number[]) => Array>

/** exp(sigma normal). */
export const lognormal: OwnedFunction<(key: ArrayLike, sigma?: ArrayLike, shape?: number[]) => Array>

/** Maxwell's distribution. */
export const maxwell: OwnedFunction<(key: ArrayLike, shape?: number[]) => Array>

/** Normal vectors with a mean and covariances. */
export const multivariateNormal: OwnedFunction<(key: ArrayLike, mean: ArrayLike, cov: ArrayLike, shape?: number[]) => Array>

/** The normal distribution, by the inverse of its distribution function, as in JAX. */
export const normal: OwnedFunction<(key: ArrayLike, shape?: number[]) => Array>

/** Pareto's distribution. */
export const pareto: OwnedFunction<(key: ArrayLike, b: ArrayLike, shape?: number[]) => Array>

/** The integers below x, or the slices of x along an axis, in random order. */
export function permutation(key: Array, x: number | ArrayLike, axis?: number): Array

/** -1 or 1. */
export const rademacher: OwnedFunction<(key: ArrayLike, options?: { shape?: number[]; dtype?: DType; }) => Array>

/** Integers in [minval, maxval). */
export const randint: OwnedFunction<(key: ArrayLike, options: { minval: number; maxval: number; shape?: number[]; dtype?: DType; }) => Array>

/** Rayleigh's distribution. */
export const rayleigh: OwnedFunction<(key: ArrayLike, scale?: ArrayLike, shape?: number[]) => Array>

/** New keys derived from a key: two, num of them, or an array of them of a shape. */
export function split(key: Array, num?: number | number[]): Array

/** The triangular distribution. */
export const triangular: OwnedFunction<(key: ArrayLike, left: ArrayLike, mode: ArrayLike, right: ArrayLike, shape?: number[]) => Array>

/** Uniform numbers in [minval, maxval). */
export const uniform: OwnedFunction<(key: ArrayLike, shape?: number[], options?: { minval?: number; maxval?: number; }) => Array>

/** Weibull's distribution. */
export const weibullMin: OwnedFunction<(key: ArrayLike, scale: ArrayLike, concentration: ArrayLike, shape?: number[]) => Array>

/** A new key derived from a key and an integer; several keys for an array of integers. */
export function foldIn(key: ArrayLike, data: ArrayLike | { data: ArrayLike }): Array

/**
 * Random orthogonal matrices (…, n, m), uniform in the Haar measure; m is n unless given.
 * Of a matrix that is not square, the rows or the columns, whichever are fewer, are orthonormal.
 * @param n 0 or more
 * @param dtype float by default
 * @param m 0 or more
 */
export function orthogonal(key: ArrayLike, n: number, shape?: number | readonly number[] | null, dtype?: DType, m?: number | null): Array
export function orthogonal(key: ArrayLike, n: number, options: { shape?: number | readonly number[] | null, dtype?: DType, m?: number | null }): Array
export function orthogonal(key: ArrayLike, options: { n: number, shape?: number | readonly number[] | null, dtype?: DType, m?: number | null }): Array

/**
 * Random numbers of the standard normal distribution between lower and upper.
 * @param dtype float by default
 */
export function truncatedNormal(key: ArrayLike, lower: ArrayLike, upper: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function truncatedNormal(key: ArrayLike, lower: ArrayLike, options: { upper: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array
export function truncatedNormal(key: ArrayLike, lower: ArrayLike, upper: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function truncatedNormal(key: ArrayLike, options: { lower: ArrayLike, upper: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random numbers of the gamma distribution of shape a.
 * Its density is proportional to x^(a-1) exp(-x). The derivative with respect to a is that of the quantile function at a fixed probability
 * (implicit reparameterization), also in distributions that are computed from gamma.
 * @param dtype float by default
 */
export function gamma(key: ArrayLike, a: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function gamma(key: ArrayLike, a: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function gamma(key: ArrayLike, options: { a: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Logarithms of random numbers of the gamma distribution.
 * They are accurate also where the numbers themselves underflow.
 * @param dtype float by default
 */
export function loggamma(key: ArrayLike, a: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function loggamma(key: ArrayLike, a: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function loggamma(key: ArrayLike, options: { a: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random numbers of the beta distribution.
 * Its density is proportional to x^(a-1) (1-x)^(b-1) for x from 0 to 1.
 * @param dtype float by default
 */
export function beta(key: ArrayLike, a: ArrayLike, b: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function beta(key: ArrayLike, a: ArrayLike, options: { b: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array
export function beta(key: ArrayLike, a: ArrayLike, b: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function beta(key: ArrayLike, options: { a: ArrayLike, b: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random numbers of the chi-squared distribution with df degrees of freedom.
 * @param dtype float by default
 */
export function chisquare(key: ArrayLike, df: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function chisquare(key: ArrayLike, df: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function chisquare(key: ArrayLike, options: { df: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random numbers of the F distribution with dfnum and dfden degrees of freedom.
 * @param dtype float by default
 */
export function f(key: ArrayLike, dfnum: ArrayLike, dfden: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function f(key: ArrayLike, dfnum: ArrayLike, options: { dfden: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array
export function f(key: ArrayLike, dfnum: ArrayLike, dfden: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function f(key: ArrayLike, options: { dfnum: ArrayLike, dfden: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random numbers of Student's t distribution with df degrees of freedom.
 * @param dtype float by default
 */
export function t(key: ArrayLike, df: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function t(key: ArrayLike, df: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function t(key: ArrayLike, options: { df: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random numbers of the generalised normal distribution.
 * Its density is proportional to exp(-|x|^p).
 * @param dtype float by default
 */
export function generalizedNormal(key: ArrayLike, p: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function generalizedNormal(key: ArrayLike, p: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function generalizedNormal(key: ArrayLike, options: { p: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random vectors of the Dirichlet distribution, which add up to 1.
 * shape is the shape of the samples without the last axis, which is that of alpha.
 * @param dtype float by default
 */
export function dirichlet(key: ArrayLike, alpha: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function dirichlet(key: ArrayLike, alpha: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function dirichlet(key: ArrayLike, options: { alpha: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random numbers of the Poisson distribution with mean lam.
 * @param dtype int by default
 */
export function poisson(key: ArrayLike, lam: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function poisson(key: ArrayLike, lam: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function poisson(key: ArrayLike, options: { lam: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random numbers of the binomial distribution: the successes of n trials with probability p.
 * @param dtype float by default
 */
export function binomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function binomial(key: ArrayLike, n: ArrayLike, options: { p: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array
export function binomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function binomial(key: ArrayLike, options: { n: ArrayLike, p: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random counts of the multinomial distribution: n trials with k outcomes of the probabilities p (…, k).
 * shape is that of the counts, (…, k).
 * @param dtype float by default
 */
export function multinomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function multinomial(key: ArrayLike, n: ArrayLike, options: { p: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array
export function multinomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function multinomial(key: ArrayLike, options: { n: ArrayLike, p: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

/**
 * Random numbers of the inverse Gaussian distribution with a mean and the shape parameter 1.
 * @param dtype float by default
 */
export function wald(key: ArrayLike, mean: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType): Array
export function wald(key: ArrayLike, mean: ArrayLike, options: { shape?: number | readonly number[] | null, dtype?: DType }): Array
export function wald(key: ArrayLike, options: { mean: ArrayLike, shape?: number | readonly number[] | null, dtype?: DType }): Array

export {
  /** key by its other name. */
  key as PRNGKey
}
