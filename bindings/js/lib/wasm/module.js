'use strict'
/** The library as a module of WebAssembly: how it is compiled, gets its memory and begins to run. */

const { hostImports } = require('./host.js')
const { CONTROL_BYTES } = require('./threads.js')
const { wasiImports } = require('./wasi.js')

const SECTION = 'polygrad.memory' // the first one, which says where the limits of the memory are
const SHARED = 3 // the flags of limits
const UNSHARED = 1
const MOST = 65_536 // pages

/** The file offset of the flags of the memory's limits. */
function limitsOf (bytes) {
  let at = 9
  const number = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]
      value += (byte & 127) * 2 ** shift
      if (byte < 128) return value
    }
  }
  const length = bytes[8] === 0 ? number() : 0 // of a custom section
  const end = at + length
  const name = new TextDecoder().decode(bytes.subarray(at + 1, at + 1 + SECTION.length))
  if (length === 0 || name !== SECTION) throw new TypeError(`the module has no section ${SECTION}`)
  const flags = new DataView(bytes.buffer, bytes.byteOffset + end - 4).getUint32(0, true)
  at = flags + 1
  return { flags, initial: number() }
}

/** A memory for a module of these bytes, which are changed to fit: shared by threads if that is wanted and the engine allows it. */
function memoryFor (bytes, shared) {
  const { flags, initial } = limitsOf(bytes)
  let memory = null
  try {
    if (shared) memory = new WebAssembly.Memory({ initial, maximum: MOST, shared })
  } catch {}
  bytes[flags] = memory === null ? UNSHARED : SHARED
  return { memory: memory ?? new WebAssembly.Memory({ initial, maximum: MOST }), shared: memory !== null }
}

/**
 * The memory of the library, and the imports of its module.
 *
 * @param {Uint8Array} bytes the module
 * @param {object} options environment: its variables; shared: whether threads may share the memory; fileImports: the functions of
 *   WASI for files on a memory; workers: how threads are started, if they are
 */
function prepared (bytes, { environment = {}, shared: wanted = true, fileImports, workers = null } = {}) {
  const { memory, shared } = memoryFor(bytes, wanted)
  const library = { memory, shared, exports: null, failure: null, workers, control: 0 }
  const said = (line) => { if (/^(panic|fatal error|runtime): /.test(line)) library.failure ??= line }
  const imports = {
    env: { memory },
    polygrad: hostImports(library),
    wasi_snapshot_preview1: wasiImports(memory, environment, said, fileImports?.(memory))
  }
  return { library, imports }
}

function begin (library, instance) {
  library.exports = instance.exports
  library.exports._initialize()
  if (library.shared) library.control = library.exports.poly_wasm_alloc(CONTROL_BYTES) >>> 0
  return library
}

/** Compiles and starts the library at once. */
function start (bytes, options) {
  const { library, imports } = prepared(bytes, options)
  return begin(library, new WebAssembly.Instance(new WebAssembly.Module(bytes), imports))
}

/** The same without waiting. */
async function startAsync (bytes, options) {
  const { library, imports } = prepared(bytes, options)
  return begin(library, (await WebAssembly.instantiate(bytes, imports)).instance)
}

module.exports = { start, startAsync }
