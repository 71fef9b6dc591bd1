'use strict'
/** Data types of tensors: their names, and the typed arrays that hold their elements. */

const { lib, fail } = require('./library.js')
const { show } = require('./arguments.js')
const { STORAGE, ALIASES } = require('./types.js')

/**
 * A data type: its name, its number in the library and the typed array of its elements. Floating types that JavaScript lacks are stored
 * as bit patterns, bools as bytes 0 or 1, complex numbers as interleaved real and imaginary parts.
 */
class DType {
  constructor (name) {
    this.name = name
    this.id = lib.poly_dtype_id_parse(name)
    if (this.id < 0) fail()
    this.Array = STORAGE[name]
    this.isFloat = /float|fp8/.test(name)
    this.isInt = name.includes('int')
    this.isComplex = name.startsWith('complex')
    this.isDifferentiable = this.isFloat || this.isComplex
    /** How many numbers of the array make one element, and the bytes of an element. */
    this.parts = this.isComplex ? 2 : 1
    this.size = this.parts * this.Array.BYTES_PER_ELEMENT
    /** Whether the array holds bit patterns rather than numbers. */
    this.isRaw = this.isFloat && !name.endsWith('32') && !name.endsWith('64')
    if (this.isInt) {
      const bits = BigInt(8 * this.Array.BYTES_PER_ELEMENT)
      const signed = !name.startsWith('u')
      this.min = signed ? -(1n << (bits - 1n)) : 0n
      this.max = (1n << (signed ? bits - 1n : bits)) - 1n
    }
  }
}

const types = Object.fromEntries(Object.keys(STORAGE).map((name) => [name, new DType(name)]))
const byName = new Map(Object.entries(types))
for (const [alias, name] of Object.entries(ALIASES)) byName.set(alias, types[name])
const byId = []
for (const type of Object.values(types)) byId[type.id] = type

// Types by the tag of their arrays, which subclasses and the arrays of other realms share.
const own = Object.values(types).filter((type) => type !== types.bool && !type.isRaw && !type.isComplex)
const BY_ARRAY = new Map(own.map((type) => [type.Array.name, type]))
BY_ARRAY.set('Uint8ClampedArray', types.uint8).set('Float16Array', types.float16)

/** The data type of a name; fn is the function that errors name. */
function toDType (name, fn) {
  const found = byName.get(name)
  if (found === undefined) throw new TypeError(`${fn === undefined ? '' : `${fn}: `}dtype: ${show(name)} is not a data type of tensors`)
  return found
}

/** The data type of a typed array's elements. */
function ofArray (array) {
  const found = BY_ARRAY.get(array[Symbol.toStringTag])
  if (found === undefined) throw new TypeError(`data: ${show(array)} does not hold numbers of a tensor`)
  return found
}

/** All data types by name: the names are what tensors show as their dtype. */
const dtypes = Object.freeze({
  ...Object.fromEntries(Object.keys(STORAGE).map((name) => [name, name])),
  ...ALIASES,
  defaultFloat: 'float32',
  defaultInt: 'int32',
  isFloat: (dtype) => toDType(dtype, 'isFloat').isFloat,
  isComplex: (dtype) => toDType(dtype, 'isComplex').isComplex,
  isInt: (dtype) => toDType(dtype, 'isInt').isInt,
  isUnsigned: (dtype) => toDType(dtype, 'isUnsigned').name.startsWith('uint')
})

module.exports = { DType, dtypes, types, byId, toDType, ofArray }
