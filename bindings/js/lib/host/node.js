'use strict'
/** What the package takes from Node. */

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const util = require('node:util')
const v8 = require('node:v8')
const vm = require('node:vm')
const { createHash, randomUUID, webcrypto } = require('node:crypto')
const { pathToFileURL } = require('node:url')
const { MessageChannel, Worker, markAsUntransferable, threadId } = require('node:worker_threads')
const timers = require('node:timers/promises')
const zlib = require('node:zlib')

/** Marks the memory of a typed array, which the library uses in place, as not transferable to another thread. */
function pin (array) {
  if (array.buffer instanceof ArrayBuffer) markAsUntransferable(array.buffer)
  return array
}

/** Two functions: one collects garbage, the other drops the targets that weak references keep alive until the end of a turn. */
function collector () {
  let collectGarbage = () => {}
  try {
    v8.setFlagsFromString('--expose-gc')
    collectGarbage = vm.runInNewContext('gc')
    v8.setFlagsFromString('--no-expose-gc')
  } catch {}
  // A weak reference keeps its target until a microtask checkpoint: an empty script in a context with its own microtask queue makes one.
  const context = vm.createContext({}, { microtaskMode: 'afterEvaluate' })
  const nothing = new vm.Script('0')
  return [collectGarbage, () => nothing.runInContext(context)]
}

// Node 21 to 23 let ArrayBuffer.prototype.transfer take pinned memory away.
const takesPinned = (() => {
  const buffer = new ArrayBuffer(8)
  markAsUntransferable(buffer)
  try {
    buffer.transfer?.()
  } catch {}
  return buffer.byteLength === 0
})()

module.exports = {
  fs,
  os,
  path,
  zlib,
  createHash,
  randomUUID,
  threadId,
  pathToFileURL,
  MessageChannel,
  Worker,
  availableThreads: () => os.availableParallelism?.() ?? os.cpus().length,
  process,
  environment: process.env,
  inspect: util.inspect,
  promisify: util.promisify,
  isAnyArrayBuffer: util.types.isAnyArrayBuffer,
  pause: timers.setTimeout,
  nextTurn: () => new Promise(setImmediate),
  /** Waits in this thread. */
  sleep: (milliseconds) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds),
  crypto: webcrypto,
  utf8: (text) => Buffer.from(text),
  warn: (text) => process.emitWarning(text),
  atExit: (end) => process.on('exit', end),
  pin,
  collector,
  takesPinned
}
