/** What is there in Node without an import. */

import { Buffer } from 'buffer'

export { Buffer }

// Node's takes any bytes.
const { equals } = Buffer.prototype
Buffer.prototype.equals = function (bytes) {
  return equals.call(this, Buffer.from(bytes))
}

const listeners = new Map()

export const process = {
  env: Object.assign(globalThis.POLYGRAD ??= {}, { POLYGRAD_ENGINE: 'wasm' }),
  platform: 'browser',

  /** Calls something at the next event of a name. */
  once (name, listener) {
    listeners.set(name, listener)
  }
}

// The package warns on the console.
const { warn } = console
console.warn = (text) => {
  warn.call(console, text)
  const listener = listeners.get('warning')
  listeners.delete('warning')
  listener?.({ message: text })
}

export const setImmediate = (fn, ...args) => setTimeout(fn, 0, ...args)
