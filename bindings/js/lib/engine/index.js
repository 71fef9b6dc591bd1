'use strict'
/** Chooses the engine that runs the library: native code, or WebAssembly if there is no native library for this computer. */

const { PolygradError } = require('../errors.js')
const { fs, path, process, environment, warn, availableThreads, pathToFileURL, Worker, MessageChannel } = require('../host/node.js')

const NAME = 'polygrad.wasm'
const ENGINES = ['native', 'wasm']
const SETTINGS = /^(POLY_|GO[A-Z]|HOME$|TMPDIR$)/ // environment variables that the module sees

/** Paths to search for the module, in order of preference. */
function candidates () {
  if (environment.POLYGRAD_WASM) return [environment.POLYGRAD_WASM]
  const root = path.join(__dirname, '..', '..')
  return [
    path.join(root, 'web', NAME), // in the npm package, which has it for browsers anyway
    path.join(root, '..', '..', 'build', NAME) // in a checkout
  ]
}

const WORKER = path.join(__dirname, '..', 'wasm', 'worker.js')

const WEBGPU = 5 // the device
const MODULE = /\.[cm]?js$/

/** The specifier to import npm's package webgpu: its name, or the JavaScript file in POLY_WEBGPU. */
function gpuPlace () {
  const place = environment.POLY_WEBGPU || ''
  return MODULE.test(place) ? pathToFileURL(path.resolve(place)).href : 'webgpu'
}

/** Whether WebGPU is available through the package webgpu only: native code finds no WebGPU library. */
function hasOnlyPackage (native) {
  if (environment.POLY_WEBGPU) return MODULE.test(environment.POLY_WEBGPU)
  try {
    require.resolve('webgpu')
  } catch {
    return false
  }
  return native.find('poly_device_available', 'int32_t', ['int32_t'])(WEBGPU) === 0
}

/** How threads are started. */
const workers = {
  count: availableThreads(),
  mayWait: true,
  start (data, died) {
    const worker = new Worker(WORKER, { workerData: data, execArgv: [] })
    worker.on('error', died).on('exit', died).unref() // the process ends without waiting for it
    return true
  },
  gpuAtOnce: true,
  /** Starts the thread of the GPU, and gives its port. */
  gpu (data) {
    const { port1, port2 } = new MessageChannel()
    new Worker(WORKER, { workerData: { ...data, port: port2, place: gpuPlace() }, transferList: [port2], execArgv: [] }).unref()
    return port1
  }
}

/** The engine of the module in a file. */
function wasm (file) {
  const { fileImports } = require('../wasm/files.js')
  const { DEFERRED, start, complete } = require('../wasm/module.js')
  const { engineOf } = require('./wasm.js')
  const settings = Object.fromEntries(Object.entries(environment).filter(([name]) => SETTINGS.test(name)))
  const loadDeferred = (library, part) => complete(library, fs.readFileSync(file.replace(/\.wasm$/, `-${DEFERRED[part]}.wasm`)))
  try {
    const options = { environment: { ...settings, PWD: process.cwd() }, fileImports, workers, loadDeferred }
    return engineOf(start(fs.readFileSync(file), options))
  } catch (error) {
    throw new PolygradError(`${file} cannot be loaded: ${error.message}`)
  }
}

function choose () {
  const wanted = environment.POLYGRAD_ENGINE || ''
  if (wanted !== '' && !ENGINES.includes(wanted)) {
    throw new PolygradError(`POLYGRAD_ENGINE: got '${wanted}', expected ${ENGINES.join(' or ')}`)
  }
  const places = candidates()
  const module = places.find((place) => fs.existsSync(place))
  if (wanted === 'wasm') {
    if (module !== undefined) return wasm(module)
    throw new PolygradError(`${NAME} not found (looked at ${places.join(', ')}): build it with \`make wasm\`, ` +
      'or set POLYGRAD_WASM to its path')
  }
  try {
    const native = require('./native.js')
    const takesModule = environment.POLY_DEVICE === 'webgpu' && wanted === '' && module !== undefined
    return takesModule && hasOnlyPackage(native) ? wasm(module) : native
  } catch (error) {
    // An engine or a library that was asked for explicitly is not replaced.
    if (wanted === 'native' || environment.POLYGRAD_LIB || module === undefined) throw error
    warn(`polygrad runs as WebAssembly, which is slower: ${error.message.split(/ \(looked at|\n/)[0]}`)
    return wasm(module)
  }
}

module.exports = choose()
