'use strict'
/**
 * Models in Hugging Face's format: config.json and safetensors files. Model types: gpt2; llama, mistral,
 * qwen2, qwen3; bert.
 */

const fs = require('node:fs')
const path = require('node:path')
const { lib, PolygradError } = require('./library.js')
const { addresses } = require('./handles.js')
const { Instance } = require('./instance.js')
const { Generator, generate, generateAsync, generateSteps, generateStream } = require('./generation.js')
const { bytesOf } = require('./memory.js')
const { toDType } = require('./dtype.js')
const { withMapped } = require('./mapped.js')
const { given, endsOf, weightNames } = require('./hf_folder.js')
const { downloadHf } = require('./hub.js')
const { named, small, string, show } = require('./arguments.js')

const OPTIONS = { maxBatch: 1, maxSeqLen: 0, dtype: 'float32' }

/**
 * A model from a folder with config.json and *.safetensors; maxSeqLen 0: as long as the model allows, but
 * 4096 for models with rotary positions. dtype is explained at loadHfBytes.
 */
function loadHf (folder, ...args) {
  const options = named('loadHf', args, OPTIONS)
  string(folder, 'loadHf: folder')
  const what = 'loadHf: folder'
  const files = weightNames(what, folder, given(what, () => fs.readdirSync(folder)))
  if (files.length === 0) throw new PolygradError(`${what}: ${folder} holds no .safetensors file`)
  const config = given(what, () => fs.readFileSync(path.join(folder, 'config.json'), 'utf8'))
  const ends = endsOf(what, folder)
  const places = files.map((name) => path.join(folder, name))
  const instance = withMapped(what, places, (weights) => load('loadHf', config, weights, options))
  instance.eosTokenIds = ends
  return instance
}

/**
 * A model from the contents of config.json (text or bytes) and of safetensors files. Tensors that are
 * missing or do not fit are warned about: missing ones are zeros. dtype is the type in which matrices
 * are kept: float32; float16 and bfloat16, which round; int8, which keeps q * s with one number s
 * for each output of a layer, the greatest |w| there / 127. Smaller ones make generate faster; they cannot
 * be trained or saved.
 */
function loadHfBytes (config, weights, ...args) {
  const options = named('loadHfBytes', args, OPTIONS)
  const text = typeof config === 'string' ? config : Buffer.from(bytesOf(config, 'loadHfBytes: config')).toString()
  if (!Array.isArray(weights)) throw new TypeError(`loadHfBytes: weights: ${show(weights)}, expected a list of the bytes of files`)
  const files = weights.map((w) => bytesOf(w, 'loadHfBytes: weights'))
  return load('loadHfBytes', text, Array.from(addresses(files), (address, i) => ({ address, length: files[i].length })), options)
}

/** A model from a text and places in memory. */
function load (fn, config, weights, { maxBatch, maxSeqLen, dtype }) {
  const addressesOf = BigUint64Array.from(weights, ({ address }) => BigInt(address))
  const lengths = BigInt64Array.from(weights, ({ length }) => BigInt(length))
  const handle = lib.poly_hf_load_as(config, Buffer.byteLength(config), addressesOf, lengths, weights.length,
    small(maxBatch, `${fn}: maxBatch`), small(maxSeqLen, `${fn}: maxSeqLen`), toDType(dtype).name)
  const instance = new Instance(handle)
  const broken = instance.notes.filter((note) => note.startsWith('files['))
  if (broken.length > 0) throw new PolygradError(`${fn}: weights: ${broken.join('; ')}`)
  if (instance.notes.length > 0) process.emitWarning(instance.notes.join('; '), 'PolygradWarning')
  return instance
}

module.exports = { downloadHf, loadHf, loadHfBytes, Generator, generate, generateAsync, generateSteps, generateStream }
