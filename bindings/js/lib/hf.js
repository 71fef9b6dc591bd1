'use strict'
/**
 * Models in Hugging Face's format: config.json and safetensors files. Model types: gpt2; llama, mistral,
 * qwen2, qwen3; bert.
 */

const { lib, PolygradError } = require('./library.js')
const { addresses } = require('./handles.js')
const { Instance } = require('./instance.js')
const { Generator, generate, generateAsync, generateSteps, generateStream } = require('./generation.js')
const { bytesOf } = require('./memory.js')
const { toDType } = require('./dtype.js')
const { downloadHf } = require('./hub.js')
const { named, small, string, show } = require('./arguments.js')

const OPTIONS = { maxBatch: 1, maxSeqLen: 0, dtype: 'float32' }

function loadHf (folder, ...args) {
  const { maxBatch, maxSeqLen, dtype } = named('loadHf', args, OPTIONS)
  const path = string(folder, 'loadHf: folder')
  const sizes = [small(maxBatch, 'loadHf: maxBatch'), small(maxSeqLen, 'loadHf: maxSeqLen')]
  return checked('loadHf', lib.poly_hf_open(path, ...sizes, toDType(dtype).name))
}

function loadHfBytes (config, weights, ...args) {
  const options = named('loadHfBytes', args, OPTIONS)
  const text = typeof config === 'string' ? config : Buffer.from(bytesOf(config, 'loadHfBytes: config')).toString()
  if (!Array.isArray(weights)) throw new TypeError(`loadHfBytes: weights: ${show(weights)}, expected a list of the bytes of files`)
  const files = weights.map((w) => bytesOf(w, 'loadHfBytes: weights'))
  const lengths = BigInt64Array.from(files, ({ length }) => BigInt(length))
  return checked('loadHfBytes', lib.poly_hf_load_as(text, Buffer.byteLength(text), addresses(files), lengths, files.length,
    small(options.maxBatch, 'loadHfBytes: maxBatch'), small(options.maxSeqLen, 'loadHfBytes: maxSeqLen'), toDType(options.dtype).name))
}

/** A model, unless files of it cannot be read; what else is odd is a warning. */
function checked (fn, handle) {
  const instance = new Instance(handle)
  const { notes } = instance
  const broken = notes.filter((note) => note.startsWith('files['))
  if (broken.length > 0) throw new PolygradError(`${fn}: weights: ${broken.join('; ')}`)
  if (notes.length > 0) process.emitWarning(notes.join('; '), 'PolygradWarning')
  return instance
}

module.exports = { downloadHf, loadHf, loadHfBytes, Generator, generate, generateAsync, generateSteps, generateStream }
