'use strict'
/** Where a browser keeps files from the network: the private file system of the page's origin. */

const { utf8, warn } = require('./browser.js')

/** { read, write } of the stored file of a URL; read gives null if there is none. null where the browser stores no files. */
async function placeOf (text) {
  let folder, name
  try {
    if (/^(data|blob):/.test(text)) return null
    const address = new URL(text, globalThis.location?.href).href
    const root = await globalThis.navigator.storage.getDirectory()
    folder = await (await root.getDirectoryHandle('polygrad', { create: true })).getDirectoryHandle('downloads', { create: true })
    const digest = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', utf8(address)))
    name = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
  } catch { // a browser without it, a page that is not secure, a private window
    return null
  }
  let isKept = false
  return {
    async read () {
      try {
        const file = await (await folder.getFileHandle(name)).getFile()
        if (file.size === 0) return null // it was being written
        const bytes = new Uint8Array(await file.arrayBuffer())
        isKept = true
        return bytes
      } catch {
        return null
      }
    },
    async write (bytes) {
      if (isKept) return
      try {
        const stream = await (await folder.getFileHandle(name, { create: true })).createWritable()
        await stream.write(bytes)
        await stream.close() // until then the file has its old contents
      } catch (error) {
        await folder.removeEntry(name).catch(() => {})
        const why = error.name === 'QuotaExceededError' ? 'the browser gives this page no more room' : error.message
        warn(`${text} is not kept for the next visit: ${why}`)
      }
    }
  }
}

module.exports = { placeOf }
