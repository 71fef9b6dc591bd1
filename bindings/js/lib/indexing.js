'use strict'
/** Tensor methods that select elements by an index expression. */

const { PolygradError } = require('./library.js')
const { Base, registered, tensorOf } = require('./base.js')
const { Operation, Slice, REST } = require('./call.js')
const { Movement } = require('./movement.js')
const { SymInt } = require('./variable.js')
const { MAX_DIMS, integer, isOptions, show } = require('./arguments.js')

const GETITEM = new Operation('getitem', 'items')
const EXPECTED = "expected integers, 'start:stop:step', { start, stop, step }, null, '...', positions and masks"
const LARGEST = 2 ** 53 - 1
const SMALLEST = -(2 ** 46) // numbers far below it encode symbolic sizes
const PARTS = ['start', 'stop', 'step']

function bound (value, what) {
  if (value == null || value instanceof SymInt) return value
  // An end beyond 2^53 is beyond all elements too.
  const n = Number.isInteger(value) ? value : Number(integer(value, what))
  return Math.max(SMALLEST, Math.min(n, LARGEST))
}

/** A Slice from a text 'start:stop:step' or an object { start, stop, step }. */
function sliceOf (item, what) {
  if (typeof item === 'object') {
    const other = Object.keys(item).find((key) => !PARTS.includes(key))
    if (other !== undefined) throw new TypeError(`${what}: a slice has no ${other}, expected start, stop and step`)
    return new Slice(PARTS.map((part) => bound(item[part], what)))
  }
  const found = /^\s*([-+]?\d+)?\s*:\s*([-+]?\d+)?\s*(?::\s*([-+]?\d+)?\s*)?$/.exec(item)
  if (found === null) throw new TypeError(`${what}: ${show(item)}, ${EXPECTED}`)
  return new Slice(found.slice(1, 4).map((number) => number === undefined ? null : bound(Number(number), what)))
}

const isList = (item) => Array.isArray(item) || (ArrayBuffer.isView(item) && !(item instanceof DataView))

/** A list of positions (int32) or a mask (bool) as a tensor. */
function tensorOfList (list, what) {
  if (!Array.isArray(list)) return registered.Tensor.from(list)
  const parts = list.flat(Infinity)
  const isMask = parts.length > 0 && parts.every((part) => typeof part === 'boolean')
  if (!isMask && !parts.every(Number.isInteger)) {
    throw new TypeError(`${what}: ${show(list)}, expected integers or booleans alone; slices are '1:3' or { start: 1, stop: 3 }`)
  }
  return registered.Tensor.from(list, { dtype: isMask ? 'bool' : 'int32' })
}

/** The items of an index expression as arguments of an operation. */
function items (given, what) {
  if (given.length > 2 * MAX_DIMS) throw new PolygradError(`${what}: ${given.length} items, expected at most ${2 * MAX_DIMS}`)
  return given.map((item) => {
    if (typeof item === 'number' || typeof item === 'bigint' || item instanceof SymInt) return bound(item, what)
    if (item === null) return null
    if (item === '...') return REST
    if (item instanceof Base) return tensorOf(item, what)
    if (isList(item)) return tensorOfList(item, what)
    if (typeof item === 'string' || isOptions(item)) return sliceOf(item, what)
    throw new TypeError(`${what}: ${show(item)}, ${EXPECTED}`)
  })
}

class Indexing extends Movement {
  getitem (...indices) {
    return GETITEM.one(this, [items(indices, 'getitem')])
  }
}

module.exports = { Indexing, items }
