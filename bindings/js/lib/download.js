'use strict'
/** Files from the network, kept in the user's cache folder. */

const { fs: { promises: fs }, os, path, zlib, environment, createHash, randomUUID, promisify } = require('./host/node.js')
const { PolygradError } = require('./library.js')
const { fetchBytes, fetchFile } = require('./transfer.js')
const { string, show } = require('./arguments.js')

function folder () {
  return path.join(environment.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'polygrad', 'downloads')
}

const READERS = {
  'http:': kept,
  'https:': kept,
  'file:': (url) => fs.readFile(new URL(url)),
  'data:': (url) => fetchBytes(url, {}, Infinity)
}

/** The contents of a URL; fn is the function that was called. */
async function contents (fn, url, { gunzip, cache = true, onProgress = () => {} }) {
  const text = string(url instanceof URL ? url.href : url, `${fn}: url`)
  const scheme = /^\w+:/.exec(text)?.[0].toLowerCase()
  if (!Object.hasOwn(READERS, scheme)) {
    throw new PolygradError(`${fn}: url: ${show(text)}, expected one that begins with http:, https:, file: or data:`)
  }
  const data = await READERS[scheme](text, cache, onProgress).catch((error) => {
    throw error instanceof PolygradError ? new PolygradError(`${fn}: url: ${text}: ${error.message}`) : error
  })
  if (!gunzip) return data
  try {
    return await promisify(zlib.gunzip)(data)
  } catch (error) {
    throw new PolygradError(`${fn}: url: ${show(text)} is no gzip file: ${error.message}`)
  }
}

/** The bytes of a URL from the cache; a URL that is not cached is fetched and stored. */
async function kept (url, cache, onProgress) {
  const file = path.join(folder(), createHash('sha256').update(url).digest('hex'))
  try {
    if (cache) return await fs.readFile(file)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  await fs.mkdir(folder(), { recursive: true })
  // Written under another name and renamed: another process must never see a part of it.
  const part = `${file}.${randomUUID()}`
  try {
    await fetchFile(url, part, { headers: {}, size: null, hash: null, onBytes: (have, total) => onProgress({ have, total }) })
    const data = await fs.readFile(part)
    if (cache) await fs.rename(part, file)
    return data
  } finally {
    await fs.rm(part, { force: true })
  }
}

module.exports = { contents }
