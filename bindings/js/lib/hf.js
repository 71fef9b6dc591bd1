'use strict'
/**
 * Models in Hugging Face's format: config.json and safetensors files. Model types: gpt2; llama, mistral,
 * qwen2, qwen3; bert.
 */

const fs = require('node:fs')
const path = require('node:path')
const { lib, PolygradError } = require('./library.js')
const { addresses } = require('./graph.js')
const { Instance } = require('./instance.js')
const { Generator, generate, generateAsync, generateSteps, generateStream } = require('./generation.js')
const { bytesOf } = require('./memory.js')
const { toDType } = require('./dtype.js')
const { withMapped } = require('./mapped.js')
const { named, small, string, show } = require('./arguments.js')

const OPTIONS = { maxBatch: 1, maxSeqLen: 0, dtype: 'float32' }

/**
 * A model from a folder with config.json and *.safetensors; maxSeqLen 0: as long as the model allows, but
 * 4096 for models with rotary positions. dtype is explained at loadHfBytes.
 */
function loadHf (folder, ...args) {
  const options = named('loadHf', args, OPTIONS)
  string(folder, 'loadHf: folder')
  const files = weightFiles(folder)
  if (files.length === 0) throw new PolygradError(`loadHf: folder: ${folder} holds no .safetensors file`)
  const config = read(path.join(folder, 'config.json'))
  const ends = endsOf(folder)
  const instance = withMapped(files.map((name) => path.join(folder, name)), (weights) => load('loadHf', config, weights, options))
  instance.eosTokenIds = ends
  return instance
}

/** What fs gives, whose errors become errors of the folder. */
function ofFolder (give) {
  try {
    return give()
  } catch (error) {
    throw new PolygradError(`loadHf: folder: ${error.message}`)
  }
}

function read (file) {
  return ofFolder(() => fs.readFileSync(file, 'utf8'))
}

/** The tokens that end a text. */
function endsOf (folder) {
  for (const name of ['generation_config.json', 'config.json']) {
    const file = path.join(folder, name)
    const ends = fs.existsSync(file) ? parsed(file)?.eos_token_id : null
    if (ends != null) return [ends].flat().map((end) => small(end, `loadHf: folder: ${file}: eos_token_id`))
  }
  return []
}

function parsed (file) {
  try {
    return JSON.parse(read(file))
  } catch (error) {
    throw new PolygradError(`loadHf: folder: ${file}: ${error.message}`)
  }
}

/**
 * The files that the index names, or model.safetensors, or else all of them: folders may have the same weights
 * once more, in one file for other programs.
 */
function weightFiles (folder) {
  const single = 'model.safetensors'
  const index = path.join(folder, `${single}.index.json`)
  if (!fs.existsSync(index) && fs.existsSync(path.join(folder, single))) return [single]
  if (!fs.existsSync(index)) return ofFolder(() => fs.readdirSync(folder)).filter((name) => name.endsWith('.safetensors')).sort()
  const places = parsed(index)?.weight_map
  if (places === null || typeof places !== 'object') {
    throw new PolygradError(`loadHf: folder: ${index} has no weight_map, expected files by tensors`)
  }
  for (const name of Object.values(places)) {
    // A model that came from elsewhere names no files of other folders.
    if (typeof name !== 'string' || ['', '.', '..'].includes(name) || name !== path.basename(name)) {
      throw new PolygradError(`loadHf: folder: ${index}: ${show(name)}, expected a file beside the index`)
    }
  }
  return [...new Set(Object.values(places))].sort()
}

/**
 * A model from the contents of config.json (text or bytes) and of safetensors files. Files that cannot
 * be read and tensors that are missing or do not fit are warned about. dtype is the type in which
 * matrices are kept: float32; float16 and bfloat16, which round; int8, which keeps q * s with one number s
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
  if (instance.notes.length > 0) process.emitWarning(instance.notes.join('; '), 'PolygradWarning')
  return instance
}

module.exports = { loadHf, loadHfBytes, Generator, generate, generateAsync, generateSteps, generateStream }
