'use strict'
/** The library as native code, by koffi. */

const koffi = require('koffi')
const { PolygradError } = require('../errors.js')
const { fs, path, process, environment, pin } = require('../host/node.js')

const NAME = 'libpolygrad.so'

/** Paths to search for the library, in order of preference; the system's loader resolves the bare name. */
function candidates () {
  if (environment.POLYGRAD_LIB) return [environment.POLYGRAD_LIB]
  const root = path.join(__dirname, '..', '..')
  return [
    path.join(root, 'native', `${process.platform}-${process.arch}`, NAME), // in the npm package
    path.join(root, '..', '..', 'build', NAME), // in a checkout
    NAME
  ]
}

function load () {
  const places = candidates()
  const found = places.find((p) => p === NAME || fs.existsSync(p))
  try {
    if (found !== undefined) return koffi.load(found)
  } catch (error) {
    if (found !== NAME) throw new PolygradError(`${found} cannot be loaded: ${error.message}`)
  }
  throw new PolygradError(
    `${NAME} not found (looked at ${places.join(', ')}): build it with \`make build\`, ` +
    'or set POLYGRAD_LIB to its path')
}

const library = load()

/** Memory at a fixed address for arguments of calls. */
class Block {
  constructor (length) {
    this.bytes = new Uint8Array(length)
    this.ints = new Int32Array(this.bytes.buffer)
    this.floats = new Float64Array(this.bytes.buffer)
    this.address = address(this.bytes)
  }

  free () {}
}

/** The address of a typed array, whose memory is pinned. */
function address (array) {
  return Number(koffi.address(pin(array)))
}

module.exports = {
  /** Whether views share the memory of the library; otherwise they are copies. */
  live: true,

  /** A function of the library by its name and the types of its result and arguments. */
  find (name, result, args) {
    try {
      return library.func(name, result, args)
    } catch (error) {
      throw new PolygradError(`${name}: the library that was loaded is older than the package: ${error.message}`)
    }
  },

  /** Calls a function of the library in another thread. */
  async (fn, args) {
    return new Promise((resolve, reject) => {
      fn.async(...args, (error, result) => error ? reject(error) : resolve(result))
    })
  },

  /** Whether the library can be called: native code ends only with the process. */
  running: () => true,

  /** Whether a call waits for a deferred part of the library to load: native code has none. */
  loading: () => false,

  block: (length) => new Block(length),

  /** The address of a typed array; null if the library cannot address its memory, which is never so in native code. */
  address,

  /** An argument of 64-bit words from integers and typed arrays; an array is replaced by its address. */
  words (items) {
    const words = BigUint64Array.from(items, (item) => {
      if (!ArrayBuffer.isView(item)) return BigInt(item)
      return item.byteLength > 0 ? koffi.address(item) : 0n
    })
    words.items = items // keeps the arrays alive as long as words
    return words
  },

  /** The end of the address space of the library. */
  room: () => Infinity,

  /** A typed array of n elements on memory of the library. */
  view: (Type, from, n) => new Type(koffi.view(from, n * Type.BYTES_PER_ELEMENT)),

  /** An object that lives as long as a view or anything derived from it, such as a subarray. */
  lifeOf: (view) => view.buffer,

  /** Reads a zero-terminated text. */
  text: (from) => koffi.decode.string(from),

  free: (from) => koffi.free(from)
}
