/** What runs the library in a browser, Deno and Bun: polygrad.wasm, which lies beside the module of the package. */
/* global Worker */

import { PolygradError } from '../errors.js'
import { environment } from '../host/browser.js'
import { compiled, fetchedNow } from '../wasm/fetch.js'
import { DEFERRED, canShare, complete, completeAsync, startAsync } from '../wasm/module.js'
import { fileImports } from '../wasm/no_files.js'
import { engineOf } from './wasm.js'

const SETTINGS = /^(POLY_|GO[A-Z])/ // those that the library sees
const NESTS_TASKS = typeof document !== 'undefined' && /\bGecko\/\d/.test(globalThis.navigator?.userAgent)

/** How threads are started. */
const workers = {
  count: globalThis.Deno !== undefined ? 1 : globalThis.navigator?.hardwareConcurrency ?? 1, // Deno does not end while there are workers
  mayWait: typeof document === 'undefined', // the main thread of a page may not
  start (data, died) {
    try {
      const worker = new Worker(new URL('./polygrad-worker.js', import.meta.url), { type: 'module' })
      worker.onerror = died
      worker.unref?.() // Bun ends without waiting for it
      worker.postMessage(data)
      return true
    } catch { // of another origin
      return false
    }
  },
  /** Starts the thread of the GPU, and gives it. */
  gpu (data) {
    const worker = new Worker(new URL('./polygrad-worker.js', import.meta.url), { type: 'module' })
    worker.postMessage(data)
    return worker
  }
}

/** Runs what may wait until the page has computed what it computes at once. */
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

/** Loads a deferred part at once, for a call that needs it before it has come. */
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
  // A module for shared memory is compiled as it comes, and kept compiled by the browser, also where there is one thread only.
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
    // Training does not wait for them. If one does not come, what needs it says so. Firefox runs other tasks of a page during a request
    // that waits, and they would call the library inside of a call: a page waits here.
    const load = (part) => compiled(part, shared, { priority: 'low' }).then((module) => completeAsync(library, module)).catch(() => {})
    const rest = () => Promise.all(deferred.map(load))
    if (globalThis.XMLHttpRequest === undefined || NESTS_TASKS) await rest()
    else whenIdle(rest)
  }
  return engineOf(library)
}

export default await started()
