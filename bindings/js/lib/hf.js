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
const { small, string, show } = require('./arguments.js')

/**
 * A model from a folder with config.json and *.safetensors; maxSeqLen 0: as long as the model allows, but
 * 4096 for models with rotary positions. dtype is explained at loadHfBytes.
 */
function loadHf (folder, { maxBatch = 1, maxSeqLen = 0, dtype = 'float32' } = {}) {
  const files = weightFiles(folder)
  if (files.length === 0) throw new PolygradError(`loadHf: ${folder} holds no .safetensors file`)
  const weights = files.map((name) => fs.readFileSync(path.join(folder, name)))
  const instance = loadHfBytes(fs.readFileSync(path.join(folder, 'config.json')), weights, { maxBatch, maxSeqLen, dtype })
  instance.eosTokenIds = endsOf(folder)
  return instance
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
    return JSON.parse(fs.readFileSync(file, 'utf8'))
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
  if (!fs.existsSync(index)) return fs.readdirSync(folder).filter((name) => name.endsWith('.safetensors')).sort()
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
function loadHfBytes (config, weights, { maxBatch = 1, maxSeqLen = 0, dtype = 'float32' } = {}) {
  const text = typeof config === 'string' ? config : Buffer.from(bytesOf(config, 'loadHfBytes: config')).toString()
  const files = weights.map((w) => bytesOf(w, 'loadHfBytes: weights'))
  const lengths = BigInt64Array.from(files, (f) => BigInt(f.length))
  const handle = lib.poly_hf_load_as(text, Buffer.byteLength(text), addresses(files), lengths, files.length,
    small(maxBatch, 'loadHfBytes: maxBatch'), small(maxSeqLen, 'loadHfBytes: maxSeqLen'), string(dtype, 'loadHfBytes: dtype'))
  const instance = new Instance(handle)
  if (instance.notes.length > 0) process.emitWarning(instance.notes.join('; '), 'PolygradWarning')
  return instance
}

module.exports = { loadHf, loadHfBytes, Generator, generate, generateAsync, generateSteps, generateStream }
