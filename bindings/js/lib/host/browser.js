'use strict'
/** Replacements for node.js in a browser, Deno or Bun. */

const encoder = new TextEncoder()
const PRESSURE = 2 ** 27 // bytes

/** A setImmediate: calls functions in the next turn of the event loop. A message comes at once, a timer after four milliseconds. */
function turning () {
  // Deno and Bun do not exit while a MessagePort has a listener.
  if (typeof setImmediate === 'function') return setImmediate
  const { port1, port2 } = new MessageChannel()
  const turns = []
  port1.onmessage = () => turns.shift()()
  return (turn) => {
    turns.push(turn)
    port2.postMessage(null)
  }
}

const soon = turning()

/** Waits in this thread, by spinning: the main thread of a page may not block. */
function sleep (milliseconds) {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/**
 * Provokes a garbage collection, which a page cannot request: allocating large buffers that are dropped at once makes the engine collect.
 * They are never touched, so they take no memory. Without this, tensors, a hundred bytes each to the engine, are collected too late.
 */
function press () {
  try {
    for (let i = 0; i < 2; i++) new ArrayBuffer(PRESSURE)
  } catch {} // no address space for the buffers
}

module.exports = {
  /** Settings, by the names of the variables of Node's environment: globalThis.POLYGRAD, an object made before the import. */
  environment: (globalThis.POLYGRAD ??= {}),

  /** A value as text; consoles of browsers do not call inspect.custom. */
  inspect: Object.assign((value) => String(value), { custom: Symbol.for('nodejs.util.inspect.custom') }),
  isAnyArrayBuffer: (value) => /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value)),
  nextTurn: () => new Promise((resolve) => soon(resolve)),
  sleep,
  crypto: globalThis.crypto,
  utf8: (text) => encoder.encode(text),
  warn: (text) => console.warn(text),

  // The memory of the library is freed with the page.
  atExit: () => {},

  // Objects that this turn of the event loop has dropped can be collected in the next one only, so pressure is applied again there.
  collector: () => [globalThis.gc ?? (() => { press(); soon(press) }), () => {}],

  // The library has a memory of its own, so arrays need no pinning.
  pin: (array) => array,
  takesPinned: false
}
