/** The worker of a page that has the library. */

import { serve } from './serve.js'

async function load (settings) {
  globalThis.POLYGRAD = { ...globalThis.POLYGRAD, ...settings }
  return import('./polygrad.js')
}

const take = serve((message) => globalThis.postMessage(message), load, (url) => import(url))
globalThis.onmessage = ({ data }) => take(data)
