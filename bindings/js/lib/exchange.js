'use strict'
/** Tensors of data from outside: memory at an address, and files from the network. */

const { count } = require('./base.js')
const { finish } = require('./call.js')
const { onMemory } = require('./data.js')
const { Creation, CREATION } = require('./creation.js')
const { contents } = require('./download.js')
const { named, list, integer, show } = require('./arguments.js')
const { engine, PolygradError } = require('./library.js')
const { toDType, types } = require('./dtype.js')

/** Tensors from addresses and from the network. */
class Exchange extends Creation {
  static fromBlob (...args) {
    const { ptr, shape, ...options } = named('fromBlob', args, { ptr: undefined, shape: undefined, ...CREATION })
    const dtype = options.dtype === null ? types.float32 : toDType(options.dtype, 'fromBlob')
    const { size } = dtype
    const address = BigInt(integer(ptr, 'fromBlob: ptr'))
    if (address <= 0n || address % BigInt(size) !== 0n) {
      throw new PolygradError(`fromBlob: ptr: ${ptr}, expected an address that is a multiple of ${size}, the size of ${dtype.name}`)
    }
    const sizes = list(shape).map((n) => Number(integer(n, 'fromBlob: shape')))
    if (sizes.some((n) => n < 0)) throw new PolygradError(`fromBlob: shape: ${show(sizes)}, expected no negative size`)
    const n = count(sizes)
    if (Number(address) + n * size > engine.room()) {
      throw new PolygradError(`fromBlob: ptr: ${ptr}, expected ${n * size} bytes within the ${engine.room()} of the module's memory`)
    }
    const array = n === 0 ? new dtype.Array(0) : engine.view(dtype.Array, address, n * dtype.parts)
    return finish(onMemory(array, dtype, sizes), options)
  }

  static async fromUrl (...args) {
    const { url, gunzip, ...options } = named('fromUrl', args, { url: undefined, gunzip: false, ...CREATION })
    const dtype = options.dtype === null ? types.uint8 : toDType(options.dtype, 'fromUrl')
    const { size } = dtype
    const bytes = await contents('fromUrl', url, { gunzip })
    if (bytes.length % size !== 0) {
      throw new PolygradError(`fromUrl: dtype: ${dtype.name}, but the ${bytes.length} bytes are no multiple of ${size}`)
    }
    const array = new dtype.Array(Uint8Array.from(bytes, dtype === types.bool ? Boolean : undefined).buffer)
    return finish(onMemory(array, dtype, [array.length / dtype.parts]), options)
  }
}

module.exports = { Exchange }
