'use strict'
/** What the package has in a browser, Deno or Bun in the place of what node.js takes from Node. */

const encoder = new TextEncoder()
const PRESSURE = 2 ** 27 // bytes

/** Lets the next turn of the event loop call functions: a message comes at once, a timer after four milliseconds. */
function turning () {
  // Deno and Bun do not end while a port is listened to.
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

/** Waits in this thread, which the main thread of a page may only do by working. */
function sleep (milliseconds) {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/**
 * Lets the engine collect garbage, which a page may not ask for: large buffers that nobody keeps are what it collects for. They are not
 * touched, so they take no memory. Without it a page whose garbage is tensors, of a hundred bytes each for the engine, collects too late.
 */
function press () {
  try {
    for (let i = 0; i < 2; i++) new ArrayBuffer(PRESSURE)
  } catch {} // there is not even room for that
}

module.exports = {
  /** Settings, by the names of the variables of Node's environment: globalThis.POLYGRAD, an object made before the import. */
  environment: (globalThis.POLYGRAD ??= {}),

  /** A value as a text; consoles of browsers ask nobody how a value looks. */
  inspect: Object.assign((value) => String(value), { custom: Symbol.for('nodejs.util.inspect.custom') }),
  isAnyArrayBuffer: (value) => /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value)),
  nextTurn: () => new Promise((resolve) => soon(resolve)),
  sleep,
  crypto: globalThis.crypto,
  utf8: (text) => encoder.encode(text),
  warn: (text) => console.warn(text),

  // The memory of the library goes with the page.
  atExit: () => {},

  // What the turn of the event loop has made and dropped is garbage in the next one.
  collector: () => [globalThis.gc ?? (() => { press(); soon(press) }), () => {}],

  // The library works on memory of its own.
  pin: (array) => array,
  takesPinned: false
}
