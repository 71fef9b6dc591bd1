'use strict'
/** polygrad/loaders: files in the format safetensors as typed arrays, and names with dots as nested objects. */

const { isOptions, show } = require('../arguments.js')

/** Types that JavaScript lacks are kept as bit patterns, complex numbers as interleaved real and imaginary parts. */
const TYPES = {
  BOOL: Uint8Array, I8: Int8Array, U8: Uint8Array, I16: Int16Array, U16: Uint16Array, I32: Int32Array, U32: Uint32Array,
  I64: BigInt64Array, U64: BigUint64Array, F8_E4M3: Uint8Array, F8_E5M2: Uint8Array, F8_E8M0: Uint8Array, F8_E4M3FNUZ: Uint8Array,
  F8_E5M2FNUZ: Uint8Array, F16: globalThis.Float16Array ?? Uint16Array, BF16: Uint16Array, F32: Float32Array, F64: Float64Array,
  C64: Float32Array
}
const MOST_HEADER = 100 * 2 ** 20

const isSize = (n) => Number.isSafeInteger(n) && n >= 0

function refuse (text) {
  throw new TypeError(`safetensors.parse: data: ${text}`)
}

/** The header of a file and the bytes behind it. */
function headerOf (bytes) {
  if (bytes.length < 8) refuse(`${bytes.length} bytes, expected 8 or more`)
  const length = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true)
  if (length > MOST_HEADER || Number(length) > bytes.length - 8) refuse(`a header of ${length} bytes in a file of ${bytes.length}`)
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(8, 8 + Number(length)))
  const header = JSON.parse(text)
  if (!isOptions(header)) refuse(`the header is ${show(header)}, expected an object`)
  return [header, bytes.subarray(8 + Number(length))]
}

function tensorOf (name, entry, data) {
  const { dtype, shape, data_offsets: offsets } = isOptions(entry) ? entry : {}
  if (!Object.hasOwn(TYPES, dtype)) refuse(`${name}: dtype ${show(dtype)}, expected ${Object.keys(TYPES).join(', ')}`)
  const Kind = TYPES[dtype]
  if (!Array.isArray(shape) || !shape.every(isSize)) refuse(`${name}: shape ${show(shape)}, expected sizes`)
  const isPair = Array.isArray(offsets) && offsets.length === 2 && offsets.every(isSize)
  if (!isPair) refuse(`${name}: data_offsets ${show(offsets)}, expected two`)
  const [start, end] = offsets
  const size = shape.reduce((n, m) => n * m, dtype === 'C64' ? 2 : 1) * Kind.BYTES_PER_ELEMENT
  if (end > data.length || end - start !== size) {
    refuse(`${name}: bytes ${start} to ${end} of ${data.length}, expected ${size} within them`)
  }
  // Elements may be unaligned in the file, so they are copied: a typed array needs an aligned offset.
  return { dtype, shape, data: new Kind(data.slice(start, end).buffer) }
}

function parse (data) {
  const isBytes = data instanceof Uint8Array
  if (!isBytes && !(data instanceof ArrayBuffer)) throw new TypeError(`safetensors.parse: data: ${show(data)}, expected bytes`)
  const [header, rest] = headerOf(isBytes ? data : new Uint8Array(data))
  const { __metadata__: metadata, ...entries } = header
  const tensors = Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, tensorOf(name, entry, rest)]))
  const totalSize = Object.values(tensors).reduce((n, { data: { byteLength } }) => n + byteLength, 0)
  return { tensors, ...(metadata !== undefined && { metadata }), totalSize }
}

/** Names with dots as nested objects; lists where all keys are 0, 1, … */
function toNested (tensors) {
  const root = new Map()
  for (const [name, value] of Object.entries(tensors)) {
    const keys = name.split('.')
    let at = root
    keys.forEach((key, i) => {
      const isLast = i === keys.length - 1
      const found = at.get(key)
      if (isLast ? found !== undefined : found !== undefined && !(found instanceof Map)) {
        throw new TypeError(`safetensors.toNested: tensors: ${name} is below or above another one`)
      }
      if (!isLast && found === undefined) at.set(key, new Map())
      if (isLast) at.set(key, value)
      else at = at.get(key)
    })
  }
  const built = (node) => {
    if (!(node instanceof Map)) return node
    const keys = [...node.keys()]
    const isList = keys.length > 0 && keys.every((key) => /^(0|[1-9]\d*)$/.test(key) && Number(key) < keys.length)
    if (!isList) return Object.fromEntries([...node].map(([key, item]) => [key, built(item)]))
    return Array.from({ length: keys.length }, (_, i) => built(node.get(String(i))))
  }
  return built(root)
}

/** Nested lists and objects as names with dots. */
function fromNested (nested, prefix = '') {
  const isLeaf = !Array.isArray(nested) && (!isOptions(nested) || isTensor(nested))
  if (isLeaf) return { [prefix]: nested }
  return Object.assign({}, ...Object.entries(nested).map(([key, item]) => fromNested(item, prefix === '' ? key : `${prefix}.${key}`)))
}

/** Whether an object is a tensor as parse returns it, so that fromNested does not descend into it. */
const isTensor = ({ dtype, shape, data }) => typeof dtype === 'string' && Array.isArray(shape) && ArrayBuffer.isView(data)

module.exports = { parse, toNested, fromNested }
