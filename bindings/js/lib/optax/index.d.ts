/**
 * Optimizers as gradient transformations: programs that are written for @jax-js/optax run on this module.
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

/** A gradient transformation. */
export interface GradientTransformation {
  /** The initial state for parameters. */
  init(params: JsTree<Array>): OptState
  /** Transforms updates; returns [new updates, next state]. */
  update<Updates extends JsTree<Array>>(updates: Updates, state: OptState, params?: Updates): [Updates, OptState]
}

/** The step size as a function of the number of steps so far. */
export type Schedule = (count: Array) => number | Array
export type ScalarOrSchedule = number | Schedule

export type ScaleByAdamOptions = { b1?: number, b2?: number, eps?: number, epsRoot?: number, nesterov?: boolean }
export type AddDecayedWeightsOptions = { weightDecay?: number, mask?: JsTree<boolean> | ((params: any) => JsTree<boolean>) | null }
export type AdamWOptions = ScaleByAdamOptions & AddDecayedWeightsOptions
export type TraceOptions = { decay?: number, nesterov?: boolean, accumulatorDtype?: DType }
export type SgdOptions = { momentum?: number | null, nesterov?: boolean, accumulatorDtype?: DType }
/** The order of a norm: 1, 2 (also null) or infinity, the maximum of the absolute values. */
export type NormOrd = 1 | 2 | number | 'inf' | null

/** Adam: steps are first moments divided by the square roots of second moments. */
export function adam(learningRate: ScalarOrSchedule, opts?: ScaleByAdamOptions): GradientTransformation

/** Adam with decoupled weight decay, 1e-4 times the learning rate by default; mask selects the parameters that decay. */
export function adamw(learningRate: ScalarOrSchedule, opts?: AdamWOptions): GradientTransformation

/** Adds weightDecay times the parameters to the updates, where mask is true; update needs the parameters. */
export function addDecayedWeights(opts?: AddDecayedWeightsOptions): GradientTransformation

/** The parameters plus the updates, in the types of the parameters. */
export function applyUpdates<Params extends JsTree<Array>>(params: Params, updates: Params): Params

/** Applies transformations one after the other. */
export function chain(...transforms: GradientTransformation[]): GradientTransformation

/** Scales updates down to the global norm maxNorm if theirs is greater. */
export function clipByGlobalNorm(maxNorm: number): GradientTransformation

/** Leaves updates as they are. */
export function identity(): GradientTransformation

/** The state of transformations that have none: an empty list. */
export function initEmptyState(params: JsTree<Array>): []

/** Half of the squared error: (predictions - targets)^2 / 2. */
export function l2Loss(predictions: Array, targets?: Array): Array

/** Multiplies updates by a number. */
export function scale(stepSize: number): GradientTransformation

/** Adam's scaling: the bias-corrected first moment divided by the square root of the second one. */
export function scaleByAdam(opts?: ScaleByAdamOptions): GradientTransformation

/** Multiplies updates by the learning rate, and by -1 unless flipSign is false. */
export function scaleByLearningRate(learningRate: ScalarOrSchedule, flipSign?: boolean): GradientTransformation

/** Multiplies updates by a function of the number of steps so far. */
export function scaleBySchedule(stepSizeFn: Schedule): GradientTransformation

/** Replaces updates by zeros. */
export function setToZero(): GradientTransformation

/** Stochastic gradient descent, with momentum if it is given. */
export function sgd(learningRate: ScalarOrSchedule, opts?: SgdOptions): GradientTransformation

/** The squared error: (predictions - targets)^2. */
export function squaredError(predictions: Array, targets?: Array): Array

/** Accumulates updates with exponential decay (momentum). */
export function trace(opts?: TraceOptions): GradientTransformation

/** The bias correction of moments: moments / (1 - decay^count). */
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
