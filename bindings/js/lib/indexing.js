'use strict'
/** Tensor methods that select, place and order elements. */

const { lib, constants: c, PolygradError } = require('./library.js')
const { CTX, describe } = require('./graph.js')
const { Base, registered, made, view, nodeOf, operand } = require('./base.js')
const { Movement } = require('./movement.js')
const { SymInt } = require('./variable.js')
const { types } = require('./dtype.js')
const { MAX_DIMS, named, integer, small, put, isOptions, choice, show } = require('./arguments.js')

const NONE = -(1n << 63n) // POLY_INDEX_NONE
const ALL = []
const EXPECTED = "expected integers, [start, stop, step], 'start:stop:step', null, '...', tensors and masks"
const LARGEST = 2 ** 53 - 1
const SMALLEST = -(2 ** 46) // far smaller numbers encode symbolic sizes

// The arrays of an index expression, which serve one call after another.
const kinds = new Int32Array(2 * MAX_DIMS)
const numbers = new Int32Array(2 * 3 * 2 * MAX_DIMS)
const tensors = new Int32Array(2 * 2 * MAX_DIMS)

function bound (value, what) {
  if (value instanceof SymInt) return value.symbolicSize
  if (value == null) return NONE
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
  const { shape } = describe(of._node)
  some.forEach((item, i) => {
    if (isList(given[i]) && !isMask(item)) mustExist(item._node.data, axisOf(some, i, shape.length), shape, what)
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
  return item instanceof Base && describe(item._node).dtype === types.bool
}

/** The number of axes that an item of an index takes; '...' counts as none. */
function axes (item) {
  if (item === null || item === '...') return 0
  return isMask(item) ? describe(item._node).shape.length : 1
}

/** The axis that item i of an index begins at. */
function axisOf (given, i, ndim) {
  const sum = (part) => part.reduce((n, item) => n + axes(item), 0)
  return given.slice(0, i).includes('...') ? ndim - sum(given.slice(i)) : sum(given.slice(0, i))
}

/** The positions where a mask holds, a vector for each of its axes; how many there are is computed. */
function places (mask, axis, shape, what) {
  const own = describe(mask._node).shape
  if (own.length === 0 || own.some((n, k) => n !== shape[axis + k])) {
    const axesText = own.length > 1 ? `axes ${axis} to ${axis + own.length - 1}` : `axis ${axis}`
    throw new RangeError(`${what}: a mask of shape [${own}], expected that of ${axesText} of a tensor of shape [${shape}]`)
  }
  const found = mask.nonzero()
  return own.map((_, k) => found.getitem(ALL, k))
}

/** Writes the items of an index expression into the arrays for C; returns the nodes of its tensors. */
function items (given, what) {
  if (given.length > 2 * MAX_DIMS) throw new PolygradError(`${what}: ${given.length} items, expected at most ${2 * MAX_DIMS}`)
  const nodes = []
  numbers.fill(0)
  tensors.fill(0)
  given.forEach((item, i) => {
    if (typeof item === 'number' || typeof item === 'bigint' || item instanceof SymInt) {
      kinds[i] = c.POLY_INDEX_INT
      put(numbers, 3 * i, bound(item, what))
    } else if (item === null) {
      kinds[i] = c.POLY_INDEX_NEWAXIS
    } else if (item === '...') {
      kinds[i] = c.POLY_INDEX_ELLIPSIS
    } else if (Array.isArray(item) || isOptions(item)) {
      const slice = Array.isArray(item) ? item : [item.start, item.stop, item.step]
      if (slice.length > 3) throw new TypeError(`${what}: ${show(item)}, expected [start, stop, step]; use a tensor for several positions`)
      kinds[i] = c.POLY_INDEX_SLICE
      for (let k = 0; k < 3; k++) put(numbers, 3 * i + k, bound(slice[k], what))
    } else if (item instanceof Base) {
      kinds[i] = c.POLY_INDEX_TENSOR
      put(tensors, i, item._node.handle)
      nodes.push(item._node)
    } else {
      throw new TypeError(`${what}: ${show(item)}, ${EXPECTED}`)
    }
  })
  return nodes
}

/** Selecting, placing and ordering. */
class Indexing extends Movement {
  /**
   * Elements chosen by one item for each axis: integers; slices [start, stop, step] (null for omitted parts)
   * or 'start:stop:step'; null (a new axis); '...' (all other axes); tensors or typed arrays of positions. A mask,
   * a tensor or list of booleans, has the shape of the axes that it stands for, which become one; it is computed,
   * since the graph must know how many elements it selects. Without tensors and masks the result is a view.
   *
   * @example
   * const t = new Tensor([[1, 2, 3], [4, 5, 6]])
   * t.getitem(1, '::-1').tolist() // [6, 5, 4]
   * t.getitem([], Int32Array.of(2, 0)).tolist() // [[3, 1], [6, 4]]
   * t.getitem(t.gt(2)).tolist() // [3, 4, 5, 6]
   */
  getitem (...indices) {
    const given = plain(indices, this, 'getitem')
    const nodes = items(given, 'getitem')
    const handle = lib.poly_index(CTX, this._node.handle, kinds, numbers, tensors, given.length)
    return nodes.length === 0 ? view(handle, this._node) : made(handle, [this._node, ...nodes])
  }

  /** Elements of src (a tensor or a number) put at positions along an axis; of several the last one stays. */
  scatter (...args) {
    const { dim, index, src, reduce } = named('scatter', args, { dim: undefined, index: undefined, src: undefined, reduce: null })
    const at = nodeOf(index, 'scatter: index')
    const from = src instanceof Base ? src._node : index.fullLike(src, { dtype: this.dtype })._node
    if (reduce !== null) {
      const op = choice({ add: c.POLY_REDUCE_SUM, multiply: c.POLY_REDUCE_PROD }, reduce, 'scatter: reduce')
      return made(lib.poly_scatter_reduce(CTX, this._node.handle, small(dim, 'scatter: dim'), at.handle, from.handle, op, 1),
        [this._node, at, from])
    }
    return made(lib.poly_scatter(CTX, this._node.handle, small(dim, 'scatter: dim'), at.handle, from.handle), [this._node, at, from])
  }

  /** The elements where mask holds, as a vector; how many there are is computed at once. */
  maskedSelect (...args) {
    const { mask } = named('maskedSelect', args, { mask: undefined })
    const where = nodeOf(mask, 'maskedSelect: mask')
    const n = mask.ne(0).expand(this.shape).sum({ dtype: 'int64' }).item()
    return made(lib.poly_masked_select(CTX, this._node.handle, where.handle, n), [this._node, where])
  }

  /** The positions of elements that are not 0, one a row; how many there are is computed at once. */
  nonzero () {
    const n = this.ne(0).sum({ dtype: 'int64' }).item()
    return made(lib.poly_nonzero(CTX, this._node.handle, n), [this._node])
  }

  /** Rows with a 1 at the place of the class, for class numbers; without numClasses as many as needed. */
  oneHot (...args) {
    let { numClasses } = named('oneHot', args, { numClasses: -1 })
    if (numClasses === -1) numClasses = Number(this.max().item()) + 1
    return made(lib.poly_one_hot(CTX, this._node.handle, integer(numClasses, 'oneHot: numClasses')), [this._node])
  }

  // Order

  /** An index expression with tensors of positions for lists and masks. */
  _items (indices) {
    return plain(indices, this, 'setitem')
  }

  /** The tensor with value at the places that getitem would take; the items are those of _items. */
  _withItems (given, value) {
    const to = operand(value, this, 'setitem: value')
    const nodes = items(given, 'setitem')
    return made(lib.poly_setitem(CTX, this._node.handle, kinds, numbers, tensors, given.length, to.handle), [this._node, to, ...nodes])
  }
}

module.exports = { Indexing }
