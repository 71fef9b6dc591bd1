'use strict'
/** Tensor methods for products of matrices, linear algebra, attention and losses. */

const { lib } = require('./library.js')
const { CTX, describe } = require('./graph.js')
const { Base, made, nodeOf, optional, operandOf, handleOf, present } = require('./base.js')
const { operation, call, call1, pair } = require('./call.js')
const { Indexing } = require('./indexing.js')
const { named, number, string, within, show } = require('./arguments.js')
const seeds = require('./random.js')

const LINEAR = operation('linear')
const EINSUM = operation('einsum')
const CONV2D = operation('conv2d')
const MAX_POOL2D = operation('max_pool2d')
const WITH_INDICES = operation('max_pool2d_with_indices')

/** The shape of query @ key.T, of which heads that share a key have as many as query. */
function scoresOf (query, key) {
  const lead = [query, key].map((shape) => shape.slice(0, -2).reverse())
  const n = Math.max(lead[0].length, lead[1].length)
  const wide = Array.from({ length: n }, (_, i) => {
    const [a, b] = lead.map((sizes) => sizes[i] ?? 1)
    return a === 1 || b === 1 || a === b ? (a === 1 ? b : a) : null
  }).reverse()
  return [...(wide.includes(null) ? query.slice(0, -2) : wide), ...query.slice(-2, -1), ...key.slice(-2, -1)]
}

/** Products, decompositions and losses. */
class Linalg extends Indexing {

  /**
   * x @ weight + bias for a weight of shape (in, out), or x * weight + bias for one of one axis; one of shape (out, in)
   * is turned where only that fits. With dtype, all three are converted first.
   */
  linear (...args) {
    const { weight, bias, dtype } = named('linear', args, { weight: undefined, bias: null, dtype: null })
    nodeOf(weight, 'linear: weight')
    optional(bias, 'linear: bias')
    const [x, w, b] = [this, weight, bias].map((t) => t === null || dtype === null ? t : t.cast(dtype))
    return call1(LINEAR, x, [w, b])
  }

  /** Sums of products of elements, as the formula says: Tensor.einsum('ij,jk->ik', a, b). */
  static einsum (formula, ...operands) {
    string(formula, 'einsum: formula')
    const tensors = operands.flat()
    for (const t of tensors) if (!(t instanceof Base)) throw new TypeError(`einsum: operands: ${show(t)}, expected a tensor`)
    return call1(EINSUM, tensors, [formula])
  }

  /** The convolution with weights of shape (out, in/groups, …), plus a bias of shape (out); with dtype, both are converted first. */
  conv2d (...args) {
    const { weight, bias, groups, stride, dilation, padding, dtype } = named('conv2d', args,
      { weight: undefined, bias: null, groups: 1, stride: 1, dilation: 1, padding: 0, dtype: null })
    nodeOf(weight, 'conv2d: weight')
    const [x, w] = [this, weight].map((t) => dtype === null ? t : t.cast(dtype))
    return call1(CONV2D, x, [w, operandOf(bias, this, 'conv2d: bias'), groups, stride, dilation, padding])
  }

  /** The greatest value of windows; with returnIndices also where it was: [values, indices]. */
  maxPool2d (...args) {
    const o = named('maxPool2d', args, { kernelSize: [2, 2], stride: null, dilation: 1, padding: 0, ceilMode: false, returnIndices: false })
    const window = [pair(o.kernelSize), o.stride, o.dilation, o.padding, Boolean(o.ceilMode)]
    return o.returnIndices ? call(WITH_INDICES, this, window) : call1(MAX_POOL2D, this, window)
  }

  /**
   * softmax(this @ key.T / sqrt(d) + mask) @ value over the last two axes. A bool mask tells which
   * pairs may attend; another one is added. dropoutP counts while Tensor.training is set.
   */
  scaledDotProductAttention (key, value, ...args) {
    const fn = 'scaledDotProductAttention'
    const { attnMask, dropoutP, isCausal, enableGqa, scale } = named(fn, args,
      { attnMask: null, dropoutP: 0, isCausal: false, enableGqa: false, scale: null })
    const k = nodeOf(key, `${fn}: key`)
    const v = nodeOf(value, `${fn}: value`)
    const mask = optional(attnMask, `${fn}: attnMask`)
    const p = this.constructor.training ? within(dropoutP, 0, 1, `${fn}: dropoutP`) : 0
    const seed = p > 0 ? seeds.nextSeed(seeds.wordsOf(scoresOf(describe(this._node).shape, describe(k).shape))) : null
    return made(lib.poly_attention(CTX, this._node.handle, k.handle, v.handle, handleOf(mask), isCausal ? 1 : 0,
      enableGqa ? 1 : 0, scale === null ? 0 : number(scale, `${fn}: scale`), p, handleOf(seed)), present(this._node, k, v, mask, seed))
  }

  // Losses

  /** binaryCrossentropy(target). */
  binaryCrossEntropy (target, ...args) {
    return this.binaryCrossentropy(target, ...args)
  }
}

module.exports = { Linalg }
