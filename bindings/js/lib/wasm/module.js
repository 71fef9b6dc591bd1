'use strict'
/** The library as a WebAssembly module: compiling it, making its memory, and starting it. */

const { GPU_CONTROL_BYTES } = require('./gpu_worker.js')
const { hostImports } = require('./host.js')
const { CONTROL_BYTES } = require('./threads.js')
const { wasiImports } = require('./wasi.js')

const SECTION = 'polygrad.memory' // the first custom section: the file offset of the memory's limits flags, and its initial size
const HEAD = `\0asm\x01\0\0\0\0\x18\x0f${SECTION}` // the beginning of a file, up to the contents of the section
const SAID = 8 // bytes of the contents
const UNSHARED = 1 // the limits flags of an unshared memory; files have those of a shared one
const MOST = 65_536 // pages
const PART = 'polygrad.part' // a custom section that is equal in all parts of a module

const DEFERRED = ['deferred', 'models'] // file name suffixes of the deferred parts

/** The contents of the section: the file offset of the limits flags, and the initial size in pages. */
function sectionOf (bytes) {
  const words = new DataView(bytes.buffer, bytes.byteOffset, SAID)
  return { flags: words.getUint32(0, true), initial: words.getUint32(4, true) }
}

function notOurs () {
  throw new TypeError('it is no polygrad.wasm, or one of another version')
}

/**
 * Patches the first bytes of a file so that the module has an unshared memory.
 *
 * @param {Uint8Array} bytes are changed in place
 * @returns {boolean} false if the bytes do not reach the flags yet
 */
function unshare (bytes) {
  for (let i = 0; i < Math.min(bytes.length, HEAD.length); i++) if (bytes[i] !== HEAD.charCodeAt(i)) notOurs()
  if (bytes.length < HEAD.length + SAID) return false
  const { flags } = sectionOf(bytes.subarray(HEAD.length))
  if (bytes.length <= flags) return false
  bytes[flags] = UNSHARED
  return true
}

/** Whether shared memories exist here. In some browsers pages that are not isolated have them, too, but for one thread only. */
function canShare () {
  try {
    return !(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer instanceof ArrayBuffer)
  } catch {
    return false
  }
}

/**
 * Makes the memory of the library, and the imports of its module.
 *
 * @param {WebAssembly.Module} module the module, compiled for a shared or unshared memory as shared says
 * @param {boolean} shared whether threads may share the memory
 * @param {object} options environment: its variables; fileImports: the functions of WASI for files on a memory;
 *   workers: starts threads, null for none; live: whether views share the memory rather than copy it, for a shared memory only;
 *   loadDeferred(library, part): loads a deferred part of the module synchronously
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

/** The id by which the parts of a module are matched; empty for a module in one part. */
function partOf (module) {
  return String(WebAssembly.Module.customSections(module, PART).map((section) => new BigUint64Array(section)))
}

/** The imports of a deferred part of a library's module. */
function deferredImports (library, module) {
  if (partOf(module) !== library.part) notOurs()
  return { env: { memory: library.memory }, first: library.exports }
}

/** Adds a deferred part to a library, from the bytes of its file, which may be patched in place. */
function complete (library, bytes) {
  if (!library.shared && !unshare(bytes)) notOurs()
  const module = new WebAssembly.Module(bytes)
  return new WebAssembly.Instance(module, deferredImports(library, module))
}

/** Adds a compiled deferred part asynchronously. */
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

/** Compiles and starts the library synchronously; the bytes may be patched in place. Options are those of prepared, and shared. */
function start (bytes, options = {}) {
  const shared = (options.shared ?? true) && canShare()
  if (!shared && !unshare(bytes)) notOurs()
  const module = new WebAssembly.Module(bytes)
  const { library, imports } = prepared(module, shared, options)
  return begin(library, new WebAssembly.Instance(module, imports))
}

/** Starts a compiled module asynchronously. */
async function startAsync (module, shared, options) {
  const { library, imports } = prepared(module, shared, options)
  return begin(library, await WebAssembly.instantiate(module, imports))
}

module.exports = { DEFERRED, canShare, unshare, start, startAsync, complete, completeAsync }
