'use strict'
/** What runs the library: native code, or WebAssembly where there is none for the computer. */

const { PolygradError } = require('../errors.js')
const { fs, path, process, environment, warn, availableThreads, Worker } = require('../host/node.js')

const NAME = 'polygrad.wasm'
const ENGINES = ['native', 'wasm']
const SETTINGS = /^(POLY_|GO[A-Z]|HOME$|TMPDIR$)/ // environment variables that the module sees

/** The places where the module may be, the most wanted first. */
function candidates () {
  if (environment.POLYGRAD_WASM) return [environment.POLYGRAD_WASM]
  const root = path.join(__dirname, '..', '..')
  return [
    path.join(root, 'web', NAME), // in the npm package, for browsers, too
    path.join(root, '..', '..', 'build', NAME) // in a checkout
  ]
}

/** How threads are started. */
const workers = {
  count: availableThreads(),
  mayWait: true,
  start (data, died) {
    const worker = new Worker(path.join(__dirname, '..', 'wasm', 'worker.js'), { workerData: data, execArgv: [] })
    worker.on('error', died).on('exit', died).unref() // the process ends without waiting for it
    return true
  }
}

/** The engine of the module in a file. */
function wasm (file) {
  const { fileImports } = require('../wasm/files.js')
  const { start, complete } = require('../wasm/module.js')
  const { engineOf } = require('./wasm.js')
  const settings = Object.fromEntries(Object.entries(environment).filter(([name]) => SETTINGS.test(name)))
  const loadDeferred = (library) => complete(library, fs.readFileSync(file.replace(/\.wasm$/, '-deferred.wasm')))
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
    return require('./native.js')
  } catch (error) {
    // What was asked for by name is not replaced.
    if (wanted === 'native' || environment.POLYGRAD_LIB || module === undefined) throw error
    warn(`polygrad runs as WebAssembly, which is slower: ${error.message.split(/ \(looked at|\n/)[0]}`)
    return wasm(module)
  }
}

module.exports = choose()
