'use strict'
/** Data types of arrays: names, promotion and the limits of numbers. */

const { types } = require('../dtype.js')
const { show } = require('../arguments.js')

/** The data types by their names; each value is the text that arrays show as their dtype. */
const DType = Object.freeze({
  Float32: 'float32',
  Int32: 'int32',
  Uint32: 'uint32',
  Bool: 'bool',
  Float16: 'float16',
  Float64: 'float64',
  BFloat16: 'bfloat16',
  Int8: 'int8',
  Uint8: 'uint8',
  Int16: 'int16',
  Uint16: 'uint16',
  Int64: 'int64',
  Uint64: 'uint64',
  Complex64: 'complex64',
  Complex128: 'complex128'
})

/** A data type by its name. */
function typeOf (name, who) {
  if (typeof name === 'string' && Object.hasOwn(types, name)) return types[name]
  throw new TypeError(`${who}: dtype: ${show(name)}, expected one of ${Object.values(DType).join(', ')}`)
}

/** The bits of an element; for complex types those of its real part. */
const bitsOf = (type) => 8 * type.Array.BYTES_PER_ELEMENT

/**
 * Type promotion: bool < integers < floating types < complex types. Of two integers the wider one, or the signed one of equal width; but a
 * signed type with an unsigned one of greater width, or of equal width below 32 bits, gives the next wider signed type (at most int64).
 * float16 and bfloat16 give float32. complex128 has parts of type float64.
 */
function joined (a, b) {
  if (a === b || b === types.bool) return a
  if (a === types.bool) return b
  if (a.isComplex || b.isComplex) return [a, b].some((type) => !type.isInt && bitsOf(type) === 64) ? types.complex128 : types.complex64
  if (a.isFloat !== b.isFloat) return a.isFloat ? a : b
  if (bitsOf(a) === bitsOf(b)) {
    if (a.isFloat) return types.float32
    if (bitsOf(a) < 32) return types[`int${2 * bitsOf(a)}`]
    return a.name.startsWith('u') ? b : a
  }
  const [narrow, wide] = bitsOf(a) < bitsOf(b) ? [a, b] : [b, a]
  const isWider = wide.isFloat || !wide.name.startsWith('u') || narrow.name.startsWith('u')
  return isWider ? wide : types[`int${Math.min(64, 2 * bitsOf(wide))}`]
}

function promoteTypes (dtype1, dtype2) {
  return joined(typeOf(dtype1, 'promoteTypes'), typeOf(dtype2, 'promoteTypes')).name
}

/** [exponent bits, fraction bits] of floating types. */
const FLOATS = { float16: [5, 10], bfloat16: [8, 7], float32: [8, 23], float64: [11, 52] }

function finfo (dtype) {
  const given = typeOf(dtype, 'finfo')
  const type = given.isComplex ? types[`float${bitsOf(given)}`] : given
  if (FLOATS[type.name] === undefined) throw new TypeError(`finfo: dtype: ${type.name}, expected a floating type`)
  const [nexp, nmant] = FLOATS[type.name]
  const maxexp = 2 ** (nexp - 1)
  const minexp = 2 - maxexp
  const max = (2 - 2 ** -nmant) * 2 ** (maxexp - 1)
  const precision = Math.floor(nmant * Math.LOG10E * Math.LN2)
  return Object.freeze({
    bits: bitsOf(type),
    dtype: type.name,
    eps: 2 ** -nmant,
    epsneg: 2 ** -(nmant + 1),
    machep: -nmant,
    max,
    maxexp,
    min: -max,
    minexp,
    negep: -(nmant + 1),
    nexp,
    nmant,
    precision,
    resolution: Number(`1e-${precision}`),
    smallestNormal: 2 ** minexp,
    smallestSubnormal: 2 ** (minexp - nmant)
  })
}

function iinfo (dtype) {
  const type = typeOf(dtype, 'iinfo')
  if (!type.isInt) throw new TypeError(`iinfo: dtype: ${type.name}, expected an integer type`)
  return Object.freeze({ bits: bitsOf(type), dtype: type.name, max: Number(type.max), min: Number(type.min) })
}

module.exports = { DType, typeOf, joined, promoteTypes, finfo, iinfo }
