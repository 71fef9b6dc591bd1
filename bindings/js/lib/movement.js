'use strict'
/** Tensor methods that take their arguments in ways of their own. */

const { PolygradError } = require('./library.js')
const { Base, describe, tensorOf, optional, operandOf, tidy } = require('./base.js')
const { operation, call, call1, joined, operandsOf, pair, sizesOf } = require('./call.js')
const { SymInt } = require('./variable.js')
const { Methods } = require('./methods.js')
const { named, shaped, integer, small, isOptions, string, record, within, show } = require('./arguments.js')

const [
  ALLCLOSE, RESHAPE, EXPAND, SHRINK, PAD, REARRANGE, CAT, STACK, MESHGRID, EINSUM, LINEAR, CONV2D, MAX_POOL2D, WITH_INDICES, DROPOUT
] = [
  'allclose', 'reshape', 'expand', 'shrink', 'pad', 'rearrange', 'cat', 'stack', 'meshgrid', 'einsum', 'linear', 'conv2d', 'max_pool2d',
  'max_pool2d_with_indices', 'dropout'
].map(operation)
const PAD_MODES = ['reflect', 'replicate', 'circular']

/** How much larger a size is than another one. */
function difference (size, old) {
  if (size instanceof SymInt) return size.sub(old)
  return old instanceof SymInt ? old.neg().add(size) : Number(integer(size, 'padTo: shape')) - old
}

/** Shapes, joining, windows and products. */
class Movement extends Methods {
  /** The same elements in another shape; one size may be -1, null keeps the size of that axis. */
  reshape (...args) {
    let { shape } = shaped('reshape', args, { shape: null })
    if (shape.includes(null)) shape = shape.map((s, i) => s === null ? describe(this).shape[i] : s)
    return call1(RESHAPE, this, [sizesOf(shape, 'reshape: shape')])
  }

  /** reshape(...shape). */
  view (...args) {
    return this.reshape(...args)
  }

  /** Axes of size 1 repeated up to a shape; -1 or null keeps a size. */
  expand (...args) {
    const { shape } = shaped('expand', args, { shape: null })
    return call1(EXPAND, this, [sizesOf(shape.map((s) => s ?? -1), 'expand: shape')])
  }

  /** The tensor with its last two axes swapped. */
  get T () {
    return this.transpose(-2, -1)
  }

  /** The first elements of each axis, as many as a shape says; null keeps all. */
  shrinkTo (...args) {
    const { shape } = shaped('shrinkTo', args, { shape: null })
    return call1(SHRINK, this, [shape.map((n) => n === null ? null : [0, n])])
  }

  /** Zeros added at the end of axes up to a shape; null keeps a size. */
  padTo (...args) {
    const { shape } = shaped('padTo', args, { shape: null })
    const old = describe(this).shape
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
    if (!Array.isArray(padding)) throw new TypeError(`pad: padding: ${show(padding)}, expected a pair of integers for each axis`)
    if (mode !== 'constant' && !PAD_MODES.includes(mode)) {
      throw new TypeError(`pad: mode: ${show(mode)}, expected one of ${PAD_MODES.join(', ')}`)
    }
    const flat = padding.length > 0 && padding.every((p) => typeof p === 'number')
    return call1(PAD, this, [flat ? this._fromLast(padding) : padding, mode, value])
  }

  /** Pairs of all axes from a flat list that begins with the last axis. */
  _fromLast (flat) {
    const { length } = describe(this).shape
    if (flat.length % 2 !== 0 || flat.length > 2 * length) {
      throw new PolygradError(`pad: arg: ${flat.length} numbers, expected two for each of up to ${length} axes`)
    }
    return Array.from({ length }, (_, i) => {
      const at = 2 * (length - 1 - i)
      return at < flat.length ? [flat[at], flat[at + 1]] : [0, 0]
    })
  }

  /** Axes rearranged as einops does: rearrange('b (h w) -> b h w', { h: 2 }). */
  rearrange (...args) {
    let values
    if (args.length === 2 && isOptions(args[1]) && !isOptions(args[1].sizes)) values = { formula: args[0], sizes: args[1] }
    else values = named('rearrange', args, { formula: undefined, sizes: {} })
    return call1(REARRANGE, this, [string(values.formula, 'rearrange: formula'), record(values.sizes, 'rearrange: sizes')])
  }

  // Joining

  /** Tensors joined along an axis: Tensor.cat(a, b, { dim: 1 }). */
  static cat (...args) {
    return joined('cat', CAT, args, { dim: 0 })[0]
  }

  /** Tensors of one shape joined along a new axis: Tensor.stack(a, b, { dim: 1 }). */
  static stack (...args) {
    return joined('stack', STACK, args, { dim: 0 })[0]
  }

  /** This tensor and others joined along an axis. */
  cat (...args) {
    return joined('cat', CAT, [this, ...args], { dim: 0 })[0]
  }

  /** This tensor and others joined along a new axis. */
  stack (...args) {
    return joined('stack', STACK, [this, ...args], { dim: 0 })[0]
  }

  /** Grids of the coordinates that vectors hold; indexing 'ij' or 'xy'. */
  static meshgrid (...args) {
    const last = isOptions(args.at(-1)) ? args.pop() : {}
    const { indexing } = named('meshgrid', [last], { indexing: 'ij' })
    return call(MESHGRID, operandsOf(args, 'meshgrid'), [indexing])
  }

  /** The shape, or the size of one axis. */
  size (...args) {
    const { dim } = named('size', args, { dim: null })
    const { shape } = describe(this)
    if (dim === null) return shape.slice()
    const axis = small(dim, 'size: dim')
    if (axis < -shape.length || axis >= shape.length) {
      throw new RangeError(`size: dim: ${axis} is out of range for ${shape.length} dimensions`)
    }
    return shape.at(axis)
  }

  // Products and windows

  /** Sums of products of elements, as the formula says: Tensor.einsum('ij,jk->ik', a, b). */
  static einsum (formula, ...operands) {
    return call1(EINSUM, operandsOf(operands, 'einsum: operands'), [string(formula, 'einsum: formula')])
  }

  /**
   * x @ weight + bias for a weight of shape (in, out), or x * weight + bias for one of one axis; one of shape (out, in)
   * is turned where only that fits. With dtype, all three are converted first.
   */
  linear (...args) {
    const { weight, bias, dtype } = named('linear', args, { weight: undefined, bias: null, dtype: null })
    tensorOf(weight, 'linear: weight')
    optional(bias, 'linear: bias')
    const [x, w, b] = [this, weight, bias].map((t) => t == null || dtype === null ? t : t.cast(dtype))
    return call1(LINEAR, x, [w, b])
  }

  /** The convolution with weights of shape (out, in/groups, …), plus a bias of shape (out); with dtype, both are converted first. */
  conv2d (...args) {
    const { weight, bias, groups, stride, dilation, padding, dtype } = named('conv2d', args,
      { weight: undefined, bias: null, groups: 1, stride: 1, dilation: 1, padding: 0, dtype: null })
    tensorOf(weight, 'conv2d: weight')
    const [x, w] = [this, weight].map((t) => dtype === null ? t : t.cast(dtype))
    return call1(CONV2D, x, [w, operandOf(bias, this, 'conv2d: bias'), groups, stride, dilation, padding])
  }

  /** The greatest value of windows; with returnIndices also where it was: [values, indices]. */
  maxPool2d (...args) {
    const o = named('maxPool2d', args, { kernelSize: [2, 2], stride: null, dilation: 1, padding: 0, ceilMode: false, returnIndices: false })
    const window = [pair(o.kernelSize), o.stride, o.dilation, o.padding, Boolean(o.ceilMode)]
    return o.returnIndices ? call(WITH_INDICES, this, window) : call1(MAX_POOL2D, this, window)
  }

  /** Elements set to 0 with probability p and the others scaled, if Tensor.training. */
  dropout (...args) {
    const { p } = named('dropout', args, { p: 0.5 })
    return within(p, 0, 1, 'dropout: p') === 0 || !this.constructor.training ? this : call1(DROPOUT, this, [p])
  }

  // Others

  /** clamp(min, max). */
  clip (...args) {
    return this.clamp(...args)
  }

  /** Whether isclose holds everywhere; computed at once. */
  allclose (...args) {
    const { other, rtol, atol, equalNan } = named('allclose', args, { other: undefined, rtol: 1e-5, atol: 1e-8, equalNan: false })
    return tidy(() => {
      const given = operandOf(other, this, 'allclose: other')
      const tensor = given instanceof Base ? given : this.fullLike(given)
      return call1(ALLCLOSE, this, [tensor, rtol, atol, Boolean(equalNan)]).item()
    })
  }

  /** binaryCrossentropy(target). */
  binaryCrossEntropy (target, ...args) {
    return this.binaryCrossentropy(target, ...args)
  }
}

module.exports = { Movement }
