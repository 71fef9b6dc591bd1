'use strict'
/** polygrad/loaders: files from the network, kept in the origin's private file system, or in a folder in Node. */

const { show } = require('../arguments.js')
const { store } = require('../host/store.js')

/** A store of files by name: in browsers in the origin's private file system, in Node in a cache folder. */
class OPFS {
  /** Keeps bytes under a name. */
  async write (name, data) {
    if (!(data instanceof Uint8Array)) throw new TypeError(`opfs.write: data: ${show(data)}, expected bytes`)
    await store.write(keyOf(name), data)
  }

  /** The bytes of a name, null if there are none. */
  async read (name) {
    return store.read(keyOf(name))
  }

  /** { name, lastModified, size } of a name, null if it is not there. */
  async info (name) {
    const found = await store.info(keyOf(name))
    return found === null ? null : { name, ...found }
  }

  /** The properties of all files. */
  async list () {
    return (await store.list()).map(({ key, ...found }) => ({ name: decodeURIComponent(key), ...found }))
  }

  /** Removes the file of a name, and returns its info. */
  async remove (name) {
    const found = await this.info(name)
    if (found !== null) await store.remove(keyOf(name))
    return found
  }

  /** Removes all files. */
  async clear () {
    for (const { name } of await this.list()) await this.remove(name)
  }
}

/** A name encoded as a file name. */
function keyOf (name) {
  if (typeof name !== 'string' || name === '') throw new TypeError(`opfs: name: ${show(name)}, expected a text`)
  const code = (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(name).replace(/[*']|^\./g, code)
}

const opfs = new OPFS()

async function cachedFetch (input, init, onProgress) {
  const url = String(input)
  const isPlain = init === undefined || (init.method ?? 'GET').toUpperCase() === 'GET'
  const known = isPlain ? await opfs.read(url) : null
  if (known !== null) {
    onProgress?.({ loadedBytes: known.length, totalBytes: known.length })
    return known
  }
  const answer = await fetch(url, init)
  if (!answer.ok) throw new Error(`cachedFetch: ${url}: the server answered ${answer.status} ${answer.statusText}`)
  const bytes = await bodyOf(answer, onProgress)
  if (isPlain) await opfs.write(url, bytes)
  return bytes
}

/** The body of a response; onProgress is called with the number of bytes so far. */
async function bodyOf (answer, onProgress) {
  const length = answer.headers.get('content-length')
  const total = length === null || answer.headers.get('content-encoding') ? {} : { totalBytes: Number(length) }
  const parts = []
  let loadedBytes = 0
  for (let reader = answer.body?.getReader(); reader !== undefined;) {
    const { done, value } = await reader.read()
    if (done) break
    parts.push(value)
    loadedBytes += value.length
    onProgress?.({ loadedBytes, ...total })
  }
  const bytes = new Uint8Array(loadedBytes)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

module.exports = { OPFS, opfs, cachedFetch }
