'use strict'
/** Conversion of JavaScript numbers, lists and typed arrays to tensors, and back. */

const { lib, engine, find, fail, PolygradError } = require('./library.js')
const { share, copied, prepare } = require('./handles.js')
const { madeOf, describe, count, handleOf } = require('./base.js')
const { valuesOf } = require('./variable.js')
const { types, ofArray } = require('./dtype.js')
const { MAX_DIMS, isComplex, show } = require('./arguments.js')

const readAt = find('poly_array_read', 'int', ['uintptr_t', 'uintptr_t', 'size_t'])
const SMALL = 1024 // tensors of at most so many bytes are read through a preallocated block
const few = engine.block(SMALL)

/** A tensor of a number, a nested list or a typed array. */
function tensorFrom (data, dtype, shape) {
  if (ArrayBuffer.isView(data)) return ofTyped(data, dtype, shape)
  const sizes = []
  for (let at = data; Array.isArray(at); at = at[0]) {
    if (sizes.push(at.length) > MAX_DIMS) throw new PolygradError(`Tensor: data: a list nested deeper than ${MAX_DIMS} dimensions`)
  }
  const flat = []
  flatten(data, sizes, 0, flat)
  const type = dtype ?? guess(flat)
  const wide = type.isRaw ? types.float32 : type
  const shaped = reshaped(shape, sizes, flat.length)
  const tensor = madeOf(copied(convert(flat, wide), wide, shaped), shaped, wide)
  return type === wide ? tensor : tensor.cast(type.name).realize()
}

/** A tensor that shares the memory of a typed array, or a cast copy if another dtype is asked for. */
function ofTyped (data, dtype, shape) {
  const own = ofArray(data)
  // The memory of a resizable buffer may change under the tensor, so its contents are copied.
  if (data.buffer.resizable || data.buffer.growable) data = data.slice()
  const kept = dtype !== null && dtype.isComplex && own.isFloat ? own === types.float64 ? types.complex128 : types.complex64 : own
  const n = data.length / kept.parts
  if (!Number.isInteger(n)) throw new PolygradError(`Tensor: data: ${data.length} numbers, expected pairs of a real and an imaginary part`)
  const tensor = onMemory(data, kept, reshaped(shape, [n], n))
  return dtype === null || dtype === kept ? tensor : tensor.cast(dtype.name).realize()
}

/** A tensor that shares the memory of a typed array. */
function onMemory (array, dtype, shape) {
  const tensor = madeOf(share(array, dtype, shape), shape, dtype)
  tensor._memory = array
  return tensor
}

function reshaped (shape, own, n) {
  if (shape === null) return own
  if (count(shape) !== n) throw new PolygradError(`Tensor: shape: ${show(shape)} has ${count(shape)} elements, expected ${n} as data has`)
  return shape.slice()
}

function flatten (item, sizes, depth, flat) {
  if (Array.isArray(item)) {
    if (depth === sizes.length || item.length !== sizes[depth]) {
      throw new PolygradError(`Tensor: data: a list of ${item.length} elements at depth ${depth}, expected ${
        depth === sizes.length ? 'a number' : `${sizes[depth]} as in the first one`}`)
    }
    for (const part of item) flatten(part, sizes, depth + 1, flat)
  } else if (depth !== sizes.length) {
    throw new PolygradError(`Tensor: data: ${show(item)} at depth ${depth}, expected a list of ${sizes[depth]} elements`)
  } else {
    flat.push(item)
  }
}

/** The default dtype of a list: complex64 if it has objects, int64 if it has bigints, bool if all are booleans, else float32. */
function guess (flat) {
  const kinds = new Set(flat.map((v) => typeof v))
  if (kinds.has('object')) return types.complex64
  if (kinds.size === 1 && kinds.has('boolean')) return types.bool
  if (kinds.has('bigint')) return types.int64
  return types.float32
}

/** Numbers as a typed array; integer types truncate fractions and throw a RangeError for values out of range. */
function convert (flat, type) {
  if (type.isComplex) flat = flat.flatMap((v) => isComplex(v) ? [v.re, v.im] : [v, 0])
  const array = new type.Array(flat.length)
  for (let i = 0; i < flat.length; i++) array[i] = element(flat[i], type)
  return array
}

function element (value, type) {
  const kind = typeof value
  if (kind !== 'number' && kind !== 'boolean' && kind !== 'bigint') {
    throw new TypeError(`Tensor: data: ${show(value)} is not a number of a tensor`)
  }
  if (type === types.bool) return Number(Number(value) !== 0) // as cast: NaN is true
  if (!type.isInt) return Number(value)
  if (kind === 'number' && !Number.isFinite(value)) throw new RangeError(`Tensor: data: ${value} is out of range for ${type.name}`)
  const whole = kind === 'number' ? Math.trunc(value) : value
  if (whole < type.min || whole > type.max) throw new RangeError(`Tensor: data: ${value} is out of range for ${type.name}`)
  return type.Array.BYTES_PER_ELEMENT === 8 ? BigInt(whole) : Number(whole)
}

/** Element i of a typed array: a boolean, { re, im } or a number. */
function elementAt (array, i, dtype) {
  if (dtype.isComplex) return { re: array[2 * i], im: array[2 * i + 1] }
  return dtype === types.bool ? array[i] !== 0 : array[i]
}

/** The elements of a typed array as nested lists of a shape. */
function nested (array, shape, dtype) {
  let at = 0
  const level = (depth) => {
    if (depth === shape.length) return elementAt(array, at++, dtype)
    const values = []
    for (let i = 0; i < shape[depth]; i++) values.push(level(depth + 1))
    return values
  }
  return level(0)
}

/** A copy of the elements of a tensor. */
function read (tensor) {
  const { shape, dtype } = describe(tensor)
  prepare()
  const n = count(valuesOf(shape))
  if (n > 0 && n * dtype.size <= SMALL) {
    if (readAt(handleOf(tensor), few.address, n * dtype.size) !== 0) fail()
    const { buffer, byteOffset } = few.bytes
    return new dtype.Array(buffer, byteOffset, n * dtype.parts).slice()
  }
  let array
  try {
    array = new dtype.Array(n * dtype.parts)
  } catch (error) {
    throw new PolygradError(`toArray: a tensor of shape [${shape}] takes ${n * dtype.size} bytes: ${error.message}`)
  }
  if (lib.poly_array_read(handleOf(tensor), array, array.byteLength) !== 0) fail()
  return array
}

module.exports = { tensorFrom, onMemory, elementAt, nested, read, readAt }
