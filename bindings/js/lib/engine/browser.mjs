/** What runs the library in a browser: polygrad.wasm, which lies beside the module of the package. */
/* global Worker */

import { PolygradError } from '../errors.js'
import { environment } from '../host/browser.js'
import { startAsync } from '../wasm/module.js'
import { fileImports } from '../wasm/no_files.js'
import { engineOf } from './wasm.js'

const SETTINGS = /^(POLY_|GO[A-Z])/ // those that the library sees
const place = new URL('polygrad.wasm', import.meta.url).href

/** How threads are started. */
const workers = {
  count: globalThis.navigator?.hardwareConcurrency ?? 1,
  mayWait: typeof document === 'undefined', // the main thread of a page may not
  start (data, died) {
    try {
      const worker = new Worker(new URL('polygrad-worker.js', import.meta.url), { type: 'module' })
      worker.onerror = died
      worker.postMessage(data)
      return true
    } catch { // of another origin
      return false
    }
  }
}

/** The bytes of polygrad.wasm. */
async function loaded () {
  const failed = (why) => { throw new PolygradError(`${place} cannot be loaded: ${why}`) }
  const answer = await fetch(place).catch(({ message }) => failed(message))
  if (!answer.ok) failed(`the server answered ${answer.status} ${answer.statusText}`)
  return new Uint8Array(await answer.arrayBuffer().catch(({ message }) => failed(message)))
}

async function started () {
  const settings = Object.fromEntries(Object.entries(environment).filter(([name]) => SETTINGS.test(name)))
  const bytes = await loaded()
  try {
    const shared = globalThis.crossOriginIsolated === true
    return engineOf(await startAsync(bytes, { environment: settings, fileImports, workers, shared }))
  } catch ({ message }) {
    throw new PolygradError(`${place} cannot be started: ${message}`)
  }
}

export default await started()
