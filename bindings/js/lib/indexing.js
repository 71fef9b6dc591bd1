'use strict'
/** Tensor methods that select, place and order elements. */

const { PolygradError } = require('./library.js')
const { Base, registered, describe, tensorOf } = require('./base.js')
const { Operation, Slice, REST } = require('./call.js')
const { Movement } = require('./movement.js')
const { SymInt } = require('./variable.js')
const { types } = require('./dtype.js')
const { MAX_DIMS, integer, isOptions, show } = require('./arguments.js')

const GETITEM = new Operation('getitem', 'items')
const ALL = []
const EXPECTED = "expected integers, [start, stop, step], 'start:stop:step', null, '...', tensors and masks"
const LARGEST = 2 ** 53 - 1
const SMALLEST = -(2 ** 46) // far smaller numbers encode symbolic sizes

function bound (value, what) {
  if (value == null || value instanceof SymInt) return value
  // An end beyond 2^53 is beyond all elements too.
  const n = Number.isInteger(value) ? value : Number(integer(value, what))
  return Math.max(SMALLEST, Math.min(n, LARGEST))
}

const isTyped = (item) => ArrayBuffer.isView(item) && !(item instanceof DataView)

/** A list of positions or booleans, not a slice [start, stop, step]. */
function isList (item) {
  return isTyped(item) || (Array.isArray(item) && item.some((part) => typeof part === 'boolean' || Array.isArray(part)))
}

/** The slice that a text start:stop:step stands for. */
function sliceOf (text, what) {
  const found = /^\s*([-+]?\d+)?\s*:\s*([-+]?\d+)?\s*(?::\s*([-+]?\d+)?\s*)?$/.exec(text)
  if (found === null) throw new TypeError(`${what}: ${show(text)}, ${EXPECTED}`)
  return found.slice(1, 4).map((number) => number === undefined ? null : Number(number))
}

/** An index expression as integers, slices, null, '...' and tensors of positions; masks stand for where they hold. */
function plain (given, of, what) {
  const some = given.map((item) => {
    if (typeof item === 'string' && item !== '...') return sliceOf(item, what)
    if (!isList(item)) return item
    if (isTyped(item)) return registered.Tensor.from(item)
    const found = new Set(item.flat(Infinity).map((part) => typeof part))
    if (found.size > 1) throw new TypeError(`${what}: ${show(item)}, expected integers or booleans alone`)
    return registered.Tensor.from(item, { dtype: found.has('boolean') ? 'bool' : 'int32' })
  })
  const { shape } = describe(of)
  some.forEach((item, i) => {
    if (!isList(given[i]) || isMask(item)) return
    mustExist(isTyped(given[i]) ? given[i] : given[i].flat(MAX_DIMS), axisOf(some, i, shape.length), shape, what)
  })
  return some.flatMap((item, i) => isMask(item) ? places(item, axisOf(some, i, shape.length), shape, what) : [item])
}

/** Refuses positions of a list or typed array, which are known, that an axis does not have. */
function mustExist (positions, axis, shape, what) {
  const n = shape[axis]
  const bad = typeof n === 'number' ? positions.find((at) => at < -n || at >= n) : undefined
  if (bad !== undefined) throw new RangeError(`${what}: ${bad} is out of bounds for axis ${axis} of size ${n}`)
}

function isMask (item) {
  return item instanceof Base && describe(item).dtype === types.bool
}

/** The number of axes that an item of an index takes; '...' counts as none. */
function axes (item) {
  if (item === null || item === '...') return 0
  return isMask(item) ? describe(item).shape.length : 1
}

/** The axis that item i of an index begins at. */
function axisOf (given, i, ndim) {
  const sum = (part) => part.reduce((n, item) => n + axes(item), 0)
  return given.slice(0, i).includes('...') ? ndim - sum(given.slice(i)) : sum(given.slice(0, i))
}

/** The positions where a mask holds, a vector for each of its axes; how many there are is computed. */
function places (mask, axis, shape, what) {
  const own = describe(mask).shape
  if (own.length === 0 || own.some((n, k) => n !== shape[axis + k])) {
    const axesText = own.length > 1 ? `axes ${axis} to ${axis + own.length - 1}` : `axis ${axis}`
    throw new RangeError(`${what}: a mask of shape [${own}], expected that of ${axesText} of a tensor of shape [${shape}]`)
  }
  const found = mask.nonzero()
  return own.map((_, k) => found.getitem(ALL, k))
}

/** The items of an index expression as arguments of an operation. */
function items (indices, of, what) {
  const given = plain(indices, of, what)
  if (given.length > 2 * MAX_DIMS) throw new PolygradError(`${what}: ${given.length} items, expected at most ${2 * MAX_DIMS}`)
  return given.map((item) => {
    if (typeof item === 'number' || typeof item === 'bigint' || item instanceof SymInt) return bound(item, what)
    if (item === null) return null
    if (item === '...') return REST
    if (item instanceof Base) return tensorOf(item, what)
    if (!Array.isArray(item) && !isOptions(item)) throw new TypeError(`${what}: ${show(item)}, ${EXPECTED}`)
    const slice = Array.isArray(item) ? item : [item.start, item.stop, item.step]
    if (slice.length > 3) throw new TypeError(`${what}: ${show(item)}, expected [start, stop, step]; use a tensor for several positions`)
    return new Slice([0, 1, 2].map((k) => bound(slice[k], what)))
  })
}

class Indexing extends Movement {
  getitem (...indices) {
    return GETITEM.one(this, [items(indices, this, 'getitem')])
  }
}

module.exports = { Indexing, items }
