'use strict'
/** How methods read their arguments: by position, by name, or both. */

const { PolygradError } = require('./library.js')

const MAX_DIMS = 16
const TWO32 = 4294967296

/** Whether a value is a complex number: an object with its parts re and im. */
function isComplex (value) {
  return typeof value?.re === 'number' && typeof value.im === 'number'
}

/** Whether a value is an object of named arguments: a literal, not an array, tensor, complex number or the like. */
function isOptions (value) {
  if (typeof value !== 'object' || value === null || isComplex(value)) return false
  const proto = Object.getPrototypeOf(value)
  return proto === null || Object.getPrototypeOf(proto) === null // also literals of other realms
}

/** The arguments in parameter order: args are positional; last, an object or null, has the rest by name. */
function ordered (fn, params, args, last) {
  const n = args.length
  if (n > params.length) throw new TypeError(`${fn}: ${n} arguments, expected at most ${params.length}`)
  if (last === null) return args
  const values = args.slice()
  for (const name in last) {
    const i = params.indexOf(name)
    if (i < 0) throw new TypeError(`${fn}: ${name}: unknown argument, expected ${params.join(', ')}`)
    if (last[name] === undefined) continue
    if (values[i] !== undefined) throw new TypeError(`${fn}: ${name}: is given twice, expected one value`)
    while (values.length <= i) values.push(undefined)
    values[i] = last[name]
  }
  return values
}

/** The object of named arguments that ends an argument list, or null. */
function namedOf (args) {
  return args.length > 0 && isOptions(args[args.length - 1]) ? args[args.length - 1] : null
}

/**
 * The arguments of a function by name.
 *
 * @param {string} fn name of the function, for errors
 * @param {unknown[]} args what it was called with
 * @param {object} defaults every argument in order, with the value it has if it is not given
 */
function named (fn, args, defaults) {
  const names = Object.keys(defaults)
  const last = namedOf(args)
  const values = { ...defaults }
  ordered(fn, names, last === null ? args : args.slice(0, -1), last).forEach((value, i) => {
    if (value !== undefined) values[names[i]] = value
  })
  return values
}

/** An argument that is a number or a list of numbers, as a list. */
function list (value) {
  if (Array.isArray(value)) return value
  return ArrayBuffer.isView(value) ? Array.from(value) : [value]
}

/** An integer that C can take as int64_t; a TypeError or RangeError for anything else. */
function integer (value, what) {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return value
    if (Number.isInteger(value)) throw new RangeError(`${what}: ${value} is out of range, expected at most 2^53; use a BigInt`)
  } else if (typeof value === 'bigint') {
    if (BigInt.asIntN(64, value) === value) return value
    throw new RangeError(`${what}: ${value} is out of range, expected 64 bits`)
  } else if (value?.symbolicSize !== undefined) {
    return value.symbolicSize
  }
  throw new TypeError(`${what}: ${show(value)}, expected an integer`)
}

/** An integer that C can take as int. */
function small (value, what) {
  const n = Number(integer(value, what))
  if (n !== (n | 0)) throw new RangeError(`${what}: ${value} is out of range, expected 32 bits`)
  return n
}

/** A number. */
function number (value, what) {
  if (typeof value !== 'number') throw new TypeError(`${what}: ${show(value)}, expected a number`)
  return value
}

/** A string. C must not get anything else for one: koffi takes a number for an address, and C ends it at a character 0. */
function string (value, what) {
  if (typeof value !== 'string') throw new TypeError(`${what}: ${show(value)}, expected a string`)
  if (value.includes('\0')) throw new PolygradError(`${what}: ${show(value)}, expected a string without a character 0`)
  return value
}

/** The value that a table has for a name; other names are a TypeError that lists the valid ones. */
function choice (table, name, what) {
  if (typeof name === 'string' && Object.hasOwn(table, name)) return table[name]
  throw new TypeError(`${what}: ${show(name)}, expected one of ${Object.keys(table).join(', ')}`)
}

/** A plain object. */
function record (value, what) {
  if (isOptions(value)) return value
  throw new TypeError(`${what}: ${show(value)}, expected an object`)
}

/** A number in the closed interval [low, high]. */
function within (value, low, high, what) {
  number(value, what)
  if (!(value >= low && value <= high)) throw new RangeError(`${what}: ${value}, expected ${low} to ${high}`)
  return value
}

const SHOWN = 16 // items of a list
const LENGTH = 200 // characters of a text

/** An object of strings. */
function strings (value, what) {
  for (const [key, text] of Object.entries(record(value, what))) {
    if (typeof text !== 'string') throw new TypeError(`${what}: ${key}: ${show(text)}, expected strings`)
  }
  return value
}

/** A noun with its article. */
function article (noun) {
  return `${/^[aeiou]/i.test(noun) ? 'an' : 'a'} ${noun}`
}

/** A value as an error message shows it: long strings and lists are truncated. */
function show (value, depth = 0) {
  if (typeof value === 'string') return JSON.stringify(value.length > LENGTH ? `${value.slice(0, LENGTH)}…` : value)
  if (Array.isArray(value)) {
    if (depth > 1) return '[…]' // it may hold itself
    const items = value.slice(0, SHOWN).map((item) => show(item, depth + 1))
    return `[${items.join(', ')}${value.length > SHOWN ? ', …' : ''}]`
  }
  if (typeof value === 'object' && value !== null) return article(isOptions(value) ? 'object' : value.constructor?.name ?? 'object')
  return typeof value === 'function' ? `the function ${value.name || 'without a name'}` : String(value)
}

/** Writes 64-bit integer i of an array that is viewed as 32-bit halves, low half first. */
function put (halves, i, value) {
  if (typeof value === 'bigint') {
    halves[2 * i] = Number(value & 0xffffffffn)
    halves[2 * i + 1] = Number(value >> 32n)
  } else {
    halves[2 * i] = value
    halves[2 * i + 1] = Math.floor(value / TWO32)
  }
}

/** Reads 64-bit integer i of an array that is viewed as 32-bit halves, low half first. */
function get (halves, i) {
  return (halves[2 * i] >>> 0) + halves[2 * i + 1] * TWO32
}

// Calls are synchronous, so all of them can reuse one array.
const sizes = new Int32Array(2 * MAX_DIMS)

/** A shape as int64_t[] for C. The next call overwrites the array. */
function shape (values, what) {
  if (values.length > MAX_DIMS) throw new PolygradError(`${what}: ${values.length} dimensions, expected at most ${MAX_DIMS}`)
  values.forEach((value, i) => put(sizes, i, integer(value, what)))
  return sizes
}

module.exports = {
  MAX_DIMS, isOptions, named, namedOf, ordered, list, integer, small, number, string, choice, record, strings, within, article, show, put,
  get, shape, isComplex
}
