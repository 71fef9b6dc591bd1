'use strict'
/** Operations whose signatures the generated methods do not cover. */

const { describe, tidy } = require('./base.js')
const { Operation } = require('./call.js')
const { Methods } = require('./methods.js')
const { named, small, isOptions, string, record, within } = require('./arguments.js')

const ALLCLOSE = new Operation('allclose', 'other:t rtol atol equalNan:b')
const REARRANGE = new Operation('rearrange', 'formula sizes')
const EINSUM = new Operation('einsum', 'formula')
const MAX_POOL2D = new Operation('max_pool2d', 'kernelSize:k stride dilation padding ceilMode:b')
const WITH_INDICES = new Operation('max_pool2d_with_indices', 'kernelSize:k stride dilation padding ceilMode:b')
const DROPOUT = new Operation('dropout', 'p')

/** Shapes, joining, windows and products. */
class Movement extends Methods {
  get T () {
    return this.transpose(-2, -1)
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
