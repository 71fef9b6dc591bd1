'use strict'
/** Memory of the library as JavaScript sees it. */

const { engine, fail } = require('./library.js')
const { isAnyArrayBuffer } = require('./host/node.js')
const { show } = require('./arguments.js')

/** A Float32Array on n numbers of the library's memory. */
function floatsAt (address, n) {
  if (n === 0 || address === null) return new Float32Array(0)
  return engine.view(Float32Array, address, n)
}

/** Copies bytes that the library has allocated, and frees them; throws the library's last error if the address is null. */
function taken (address, n) {
  if (address === null) fail()
  const bytes = engine.view(Uint8Array, address, n).slice()
  engine.free(address)
  return bytes
}

/** Bytes from a Buffer, any typed array, or an ArrayBuffer. */
function bytesOf (data, what) {
  if (isAnyArrayBuffer(data)) return new Uint8Array(data)
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  throw new TypeError(`${what}: ${show(data)}, expected bytes`)
}

module.exports = { floatsAt, taken, bytesOf }
