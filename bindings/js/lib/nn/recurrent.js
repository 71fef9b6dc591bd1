'use strict'
/** Layers with a state that goes from step to step. */

const { PolygradError } = require('../library.js')
const { Tensor } = require('../tensor.js')
const { describe, tensorOf, optional, byNodes } = require('../base.js')
const { named, integer, within, show } = require('../arguments.js')

function size (value, what) {
  const n = Number(integer(value, what))
  if (n < 1) throw new RangeError(`${what}: ${n}, expected 1 or more`)
  return n
}

function uniform (shape, range) {
  return Tensor.uniform(shape, { low: -range, high: range, requiresGrad: true })
}

/** The state [h, c] that was given, or that of the start. */
function stateOf (name, hc, start) {
  if (hc === null) return start()
  if (!Array.isArray(hc) || hc.length !== 2) throw new TypeError(`${name}: hc: ${show(hc)}, expected [h, c]`)
  hc.forEach((state, i) => tensorOf(state, `${name}: ${'hc'[i]}`))
  return hc
}

/** Runs a function of the library on an input, a state and weights. */
function run (fn, n, x, hc, weights, ...options) {
  return byNodes(fn, n, x, ...hc, ...weights.map((w) => optional(w, fn) ?? 0), ...options)
}

/**
 * One step of long short-term memory (Hochreiter and Schmidhuber, 1997). The quarters i, f, g, o of
 * x @ weightIh.T + biasIh + h @ weightHh.T + biasHh give c = sigmoid(f) * c + sigmoid(i) * tanh(g) and
 * h = sigmoid(o) * tanh(c). Weights begin uniform in 1/sqrt(hiddenSize), biases at 0.
 */
class LSTMCell {
  constructor (inputSize, hiddenSize, ...args) {
    const { bias } = named('LSTMCell', args, { bias: true })
    const n = size(hiddenSize, 'LSTMCell: hiddenSize')
    const range = 1 / Math.sqrt(n)
    this.weightIh = uniform([4 * n, size(inputSize, 'LSTMCell: inputSize')], range)
    this.weightHh = uniform([4 * n, n], range)
    this.biasIh = bias ? Tensor.zeros(4 * n, { requiresGrad: true }) : null
    this.biasHh = bias ? Tensor.zeros(4 * n, { requiresGrad: true }) : null
  }

  /** [h, c], each (…, hiddenSize), after an input of shape (…, inputSize) from [h, c] before, or zeros. */
  forward (x, hc = null) {
    tensorOf(x, 'LSTMCell: x')
    const zeros = () => Tensor.zeros([...x.shape.slice(0, -1), this.weightHh.shape[1]], { dtype: x.dtype })
    const { weightIh, weightHh, biasIh, biasHh } = this
    return run('poly_lstm_cell', 2, x, stateOf('LSTMCell', hc, () => [zeros(), zeros()]), [weightIh, weightHh, biasIh, biasHh])
  }
}

const PARTS = ['weightIh', 'weightHh', 'biasIh', 'biasHh']

/**
 * Layers of long short-term memory over a sequence, as PyTorch has them. Layer k has weightIhL{k}, weightHhL{k},
 * biasIhL{k} and biasHhL{k}, as LSTMCell has them; bidirectional layers also those of the way back, with Reverse
 * behind the name. dropout acts on what a layer gives to the next one, while Tensor.training is set. All begin
 * uniform in 1/sqrt(hiddenSize). The program has a part for each step of the sequence.
 */
class LSTM {
  constructor (inputSize, hiddenSize, ...args) {
    const { numLayers, bias, batchFirst, dropout, bidirectional } = named('LSTM', args,
      { numLayers: 1, bias: true, batchFirst: false, dropout: 0, bidirectional: false })
    this.hiddenSize = size(hiddenSize, 'LSTM: hiddenSize')
    this.numLayers = size(numLayers, 'LSTM: numLayers')
    this.batchFirst = batchFirst
    this.dropout = within(dropout, 0, 1, 'LSTM: dropout')
    this.ways = bidirectional ? ['', 'Reverse'] : ['']
    size(inputSize, 'LSTM: inputSize')
    const n = this.hiddenSize
    for (let k = 0; k < this.numLayers; k++) {
      const shapes = [[4 * n, k > 0 ? n * this.ways.length : inputSize], [4 * n, n], [4 * n], [4 * n]]
      for (const way of this.ways) {
        PARTS.slice(0, bias ? 4 : 2).forEach((part, i) => { this[`${part}L${k}${way}`] = uniform(shapes[i], 1 / Math.sqrt(n)) })
      }
    }
  }

  /**
   * [outputs, [h, c]] of a sequence x, (T, N, inputSize), or (N, T, inputSize) with batchFirst, from the state
   * [h, c], (numLayers, N, hiddenSize) (twice as many layers, forwards and backwards in turn, if bidirectional), or
   * zeros. The outputs of all steps have the order of x, with hiddenSize, or twice that, in the last axis.
   */
  forward (x, hc = null) {
    if (describe(tensorOf(x, 'LSTM: x')).shape.length !== 3) throw new PolygradError(`LSTM: x: shape [${x.shape}], expected 3 dimensions`)
    const { ways, batchFirst } = this
    const shape = [this.numLayers * ways.length, x.shape[batchFirst ? 0 : 1], this.hiddenSize]
    const start = stateOf('LSTM', hc, () => [0, 1].map(() => Tensor.zeros(shape, { dtype: x.dtype })))
    start.forEach((state, i) => {
      if (String(state.shape) !== String(shape)) throw new PolygradError(`LSTM: ${'hc'[i]}: shape [${state.shape}], expected [${shape}]`)
    })
    const ends = []
    for (let k = 0; k < this.numLayers; k++) {
      if (k > 0 && this.dropout > 0) x = x.dropout(this.dropout)
      const outs = ways.map((way) => {
        const weights = PARTS.map((part) => this[`${part}L${k}${way}`] ?? null)
        const state = start.map((s) => s.getitem(ends.length))
        const [out, ...end] = run('poly_lstm', 3, x, state, weights, batchFirst ? 1 : 0, way === '' ? 0 : 1)
        ends.push(end)
        return out
      })
      x = outs.length === 1 ? outs[0] : Tensor.cat(outs, -1)
    }
    return [x, [0, 1].map((i) => Tensor.stack(ends.map((end) => end[i])))]
  }
}

module.exports = { LSTMCell, LSTM }
