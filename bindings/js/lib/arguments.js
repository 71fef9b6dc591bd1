'use strict'
/** How methods read their arguments: by position, by name, or both. */

const { PolygradError } = require('./library.js')

const MAX_DIMS = 16
const TWO32 = 4294967296

/** Whether a value is an object of named arguments: a literal, not an array, tensor or the like. */
function isOptions (value) {
  if (typeof value !== 'object' || value === null) return false
  const proto = Object.getPrototypeOf(value)
  return proto === null || Object.getPrototypeOf(proto) === null // also literals of other realms
}

/**
 * The arguments of f(a, b), f({ a, b }) or f(a, { b }) by name.
 *
 * @param {string} fn name of the function, for errors
 * @param {unknown[]} args what it was called with
 * @param {object} defaults every argument in order, with the value it has if it is not given
 */
function named (fn, args, defaults) {
  const values = { ...defaults }
  let n = args.length
  let given = null
  if (n > 0 && isOptions(args[n - 1])) {
    given = args[--n]
    for (const name in given) {
      if (!Object.hasOwn(defaults, name)) {
        throw new TypeError(`${fn}: ${name}: unknown argument, expected ${Object.keys(defaults).join(', ')}`)
      }
      if (given[name] !== undefined) values[name] = given[name]
    }
  }
  if (n === 0) return values
  const names = Object.keys(defaults)
  if (n > names.length) throw new TypeError(`${fn}: ${n} arguments, expected at most ${names.length}`)
  for (let i = 0; i < n; i++) {
    if (args[i] === undefined) continue
    if (given !== null && given[names[i]] !== undefined) throw new TypeError(`${fn}: ${names[i]}: is given twice, expected one value`)
    values[names[i]] = args[i]
  }
  return values
}

/**
 * The arguments of f(2, 3), f([2, 3]), f(2, 3, { dtype }) or f({ shape: [2, 3], dtype }).
 * The sizes are under the first name of defaults.
 */
function shaped (fn, args, defaults) {
  const n = args.length
  const last = n > 0 && isOptions(args[n - 1]) ? args[n - 1] : undefined
  const sizes = last === undefined ? args : args.slice(0, n - 1)
  const values = named(fn, last === undefined ? [] : [last], defaults)
  const name = Object.keys(defaults)[0]
  if (sizes.length > 0 || values[name] == null) values[name] = sizes
  values[name] = list(values[name].length === 1 ? values[name][0] : values[name])
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

/** What a table has for a name. */
function choice (table, name, what) {
  if (typeof name === 'string' && Object.hasOwn(table, name)) return table[name]
  throw new TypeError(`${what}: ${show(name)}, expected one of ${Object.keys(table).join(', ')}`)
}

/** A plain object. */
function record (value, what) {
  if (isOptions(value)) return value
  throw new TypeError(`${what}: ${show(value)}, expected an object`)
}

/** A number from one value to another, both included. */
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

/** A value as it appears in an error, in short if it is large. */
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

/** Writes an integer into 64 bits at place i of an array that is seen as halves. */
function put (halves, i, value) {
  if (typeof value === 'bigint') {
    halves[2 * i] = Number(value & 0xffffffffn)
    halves[2 * i + 1] = Number(value >> 32n)
  } else {
    halves[2 * i] = value
    halves[2 * i + 1] = Math.floor(value / TWO32)
  }
}

/** The integer at place i of an array of 64-bit integers that is seen as halves. */
function get (halves, i) {
  return (halves[2 * i] >>> 0) + halves[2 * i + 1] * TWO32
}

// Calls are synchronous, so that the arrays of one call may serve the next; each call uses a slot once.
const slots = Array.from({ length: 6 }, () => new Int32Array(2 * 2 * MAX_DIMS))

/**
 * Integers, of which each axis has one, as int64_t for C. The memory serves the next call with the
 * same slot: one call of the library must not need one slot twice.
 */
function dims (values, what, slot = 0) {
  const n = values.length
  const halves = n <= 2 * MAX_DIMS ? slots[slot] : new Int32Array(2 * n)
  for (let i = 0; i < n; i++) {
    const value = values[i]
    // The usual case first: it needs no call.
    if (typeof value === 'number' && value === (value | 0)) {
      halves[2 * i] = value
      halves[2 * i + 1] = value >> 31
    } else {
      put(halves, i, integer(value, what))
    }
  }
  return halves
}

/** A shape as int64_t for C. */
function shape (values, what) {
  if (values.length > MAX_DIMS) {
    throw new PolygradError(`${what}: ${values.length} dimensions, expected at most ${MAX_DIMS}`)
  }
  return dims(values, what)
}

module.exports = {
  MAX_DIMS, isOptions, named, shaped, list, integer, small, number, string, choice, record, strings, within, article, show, put, get, dims,
  shape
}
