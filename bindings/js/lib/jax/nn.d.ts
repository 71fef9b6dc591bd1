/** Functions of neural networks. */

import type { Array, ArrayLike, Axis, OwnedFunction, ReduceOpts } from './index.js'

/** x where x > 0, else alpha (exp(x / alpha) - 1). */
export function celu(x: ArrayLike, alpha?: ArrayLike): Array

/**
 * Attention: softmax(query keyT scale + bias) value, for query [B, L, N, H] and key and value [B, S, K, H], where B is optional; K divides N.
 */
export function dotProductAttention(query: ArrayLike, key: ArrayLike, value: ArrayLike, opts?: { bias?: ArrayLike; mask?: ArrayLike; scale?: number; isCausal?: boolean; querySeqLengths?: ArrayLike; keyValueSeqLengths?: ArrayLike; localWindowSize?: number | [number, number]; }): Array

/** x where x > 0, else alpha (exp(x) - 1). */
export function elu(x: ArrayLike, alpha?: ArrayLike): Array

/** x times the normal distribution function, approximated by tanh unless approximate is false. */
export const gelu: OwnedFunction<(x: ArrayLike, opts?: { approximate?: boolean; }) => Array>

/** The first half along an axis times the sigmoid of the second. */
export function glu(x: ArrayLike, axis?: number): Array

/** relu6(x + 3) / 6. */
export function hardSigmoid(x: ArrayLike): Array

/** x hardSigmoid(x). */
export function hardSilu(x: ArrayLike): Array

/** hardSilu by its other name. */
export function hardSwish(x: ArrayLike): Array

/** x clamped to [-1, 1]. */
export function hardTanh(x: ArrayLike): Array

/** x. */
export const identity: (x: ArrayLike) => Array

/** x where x >= 0, else negativeSlope x. */
export function leakyRelu(x: ArrayLike, negativeSlope?: ArrayLike): Array

/** log(1 - exp(-x)) for x > 0. */
export const log1mexp: OwnedFunction<(x: ArrayLike) => Array>

/** log(sigmoid(x)). */
export function logSigmoid(x: ArrayLike): Array

/** log(softmax(x)). */
export function logSoftmax(x: ArrayLike, axis?: Axis): Array

/** log(mean(exp(x))) along axes. */
export function logmeanexp(x: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** log(sum(exp(x))) along axes, all unless given. */
export function logsumexp(x: ArrayLike, axis?: Axis, opts?: ReduceOpts): Array

/** x tanh(softplus(x)). */
export function mish(x: ArrayLike): Array

/** One-hot encoding: for each class number a row of numClasses elements, float32, with a 1 at the class. */
export function oneHot(x: Array, numClasses: number): Array

/** max(x, 0). */
export function relu(x: ArrayLike): Array

/** x clamped to [0, 6]. */
export function relu6(x: ArrayLike): Array

/** 1.0507009873554805 elu(x, 1.6732632423543772). */
export const selu: OwnedFunction<(x: ArrayLike) => Array>

/** 1 / (1 + exp(-x)). */
export function sigmoid(x: ArrayLike): Array

/** x sigmoid(x). */
export const silu: OwnedFunction<(x: ArrayLike) => Array>

/** x / (|x| + 1). */
export function softSign(x: ArrayLike): Array

/** exp(x) / sum(exp(x)) along axes, the last one unless given. */
export function softmax(x: ArrayLike, axis?: Axis): Array

/** log(1 + exp(x)). */
export function softplus(x: ArrayLike): Array

/** 0 for x <= -1, (x + 1)^2 / 4 for x < 1, else x. */
export const sparsePlus: OwnedFunction<(x: ArrayLike) => Array>

/** (x + 1) / 2 clamped to [0, 1]. */
export const sparseSigmoid: OwnedFunction<(x: ArrayLike) => Array>

/** (x + sqrt(x^2 + b)) / 2. */
export function squareplus(x: ArrayLike, b?: ArrayLike): Array

/** (x - mean) / sqrt(variance + epsilon) along axes, the last one unless given; all for null. */
export function standardize(x: ArrayLike, axis?: Axis, opts?: { mean?: ArrayLike; variance?: ArrayLike; epsilon?: ArrayLike; }): Array

/** silu by its other name. */
export const swish: OwnedFunction<(x: ArrayLike) => Array>
