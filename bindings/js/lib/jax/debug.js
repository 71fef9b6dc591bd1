'use strict'
/** polygrad/jax: messages and performance entries about what is traced, for the console and developer tools. */

const { show } = require('../arguments.js')

let level = 0
let tracing = false

/** From level 1 on, functions of jit say when they are traced. */
function setDebug (value) {
  if (!Number.isInteger(value) || value < 0) throw new TypeError(`setDebug: level: ${show(value)}, expected an integer of 0 or more`)
  level = value
}

/** Traces a function: its time is an entry of performance while a trace is collected. */
function traced (name, body) {
  if (level === 0 && !tracing) return body()
  const begin = performance.now()
  try {
    return body()
  } finally {
    const end = performance.now()
    if (tracing) performance.measure(name, { start: begin, end })
    if (level > 0) console.log(`${name}: traced in ${(end - begin).toFixed(1)} ms`)
  }
}

const profiler = Object.freeze({
  startTrace: () => { tracing = true },
  stopTrace: () => { tracing = false }
})

module.exports = { profiler, setDebug, traced }
