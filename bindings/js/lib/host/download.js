'use strict'
/** download.js in a browser. */

const { PolygradError } = require('../library.js')
const { string } = require('../arguments.js')

const MOST = 2 ** 32 // bytes that a page's WebAssembly has at most

/** The contents of a URL, also of one relative to the page; fn is the function that was called, placeOf says where a file is kept. */
async function contents (fn, url, { gunzip, onProgress = () => {}, placeOf = () => null }) {
  const text = string(url instanceof URL ? url.href : url, `${fn}: url`)
  const failed = (why) => { throw new PolygradError(`${fn}: url: ${text}${why}`) }
  const place = await placeOf(text)
  const bytes = await place?.read() ?? await fetched(text, onProgress, failed)
  await place?.write(bytes)
  return gunzip ? unpacked(bytes).catch(({ message }) => failed(` is no gzip file: ${message}`)) : bytes
}

/** What a server sends. */
async function fetched (text, onProgress, failed) {
  // What a browser says of a refusal names no reason.
  const answer = await fetch(text).catch(({ message }) => {
    const why = globalThis.navigator?.onLine === false
      ? 'there is no network'
      : 'where the network works, the server does not let pages of other origins read it (CORS)'
    failed(`: ${message}; ${why}`)
  })
  if (!answer.ok) failed(`: the server answered ${answer.status} ${answer.statusText}`)
  // The length is that of what is sent, which may be compressed.
  const length = answer.headers.get('content-encoding') === null ? answer.headers.get('content-length') : null
  const total = length === null ? null : Number(length)
  if (total > MOST) failed(`: it has ${total} bytes, more than the 4 GiB that a page can have`)
  const parts = []
  let have = 0
  const reader = answer.body?.getReader()
  const next = () => reader.read().catch(({ message }) => failed(`: ${message}, after ${have} bytes`))
  for (let part; reader !== undefined && !(part = await next()).done;) {
    have += part.value.length
    if (have > MOST) failed(': it has more than the 4 GiB that a page can have')
    parts.push(part.value)
    onProgress({ have, total })
  }
  if (total !== null && have < total) failed(`: the file ended after ${have} of ${total} bytes`)
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

/** Decompresses a gzip file. */
async function unpacked (bytes) {
  const { readable, writable } = new DecompressionStream('gzip')
  const writer = writable.getWriter()
  const written = Promise.all([writer.write(bytes), writer.close()])
  written.catch(() => {}) // the same error is thrown when the other end is read
  const parts = []
  const reader = readable.getReader()
  for (let part; !(part = await reader.read()).done;) parts.push(part.value)
  await written
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

module.exports = { contents }
