/** A shim of node:assert. */

import { inspect } from './inspect.mjs'

class AssertionError extends Error {
  constructor (message) {
    super(message)
    this.name = 'AssertionError'
  }
}

const SHOWN = 2000

function shown (value) {
  const text = inspect(value, { depth: 5 })
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}

function fail (message, text) {
  if (message instanceof Error) throw message
  throw new AssertionError(message === undefined ? text : `${message}\n${text}`)
}

const enumerable = (value) => Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key))
const isObject = (value) => typeof value === 'object' && value !== null
const bytesOf = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
const tagOf = (value) => Object.prototype.toString.call(value)

/** Deep strict equality: of types, prototypes, own properties and elements, with Object.is for primitives. */
function equal (a, b, seen = new Map()) {
  if (Object.is(a, b)) return true
  if (!isObject(a) || !isObject(b)) return false
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b) || tagOf(a) !== tagOf(b)) return false
  if (seen.get(a) === b) return true
  seen.set(a, b)
  if (a instanceof Date) return a.getTime() === b.getTime()
  if (a instanceof RegExp && String(a) !== String(b)) return false
  if (a instanceof Error && (a.name !== b.name || a.message !== b.message)) return false
  if (a instanceof Number || a instanceof String || a instanceof Boolean || a instanceof BigInt) {
    if (!Object.is(a.valueOf(), b.valueOf())) return false
  }
  if (a instanceof ArrayBuffer || a instanceof DataView) {
    const [x, y] = a instanceof DataView ? [bytesOf(a), bytesOf(b)] : [new Uint8Array(a), new Uint8Array(b)]
    return x.length === y.length && x.every((byte, i) => byte === y[i])
  }
  if (ArrayBuffer.isView(a)) return a.length === b.length && a.every((item, i) => Object.is(item, b[i]))
  if (Array.isArray(a) && a.length !== b.length) return false
  if (a instanceof Map) {
    if (a.size !== b.size) return false
    for (const [key, value] of a) if (!b.has(key) || !equal(value, b.get(key), seen)) return false
  }
  if (a instanceof Set && (a.size !== b.size || ![...a].every((item) => b.has(item) || [...b].some((other) => equal(item, other, seen))))) {
    return false
  }
  const keys = enumerable(a)
  if (keys.length !== enumerable(b).length) return false
  return keys.every((key) => Object.prototype.propertyIsEnumerable.call(b, key) && equal(a[key], b[key], seen))
}

/** Throws unless an error matches what was expected: a class, a pattern of its text, a predicate, or an object of properties. */
function checkError (error, expected, message) {
  if (expected === undefined || typeof expected === 'string') return
  if (expected instanceof RegExp) {
    if (!expected.test(String(error))) fail(message, `the error ${shown(error)} does not match ${expected}`)
  } else if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof expected) return
    if (Error.isPrototypeOf(expected) || expected === Error) {
      fail(message, `the error ${shown(error)} is no ${expected.name}\n${error?.stack}`)
    }
    if (expected.call({}, error) !== true) fail(message, `the error ${shown(error)} is not what was expected`)
  } else {
    for (const key of Object.keys(expected)) {
      const [value, want] = [error[key], expected[key]]
      const fits = want instanceof RegExp && typeof value === 'string' ? want.test(value) : equal(value, want)
      if (!fits) fail(message, `the error's ${key} is ${shown(value)}, expected ${shown(want)}`)
    }
  }
}

export default function assert (value, message) {
  if (!value) fail(message, `${shown(value)} is not true`)
}

Object.assign(assert, {
  AssertionError,
  ok: assert,

  fail (message) {
    fail(message, 'failed')
  },

  strictEqual (a, b, message) {
    if (!Object.is(a, b)) fail(message, `${shown(a)} is not ${shown(b)}`)
  },

  notStrictEqual (a, b, message) {
    if (Object.is(a, b)) fail(message, `${shown(a)} is the same`)
  },

  deepStrictEqual (a, b, message) {
    if (!equal(a, b)) fail(message, `got      ${shown(a)}\nexpected ${shown(b)}`)
  },

  notDeepStrictEqual (a, b, message) {
    if (equal(a, b)) fail(message, `both are ${shown(a)}`)
  },

  match (text, pattern, message) {
    if (typeof text !== 'string' || !pattern.test(text)) fail(message, `${shown(text)} does not match ${pattern}`)
  },

  doesNotMatch (text, pattern, message) {
    if (typeof text === 'string' && pattern.test(text)) fail(message, `${shown(text)} matches ${pattern}`)
  },

  throws (fn, expected, message) {
    try {
      fn()
    } catch (error) {
      return checkError(error, expected, message)
    }
    fail(typeof expected === 'string' ? expected : message, 'nothing was thrown')
  },

  doesNotThrow (fn) {
    fn()
  },

  async rejects (promise, expected, message) {
    try {
      await (typeof promise === 'function' ? promise() : promise)
    } catch (error) {
      return checkError(error, expected, message)
    }
    fail(typeof expected === 'string' ? expected : message, 'nothing was rejected')
  }
})
