'use strict'
/** Files from the network, kept in the user's cache folder. */

const { fs: { promises: fs }, os, path, zlib, environment, createHash, randomUUID, promisify } = require('./host/node.js')
const { PolygradError } = require('./library.js')
const { fetchBytes } = require('./transfer.js')
const { string, show } = require('./arguments.js')

function folder () {
  return path.join(environment.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'polygrad', 'downloads')
}

const READERS = {
  'http:': kept,
  'https:': kept,
  'file:': (url) => fs.readFile(new URL(url)),
  'data:': fetched
}

/** The contents of a URL, unpacked if gunzip is set. */
async function download (url, gunzip) {
  const text = string(url instanceof URL ? url.href : url, 'fromUrl: url')
  const scheme = /^\w+:/.exec(text)?.[0].toLowerCase()
  if (!Object.hasOwn(READERS, scheme)) {
    throw new PolygradError(`fromUrl: url: ${show(text)}, expected one that begins with http:, https:, file: or data:`)
  }
  const data = await READERS[scheme](text)
  if (!gunzip) return data
  try {
    return await promisify(zlib.gunzip)(data)
  } catch (error) {
    throw new PolygradError(`fromUrl: url: ${show(text)} is no gzip file: ${error.message}`)
  }
}

async function fetched (url) {
  try {
    return await fetchBytes(url, {}, Infinity)
  } catch (error) {
    throw new PolygradError(`fromUrl: url: ${url}: ${error.message}`)
  }
}

/** What the cache has of a URL, or else is fetched and put there. */
async function kept (url) {
  const file = path.join(folder(), createHash('sha256').update(url).digest('hex'))
  try {
    return await fs.readFile(file)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  const data = await fetched(url)
  await fs.mkdir(folder(), { recursive: true })
  // Whole or not at all: another process may look for it at the same time.
  const part = `${file}.${randomUUID()}`
  await fs.writeFile(part, data)
  await fs.rename(part, file)
  return data
}

module.exports = { download }
