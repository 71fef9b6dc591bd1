'use strict'
/**
 * Models in Hugging Face's format: config.json and safetensors files. Model types: gpt2; llama, mistral,
 * qwen2, qwen3; bert.
 */

const { lib, engine } = require('./library.js')
const { HANDLE } = require('./base.js')
const { utf8 } = require('./host/node.js')
const { Instance } = require('./instance.js')
const { Generator, generate, generateAsync, generateSteps, generateStream } = require('./generation.js')
const { bytesOf } = require('./memory.js')
const { toDType } = require('./dtype.js')
const { downloadHf } = require('./hub.js')
const { named, small, string, show } = require('./arguments.js')

const OPTIONS = { maxBatch: 1, maxSeqLen: 0, dtype: 'float32', strict: true }

function loadHf (folder, ...args) {
  const options = named('loadHf', args, OPTIONS)
  return new Instance(lib.poly_hf_open(string(folder, 'loadHf: folder'), ...choices('loadHf', options)), HANDLE)
}

function loadHfBytes (config, weights, ...args) {
  const options = named('loadHfBytes', args, OPTIONS)
  const text = typeof config === 'string' ? config : new TextDecoder().decode(bytesOf(config, 'loadHfBytes: config'))
  if (!Array.isArray(weights)) throw new TypeError(`loadHfBytes: weights: ${show(weights)}, expected a list of the bytes of files`)
  const files = weights.map((w) => bytesOf(w, 'loadHfBytes: weights'))
  const lengths = BigInt64Array.from(files, ({ length }) => BigInt(length))
  return new Instance(lib.poly_hf_load_as(text, utf8(text).length, engine.words(files), lengths, files.length,
    ...choices('loadHfBytes', options)), HANDLE)
}

function choices (fn, { maxBatch, maxSeqLen, dtype, strict }) {
  return [small(maxBatch, `${fn}: maxBatch`), small(maxSeqLen, `${fn}: maxSeqLen`), toDType(dtype, fn).name, strict ? 1 : 0]
}

module.exports = { downloadHf, loadHf, loadHfBytes, Generator, generate, generateAsync, generateSteps, generateStream }
