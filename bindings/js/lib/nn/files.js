'use strict'
/**
 * Model files: safetensors, GGUF, and what PyTorch saves.
 *
 * A file is mapped into memory: loading it costs little whatever its size, its tensors share the mapped memory, and
 * writes to them are private to this process. A file must not be truncated while its tensors are in use. A damaged
 * or hostile file throws a PolygradError with the file, the tensor and the numbers; no code in it is run.
 */

const { lib, engine, constants, PolygradError, said } = require('../library.js')
const { freeWith } = require('../handles.js')
const { count } = require('../base.js')
const { operation, call1 } = require('../call.js')
const { onMemory } = require('../data.js')
const { MAX_DIMS, get, show, small, string, named } = require('../arguments.js')
const { byId, types } = require('../dtype.js')
const { bytesOf } = require('../memory.js')
const { Tensor } = require('../tensor.js')
const { recordsOf, metadataOf } = require('../safetensors.js')

// Every message of the library about a bad file becomes a PolygradError about the argument file.
function failed (who) {
  throw new PolygradError(said(who).replace(/^(\w+): (?:path|data): /, '$1: file: '))
}

const letGo = (file) => file.letGo()

/** A file that the library has open. */
class OpenFile {
  constructor (source, format, name) {
    if (typeof source === 'string') {
      this.handle = lib.poly_file_open(string(source, `${name}: file`), format)
    } else {
      const bytes = bytesOf(source instanceof Tensor ? source.data : source, `${name}: file`)
      this.handle = lib.poly_file_read(bytes, bytes.length, format)
    }
    this.name = name
    if (this.handle === 0) failed(name)
    this.users = 1
  }

  letGo () {
    if (--this.users === 0) lib.poly_file_free(this.handle)
  }

  /** The tensors of the file in its order, each with its name. */
  tensors () {
    return Array.from({ length: lib.poly_file_count(this.handle) }, (_, i) => [lib.poly_file_name(this.handle, i), this.tensor(i)])
  }

  tensor (i) {
    const sizes = new Int32Array(2 * MAX_DIMS)
    const number = new Int32Array(1)
    const ndim = lib.poly_file_describe(this.handle, i, sizes, MAX_DIMS, number)
    const shape = Array.from({ length: ndim }, (_, axis) => get(sizes, axis))
    const quant = lib.poly_file_quant(this.handle, i)
    if (quant === 0) return onMemory(this.memory(i, byId[number[0]]), byId[number[0]], shape)
    const blocks = this.memory(i, types.uint8)
    return ggmlDataToTensor(onMemory(blocks, types.uint8, [blocks.length]), count(shape), quant).reshape(shape)
  }

  /** The memory of tensor i as a typed array, which keeps the file open. */
  memory (i, dtype) {
    const length = new BigInt64Array(1)
    const address = lib.poly_file_data(this.handle, i, length)
    if (address === null) {
      if (lib.poly_file_type(this.handle, i) === null || length[0] > 0n) failed(this.name)
      return new dtype.Array(0)
    }
    const array = engine.view(dtype.Array, address, Number(length[0]) / dtype.Array.BYTES_PER_ELEMENT)
    this.users++
    freeWith(engine.lifeOf(array), letGo, this) // a file is closed when none of its memory is in use any more
    return array
  }

  /** The contents of the file other than raw tensor data: metadata, or the saved object with its tensors. */
  value () {
    const text = lib.poly_file_value(this.handle)
    if (text === null) failed(this.name)
    const made = new Map()
    return JSON.parse(text, (_, value) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
      const keys = Object.keys(value)
      if (keys.length !== 1 || !Object.hasOwn(SPECIAL, keys[0])) return value
      if (keys[0] !== '$tensor') return SPECIAL[keys[0]](value[keys[0]])
      if (!made.has(value.$tensor)) made.set(value.$tensor, this.tensor(value.$tensor))
      return made.get(value.$tensor)
    })
  }
}

// Decoders of values that JSON lacks: each is encoded as an object with one of these keys only.
const SPECIAL = {
  $tensor: null,
  $float: (text) => ({ nan: NaN, inf: Infinity, '-inf': -Infinity })[text],
  $int: BigInt,
  $tuple: (items) => items,
  $dict: (pairs) => pairs.every(([key]) => typeof key === 'string') ? Object.fromEntries(pairs) : new Map(pairs),
  $bytes: (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
}

/** Opens a file, reads it and releases it; it stays open as long as tensors of it are in use. */
function reading (source, format, name, read) {
  const file = new OpenFile(source, format, name)
  try {
    return read(file)
  } finally {
    file.letGo()
  }
}

/** safetensors.decode calls this with its own name as this, for errors. */
function safeLoad (file) {
  return reading(file, constants.POLY_FILE_SAFETENSORS, this === 'decode' ? this : 'safeLoad', (f) => Object.fromEntries(f.tensors()))
}

/** The metadata of a safetensors file, an object of strings, or null. */
function safeLoadMetadata (file) {
  return reading(file, constants.POLY_FILE_SAFETENSORS, 'safeLoadMetadata', (f) => f.value())
}

function safeSave (tensors, path, ...options) {
  const { metadata, maxShardSize } = named('safeSave', options, { metadata: null, maxShardSize: null })
  string(path, 'safeSave: path')
  if (maxShardSize !== null && !(Number.isSafeInteger(maxShardSize) && maxShardSize > 0)) {
    throw new RangeError(`safeSave: maxShardSize: ${show(maxShardSize)}, expected at least 1 byte`)
  }
  const meta = metadataOf('safeSave', metadata)
  if (lib.poly_safetensors_save(path, ...recordsOf('safeSave', tensors), meta, maxShardSize ?? 0) < 0) failed('safeSave')
}

function ggufLoad (file) {
  return reading(file, constants.POLY_FILE_GGUF, 'ggufLoad', (f) => [f.value(), Object.fromEntries(f.tensors())])
}

function torchLoad (file) {
  return reading(file, constants.POLY_FILE_TORCH, 'torchLoad', (f) => f.value())
}

function ggmlDataToTensor (blocks, n, type) {
  if (!(blocks instanceof Tensor)) throw new TypeError(`ggmlDataToTensor: blocks: ${show(blocks)}, expected a tensor`)
  small(type, 'ggmlDataToTensor: type')
  if (!Number.isSafeInteger(n)) throw new TypeError(`ggmlDataToTensor: n: ${show(n)}, expected an integer`)
  try {
    return call1(operation('dequantize'), blocks, [type, n])
  } catch ({ message }) {
    throw new PolygradError(message.replace('dequantize', 'ggmlDataToTensor'))
  }
}

module.exports = { safeLoad, safeLoadMetadata, safeSave, ggufLoad, torchLoad, ggmlDataToTensor }
