'use strict'
/** Files of tensors in the safetensors format. */

const { lib, koffi, fail, PolygradError } = require('./library.js')
const { addresses } = require('./handles.js')
const { Tensor } = require('./tensor.js')
const { bytesOf, taken } = require('./memory.js')
const { put, record, strings, show } = require('./arguments.js')

// Types by their number in the library; float16 and bfloat16 come as bits.
const TYPES = [
  'float32', 'float16', 'bfloat16', 'float64', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool', 'uint16', 'uint32', 'uint64',
  'fp8e4m3', 'fp8e5m2'
]
const ARRAYS = [
  Float32Array, Uint16Array, Uint16Array, Float64Array, BigInt64Array, Int32Array, Int16Array, Int8Array, Uint8Array, Uint8Array,
  Uint16Array, Uint32Array, BigUint64Array, Uint8Array, Uint8Array
]

// The layout of PolySafetensorViewEx and PolySafetensorEntry in 64-bit words.
const VIEW = { words: 13, name: 0, data: 1, shape: 2, ndim: 10, numel: 11, dtype: 12 }
const ENTRY = { words: 4, name: 0, data: 1, shape: 2, ndim: 3 }

/** The tensors of a safetensors file, by name, in the order of their data. */
function decode (data) {
  const bytes = bytesOf(data, 'decode: data')
  const n = new Int32Array(1)
  const records = lib.poly_safetensors_decode_ex(bytes, bytes.length, n, null)
  if (records === null) fail()
  const words = n[0] > 0 ? new BigUint64Array(koffi.view(records, 8 * VIEW.words * n[0])) : []
  const start = koffi.address(bytes)
  const found = []
  for (let at = 0; at < words.length; at += VIEW.words) {
    const dtype = Number(words[at + VIEW.dtype] & 0xffffffffn)
    const ndim = Number(words[at + VIEW.ndim] & 0xffffffffn)
    const shape = Array.from({ length: ndim }, (_, i) => Number(words[at + VIEW.shape + i]))
    const numel = Number(words[at + VIEW.numel])
    const offset = Number(words[at + VIEW.data] - start)
    // A copy: what lies in a file may not be aligned.
    const copy = bytes.slice(offset, offset + numel * ARRAYS[dtype].BYTES_PER_ELEMENT)
    const tensor = tensorOf(new ARRAYS[dtype](copy.buffer, 0, numel), TYPES[dtype], shape)
    found.push([koffi.decode.string(words[at + VIEW.name]), tensor])
    koffi.free(words[at + VIEW.name])
  }
  koffi.free(records)
  return Object.fromEntries(found) // __proto__ is a name as all others
}

function tensorOf (array, dtype, shape) {
  const tensor = new Tensor(array, { shape })
  if (tensor.dtype === dtype) return tensor
  return dtype === 'bool' ? tensor.cast('bool') : tensor.bitcast(dtype)
}

/** A safetensors file of float32 tensors, given by name, and metadata, an object of strings. */
function encode (tensors, metadata = null) {
  const held = Object.entries(record(tensors, 'encode: tensors')).map(([name, tensor]) => {
    if (!(tensor instanceof Tensor) || tensor.dtype !== 'float32') {
      throw new TypeError(`encode: ${name}: ${show(tensor)}, expected a tensor of float32`)
    }
    if (tensor.shape.some((n) => typeof n !== 'number')) {
      throw new PolygradError(`encode: ${name}: shape [${tensor.shape}], expected sizes without variables`)
    }
    const shape = BigInt64Array.from(tensor.shape, BigInt)
    if (shape.length > 8) throw new PolygradError(`encode: ${name}: ${shape.length} dimensions, expected at most 8`)
    return [Buffer.from(`${name}\0`), tensor.data, shape]
  })
  const records = new Int32Array(2 * ENTRY.words * held.length)
  held.forEach((item, i) => {
    addresses(item).forEach((address, k) => put(records, ENTRY.words * i + k, address))
    put(records, ENTRY.words * i + ENTRY.ndim, item[2].length)
  })
  const n = new Int32Array(1)
  const meta = metadata === null ? null : JSON.stringify(strings(metadata, 'encode: metadata'))
  const address = lib.poly_safetensors_encode(records, held.length, meta, n)
  return taken(address, n[0])
}

module.exports = { decode, encode }
