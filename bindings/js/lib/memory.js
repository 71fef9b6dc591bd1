'use strict'
/** Memory of the library as JavaScript sees it. */

const { isAnyArrayBuffer } = require('node:util').types
const { koffi, fail } = require('./library.js')
const { show } = require('./arguments.js')

/** A view of float32 numbers of the library, at an address, without a copy. */
function floatsAt (address, n) {
  if (n === 0 || address === null) return new Float32Array(0)
  return new Float32Array(koffi.view(address, 4 * n))
}

/** A copy of bytes that the library made, which are freed; null throws its error. */
function taken (address, n) {
  if (address === null) fail()
  const bytes = new Uint8Array(koffi.view(address, n)).slice()
  koffi.free(address)
  return bytes
}

/** Bytes from a Buffer, any typed array, or an ArrayBuffer. */
function bytesOf (data, what) {
  if (isAnyArrayBuffer(data)) return new Uint8Array(data)
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  throw new TypeError(`${what}: ${show(data)}, expected bytes`)
}

module.exports = { floatsAt, taken, bytesOf }
