'use strict'
/** Multi-head attention, and transformer blocks. */

const { PolygradError } = require('../library.js')
const { tensorOf } = require('../base.js')
const { Linear, LayerNorm, RMSNorm, Dropout } = require('./layers.js')
const { named, integer, within, show } = require('../arguments.js')

/** A count, checked to be a divisor of whole. */
function part (value, whole, what) {
  const n = Number(integer(value, what))
  if (n >= 1 && whole % n === 0) return n
  throw new PolygradError(`${what}: ${n}, expected a part of ${whole}`)
}

class MultiHeadAttention {
  get _ofPackage () { return true }

  constructor (embedDim, numHeads, ...args) {
    const name = 'MultiHeadAttention'
    const { numKvHeads, bias, dropout } = named(name, args, { numKvHeads: null, bias: true, dropout: 0 })
    const width = Number(integer(embedDim, `${name}: embedDim`))
    this.numHeads = part(numHeads, width, `${name}: numHeads`)
    this.numKvHeads = part(numKvHeads ?? numHeads, this.numHeads, `${name}: numKvHeads`)
    this.dropout = within(dropout, 0, 1, `${name}: dropout`)
    this.headDim = width / this.numHeads
    const shared = this.headDim * this.numKvHeads
    this.qProj = new Linear(embedDim, embedDim, bias)
    this.kProj = new Linear(embedDim, shared, bias)
    this.vProj = new Linear(embedDim, shared, bias)
    this.oProj = new Linear(embedDim, embedDim, bias)
  }

  forward (query, ...args) {
    const { key, value, attnMask, isCausal } = named('MultiHeadAttention', args,
      { key: null, value: null, attnMask: null, isCausal: false })
    const source = key ?? query
    const [q, k, v] = [[this.qProj, query], [this.kProj, source], [this.vProj, value ?? source]]
      .map(([layer, x]) => layer.forward(x).unflatten(-1, [-1, this.headDim]).transpose(-3, -2))
    const heads = q.scaledDotProductAttention(k, v, {
      attnMask, dropoutP: this.dropout, isCausal, enableGqa: this.numKvHeads !== this.numHeads
    })
    return this.oProj.forward(heads.transpose(-3, -2).flatten(-2))
  }
}

const NORMS = { layer: LayerNorm, rms: RMSNorm }

class TransformerBlock {
  get _ofPackage () { return true }

  constructor (embedDim, numHeads, ...args) {
    const { ffDim, numKvHeads, bias, dropout, causal, preNorm, norm, activation } = named('TransformerBlock', args, {
      ffDim: null, numKvHeads: null, bias: true, dropout: 0, causal: false, preNorm: true, norm: 'layer', activation: (x) => x.gelu()
    })
    if (!Object.hasOwn(NORMS, norm)) throw new PolygradError(`TransformerBlock: norm: ${show(norm)}, expected "layer" or "rms"`)
    if (typeof activation !== 'function') throw new TypeError(`TransformerBlock: activation: ${show(activation)}, expected a function`)
    const width = Number(integer(embedDim, 'TransformerBlock: embedDim'))
    const units = integer(ffDim ?? 4 * width, 'TransformerBlock: ffDim')
    this.causal = causal
    this.preNorm = preNorm
    this.activation = activation
    this.attnNorm = new NORMS[norm](embedDim)
    this.attn = new MultiHeadAttention(embedDim, numHeads, { numKvHeads, bias, dropout })
    this.ffNorm = new NORMS[norm](embedDim)
    this.up = new Linear(embedDim, units, bias)
    this.down = new Linear(units, embedDim, bias)
    this.dropout = new Dropout(dropout)
  }

  forward (x, ...args) {
    const { attnMask } = named('TransformerBlock', args, { attnMask: null })
    tensorOf(x, 'TransformerBlock: x')
    const attend = (y) => this.dropout.forward(this.attn.forward(y, { attnMask, isCausal: this.causal }))
    const feed = (y) => this.dropout.forward(this.down.forward(this.activation(this.up.forward(y))))
    if (!this.preNorm) {
      const y = this.attnNorm.forward(x.add(attend(x)))
      return this.ffNorm.forward(y.add(feed(y)))
    }
    const y = x.add(attend(this.attnNorm.forward(x)))
    return y.add(feed(this.ffNorm.forward(y)))
  }
}

module.exports = { MultiHeadAttention, TransformerBlock }
