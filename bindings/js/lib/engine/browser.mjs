/** The engine in a browser, Deno and Bun: polygrad.wasm, which is in the same folder as the module of the package. */
/* global Worker */

import { PolygradError } from '../errors.js'
import { environment } from '../host/browser.js'
import { compiled, fetchedNow } from '../wasm/fetch.js'
import { DEFERRED, canShare, complete, completeAsync, startAsync } from '../wasm/module.js'
import { fileImports } from '../wasm/no_files.js'
import { engineOf } from './wasm.js'

const SETTINGS = /^(POLY_|GO[A-Z])/ // settings that the library sees
const NESTS_TASKS = typeof document !== 'undefined' && /\bGecko\/\d/.test(globalThis.navigator?.userAgent)

/** How threads are started. */
const workers = {
  count: globalThis.Deno !== undefined ? 1 : globalThis.navigator?.hardwareConcurrency ?? 1, // Deno does not exit while it has workers
  mayWait: typeof document === 'undefined', // the main thread of a page may not
  start (data, died) {
    try {
      const worker = new Worker(new URL('./polygrad-worker.js', import.meta.url), { type: 'module' })
      worker.onerror = died
      worker.unref?.() // lets Bun exit without waiting for it
      worker.postMessage(data)
      return true
    } catch { // the script is of another origin
      return false
    }
  },
  /** Starts the thread of the GPU, and returns it. */
  gpu (data) {
    const worker = new Worker(new URL('./polygrad-worker.js', import.meta.url), { type: 'module' })
    worker.postMessage(data)
    return worker
  }
}

/** Runs a function when the page is idle, so that it does not delay the page's first computations. */
const whenIdle = globalThis.requestIdleCallback ?? ((run) => setTimeout(run, 100))

/** The addresses of the module and of its deferred parts. Bundlers find the files by these expressions. */
function places () {
  const given = environment.POLYGRAD_WASM
  if (!given) {
    return [
      new URL('./polygrad.wasm', import.meta.url), new URL('./polygrad-deferred.wasm', import.meta.url),
      new URL('./polygrad-models.wasm', import.meta.url)
    ].map(({ href }) => href)
  }
  const { href } = new URL(given, globalThis.location?.href)
  return [href, ...DEFERRED.map((name) => href.replace(/\.wasm(?=$|[?#])/, `-${name}.wasm`))]
}

const unloadable = (url, error) => Object.assign(new PolygradError(`${url} cannot be loaded: ${error.message}`), { cause: error })

/** Loads a deferred part synchronously, for a call that needs it before it has arrived. */
function loadDeferred (library, url) {
  library.loading = true
  try {
    complete(library, fetchedNow(url))
  } catch (error) {
    throw unloadable(url, error)
  } finally {
    library.loading = false
  }
}

async function started () {
  const settings = Object.fromEntries(Object.entries(environment).filter(([name]) => SETTINGS.test(name)))
  const [url, ...deferred] = places()
  // The file is made for a shared memory: only if it is compiled unchanged can the browser cache the compiled code, even for one thread.
  const shared = canShare()
  const isolated = shared && globalThis.crossOriginIsolated !== false
  if (!isolated) {
    console.info('polygrad: this page is not cross-origin isolated: it has one thread, and data and toArray() are copies of tensors. ' +
      'To isolate it, send the headers "Cross-Origin-Opener-Policy: same-origin" and "Cross-Origin-Embedder-Policy: require-corp" with it.')
  }
  const threads = isolated ? workers : null
  const options = {
    environment: settings,
    fileImports,
    workers: threads,
    live: isolated,
    loadDeferred: (library, part) => loadDeferred(library, deferred[part])
  }
  let library
  try {
    library = await startAsync(await compiled(url, shared), shared, options)
    if (settings.POLY_DEVICE === 'webgpu') await library.initGpu()
  } catch (error) {
    throw unloadable(url, error)
  }
  if (library.part !== '') {
    // Training does not wait for the deferred parts. If one fails to load, the call that needs it throws. Firefox runs other tasks of a
    // page during a synchronous request, and they would call the library inside of a call: there the parts are loaded here, at the start.
    const load = (part) => compiled(part, shared, { priority: 'low' }).then((module) => completeAsync(library, module)).catch(() => {})
    const rest = () => Promise.all(deferred.map(load))
    if (globalThis.XMLHttpRequest === undefined || NESTS_TASKS) await rest()
    else whenIdle(rest)
  }
  return engineOf(library)
}

export default await started()
