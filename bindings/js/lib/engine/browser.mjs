/** What runs the library in a browser, Deno and Bun: polygrad.wasm, which lies beside the module of the package. */
/* global Worker */

import { PolygradError } from '../errors.js'
import { environment } from '../host/browser.js'
import { compiled } from '../wasm/fetch.js'
import { canShare, startAsync } from '../wasm/module.js'
import { fileImports } from '../wasm/no_files.js'
import { engineOf } from './wasm.js'

const SETTINGS = /^(POLY_|GO[A-Z])/ // those that the library sees

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
  }
}

/** The address of the module. Bundlers find the file by this expression. */
function place () {
  const given = environment.POLYGRAD_WASM
  return given ? new URL(given, globalThis.location?.href).href : new URL('./polygrad.wasm', import.meta.url).href
}

async function started () {
  const settings = Object.fromEntries(Object.entries(environment).filter(([name]) => SETTINGS.test(name)))
  const url = place()
  const shared = globalThis.crossOriginIsolated !== false && canShare()
  if (!shared) {
    console.info('polygrad: this page is not cross-origin isolated: it has one thread, and data and toArray() are copies of tensors. ' +
      'To isolate it, send the headers "Cross-Origin-Opener-Policy: same-origin" and "Cross-Origin-Embedder-Policy: require-corp" with it.')
  }
  try {
    return engineOf(await startAsync(await compiled(url, shared), shared, { environment: settings, fileImports, workers }))
  } catch (error) {
    throw Object.assign(new PolygradError(`${url} cannot be loaded: ${error.message}`), { cause: error })
  }
}

export default await started()
