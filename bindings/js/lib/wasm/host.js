'use strict'
/** The host functions that the library's module imports. Kernels are WebAssembly modules of their own, which work on its memory. */

const { gpuImports } = require('./gpu_host.js')
const { startPool, MOST_THREADS } = require('./threads.js')

// A module with f(x, y) = x * x + y, computed by f32x4.relaxed_madd.
const FUSED = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, // WebAssembly, version 1
  1, 7, 1, 0x60, 2, 0x7D, 0x7D, 1, 0x7D, // the type (f32, f32) -> f32
  3, 2, 1, 0,
  7, 5, 1, 1, 102, 0, 0, // exported as f
  10, 22, 1, 20, 0,
  0x20, 0, 0xFD, 0x13, 0x20, 0, 0xFD, 0x13, 0x20, 1, 0xFD, 0x13, // splats of x, x and y
  0xFD, 0x85, 2, 0xFD, 0x1F, 0, 11 // f32x4.relaxed_madd, the first lane
])

/** Whether the engine has relaxed multiply-adds, and they are fused: one rounding. */
function isFused () {
  if (!WebAssembly.validate(FUSED)) return false
  const { f } = new WebAssembly.Instance(new WebAssembly.Module(FUSED)).exports
  return f(1 + 2 ** -12, -1 - 2 ** -11) !== 0 // 2 ** -24 if the product is not rounded, else 0
}

/**
 * The functions of the import module "polygrad".
 *
 * @param {object} library memory: the WebAssembly.Memory, which may be set as late as the first call; shared: whether threads share it;
 *   control: the address of the words by which threads communicate; workers: starts threads, null if there are none
 */
function hostImports (library) {
  const modules = [] // compiled modules of kernels, by number - 1
  const functions = [] // kernels, by number
  const places = [] // for each kernel what other threads need to compile and find it
  const free = { modules: [], functions: [] } // indices to reuse
  let failure = ''
  let compiled = 0
  let threads = 1
  let pool = null

  /** Runs a function, and returns 0, or 1 after a trap or another error, whose message becomes the last failure. */
  function tried (run) {
    try {
      run()
      return 0
    } catch (error) {
      failure = error.message
      return 1
    }
  }

  return {
    compile (code, length) {
      try {
        // Copied, because engines do not compile bytes in shared memory.
        const module = new WebAssembly.Module(new Uint8Array(library.memory.buffer, code >>> 0, length).slice())
        const { exports } = new WebAssembly.Instance(module, { env: { memory: library.memory } })
        const number = free.modules.pop() ?? modules.length
        modules[number] = { exports, bound: [], place: { module: ++compiled, code, length } }
        return number + 1
      } catch (error) {
        failure = error.message
        return 0
      }
    },

    bind (module, kernel) {
      const { exports, bound, place } = modules[module - 1]
      const number = free.functions.pop() ?? functions.length
      functions[number] = exports[`k${kernel}`]
      places[number] = { ...place, kernel, run: functions[number] }
      bound.push(number)
      return number
    },

    drop (module) {
      for (const number of modules[module - 1].bound) {
        functions[number] = places[number] = null
        free.functions.push(number)
      }
      modules[module - 1] = null
      free.modules.push(module - 1)
    },

    run: (number, args) => tried(() => functions[number](args)),

    threads (wanted) {
      if (!library.shared || library.workers == null) return 1
      threads = Math.min(wanted || library.workers.count, MOST_THREADS)
      return threads
    },

    share: (number, args, size, first, most, pieces, items) => tried(() => {
      pool ??= startPool(library.memory, library.control, library.workers, threads)
      const n = Math.min(most, pool.ready())
      if (n === 1) functions[number](args)
      else pool.share(places[number], args, size, first, n, pieces, items)
    }),

    error (at, room) {
      const text = new TextEncoder().encode(failure)
      new Uint8Array(library.memory.buffer, at >>> 0, room).set(text.subarray(0, room))
      return text.length
    },

    shared: () => library.shared ? 1 : 0,

    fused: () => isFused() ? 1 : 0,

    ...gpuImports(library, tried)
  }
}

module.exports = { hostImports }
