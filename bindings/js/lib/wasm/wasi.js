'use strict'
/** The functions of WASI (preview 1) that Go's runtime calls. */

const { crypto, sleep } = require('../host/node.js')

const NOT_SUPPORTED = 52 // an error number, which all of these functions return
const NO_FILE = 8
const CLOCK = 0 // the event type of a subscription to a clock
const SUBSCRIPTION = 48 // bytes
const EVENT = 32
const MOST = 65_536 // random bytes at a time

/**
 * The functions of WASI.
 *
 * @param {WebAssembly.Memory} memory the memory of the module
 * @param {object} environment environment variables
 * @param {(line: string) => void} said gets lines of the standard error
 * @param {object} [files] functions of WASI for files
 */
function wasiImports (memory, environment, said, files) {
  const view = () => new DataView(memory.buffer)
  const bytes = (at, n) => new Uint8Array(memory.buffer, at, n)
  const settings = Object.entries(environment).map(([name, value]) => new TextEncoder().encode(`${name}=${value}\0`))
  const lines = { 1: '', 2: '' }
  const print = { 1: console.log, 2: console.error }
  const decoders = { 1: new TextDecoder(), 2: new TextDecoder() }

  /** Writes complete lines to the console, and buffers the rest. */
  function write (fd, part) {
    const text = decoders[fd].decode(part, { stream: true })
    const whole = (lines[fd] + text).split('\n')
    lines[fd] = whole.pop()
    if (fd === 2) whole.forEach(said)
    if (whole.length > 0) print[fd](whole.join('\n'))
  }

  const system = {
    args_sizes_get (count, size) {
      view().setUint32(count, 0, true)
      view().setUint32(size, 0, true)
      return 0
    },

    args_get: () => 0,

    environ_sizes_get (count, size) {
      view().setUint32(count, settings.length, true)
      view().setUint32(size, settings.reduce((n, text) => n + text.length, 0), true)
      return 0
    },

    environ_get (pointers, at) {
      for (const text of settings) {
        view().setUint32(pointers, at, true)
        bytes(at, text.length).set(text)
        pointers += 4
        at += text.length
      }
      return 0
    },

    clock_time_get (clock, _, out) {
      const milliseconds = clock === 0 ? performance.timeOrigin + performance.now() : performance.now()
      const nanoseconds = Math.round(milliseconds * 1e6)
      const into = view()
      into.setUint32(out, nanoseconds % 2 ** 32, true)
      into.setUint32(out + 4, nanoseconds / 2 ** 32, true)
      return 0
    },

    random_get (at, n) {
      const random = new Uint8Array(n)
      for (let i = 0; i < n; i += MOST) crypto.getRandomValues(random.subarray(i, i + MOST))
      bytes(at, n).set(random)
      return 0
    },

    fd_write (fd, vectors, n, out) {
      if (!(fd in lines)) return files?.fd_write(fd, vectors, n, out) ?? NOT_SUPPORTED
      let written = 0
      for (let i = 0; i < n; i++) {
        const [at, length] = [0, 4].map((offset) => view().getUint32(vectors + 8 * i + offset, true))
        write(fd, bytes(at, length).slice())
        written += length
      }
      view().setUint32(out, written, true)
      return 0
    },

    /** Waits for the earliest of some clock subscriptions. Go's runtime uses no other events. */
    poll_oneoff (subscriptions, events, n, out) {
      let least = Infinity
      let first = 0
      for (let at = subscriptions, i = 0; i < n; i++, at += SUBSCRIPTION) {
        if (view().getUint8(at + 8) !== CLOCK) continue
        const [absolute, clock] = [view().getUint16(at + 40, true), view().getUint32(at + 16, true)]
        const now = absolute === 0 ? 0 : clock === 0 ? performance.timeOrigin + performance.now() : performance.now()
        const milliseconds = Number(view().getBigUint64(at + 24, true)) / 1e6 - now
        if (milliseconds < least) [least, first] = [milliseconds, at]
      }
      if (least === Infinity) return NOT_SUPPORTED
      if (least > 0) sleep(least)
      bytes(events, EVENT).fill(0)
      view().setBigUint64(events, view().getBigUint64(first, true), true)
      view().setUint32(out, 1, true)
      return 0
    },

    sched_yield: () => 0,

    proc_exit (code) {
      throw new Error(`exit with code ${code}`)
    }
  }
  // Without the argument files there are no files. Addresses arrive as signed numbers, so they are made unsigned.
  const functions = { fd_prestat_get: () => NO_FILE, ...files, ...system }
  return new Proxy(functions, {
    get: (_, name) => (...args) => functions[name]?.(...args.map((arg) => typeof arg === 'number' ? arg >>> 0 : arg)) ?? NOT_SUPPORTED
  })
}

module.exports = { wasiImports }
