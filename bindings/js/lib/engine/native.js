'use strict'
/** The library as native code, by koffi. */

const koffi = require('koffi')
const { PolygradError } = require('../errors.js')
const { fs, path, process, environment, pin } = require('../host/node.js')

const NAME = 'libpolygrad.so'

/** The places where the library may be, the most wanted first; a bare name is left to the system. */
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

/** Memory for arguments of calls, which stays where it is. */
class Block {
  constructor (length) {
    this.bytes = new Uint8Array(length)
    this.ints = new Int32Array(this.bytes.buffer)
    this.floats = new Float64Array(this.bytes.buffer)
    this.address = address(this.bytes)
  }

  free () {}
}

/** The address of a typed array, which keeps its memory. */
function address (array) {
  return Number(koffi.address(pin(array)))
}

module.exports = {
  /** Whether views are the memory itself, or else copies of it. */
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

  /** Whether the library can be called: native code does not stop without the process. */
  running: () => true,

  /** Whether a call waits for a part of the library: native code is one. */
  loading: () => false,

  block: (length) => new Block(length),

  /** The address of a typed array; null if the library does not see its memory. */
  address,

  /** A function's argument of 64-bit words: integers, and typed arrays whose addresses it takes. */
  words (items) {
    const words = BigUint64Array.from(items, (item) => {
      if (!ArrayBuffer.isView(item)) return BigInt(item)
      return item.byteLength > 0 ? koffi.address(item) : 0n
    })
    words.items = items // stay alive with it
    return words
  },

  /** Where the memory that the library sees ends. */
  room: () => Infinity,

  /** A typed array of n elements on memory of the library. */
  view: (Type, from, n) => new Type(koffi.view(from, n * Type.BYTES_PER_ELEMENT)),

  /** What lives as long as a view and what is derived of it. */
  lifeOf: (view) => view.buffer,

  /** The text at an address, up to a character 0. */
  text: (from) => koffi.decode.string(from),

  free: (from) => koffi.free(from)
}
