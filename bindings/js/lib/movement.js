'use strict'
/** Tensor methods that rearrange and join elements. No data moves until a value is needed. */

const { lib, constants: c, PolygradError } = require('./library.js')
const { CTX, describe, handles } = require('./graph.js')
const { Base, made, view, several, join } = require('./base.js')
const { Elementwise } = require('./elementwise.js')
const { SymInt } = require('./variable.js')
const {
  named, shaped, integer, small, dims, shape: shapeOf, isOptions, number, string, choice, record, show
} = require('./arguments.js')

const PAD_MODES = { reflect: c.POLY_PAD_REFLECT, replicate: c.POLY_PAD_REPLICATE, circular: c.POLY_PAD_CIRCULAR }

/** Pairs, one an axis, as a flat list; null stands for a default pair. */
function pairsOf (arg, missing, what) {
  const flat = []
  if (!Array.isArray(arg)) throw new TypeError(`${what}: ${show(arg)}, expected a pair of integers for each axis`)
  arg.forEach((pair, i) => {
    const given = pair ?? missing(i)
    if (!Array.isArray(given) || given.length !== 2) {
      throw new TypeError(`${what}: ${show(given)}, expected a pair of integers for each axis`)
    }
    flat.push(...given)
  })
  return flat
}

/** How much larger a size is than another one. */
function difference (size, old) {
  if (size instanceof SymInt) return size.sub(old)
  return old instanceof SymInt ? old.neg().add(size) : Number(integer(size, 'padTo: shape')) - old
}

/** Views and joining. */
class Movement extends Elementwise {
  /** The same elements in another shape; one size may be -1, null keeps the size of that axis. */
  reshape (...args) {
    let { shape } = shaped('reshape', args, { shape: null })
    if (shape.includes(null)) shape = shape.map((s, i) => s === null ? describe(this._node).shape[i] : s)
    return view(lib.poly_reshape(CTX, this._node.handle, shapeOf(shape, 'reshape: shape'), shape.length), this._node)
  }

  /** reshape(...shape). */
  view (...args) {
    return this.reshape(...args)
  }

  /** Axes of size 1 repeated up to a shape; -1 or null keeps a size. */
  expand (...args) {
    const shape = shaped('expand', args, { shape: null }).shape.map((s) => s ?? -1)
    return made(lib.poly_expand(CTX, this._node.handle, shapeOf(shape, 'expand: shape'), shape.length), [this._node])
  }

  /** Axes in another order: axis i of the result is axis order[i] of this tensor. */
  permute (...args) {
    const { order } = shaped('permute', args, { order: null })
    return view(lib.poly_permute(CTX, this._node.handle, shapeOf(order, 'permute: order'), order.length), this._node)
  }

  /** The tensor with its last two axes swapped. */
  get T () {
    return this.transpose(-2, -1)
  }

  /** Elements start (included) to end (excluded) of each axis, [[start, end], …]; null keeps all. */
  shrink (...args) {
    const { arg } = named('shrink', args, { arg: undefined })
    const pairs = pairsOf(arg, (i) => [0, describe(this._node).shape[i]], 'shrink: arg')
    return view(lib.poly_shrink(CTX, this._node.handle, dims(pairs, 'shrink: arg'), pairs.length / 2), this._node)
  }

  /** The first elements of each axis, as many as a shape says; null keeps all. */
  shrinkTo (...args) {
    const { shape } = shaped('shrinkTo', args, { shape: null })
    return this.shrink(shape.map((n) => n === null ? null : [0, n]))
  }

  /** Zeros added at the end of axes up to a shape; null keeps a size. */
  padTo (...args) {
    const { shape } = shaped('padTo', args, { shape: null })
    const old = describe(this._node).shape
    if (shape.length !== old.length) throw new PolygradError(`padTo: ${shape.length} sizes, expected one for each of ${old.length} axes`)
    return this.pad(shape.map((n, i) => n === null ? null : [0, difference(n, old[i])]))
  }

  /**
   * Elements added before and after each axis, [[before, after], …]; null adds none. Instead of
   * pairs, padding may be a flat list, before and after of the last axis first. mode says what is added:
   * 'constant' a value, 'reflect', 'replicate' or 'circular' elements of the tensor.
   */
  pad (...args) {
    const { padding, mode, value } = named('pad', args, { padding: undefined, mode: 'constant', value: 0 })
    const flat = Array.isArray(padding) && padding.length > 0 && padding.every((p) => typeof p === 'number')
    const given = flat ? this._fromLast(padding) : padding
    const pairs = pairsOf(given, () => [0, 0], 'pad: padding')
    const node = this._node
    const n = pairs.length / 2
    if (mode !== 'constant') {
      return made(lib.poly_pad_mode(CTX, node.handle, dims(pairs, 'pad: padding'), n, choice(PAD_MODES, mode, 'pad: mode')), [node])
    }
    return made(value === 0
      ? lib.poly_pad(CTX, node.handle, dims(pairs, 'pad: padding'), n)
      : lib.poly_pad_value(CTX, node.handle, dims(pairs, 'pad: padding'), n, number(value, 'pad: value')), [node])
  }

  /** Pairs of all axes from a flat list that begins with the last axis. */
  _fromLast (flat) {
    const { length } = describe(this._node).shape
    if (flat.length % 2 !== 0 || flat.length > 2 * length) {
      throw new PolygradError(`pad: arg: ${flat.length} numbers, expected two for each of up to ${length} axes`)
    }
    return Array.from({ length }, (_, i) => {
      const at = 2 * (length - 1 - i)
      return at < flat.length ? [flat[at], flat[at + 1]] : [0, 0]
    })
  }

  /** The order along axes reversed. */
  flip (...args) {
    const { axis } = shaped('flip', args, { axis: null })
    return view(lib.poly_flip(CTX, this._node.handle, shapeOf(axis, 'flip: axis'), axis.length), this._node)
  }

  /** The tensor repeated along each axis. */
  repeat (...args) {
    const { repeats } = shaped('repeat', args, { repeats: null })
    return made(lib.poly_repeat(CTX, this._node.handle, shapeOf(repeats, 'repeat: repeats'), repeats.length), [this._node])
  }

  /** Axes rearranged as einops does: rearrange('b (h w) -> b h w', { h: 2 }). */
  rearrange (...args) {
    let values
    if (args.length === 2 && isOptions(args[1]) && !isOptions(args[1].sizes)) values = { formula: args[0], sizes: args[1] }
    else values = named('rearrange', args, { formula: undefined, sizes: {} })
    const { formula, sizes } = values
    string(formula, 'rearrange: formula')
    const names = Object.keys(record(sizes, 'rearrange: sizes'))
    const lengths = dims(Object.values(sizes), 'rearrange: sizes')
    return view(lib.poly_rearrange(CTX, formula, this._node.handle, null, 0, names.join(' '), lengths, names.length, null, null),
      this._node)
  }

  // Joining and cutting

  /** Tensors joined along an axis: Tensor.cat(a, b, { dim: 1 }). */
  static cat (...args) {
    const { tensors, dim } = shapedTensors('cat', args)
    return join('poly_cat', tensors, small(dim, 'cat: dim'), 'cat: tensors')
  }

  /** Tensors of one shape joined along a new axis: Tensor.stack(a, b, { dim: 1 }). */
  static stack (...args) {
    const { tensors, dim } = shapedTensors('stack', args)
    return join('poly_stack', tensors, small(dim, 'stack: dim'), 'stack: tensors')
  }

  /** This tensor and others joined along an axis. */
  cat (...args) {
    return this.constructor.cat(this, ...args)
  }

  /** This tensor and others joined along a new axis. */
  stack (...args) {
    return this.constructor.stack(this, ...args)
  }

  /** Grids of the coordinates that vectors hold; indexing 'ij' or 'xy'. */
  static meshgrid (...args) {
    const last = isOptions(args.at(-1)) ? args.pop() : {}
    const { indexing } = named('meshgrid', [last], { indexing: 'ij' })
    if (indexing !== 'ij' && indexing !== 'xy') throw new TypeError(`meshgrid: indexing: ${show(indexing)}, expected 'ij' or 'xy'`)
    const nodes = tensorsOf(args, 'meshgrid').map((t) => t._node)
    const out = new BigUint64Array(nodes.length)
    const status = lib.poly_meshgrid(CTX, handles(nodes), nodes.length, indexing === 'xy' ? 1 : 0, out)
    return several(status, out, nodes.length, nodes)
  }

  /** The shape, or the size of one axis. */
  size (...args) {
    const { dim } = named('size', args, { dim: null })
    const { shape } = describe(this._node)
    if (dim === null) return shape.slice()
    const axis = small(dim, 'size: dim')
    if (axis < -shape.length || axis >= shape.length) {
      throw new RangeError(`size: dim: ${axis} is out of range for ${shape.length} dimensions`)
    }
    return shape.at(axis)
  }
}

/** The tensors of f(a, b) or f([a, b]). */
function tensorsOf (args, what) {
  const tensors = args.flat()
  for (const t of tensors) if (!(t instanceof Base)) throw new TypeError(`${what}: ${show(t)}, expected tensors`)
  return tensors
}

/** The tensors and the axis of f(a, b, { dim }) or f([a, b], dim). */
function shapedTensors (fn, args) {
  const rest = args.slice()
  let dim = 0
  const last = rest.at(-1)
  if (isOptions(last)) dim = named(fn, [rest.pop()], { dim: 0 }).dim
  else if (rest.length > 1 && typeof last === 'number') dim = rest.pop()
  return { tensors: tensorsOf(rest, fn), dim }
}

module.exports = { Movement }
