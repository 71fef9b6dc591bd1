'use strict'
/** Models in Hugging Face's format: config.json and safetensors files. Model type: gpt2. */

const fs = require('node:fs')
const path = require('node:path')
const { lib, PolygradError } = require('./library.js')
const { addresses } = require('./graph.js')
const { Instance } = require('./instance.js')
const { Tensor } = require('./tensor.js')
const { tidy } = require('./base.js')
const { bytesOf } = require('./memory.js')
const { named, small, number, show } = require('./arguments.js')

/** A model from a folder with config.json and *.safetensors; maxSeqLen 0: as long as the model allows. */
function loadHf (folder, { maxBatch = 1, maxSeqLen = 0 } = {}) {
  const files = weightFiles(folder)
  if (files.length === 0) throw new PolygradError(`loadHf: ${folder} holds no .safetensors file`)
  const weights = files.map((name) => fs.readFileSync(path.join(folder, name)))
  return loadHfBytes(fs.readFileSync(path.join(folder, 'config.json')), weights, { maxBatch, maxSeqLen })
}

/** The files that the index names, or all of them. */
function weightFiles (folder) {
  const index = path.join(folder, 'model.safetensors.index.json')
  if (fs.existsSync(index)) return [...new Set(Object.values(JSON.parse(fs.readFileSync(index, 'utf8')).weight_map))].sort()
  return fs.readdirSync(folder).filter((name) => name.endsWith('.safetensors')).sort()
}

/**
 * A model from the contents of config.json (text or bytes) and of safetensors files. Files that cannot
 * be read and tensors that are missing or do not fit are warned about.
 */
function loadHfBytes (config, weights, { maxBatch = 1, maxSeqLen = 0 } = {}) {
  const text = typeof config === 'string' ? config : Buffer.from(bytesOf(config, 'loadHfBytes: config')).toString()
  const files = weights.map((w) => bytesOf(w, 'loadHfBytes: weights'))
  const lengths = BigInt64Array.from(files, (f) => BigInt(f.length))
  const handle = lib.poly_hf_load(text, Buffer.byteLength(text), addresses(files), lengths, files.length,
    small(maxBatch, 'loadHfBytes: maxBatch'), small(maxSeqLen, 'loadHfBytes: maxSeqLen'))
  const instance = new Instance(handle)
  if (instance.notes.length > 0) process.emitWarning(instance.notes.join('; '), 'PolygradWarning')
  return instance
}

/**
 * Token sequences, one a row, continued by maxNewTokens tokens. temperature 0 always takes the most
 * likely token; topK > 0 chooses among the k most likely ones. A model with room for T tokens sees the
 * last T. Draws depend on Tensor.manualSeed.
 */
function generate (instance, tokens, ...args) {
  const { maxNewTokens, temperature, topK } = named('generate', args, { maxNewTokens: undefined, temperature: 1, topK: 0 })
  small(maxNewTokens, 'generate: maxNewTokens')
  small(topK, 'generate: topK')
  if (!(maxNewTokens >= 0 && number(temperature, 'generate: temperature') >= 0 && topK >= 0)) {
    throw new RangeError('generate: maxNewTokens, temperature and topK: expected 0 or more')
  }
  const sequences = (Array.isArray(tokens[0]) || ArrayBuffer.isView(tokens[0]) ? tokens : [tokens]).map((row) => Array.from(row, Number))
  const [batch, room] = instance.shapes.x
  if (sequences.length > batch || sequences.some((row) => row.length === 0 || row.length !== sequences[0].length)) {
    throw new PolygradError(`generate: tokens: ${show(tokens)}, expected up to ${batch} rows of one length`)
  }
  const places = {}
  for (const name of ['positions', 'arange']) {
    if (name in instance.shapes) places[name] = Float32Array.from({ length: room }, (_, i) => i)
  }
  for (let i = 0; i < maxNewTokens; i++) {
    const seen = sequences.map((row) => row.slice(-room))
    const { output } = instance.forward({ x: seen, ...places })
    const next = tidy(() => {
      const logits = new Tensor(output, { shape: [batch, room, output.length / batch / room] })
      const last = logits.getitem([0, sequences.length], seen[0].length - 1)
      return Array.from(choose(last, temperature, topK).toArray())
    })
    sequences.forEach((row, k) => row.push(next[k]))
  }
  return sequences
}

/** A token for each row of logits, drawn by its probability. */
function choose (logits, temperature, topK) {
  if (temperature === 0) return logits.argmax(-1)
  let scaled = logits.div(temperature)
  if (topK > 0 && topK < logits.shape[1]) {
    const least = scaled.topk(topK, -1)[0].getitem('...', [-1, null])
    scaled = scaled.maskedFill(scaled.lt(least), -Infinity)
  }
  return scaled.softmax(-1).multinomial(1, true).squeeze(-1)
}

module.exports = { loadHf, loadHfBytes, generate }
