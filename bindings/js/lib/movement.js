'use strict'
/** Tensor methods that rearrange and join elements. No data moves until a value is needed. */

const { lib, constants: c, PolygradError } = require('./library.js')
const { CTX, describe, handles } = require('./graph.js')
const { Base, made, view, several, join, wrap } = require('./base.js')
const { Elementwise } = require('./elementwise.js')
const { SymInt } = require('./variable.js')
const {
  named, shaped, list, integer, small, dims, shape: shapeOf, isOptions, number, string, choice, record, show
} = require('./arguments.js')

const PAD_MODES = { reflect: c.POLY_PAD_REFLECT, replicate: c.POLY_PAD_REPLICATE, circular: c.POLY_PAD_CIRCULAR }

/** An axis, or the number that stands for all of them. */
function axisOrFlat (value, what) {
  return value == null ? -(2 ** 31) : small(value, what)
}

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

  /** Two axes swapped, the last two if none are given. */
  transpose (...args) {
    const { dim0, dim1 } = named('transpose', args, { dim0: 1, dim1: 0 })
    const [a, b] = [small(dim0, 'transpose: dim0'), small(dim1, 'transpose: dim1')]
    return view(lib.poly_transpose(CTX, this._node.handle, a, b), this._node)
  }

  /** The tensor with its last two axes swapped. */
  get T () {
    return this.transpose(-2, -1)
  }

  /** Without an axis of size 1, or without all of them; a longer axis stays. */
  squeeze (...args) {
    const { dim } = named('squeeze', args, { dim: null })
    const node = this._node
    return view(dim === null
      ? lib.poly_squeeze_all(CTX, node.handle)
      : lib.poly_squeeze(CTX, node.handle, small(dim, 'squeeze: dim')), node)
  }

  /** With a new axis of size 1. */
  unsqueeze (...args) {
    const { dim } = named('unsqueeze', args, { dim: undefined })
    return view(lib.poly_unsqueeze(CTX, this._node.handle, small(dim, 'unsqueeze: dim')), this._node)
  }

  /** The axes startDim to endDim joined into one. */
  flatten (...args) {
    const { startDim, endDim } = named('flatten', args, { startDim: 0, endDim: -1 })
    const [first, last] = [small(startDim, 'flatten: startDim'), small(endDim, 'flatten: endDim')]
    return view(lib.poly_flatten(CTX, this._node.handle, first, last), this._node)
  }

  /** An axis split into several; one size may be -1. */
  unflatten (...args) {
    const { dim, sizes } = named('unflatten', args, { dim: undefined, sizes: [] })
    return view(lib.poly_unflatten(CTX, this._node.handle, small(dim, 'unflatten: dim'),
      shapeOf(list(sizes), 'unflatten: sizes'), list(sizes).length), this._node)
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

  /** Each element repeated along an axis, or (without dim) in the flattened tensor. */
  repeatInterleave (...args) {
    const { repeats, dim } = named('repeatInterleave', args, { repeats: undefined, dim: null })
    return made(lib.poly_repeat_interleave(CTX, this._node.handle, integer(repeats, 'repeatInterleave: repeats'),
      axisOrFlat(dim, 'repeatInterleave: dim')), [this._node])
  }

  /** Windows of a size along an axis, step apart, as a new last axis. */
  unfold (...args) {
    const { dim, size, step } = named('unfold', args, { dim: undefined, size: undefined, step: 1 })
    return made(lib.poly_unfold(CTX, this._node.handle, small(dim, 'unfold: dim'), integer(size, 'unfold: size'),
      integer(step, 'unfold: step')), [this._node])
  }

  /** Elements moved along axes, around the end; without dims in the flattened tensor. */
  roll (...args) {
    const values = named('roll', args, { shifts: undefined, dims: null })
    const shifts = list(values.shifts)
    const axes = values.dims === null ? null : list(values.dims)
    if (axes !== null && axes.length !== shifts.length) {
      throw new PolygradError(`roll: dims: ${axes.length} axes, expected ${shifts.length} as shifts has`)
    }
    return made(lib.poly_roll(CTX, this._node.handle, dims(shifts, 'roll: shifts', 0),
      axes === null ? null : dims(axes, 'roll: dims', 1), shifts.length), [this._node])
  }

  /** The diagonal of two axes, as the last axis. */
  diagonal (...args) {
    const { offset, dim1, dim2 } = named('diagonal', args, { offset: 0, dim1: 0, dim2: 1 })
    return view(lib.poly_diagonal(CTX, this._node.handle, integer(offset, 'diagonal: offset'), small(dim1, 'diagonal: dim1'),
      small(dim2, 'diagonal: dim2')), this._node)
  }

  /** The square matrix that has this vector as its diagonal. */
  diag () {
    return made(lib.poly_diag(CTX, this._node.handle), [this._node])
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

  /** Parts of given sizes along an axis, or of one size (the last may be smaller). */
  split (...args) {
    const { sizes, dim } = named('split', args, { sizes: undefined, dim: 0 })
    let parts = sizes
    if (!Array.isArray(sizes)) {
      const size = Number(integer(sizes, 'split: sizes'))
      if (size <= 0) throw new PolygradError(`split: sizes: ${size}, expected a positive size`)
      const n = this.size(dim)
      parts = []
      for (let at = 0; at < Math.max(n, 1); at += size) parts.push(Math.min(size, n - at))
    }
    const n = parts.length
    const out = new BigUint64Array(n)
    const status = lib.poly_split(CTX, this._node.handle, dims(parts, 'split: sizes'), n, small(dim, 'split: dim'), out)
    const results = several(status, out, n, [this._node])
    for (const part of results) part._node.shows = true
    return results
  }

  /** At most n parts of equal size along an axis. */
  chunk (...args) {
    const { chunks, dim } = named('chunk', args, { chunks: undefined, dim: 0 })
    const parts = Number(integer(chunks, 'chunk: chunks'))
    if (parts <= 0) throw new PolygradError(`chunk: chunks: ${parts}, expected a positive number`)
    const size = this.size(dim)
    return size === 0 ? [wrap(this._node)] : this.split(Math.max(1, Math.ceil(size / parts)), dim)
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
