'use strict'
/**
 * Encoding of values in messages between a program and the worker that has the library. Copyable values are copied; other objects stay
 * in the worker, and messages refer to them by a number and a path of properties.
 */

const COPY = 0
const REF = 1
const LIST = 2
const RECORD = 3

const COPIED = /^\[object (ArrayBuffer|SharedArrayBuffer|DataView|\w+Array|Blob|File|FileList|Date|RegExp|Map|Set)\]$/

/** Whether a value is copied as it is. */
function isCopied (x) {
  if (x === null || typeof x !== 'object') return typeof x !== 'function' && typeof x !== 'symbol'
  return !Array.isArray(x) && COPIED.test(Object.prototype.toString.call(x))
}

/** Whether an object is a literal, of this realm or another one. */
function isRecord (x) {
  const prototype = Object.getPrototypeOf(x)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Encodes a value; refer returns [number, path] of an object that is not copied, or throws. */
function packed (x, refer) {
  if (isCopied(x)) return [COPY, x]
  if (Array.isArray(x)) return [LIST, x.map((item) => packed(item, refer))]
  if (typeof x === 'object' && isRecord(x)) return [RECORD, Object.entries(x).map(([key, item]) => [key, packed(item, refer)])]
  return [REF, ...refer(x)]
}

/** Decodes a value; resolve returns the object of a number and a path. */
function unpacked ([kind, content, path], resolve) {
  if (kind === COPY) return content
  if (kind === REF) return resolve(content, path)
  if (kind === LIST) return content.map((item) => unpacked(item, resolve))
  return Object.fromEntries(content.map(([key, item]) => [key, unpacked(item, resolve)]))
}

module.exports = { REF, packed, unpacked }
