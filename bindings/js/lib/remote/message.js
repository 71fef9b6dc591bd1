'use strict'
/**
 * Values in messages between a program and the worker that has the library. What can be copied is copied; other objects stay where they
 * are and are named by a number and a path of properties.
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

/** A value as a message; refer gives [number, path] of an object that stays, or throws. */
function packed (x, refer) {
  if (isCopied(x)) return [COPY, x]
  if (Array.isArray(x)) return [LIST, x.map((item) => packed(item, refer))]
  if (typeof x === 'object' && isRecord(x)) return [RECORD, Object.entries(x).map(([key, item]) => [key, packed(item, refer)])]
  return [REF, ...refer(x)]
}

/** The value of a message; resolve gives what a number and a path name. */
function unpacked ([kind, content, path], resolve) {
  if (kind === COPY) return content
  if (kind === REF) return resolve(content, path)
  if (kind === LIST) return content.map((item) => unpacked(item, resolve))
  return Object.fromEntries(content.map(([key, item]) => [key, unpacked(item, resolve)]))
}

module.exports = { REF, packed, unpacked }
