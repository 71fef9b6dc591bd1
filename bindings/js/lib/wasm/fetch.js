'use strict'
/** Fetches the library's module from a URL, and compiles it while it arrives. */

const { unshare } = require('./module.js')

const TYPE = 'application/wasm'

// A module with one function that uses SIMD.
const VECTORS = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11)

/** Throws if the environment cannot run the library, with what the user can do about it. */
function requireVectors () {
  if (typeof WebAssembly === 'undefined') throw new Error('WebAssembly is switched off here, for example by a lockdown mode of the browser')
  if (!WebAssembly.validate(VECTORS)) {
    throw new Error('this browser has no SIMD in WebAssembly: it needs Chrome or Edge 91, Firefox 89, Safari 16.4, or a later version')
  }
}

/** The likely reason why a request got no answer: a browser's own message names none. */
function unanswered (url, message) {
  if (globalThis.navigator?.onLine === false) return 'the browser is offline'
  const { origin } = globalThis.location ?? {}
  const other = new URL(url).origin
  if (origin === undefined || origin === other) return message
  return `${message}: if ${other} works, it does not let pages of ${origin} read the file ` +
    '(CORS: it has to send the header Access-Control-Allow-Origin)'
}

async function fetched (url, options) {
  const response = await fetch(url, options).catch(({ message }) => { throw new Error(unanswered(url, message)) })
  if (!response.ok) throw new Error(`the server answered ${response.status} ${response.statusText}`.trim())
  if (/^text\/html\b/.test(response.headers.get('Content-Type'))) {
    throw new Error('the server sent a page of HTML in its place: put the file polygrad.wasm there')
  }
  return response
}

function joined (a, b) {
  const all = new Uint8Array(a.length + b.length)
  all.set(a)
  all.set(b, a.length)
  return all
}

/** A TransformStream that turns a module for shared memory into one for unshared memory. Errors are also passed to refused. */
function unsharing (refused) {
  let first = new Uint8Array() // the bytes up to the flags to change
  let changed = false
  const guarded = (work) => (...args) => {
    try {
      work(...args)
    } catch (error) {
      refused(error)
      throw error
    }
  }
  return new TransformStream({
    transform: guarded((part, out) => {
      if (changed) return out.enqueue(part)
      first = joined(first, part)
      changed = unshare(first)
      if (changed) out.enqueue(first)
    }),
    flush: guarded(() => { if (!changed) throw new Error('the file is cut off') })
  })
}

/** An engine's error, with a remedy if the page's Content-Security-Policy is the cause. */
function explained (error) {
  if (!/unsafe-eval|Content.Security.Policy|by CSP/i.test(error.message)) return error
  return new Error("the page's Content-Security-Policy forbids WebAssembly: add 'wasm-unsafe-eval' to its script-src")
}

/** Fetches a file synchronously. Pages allow synchronous requests for text only, so the bytes come as characters. */
function fetchedNow (url) {
  const request = new XMLHttpRequest()
  request.open('GET', url, false)
  request.overrideMimeType('text/plain; charset=x-user-defined') // the low eight bits of each character are a byte
  try {
    request.send()
  } catch ({ message }) {
    throw new Error(unanswered(url, message))
  }
  if (request.status !== 200) throw new Error(`the server answered ${request.status} ${request.statusText}`.trim())
  const text = request.responseText
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}

/**
 * Fetches and compiles the module in a file.
 *
 * @param {string} url where it is
 * @param {boolean} shared whether its memory will be shared
 * @param {RequestInit} [options] of fetch
 */
async function compiled (url, shared, options) {
  requireVectors()
  const response = await fetched(url, options)
  // The browser can cache the compiled code of an unchanged response only.
  const direct = shared && response.headers.get('Content-Type') === TYPE
  let refusal // the error of unsharing: the engine reports only that the stream has failed
  const body = shared ? response.body : response.body.pipeThrough(unsharing((error) => { refusal = error }))
  const answer = direct ? response : new Response(body, { headers: { 'Content-Type': TYPE } })
  try {
    if (WebAssembly.compileStreaming !== undefined) return await WebAssembly.compileStreaming(answer)
    return await WebAssembly.compile(await answer.arrayBuffer())
  } catch (error) {
    throw refusal ?? explained(error)
  }
}

module.exports = { compiled, fetchedNow }
