'use strict'
/** download.js in a browser, which keeps what it fetched by itself. */

const { PolygradError } = require('../library.js')
const { string } = require('../arguments.js')

/** The contents of a URL, also of one relative to the page, unpacked if gunzip is set. */
async function download (url, gunzip) {
  const text = string(url instanceof URL ? url.href : url, 'fromUrl: url')
  const failed = (why) => { throw new PolygradError(`fromUrl: url: ${text}${why}`) }
  // What a browser says of a refusal names no reason.
  const answer = await fetch(text).catch(({ message }) => {
    failed(`: ${message}; where the network works, the server does not let pages of other origins read it (CORS)`)
  })
  if (!answer.ok) failed(`: the server answered ${answer.status} ${answer.statusText}`)
  const bytes = await answer.arrayBuffer().catch(({ message }) => failed(`: ${message}`))
  return gunzip ? unpacked(bytes).catch(({ message }) => failed(` is no gzip file: ${message}`)) : new Uint8Array(bytes)
}

/** What is in a gzip file. */
async function unpacked (bytes) {
  const { readable, writable } = new DecompressionStream('gzip')
  const writer = writable.getWriter()
  const written = Promise.all([writer.write(bytes), writer.close()])
  written.catch(() => {}) // reading throws it, too
  const parts = []
  const reader = readable.getReader()
  for (let part; !(part = await reader.read()).done;) parts.push(part.value)
  await written
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

module.exports = { download }
