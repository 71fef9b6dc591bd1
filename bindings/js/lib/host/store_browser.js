'use strict'
/** store.js in a browser: a store of bytes by name in the origin's private file system. */

const FOLDER = 'polygrad-files'

const folder = async () => (await globalThis.navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create: true })

/** The file of a name, null if there is none. */
async function fileOf (key) {
  try {
    return await (await (await folder()).getFileHandle(key)).getFile()
  } catch (error) {
    if (error.name === 'NotFoundError') return null
    throw error
  }
}

const infoOf = ({ lastModified, size }) => ({ lastModified: new Date(lastModified), size })

const store = {
  async write (key, bytes) {
    const handle = await (await folder()).getFileHandle(key, { create: true })
    const writable = await handle.createWritable()
    await writable.write(bytes)
    await writable.close()
  },

  async read (key) {
    const file = await fileOf(key)
    return file === null ? null : new Uint8Array(await file.arrayBuffer())
  },

  async info (key) {
    const file = await fileOf(key)
    return file === null ? null : infoOf(file)
  },

  async list () {
    const found = []
    for await (const key of (await folder()).keys()) {
      const file = await fileOf(key)
      if (file !== null) found.push({ key, ...infoOf(file) })
    }
    return found
  },

  async remove (key) {
    await (await folder()).removeEntry(key)
  }
}

module.exports = { store }
