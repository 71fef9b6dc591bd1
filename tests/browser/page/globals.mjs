/** Shims of Node's globals. */

import { Buffer } from 'buffer'

export { Buffer }

// Node's equals accepts any Uint8Array.
const { equals } = Buffer.prototype
Buffer.prototype.equals = function (bytes) {
  return equals.call(this, Buffer.from(bytes))
}

const listeners = new Map()

export const process = {
  env: Object.assign(globalThis.POLYGRAD ??= {}, { POLYGRAD_ENGINE: 'wasm' }),
  platform: 'browser',

  /** Calls a listener at the next event of a name. */
  once (name, listener) {
    listeners.set(name, listener)
  }
}

// The package's warnings go to the console: they become events of process.
const { warn } = console
console.warn = (text) => {
  warn.call(console, text)
  const listener = listeners.get('warning')
  listeners.delete('warning')
  listener?.({ message: text })
}

export const setImmediate = (fn, ...args) => setTimeout(fn, 0, ...args)
