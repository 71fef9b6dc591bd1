'use strict'
/** The library as a module of WebAssembly: how it is compiled, gets its memory and begins to run. */

const { GPU_CONTROL_BYTES } = require('./gpu_worker.js')
const { hostImports } = require('./host.js')
const { CONTROL_BYTES } = require('./threads.js')
const { wasiImports } = require('./wasi.js')

const SECTION = 'polygrad.memory' // the first one: where the flags of the memory's limits are, and its least size
const HEAD = `\0asm\x01\0\0\0\0\x18\x0f${SECTION}` // how a file begins, up to what the section says
const SAID = 8 // bytes
const UNSHARED = 1 // the flags of limits; files have those of a shared memory
const MOST = 65_536 // pages
const PART = 'polygrad.part' // a section of a module in parts, equal in all

const DEFERRED = ['deferred', 'models'] // how the names of the files of deferred parts end

/** What the section says: the file offset of the flags, and the least size in pages. */
function sectionOf (bytes) {
  const words = new DataView(bytes.buffer, bytes.byteOffset, SAID)
  return { flags: words.getUint32(0, true), initial: words.getUint32(4, true) }
}

function notOurs () {
  throw new TypeError('it is no polygrad.wasm, or one of another version')
}

/**
 * Makes the first bytes of a file those of a module with an unshared memory, if they reach far enough.
 *
 * @param {Uint8Array} bytes they are changed in place
 * @returns {boolean} whether they did
 */
function unshare (bytes) {
  for (let i = 0; i < Math.min(bytes.length, HEAD.length); i++) if (bytes[i] !== HEAD.charCodeAt(i)) notOurs()
  if (bytes.length < HEAD.length + SAID) return false
  const { flags } = sectionOf(bytes.subarray(HEAD.length))
  if (bytes.length <= flags) return false
  bytes[flags] = UNSHARED
  return true
}

/** Whether there are memories here that threads may share. Pages that are not isolated have them, too, in some browsers, for one thread. */
function canShare () {
  try {
    return !(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer instanceof ArrayBuffer)
  } catch {
    return false
  }
}

/**
 * The memory of the library, and the imports of its module.
 *
 * @param {WebAssembly.Module} module the module, made for a memory of that kind
 * @param {boolean} shared whether threads may share the memory
 * @param {object} options environment: its variables; fileImports: the functions of WASI for files on a memory;
 *   workers: how threads are started, if they are; live: whether the program sees the memory itself, or copies, unless it is not shared;
 *   loadDeferred: loads a deferred part of the module at once, a function of the library and the number of the part
 */
function prepared (module, shared, { environment = {}, fileImports, workers = null, live = shared, loadDeferred }) {
  const [section] = WebAssembly.Module.customSections(module, SECTION)
  if (section?.byteLength !== SAID) notOurs()
  const { initial } = sectionOf(new Uint8Array(section))
  const memory = new WebAssembly.Memory(shared ? { initial, maximum: MOST, shared } : { initial, maximum: MOST })
  const state = { exports: null, failure: null, loading: false, control: 0 }
  const library = { memory, shared, live: shared && live, ...state, workers, part: partOf(module) }
  const said = (line) => { if (/^(panic|fatal error|runtime): /.test(line)) library.failure ??= line }
  const imports = {
    env: { memory },
    polygrad: { ...hostImports(library), deferred: (part) => loadDeferred(library, part) },
    wasi_snapshot_preview1: wasiImports(memory, environment, said, fileImports?.(memory))
  }
  return { library, imports }
}

/** What says to which module a part belongs; empty for a module in one part. */
function partOf (module) {
  return String(WebAssembly.Module.customSections(module, PART).map((section) => new BigUint64Array(section)))
}

/** The imports of a deferred part of a library's module. */
function deferredImports (library, module) {
  if (partOf(module) !== library.part) notOurs()
  return { env: { memory: library.memory }, first: library.exports }
}

/** Adds a deferred part to a library, from the bytes of its file, which may be changed. */
function complete (library, bytes) {
  if (!library.shared && !unshare(bytes)) notOurs()
  const module = new WebAssembly.Module(bytes)
  return new WebAssembly.Instance(module, deferredImports(library, module))
}

/** Adds a deferred part that was compiled, without waiting. */
const completeAsync = (library, module) => WebAssembly.instantiate(module, deferredImports(library, module))

function begin (library, instance) {
  library.exports = instance.exports
  library.exports._initialize()
  if (library.shared) {
    library.control = library.exports.poly_wasm_alloc(CONTROL_BYTES) >>> 0
    library.gpuControl = library.exports.poly_wasm_alloc(GPU_CONTROL_BYTES) >>> 0
  }
  return library
}

/** Compiles and starts the library at once, from the bytes of its file, which may be changed. Options are those of prepared, and shared. */
function start (bytes, options = {}) {
  const shared = (options.shared ?? true) && canShare()
  if (!shared && !unshare(bytes)) notOurs()
  const module = new WebAssembly.Module(bytes)
  const { library, imports } = prepared(module, shared, options)
  return begin(library, new WebAssembly.Instance(module, imports))
}

/** Starts a module that was compiled, without waiting. */
async function startAsync (module, shared, options) {
  const { library, imports } = prepared(module, shared, options)
  return begin(library, await WebAssembly.instantiate(module, imports))
}

module.exports = { DEFERRED, canShare, unshare, start, startAsync, complete, completeAsync }
