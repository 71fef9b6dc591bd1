'use strict'
/** Asynchronous readback from a GPU: the main thread of a page cannot block on it. */

const { lib, engine, fail, PolygradError } = require('../library.js')
const { CTX } = require('../handles.js')
const { describe, handleOf } = require('../base.js')

const VIEW = -2

/** Waits until elements can be read synchronously; returns the tensor, or a contiguous or float32 copy to read instead. */
async function arrived (tensor) {
  if (engine.fetched === undefined) return tensor
  let source = describe(tensor).dtype.isRaw ? tensor.cast('float32') : tensor
  let number = lib.poly_array_fetch(handleOf(source))
  if (number === VIEW) {
    source = source.contiguous()
    number = lib.poly_array_fetch(handleOf(source))
  }
  if (number < 0) fail('await')
  if (number > 0) {
    await engine.fetched(number).catch(({ message }) => { throw new PolygradError(`webgpu: ${message}`) })
    if (lib.poly_array_fetched(CTX, number) !== 0) fail('await')
  }
  return source
}

module.exports = { arrived }
