'use strict'
/** Operations that are called in ways of their own. */

const { PolygradError } = require('./library.js')
const { describe, tidy } = require('./base.js')
const { Operation } = require('./call.js')
const { SymInt } = require('./variable.js')
const { Methods } = require('./methods.js')
const { named, shaped, integer, small, isOptions, string, record, within, show } = require('./arguments.js')

const ALLCLOSE = new Operation('allclose', 'other:t rtol atol equalNan:b')
const RESHAPE = new Operation('reshape', '...shape')
const EXPAND = new Operation('expand', '...shape')
const PAD = new Operation('pad', 'padding mode value')
const REARRANGE = new Operation('rearrange', 'formula sizes')
const EINSUM = new Operation('einsum', 'formula')
const LINEAR = new Operation('linear', 'weight:t bias:t')
const CONV2D = new Operation('conv2d', 'weight:t bias:t groups stride dilation padding')
const MAX_POOL2D = new Operation('max_pool2d', 'kernelSize:k stride dilation padding ceilMode:b')
const WITH_INDICES = new Operation('max_pool2d_with_indices', 'kernelSize:k stride dilation padding ceilMode:b')
const DROPOUT = new Operation('dropout', 'p')

/** How much larger a size is than another one. */
function difference (size, old) {
  if (size instanceof SymInt) return size.sub(old)
  return old instanceof SymInt ? old.neg().add(size) : Number(integer(size, 'padTo: shape')) - old
}

/** Shapes, joining, windows and products. */
class Movement extends Methods {
  reshape (...args) {
    let { shape } = shaped('reshape', args, { shape: null })
    if (shape.includes(null)) shape = shape.map((s, i) => s === null ? describe(this).shape[i] : s)
    return RESHAPE.one(this, [shape])
  }

  view (...args) {
    return this.reshape(...args)
  }

  expand (...args) {
    const { shape } = shaped('expand', args, { shape: null })
    return EXPAND.one(this, [shape.map((s) => s ?? -1)])
  }

  get T () {
    return this.transpose(-2, -1)
  }

  shrinkTo (...args) {
    const { shape } = shaped('shrinkTo', args, { shape: null })
    return this.shrink(shape.map((n) => n === null ? null : [0, n]))
  }

  padTo (...args) {
    const { shape } = shaped('padTo', args, { shape: null })
    const old = describe(this).shape
    if (shape.length !== old.length) throw new PolygradError(`padTo: ${shape.length} sizes, expected one for each of ${old.length} axes`)
    return this.pad(shape.map((n, i) => n === null ? null : [0, difference(n, old[i])]))
  }

  pad (...args) {
    const { padding, mode, value } = named('pad', args, { padding: undefined, mode: null, value: null })
    if (!Array.isArray(padding)) throw new TypeError(`pad: padding: ${show(padding)}, expected a pair of integers for each axis`)
    const flat = padding.length > 0 && padding.every((p) => typeof p === 'number')
    return PAD.one(this, [flat ? this._fromLast(padding) : padding, mode, value])
  }

  /** Pairs of all axes from a flat list that begins with the last axis. */
  _fromLast (flat) {
    const { length } = describe(this).shape
    if (flat.length % 2 !== 0 || flat.length > 2 * length) {
      throw new PolygradError(`pad: padding: ${flat.length} numbers, expected two for each of up to ${length} axes`)
    }
    return Array.from({ length }, (_, i) => {
      const at = 2 * (length - 1 - i)
      return at < flat.length ? [flat[at], flat[at + 1]] : [0, 0]
    })
  }

  rearrange (...args) {
    let values
    if (args.length === 2 && isOptions(args[1]) && !isOptions(args[1].sizes)) values = { formula: args[0], sizes: args[1] }
    else values = named('rearrange', args, { formula: undefined, sizes: {} })
    const sizes = Object.entries(record(values.sizes, 'rearrange: sizes')).flat()
    return REARRANGE.one(this, [string(values.formula, 'rearrange: formula'), sizes])
  }

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

  static einsum (formula, ...operands) {
    return EINSUM.join([...operands, string(formula, 'einsum: formula')])
  }

  linear (...args) {
    const { weight, bias, dtype } = named('linear', args, { weight: undefined, bias: null, dtype: null })
    const [x, w, b] = [this, weight, bias].map((t) => t == null || dtype === null ? t : t.cast(dtype))
    return LINEAR.one(x, [w, b])
  }

  conv2d (...args) {
    const { dtype, weight, ...values } = named('conv2d', args,
      { weight: undefined, bias: null, groups: null, stride: null, dilation: null, padding: null, dtype: null })
    const [x, w] = [this, weight].map((t) => dtype === null ? t : t.cast(dtype))
    return CONV2D.one(x, [w, ...Object.values(values)])
  }

  maxPool2d (...args) {
    const { returnIndices, ...window } = named('maxPool2d', args,
      { kernelSize: null, stride: null, dilation: null, padding: null, ceilMode: null, returnIndices: false })
    return returnIndices ? WITH_INDICES.all(this, Object.values(window)) : MAX_POOL2D.one(this, Object.values(window))
  }

  dropout (...args) {
    const { p } = named('dropout', args, { p: 0.5 })
    return within(p, 0, 1, 'dropout: p') === 0 || !this.constructor.training ? this : DROPOUT.one(this, [p])
  }

  clip (...args) {
    return this.clamp(...args)
  }

  allclose (other, ...args) {
    return tidy(() => ALLCLOSE.one(this, [typeof other === 'number' ? this.fullLike(other) : other, ...args]).item())
  }

  binaryCrossEntropy (...args) {
    return this.binaryCrossentropy(...args)
  }
}

module.exports = { Movement }
