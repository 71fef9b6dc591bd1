/** What the elements of a batch know of each other: operations along the axis of vmap that has a name. */

import type { Tensor } from '../../index.js'
import type { Tensors } from './index.js'

/** The name of an axis, or of several nested ones. */
type AxisNames = string | readonly string[]

/**
 * The sum of a tree over all elements of a batch, or of several nested ones.
 *
 * @example
 * vmap((x) => x.div(lax.psum(x, 'i')), { axisName: 'i' })(new Tensor([1, 3])).tolist() // [0.25, 0.75]
 */
export function psum<T>(x: T, axisName: AxisNames): Tensors<T>

/** The mean of a tree over all elements of a batch. */
export function pmean<T>(x: T, axisName: AxisNames): Tensors<T>

/** The greatest of each number over all elements of a batch. */
export function pmax<T>(x: T, axisName: string): Tensors<T>

/** The least of each number over all elements of a batch. */
export function pmin<T>(x: T, axisName: string): Tensors<T>

/** The trees of all elements of a batch, stacked along an axis, 0 by default, or with tiled joined. */
export function allGather<T>(x: T, axisName: string, axis?: number, tiled?: boolean): Tensors<T>
export function allGather<T>(x: T, axisName: string, options: { axis?: number, tiled?: boolean }): Tensors<T>

/** The trees of other elements, by pairs [from, to]; zeros where there is none. */
export function ppermute<T>(x: T, axisName: string, perm: ReadonlyArray<readonly [number, number]>): Tensors<T>

/**
 * The number of the element of a batch.
 *
 * @example
 * vmap((x) => x.mul(lax.axisIndex('i')), { axisName: 'i' })(new Tensor([1, 3])).tolist() // [0, 3]
 */
export function axisIndex(axisName: string): Tensor

/** The number of elements of a batch. */
export function axisSize(axisName: AxisNames): number
