/**
 * Optimizers as transformations of gradients: programs that are written for @jax-js/optax run on this module.
 *
 * @example
 * import { grad, numpy as np } from 'polygrad/jax'
 * import { adam, applyUpdates, squaredError } from 'polygrad/optax'
 *
 * let params = np.array([1, 2, 3])
 * const solver = adam(1e-3)
 * let state = solver.init(params)
 * let updates: np.Array
 * const f = (x: np.Array) => squaredError(x, np.ones([3])).sum();
 * [updates, state] = solver.update(grad(f)(params), state)
 * params = applyUpdates(params, updates)
 */

import type { Array, DType, JsTree } from '../jax/index.js'

/** The state of a transformation: a tree of arrays. */
export type OptState = any

/** A transformation of gradients. */
export interface GradientTransformation {
  /** The state at the beginning, for parameters. */
  init(params: JsTree<Array>): OptState
  /** [the new updates, the next state]. */
  update<Updates extends JsTree<Array>>(updates: Updates, state: OptState, params?: Updates): [Updates, OptState]
}

/** The size of a step by the number of steps before it. */
export type Schedule = (count: Array) => number | Array
export type ScalarOrSchedule = number | Schedule

export type ScaleByAdamOptions = { b1?: number, b2?: number, eps?: number, epsRoot?: number, nesterov?: boolean }
export type AddDecayedWeightsOptions = { weightDecay?: number, mask?: JsTree<boolean> | ((params: any) => JsTree<boolean>) | null }
export type AdamWOptions = ScaleByAdamOptions & AddDecayedWeightsOptions
export type TraceOptions = { decay?: number, nesterov?: boolean, accumulatorDtype?: DType }
export type SgdOptions = { momentum?: number | null, nesterov?: boolean, accumulatorDtype?: DType }
/** Which norm: 1, 2 (also null) or the greatest absolute value. */
export type NormOrd = 1 | 2 | number | 'inf' | null

/** Adam: steps of first moments over the roots of second ones. */
export function adam(learningRate: ScalarOrSchedule, opts?: ScaleByAdamOptions): GradientTransformation

/** Adam with weights that decay by 1e-4 of the learning rate unless weightDecay is given; mask says which ones do. */
export function adamw(learningRate: ScalarOrSchedule, opts?: AdamWOptions): GradientTransformation

/** Adds weightDecay times the parameters, those that mask is true for; update needs the parameters. */
export function addDecayedWeights(opts?: AddDecayedWeightsOptions): GradientTransformation

/** Parameters after updates, in the types of the parameters. */
export function applyUpdates<Params extends JsTree<Array>>(params: Params, updates: Params): Params

/** One transformation after the other. */
export function chain(...transforms: GradientTransformation[]): GradientTransformation

/** Scales updates whose norm is greater than maxNorm to it. */
export function clipByGlobalNorm(maxNorm: number): GradientTransformation

/** Leaves updates as they are. */
export function identity(): GradientTransformation

/** The state of transformations that have none: an empty list. */
export function initEmptyState(params: JsTree<Array>): []

/** Half of the squares of predictions - targets. */
export function l2Loss(predictions: Array, targets?: Array): Array

/** Multiplies updates by a number. */
export function scale(stepSize: number): GradientTransformation

/** The direction of Adam: moments without bias, the first one over the root of the second. */
export function scaleByAdam(opts?: ScaleByAdamOptions): GradientTransformation

/** Multiplies updates by the learning rate, and by -1 unless flipSign is false. */
export function scaleByLearningRate(learningRate: ScalarOrSchedule, flipSign?: boolean): GradientTransformation

/** Multiplies updates by what a function says of the number of steps before. */
export function scaleBySchedule(stepSizeFn: Schedule): GradientTransformation

/** Updates of zeros. */
export function setToZero(): GradientTransformation

/** Steps against the gradient, with momentum if it is given. */
export function sgd(learningRate: ScalarOrSchedule, opts?: SgdOptions): GradientTransformation

/** The squares of predictions - targets. */
export function squaredError(predictions: Array, targets?: Array): Array

/** Sums of updates that decay. */
export function trace(opts?: TraceOptions): GradientTransformation

/** Moments over 1 - decay^count. */
export function treeBiasCorrection<T extends JsTree<Array>>(moments: T, decay: number, count: Array): T

/** The greatest element of a tree. */
export function treeMax(tr: JsTree<Array>): Array

/** A norm of all elements of a tree, or its square. */
export function treeNorm(tr: JsTree<Array>, ord?: NormOrd, squared?: boolean): Array

/** A tree of ones. */
export function treeOnesLike<T extends JsTree<Array>>(tr: T, dtype?: DType): T

/** The sum of all elements of a tree. */
export function treeSum(tr: JsTree<Array>): Array

/** (1 - decay) updates^order + decay moments. */
export function treeUpdateMoment<T extends JsTree<Array>>(updates: T, moments: T, decay: number, order: number): T

/** A tree of zeros. */
export function treeZerosLike<T extends JsTree<Array>>(tr: T, dtype?: DType): T
