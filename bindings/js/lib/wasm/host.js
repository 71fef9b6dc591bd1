'use strict'
/** What the module of the library asks of what runs it: kernels are modules of their own, which work on its memory. */

/**
 * The functions of the import module "polygrad".
 *
 * @param {object} library memory: the WebAssembly.Memory, which may be known only when the functions are called; shared: whether
 *   threads share it
 */
function hostImports (library) {
  const modules = [] // what they export, by number - 1
  const functions = [] // by number
  const free = { modules: [], functions: [] } // numbers that are used again
  let failure = ''

  return {
    compile (code, length) {
      try {
        // A copy: an engine compiles no bytes that other threads may change.
        const module = new WebAssembly.Module(new Uint8Array(library.memory.buffer, code >>> 0, length).slice())
        const { exports } = new WebAssembly.Instance(module, { env: { memory: library.memory } })
        const number = free.modules.pop() ?? modules.length
        modules[number] = { exports, bound: [] }
        return number + 1
      } catch (error) {
        failure = error.message
        return 0
      }
    },

    bind (module, kernel) {
      const { exports, bound } = modules[module - 1]
      const number = free.functions.pop() ?? functions.length
      functions[number] = exports[`k${kernel}`]
      bound.push(number)
      return number
    },

    drop (module) {
      for (const number of modules[module - 1].bound) {
        functions[number] = null
        free.functions.push(number)
      }
      modules[module - 1] = null
      free.modules.push(module - 1)
    },

    run (number, args) {
      try {
        functions[number](args)
        return 0
      } catch (error) {
        failure = error.message
        return 1
      }
    },

    error (at, room) {
      const text = new TextEncoder().encode(failure)
      new Uint8Array(library.memory.buffer, at >>> 0, room).set(text.subarray(0, room))
      return text.length
    },

    shared: () => library.shared ? 1 : 0
  }
}

module.exports = { hostImports }
