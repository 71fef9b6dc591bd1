'use strict'
/** Tensor methods for convolution and pooling of (N, C, spatial…). */

const { lib, constants: c, PolygradError } = require('./library.js')
const { CTX } = require('./graph.js')
const { made, several, nodeOf, optional, handleOf, present } = require('./base.js')
const { Hashing } = require('./hashing.js')
const { named, list, dims, integer, choice, show } = require('./arguments.js')

const INTERPOLATIONS = {
  linear: c.POLY_INTERPOLATE_LINEAR,
  nearest: c.POLY_INTERPOLATE_NEAREST,
  'nearest-exact': c.POLY_INTERPOLATE_NEAREST_EXACT
}

// Each array of a call has a slot of its own.
const KERNEL = 0
const STRIDE = 1
const DILATION = 2
const PADDING = 3
const OUTPUT = 4

/** A number for each of n spatial axes, given as one number or as a list; null stays NULL. */
function each (value, n, slot, what) {
  if (value === null) return null
  const given = list(value)
  if (given.length !== 1 && given.length !== n) throw new PolygradError(`${what}: ${show(given)}, expected one number or ${n}`)
  return dims(given.length === n ? given : new Array(n).fill(given[0]), what, slot)
}

/**
 * Padding before and after each spatial axis in order: one number for all, one for each axis, or two
 * for each, the last axis first.
 */
function paddingOf (value, n, what) {
  const given = list(value)
  let pairs
  if (given.length === 1) pairs = new Array(2 * n).fill(given[0])
  else if (given.length === n) pairs = given.flatMap((p) => [p, p])
  else if (given.length === 2 * n) pairs = Array.from({ length: n }, (_, i) => given.slice(2 * (n - 1 - i), 2 * (n - i))).flat()
  else throw new PolygradError(`${what}: ${show(given)}, expected one number, ${n} or ${2 * n}`)
  return dims(pairs, what, PADDING)
}

/** The number of spatial axes of weights, which have two axes more. */
function spatialOf (weight, what) {
  const n = weight.ndim - 2
  if (n < 1) throw new PolygradError(`${what}: ${weight.ndim} dimensions, expected 3 or more`)
  return n
}

const WINDOW = { kernelSize: [2, 2], stride: null, dilation: 1, padding: 0, ceilMode: false }

function windowOf (fn, args, defaults) {
  const values = named(fn, args, defaults)
  const n = Array.isArray(values.kernelSize) ? values.kernelSize.length : 2
  return {
    values,
    n,
    arrays: [
      each(values.kernelSize, n, KERNEL, `${fn}: kernelSize`),
      each(values.stride, n, STRIDE, `${fn}: stride`),
      each(values.dilation, n, DILATION, `${fn}: dilation`),
      paddingOf(values.padding, n, `${fn}: padding`)
    ]
  }
}

/** Convolution, pooling and interpolation; the names say 2d, but any number of spatial axes will do. */
class Spatial extends Hashing {
  /** The convolution with weights of shape (out, in/groups, …), plus a bias of shape (out); with dtype, both are converted first. */
  conv2d (...args) {
    const { weight, bias, groups, stride, dilation, padding, dtype } = named('conv2d', args,
      { weight: undefined, bias: null, groups: 1, stride: 1, dilation: 1, padding: 0, dtype: null })
    const w = nodeOf(weight, 'conv2d: weight')
    if (dtype !== null) return this.cast(dtype).conv2d(weight.cast(dtype), bias, groups, stride, dilation, padding)
    const b = optional(bias, 'conv2d: bias')
    const n = spatialOf(weight, 'conv2d: weight')
    return made(lib.poly_conv(CTX, this._node.handle, w.handle, handleOf(b), integer(groups, 'conv2d: groups'),
      each(stride, n, STRIDE, 'conv2d: stride'), each(dilation, n, DILATION, 'conv2d: dilation'),
      paddingOf(padding, n, 'conv2d: padding'), n), present(this._node, w, b))
  }

  /** The transposed convolution with weights of shape (in, out/groups, …). */
  convTranspose2d (...args) {
    const fn = 'convTranspose2d'
    const { weight, bias, groups, stride, dilation, padding, outputPadding } = named(fn, args,
      { weight: undefined, bias: null, groups: 1, stride: 1, dilation: 1, padding: 0, outputPadding: 0 })
    const w = nodeOf(weight, `${fn}: weight`)
    const b = optional(bias, `${fn}: bias`)
    const n = spatialOf(weight, `${fn}: weight`)
    return made(lib.poly_conv_transpose(CTX, this._node.handle, w.handle, handleOf(b), integer(groups, `${fn}: groups`),
      each(stride, n, STRIDE, `${fn}: stride`), each(dilation, n, DILATION, `${fn}: dilation`), paddingOf(padding, n, `${fn}: padding`),
      each(outputPadding, n, OUTPUT, `${fn}: outputPadding`), n), present(this._node, w, b))
  }

  /** The mean of windows; stride is the size of the window if none is given. */
  avgPool2d (...args) {
    const { values, n, arrays } = windowOf('avgPool2d', args, { ...WINDOW, countIncludePad: true })
    const [ceil, all] = [values.ceilMode ? 1 : 0, values.countIncludePad ? 1 : 0]
    return made(lib.poly_avg_pool(CTX, this._node.handle, ...arrays, n, ceil, all), [this._node])
  }

  /** The greatest value of windows; with returnIndices also where it was: [values, indices]. */
  maxPool2d (...args) {
    const { values, n, arrays } = windowOf('maxPool2d', args, { ...WINDOW, returnIndices: false })
    const ceil = values.ceilMode ? 1 : 0
    if (!values.returnIndices) return made(lib.poly_max_pool(CTX, this._node.handle, ...arrays, n, ceil), [this._node])
    const out = new BigUint64Array(2)
    return several(lib.poly_max_pool_indices(CTX, this._node.handle, ...arrays, n, ceil, out), out, 2, [this._node])
  }

  /** Values put back to where maxPool2d found them, 0 elsewhere. */
  maxUnpool2d (...args) {
    const { values, n, arrays } = windowOf('maxUnpool2d', args, { indices: undefined, ...WINDOW, outputSize: null })
    const at = nodeOf(values.indices, 'maxUnpool2d: indices')
    const size = values.outputSize === null ? null : list(values.outputSize).slice(-n)
    return made(lib.poly_max_unpool(CTX, this._node.handle, at.handle, ...arrays, n,
      size === null ? null : dims(size, 'maxUnpool2d: outputSize', OUTPUT)), [this._node, at])
  }

  /** The spatial axes brought to a size; mode is linear, nearest or nearest-exact. */
  interpolate (...args) {
    const { size, mode, alignCorners } = named('interpolate', args, { size: undefined, mode: 'linear', alignCorners: false })
    const number = choice(INTERPOLATIONS, mode, 'interpolate: mode')
    const sizes = list(size)
    return made(lib.poly_interpolate(CTX, this._node.handle, dims(sizes, 'interpolate: size'), sizes.length, number,
      alignCorners ? 1 : 0), [this._node])
  }
}

module.exports = { Spatial }
