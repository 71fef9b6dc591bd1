'use strict'
/** How values come from a GPU, for which a page's thread cannot wait. */

const { lib, engine, fail, PolygradError } = require('../library.js')
const { CTX } = require('../handles.js')
const { describe, handleOf } = require('../base.js')

const VIEW = -2

/** Waits until the elements of a tensor can be read at once, and gives it, or another tensor with the same ones. */
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
