'use strict'
/** The library as a module of WebAssembly. */

const { PolygradError } = require('../errors.js')
const { nextTurn } = require('../host/node.js')

const SCRATCH = 65_536 // bytes for arguments of a call
const LITTLE = 65_536 // output arrays of more bytes are not copied into the memory before a call
const ALIGNED = 16

const PROBED = 256 // calls between two checks of the stack
const RESERVE = 4000 // stack that the library needs at most, in frames of a small function

/** Checks that the stack has room for so many frames, by recursion: a RangeError if not. */
function descend (frames) {
  return frames === 0 ? 0 : 1 + descend(frames - 1)
}

/** An argument of 64-bit words; typed arrays among the items are replaced by their addresses. */
class Words {
  constructor (items) {
    this.items = items
  }
}

/** An engine on the exports and the memory of a module that was started. */
function engineOf (library) {
  const { exports, memory } = library
  // The error with which the library has stopped, null while it runs.
  let ended = null
  let known = new Uint8Array(memory.buffer)
  const buffers = new WeakSet([known.buffer]) // all buffers of the memory: it gets another one when it grows

  /** All bytes of the memory. */
  function bytes () {
    if (known.buffer !== memory.buffer) {
      known = new Uint8Array(memory.buffer)
      buffers.add(known.buffer)
    }
    return known
  }

  /** The address of a typed array in the library's memory; null for other arrays. */
  const address = (array) => buffers.has(array.buffer) ? array.byteOffset : null

  let calls = 0

  /** Refuses calls after the library has stopped, or while it loads a deferred part: Firefox runs other tasks of a page meanwhile. */
  function ready () {
    if (ended !== null) throw new PolygradError(ended)
    if (library.loading) throw new PolygradError('the library loads a part of itself for another call: call it in a later task')
  }

  /**
   * Calls a function. An exception in it stops the library for good. A stack overflow inside the library would be one, for example under
   * a user function with endless recursion; so the stack is checked before: the overflow then happens in descend, and the user gets it.
   */
  function call (fn, args) {
    ready()
    if (++calls % PROBED === 0) descend(RESERVE)
    try {
      return fn(...args)
    } catch (error) {
      ended = `the library has stopped, and cannot be used any more in this process: ${library.failure ?? error.message}`
      throw Object.assign(new PolygradError(ended), { cause: error })
    }
  }

  function allocate (length) {
    const at = call(exports.poly_wasm_alloc, [length]) >>> 0
    if (at === 0) throw new PolygradError(`no memory for ${length} bytes of arguments`)
    return at
  }

  const free = (from) => call(exports.poly_wasm_free, [from])

  /** Memory at a fixed address for arguments of calls. A call may grow the memory, so views must be read from the properties again. */
  class Block {
    constructor (length) {
      this.length = length
      this.address = allocate(length)
      this._renew()
      this._bytes.fill(0)
    }

    _renew () {
      this._bytes = new Uint8Array(memory.buffer, this.address, this.length)
      this._ints = new Int32Array(memory.buffer, this.address, this.length / 4)
      this._floats = new Float64Array(memory.buffer, this.address, this.length / 8)
      return this
    }

    // A view has no elements after the memory has grown: its buffer is detached.
    get bytes () { return this._bytes.length > 0 ? this._bytes : this._renew()._bytes }
    get ints () { return this._ints.length > 0 ? this._ints : this._renew()._ints }
    get floats () { return this._floats.length > 0 ? this._floats : this._renew()._floats }

    free () {
      free(this.address)
    }
  }

  const scratch = new Block(SCRATCH)
  let top = 0 // bytes of it in use
  const large = [] // addresses of arguments that did not fit into it
  const results = [] // [array, address] of outputs to copy back after the call

  function room (length) {
    const size = Math.ceil(length / ALIGNED) * ALIGNED
    if (top + size > SCRATCH) {
      large.push(allocate(length))
      return large.at(-1)
    }
    top += size
    return scratch.address + top - size
  }

  function copyIn (array) {
    if (buffers.has(array.buffer)) return array.byteOffset
    const at = room(array.byteLength)
    bytes().set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at)
    return at
  }

  function pointer (value) {
    if (value == null) return 0
    if (typeof value === 'string') return copyIn(new TextEncoder().encode(`${value}\0`))
    if (value instanceof Words) {
      const wordOf = (item) => !ArrayBuffer.isView(item) ? item : item.byteLength > 0 ? copyIn(item) : 0
      return copyIn(BigUint64Array.from(value.items, (item) => BigInt(wordOf(item))))
    }
    return ArrayBuffer.isView(value) ? copyIn(value) : value
  }

  /** The address of an argument that the call writes; an array outside the memory is copied back after the call. */
  function written (value) {
    if (!ArrayBuffer.isView(value) || buffers.has(value.buffer)) return pointer(value)
    const at = value.byteLength <= LITTLE ? copyIn(value) : room(value.byteLength)
    results.push([value, at])
    return at
  }

  const large64 = (value) => typeof value === 'bigint' ? value : BigInt(value)
  const TAKES = {
    'void *': written,
    'const void *': pointer,
    'const char *': pointer,
    int64_t: large64,
    uint64_t: large64,
    size_t: Number,
    bool: Number
  }

  /** Reads a zero-terminated text. */
  function text (from) {
    const all = bytes()
    return new TextDecoder().decode(all.slice(from, all.indexOf(0, from)))
  }

  const safe = (value) => Number.isSafeInteger(Number(value)) ? Number(value) : value
  const place = (value) => value === 0 ? null : value >>> 0
  const GIVES = {
    'const char *': (value) => value === 0 ? null : text(value >>> 0),
    'void *': place,
    'const void *': place,
    int64_t: safe,
    uint64_t: (value) => safe(BigInt.asUintN(64, value)),
    uint32_t: (value) => value >>> 0,
    bool: Boolean
  }

  // From each subarray to the view it was made of, so that it keeps that view alive.
  const origins = new WeakMap()

  /** Overrides subarray of a view, so that subarrays keep the view alive. */
  function keeping (view) {
    const value = (...range) => {
      const part = keeping(Object.getPrototypeOf(view).subarray.apply(view, range))
      origins.set(part, view)
      return part
    }
    return Object.defineProperty(view, 'subarray', { value })
  }

  return {
    live: library.live,

    /** Whether the library can be called: it has not stopped. */
    running: () => ended === null,

    /** Whether a call waits for a deferred part of the module. */
    loading: () => library.loading,

    /** Opens the GPU, and returns its name. */
    initGpu: library.initGpu,

    /** Buffers that the program and the library share: see gpuImports. */
    loseGpu: library.loseGpu,
    gpuDevice: library.gpuDevice,
    gpuBuffer: library.gpuBuffer,
    offerBuffer: library.offerBuffer,
    offerImage: library.offerImage,

    /** Waits for a readback from the GPU. */
    fetched: library.fetched,

    find (name, result, types) {
      const fn = exports[name]
      if (fn === undefined) throw new PolygradError(`${name}: the module that was loaded is older than the package`)
      const takes = types.map((type) => TAKES[type])
      const gives = GIVES[result] ?? ((value) => value)
      if (takes.every((take) => take === undefined)) return (...args) => gives(call(fn, args))
      return (...args) => {
        ready() // must come first: packing would overwrite the arguments of a call that waits for a deferred part
        try {
          const value = call(fn, takes.map((take, i) => take === undefined ? args[i] : take(args[i])))
          for (const [array, at] of results) {
            new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(bytes().subarray(at, at + array.byteLength))
          }
          return gives(value)
        } finally {
          top = 0
          results.length = 0
          while (large.length > 0 && ended === null) free(large.pop())
        }
      }
    },

    /** There is one thread, so the call blocks it; other tasks run before the call only. */
    async async (fn, args) {
      await nextTurn()
      return fn(...args)
    },

    block: (length) => new Block(length),
    address,
    words: (items) => new Words(items),

    /** The size of the library's memory. */
    room: () => bytes().length,

    /** A typed array on memory of the library; a copy if growth would detach it, or the address is not aligned for its type. */
    view (Type, from, n) {
      const at = Number(from)
      const size = Type.BYTES_PER_ELEMENT
      if (library.live && at % size === 0) return keeping(new Type(bytes().buffer, at, n))
      return new Type(new Uint8Array(bytes().subarray(at, at + n * size)).buffer)
    },

    lifeOf: (view) => view,

    text,
    free
  }
}

module.exports = { engineOf }
