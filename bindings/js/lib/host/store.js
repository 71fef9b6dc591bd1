'use strict'
/** A store of bytes by name, in the folder POLYGRAD_CACHE, or in polygrad/files below the user's cache folder. */

const { fs, os, path, environment, randomUUID } = require('./node.js')

const caches = () => environment.XDG_CACHE_HOME || path.join(os.homedir(), '.cache')
const folder = () => environment.POLYGRAD_CACHE || path.join(caches(), 'polygrad', 'files')

/** The result of a file operation, null if there is no such file. */
async function found (operation) {
  try {
    return await operation()
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
}

const infoOf = ({ mtime, size }) => ({ lastModified: mtime, size })

const store = {
  async write (key, bytes) {
    await fs.promises.mkdir(folder(), { recursive: true })
    // Written under another name and renamed, so that a concurrent reader or writer never sees a part of it.
    const part = path.join(folder(), `.${randomUUID()}`)
    await fs.promises.writeFile(part, bytes)
    await fs.promises.rename(part, path.join(folder(), key))
  },

  async read (key) {
    return found(async () => new Uint8Array(await fs.promises.readFile(path.join(folder(), key))))
  },

  async info (key) {
    return found(async () => infoOf(await fs.promises.stat(path.join(folder(), key))))
  },

  async list () {
    const keys = await found(() => fs.promises.readdir(folder())) ?? []
    return Promise.all(keys.filter((key) => !key.startsWith('.')).map(async (key) => ({ key, ...await store.info(key) })))
  },

  async remove (key) {
    await fs.promises.rm(path.join(folder(), key), { force: true })
  }
}

module.exports = { store }
