/** Collective operations: communication between the elements of a batch, along an axis that vmap gives a name. */

import type { Tensor } from '../../index.js'
import type { Tensors } from './index.js'

/** The name of a batch axis, or the names of several nested ones. */
type AxisNames = string | readonly string[]

/**
 * The sum of each tensor of a tree over a named batch axis, or over several nested ones.
 *
 * @example
 * vmap((x) => x.div(lax.psum(x, 'i')), { axisName: 'i' })(new Tensor([1, 3])).tolist() // [0.25, 0.75]
 */
export function psum<T>(x: T, axisName: AxisNames): Tensors<T>

/** The mean of each tensor of a tree over a named batch axis. */
export function pmean<T>(x: T, axisName: AxisNames): Tensors<T>

/** The elementwise maximum over a named batch axis. */
export function pmax<T>(x: T, axisName: string): Tensors<T>

/** The elementwise minimum over a named batch axis. */
export function pmin<T>(x: T, axisName: string): Tensors<T>

/** The tensors of all batch elements, stacked along a new axis (0 by default), or with tiled concatenated along an existing one. */
export function allGather<T>(x: T, axisName: string, axis?: number, tiled?: boolean): Tensors<T>
export function allGather<T>(x: T, axisName: string, options: { axis?: number, tiled?: boolean }): Tensors<T>

/** Sends the tree of batch element `from` to element `to`, for pairs [from, to]; elements that receive none get zeros. */
export function ppermute<T>(x: T, axisName: string, perm: ReadonlyArray<readonly [number, number]>): Tensors<T>

/**
 * The index of this element along a named batch axis.
 *
 * @example
 * vmap((x) => x.mul(lax.axisIndex('i')), { axisName: 'i' })(new Tensor([1, 3])).tolist() // [0, 3]
 */
export function axisIndex(axisName: string): Tensor

/** The size of a named batch axis, or the product of the sizes of several. */
export function axisSize(axisName: AxisNames): number
