'use strict'
/** Tensors by name as the library takes them to write a safetensors file. */

const { lib, engine, PolygradError } = require('./library.js')
const { utf8 } = require('./host/node.js')
const { describe } = require('./base.js')
const { Tensor } = require('./tensor.js')
const { taken } = require('./memory.js')
const { record, strings, show } = require('./arguments.js')

/** Packs tensors by name as records for C: [records, count]. */
function recordsOf (fn, tensors) {
  const entries = Object.entries(record(tensors, `${fn}: tensors`))
  for (const [name, tensor] of entries) {
    if (!(tensor instanceof Tensor)) throw new TypeError(`${fn}: ${name}: ${show(tensor)}, expected a tensor`)
    if (tensor.shape.some((n) => typeof n !== 'number')) {
      throw new PolygradError(`${fn}: ${name}: shape [${tensor.shape}], expected sizes without variables`)
    }
    if (name.includes('\0')) throw new PolygradError(`${fn}: the name ${JSON.stringify(name)} has a character 0`)
  }
  if (entries.length > 0) entries[0][1].realize(...entries.slice(1).map(([, tensor]) => tensor))
  // PolyFileTensor and PolySafetensorEntry: the number of axes and the type share the last word.
  const words = entries.flatMap(([name, tensor]) => {
    const { shape, dtype } = describe(tensor)
    return [utf8(`${name}\0`), tensor.data, BigInt64Array.from(shape, BigInt), shape.length + dtype.id * 2 ** 32]
  })
  return [engine.words(words), entries.length]
}

/** Metadata, an object of strings, as JSON; null if there is none. */
function metadataOf (fn, metadata) {
  return metadata === null ? null : JSON.stringify(strings(metadata, `${fn}: metadata`))
}

/** A safetensors file of float32 tensors, given by name, and metadata, an object of strings. */
function encode (tensors, metadata = null) {
  for (const [name, tensor] of Object.entries(record(tensors, 'encode: tensors'))) {
    if (!(tensor instanceof Tensor) || tensor.dtype !== 'float32') {
      throw new TypeError(`encode: ${name}: ${show(tensor)}, expected a tensor of float32`)
    }
    if (tensor.ndim > 8) throw new PolygradError(`encode: ${name}: ${tensor.ndim} dimensions, expected at most 8`)
  }
  const length = new Int32Array(1)
  const address = lib.poly_safetensors_encode(...recordsOf('encode', tensors), metadataOf('encode', metadata), length)
  return taken(address, length[0])
}

module.exports = { recordsOf, metadataOf, encode }
