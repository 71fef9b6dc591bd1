/** Special functions, as scipy.special. */

import type { Array, ArrayLike, Axis, OwnedFunction, ReduceOpts } from './index.js'

/** The error function. */
export function erf(x: ArrayLike): Array

/** 1 - erf(x), accurate where it is small. */
export function erfc(x: ArrayLike): Array

/** log(softmax(x)). */
export function logSoftmax(x: ArrayLike, axis?: Axis): Array

/** log(p / (1 - p)). */
export const logit: OwnedFunction<(x: ArrayLike) => Array>

/** log(sum(exp(x))) along axes, all unless given. */
export function logsumexp(x: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** exp(x) / sum(exp(x)) along axes, the last one unless given. */
export function softmax(x: ArrayLike, axis?: Axis): Array

/** The gamma function. */
export function gamma(x: ArrayLike): Array

/** log|Gamma(x)|. */
export function gammaln(x: ArrayLike): Array

/** The sign of the gamma function. It is NaN at the poles below 0. */
export function gammasgn(x: ArrayLike): Array

/** log|Gamma(x)|. */
export function loggamma(x: ArrayLike): Array

/** The derivative of gammaln. */
export function digamma(x: ArrayLike): Array

/** The derivative of gammaln. */
export function psi(x: ArrayLike): Array

/**
 * The derivative of order n of digamma, for whole n.
 * x must be positive unless n is 0.
 */
export function polygamma(n: ArrayLike, x: ArrayLike | { x: ArrayLike }): Array

/**
 * The logarithm of the multivariate gamma function of dimension d, for a > (d-1)/2.
 * @param d from 1 to 1000
 */
export function multigammaln(a: ArrayLike, d: number | { d: number }): Array

/**
 * Gamma(x+1).
 * It is 0 for negative x.
 */
export function factorial(x: ArrayLike): Array

/**
 * The regularised lower incomplete gamma function P(a, x), for a, x >= 0.
 * The relative error in float64 is below 1e-12 for a up to 1e6; a small P is as accurate.
 */
export function gammainc(a: ArrayLike, x: ArrayLike | { x: ArrayLike }): Array

/**
 * The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).
 * It is computed directly where x > a + 1, so a small Q is accurate there.
 */
export function gammaincc(a: ArrayLike, x: ArrayLike | { x: ArrayLike }): Array

/** The beta function B(a, b) for positive a and b. */
export function beta(a: ArrayLike, b: ArrayLike | { b: ArrayLike }): Array

/**
 * log|B(a, b)|, the logarithm of the beta function.
 * It is accurate also for large arguments.
 */
export function betaln(a: ArrayLike, b: ArrayLike | { b: ArrayLike }): Array

/**
 * The regularised incomplete beta function IX(a, b), for a, b > 0 and x in 0 to 1.
 * The relative error in float64 is below 1e-11 for a, b up to 1e3.
 */
export function betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike): Array
export function betainc(a: ArrayLike, b: ArrayLike, options: { x: ArrayLike }): Array
export function betainc(a: ArrayLike, options: { b: ArrayLike, x: ArrayLike }): Array

/** The Hurwitz zeta function: the sum of (q+k)^-x over all k >= 0. For q = 1 it is the Riemann zeta function. q must be positive. */
export function zeta(x: ArrayLike, q: ArrayLike | { q: ArrayLike }): Array

/** The inverse of erf. */
export function erfinv(x: ArrayLike): Array

/** The cumulative distribution function of the standard normal distribution. */
export function ndtr(x: ArrayLike): Array

/** The logarithm of ndtr, accurate also where ndtr underflows to 0. */
export function logNdtr(x: ArrayLike): Array

/** The inverse of ndtr. */
export function ndtri(x: ArrayLike): Array

/** 1 / (1 + e^-x). */
export function expit(x: ArrayLike): Array

/** The modified Bessel function of the first kind and order 0. */
export function i0(x: ArrayLike): Array

/** e^-|x| i0(x). */
export function i0e(x: ArrayLike): Array

/** The modified Bessel function of the first kind and order 1. */
export function i1(x: ArrayLike): Array

/** e^-|x| i1(x). */
export function i1e(x: ArrayLike): Array

/** The exponential integral Ei(x). */
export function expi(x: ArrayLike): Array

/** The exponential integral E1(x), for x >= 0. */
export function exp1(x: ArrayLike): Array

/**
 * x log(y).
 * It is 0 for x = 0.
 */
export function xlogy(x: ArrayLike, y: ArrayLike | { y: ArrayLike }): Array

/**
 * x log(1+y).
 * It is 0 for x = 0.
 */
export function xlog1py(x: ArrayLike, y: ArrayLike | { y: ArrayLike }): Array

/**
 * -x log(x).
 * It is 0 at 0 and -infinity below.
 */
export function entr(x: ArrayLike): Array

/**
 * x log(x/y).
 * It is 0 for x = 0 and infinite for negative numbers.
 */
export function relEntr(x: ArrayLike, y: ArrayLike | { y: ArrayLike }): Array

/**
 * x log(x/y) - x + y.
 * It is infinite for negative numbers.
 */
export function klDiv(x: ArrayLike, y: ArrayLike | { y: ArrayLike }): Array

/** sin(pi x) / (pi x). */
export function sinc(x: ArrayLike): Array
