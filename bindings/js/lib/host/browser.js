'use strict'
/** What the package has in a browser in the place of what node.js takes from Node. */

const encoder = new TextEncoder()

// The next turn of the event loop: a message comes at once, a timer after four milliseconds.
const { port1, port2 } = new MessageChannel()
const turns = []
port1.onmessage = () => turns.shift()()

/** Waits in this thread, which the main thread of a page may only do by working. */
function sleep (milliseconds) {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

module.exports = {
  /** Settings, by the names of the variables of Node's environment: globalThis.POLYGRAD, an object made before the import. */
  environment: (globalThis.POLYGRAD ??= {}),

  /** A value as a text; consoles of browsers ask nobody how a value looks. */
  inspect: Object.assign((value) => String(value), { custom: Symbol.for('nodejs.util.inspect.custom') }),
  isAnyArrayBuffer: (value) => /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value)),
  nextTurn: () => new Promise((resolve) => {
    turns.push(resolve)
    port2.postMessage(null)
  }),
  sleep,
  crypto: globalThis.crypto,
  utf8: (text) => encoder.encode(text),
  warn: (text) => console.warn(text),

  // The memory of the library goes with the page.
  atExit: () => {},

  // A page may not collect garbage itself, unless the browser was started so; weak references end with the turn of the event loop.
  collector: () => [globalThis.gc ?? (() => {}), () => {}],

  // The library works on memory of its own.
  pin: (array) => array,
  takesPinned: false
}
