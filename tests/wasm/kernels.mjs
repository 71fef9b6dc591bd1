// The functions that the library needs from its host to run kernels in the memory that it works in.

/** The imports "polygrad" of a module; memory is to be set before a function of the module is called. */
export function kernels() {
  const modules = new Map()
  const functions = []
  let numbered = 0
  let failure = ''
  const failed = (error, result) => {
    failure = String(error.message)
    return result
  }
  const host = {
    memory: null,
    imports: {
      shared: () => Number(host.memory.buffer instanceof SharedArrayBuffer),
      grow: (pages) => {
        try {
          return host.memory.grow(pages)
        } catch (error) {
          return failed(error, -1)
        }
      },
      compile: (code, n) => {
        // Modules are made of unshared bytes.
        const bytes = new Uint8Array(host.memory.buffer, code >>> 0, n).slice()
        try {
          const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory: host.memory } })
          modules.set(++numbered, { exports: instance.exports, functions: [] })
          return numbered
        } catch (error) {
          return failed(error, 0)
        }
      },
      bind: (module, kernel) => {
        const { exports, functions: own } = modules.get(module)
        let number = functions.indexOf(undefined)
        if (number < 0) number = functions.length
        functions[number] = exports[`k${kernel}`]
        own.push(number)
        return number
      },
      drop: (module) => {
        for (const number of modules.get(module).functions) functions[number] = undefined
        modules.delete(module)
      },
      run: (number, args) => {
        try {
          functions[number](args)
          return 0
        } catch (error) {
          return failed(error, 1)
        }
      },
      error: (buf, room) => {
        const text = new TextEncoder().encode(failure)
        new Uint8Array(host.memory.buffer, buf >>> 0, room).set(text.subarray(0, room))
        return text.length
      },
    },
  }
  return host
}
