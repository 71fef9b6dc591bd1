'use strict'
/**
 * Tracing: running a function of tensors without computing, to compile it.
 *
 * While a function is traced, assignments are not carried out. The tensor stands for its new value
 * until the end, when what has changed becomes part of the program and everything is put back.
 */

const { PolygradError } = require('./library.js')
const { recordLeaves } = require('./graph.js')
const { note, lazyTensors } = require('./live.js')

/** A function that cannot be captured, or a call that does not match the captured one. */
class JitError extends PolygradError {
  constructor (message) {
    super(message)
    this.name = 'JitError'
  }
}

let current = null

/** What a traced function does to tensors that exist outside of it. */
class Trace {
  /** @param {string} who what traces, for errors */
  constructor (who) {
    this.who = who
    /** Tensors with another node after the function, with their old nodes. */
    this.before = new Map()
    this.gradients = new Map()
    // What is in memory, by what stands for it now.
    this.memory = new Map()
    /** The leaves that the function makes: they are no memory of the program. */
    this.leaves = new Set()
    /** Pairs of the node that a tensor stood for and the node of its new value. */
    this.changes = []
  }

  /** Runs a function and puts all tensors back. */
  run (fn) {
    if (current !== null) throw new JitError(`${this.who} inside of ${current.who}`)
    this.outside = new Set(Array.from(lazyTensors(), (tensor) => tensor._node))
    current = this
    recordLeaves(this.leaves)
    try {
      return fn()
    } finally {
      current = null
      recordLeaves(null)
      for (const [now, node] of this.memory) this.changes.push([node, now])
      // What the tensor stood for stays alive: the program reads it.
      for (const [tensor, node] of this.before) tensor._node = node
      for (const [tensor, grad] of this.gradients) tensor.grad = grad
    }
  }

  /** Whether a node is memory that the function has found. */
  isMemory (node) {
    return (node.data !== null || node.isInput) && !this.leaves.has(node)
  }

  /** Whether a node is older than the trace. */
  isOlder (node) {
    return this.outside.has(node) || this.isMemory(node)
  }

  /** Records that a node replaces another one. */
  changed (before, after) {
    if (this.memory.has(before)) {
      this.memory.set(after, this.memory.get(before))
      this.memory.delete(before)
    } else if (this.isMemory(before)) {
      this.memory.set(after, before)
    } else if (this.outside.has(before)) {
      throw new JitError(`${this.who}: a tensor is assigned that was not computed before the trace`)
    } else {
      return
    }
    after.users++ // nothing else may hold it in the end
  }
}

/** Whether a function is being traced. */
function tracing () {
  return current !== null
}

/** Tells the trace, if there is one, that a node replaces another one. */
function changed (before, after) {
  if (current !== null) current.changed(before, after)
}

/** Lets a tensor stand for another node until the trace ends, if it is older than that. */
function change (tensor, node) {
  const before = tensor._node
  if (!current.before.has(tensor)) {
    if (!current.isOlder(before)) {
      tensor._bind(node)
      return
    }
    current.before.set(tensor, before)
  }
  node.users++
  tensor._node = node
  note(tensor)
}

/** Whether a node without value is older than the trace that runs. */
function isOutside (node) {
  return current.outside.has(node)
}

/** The error of asking for a value while a function is traced. */
function valueNeeded () {
  return new JitError(`a value is needed while ${current.who} traces the function`)
}

/** Puts the gradient of a tensor back when the trace ends, if there is one. */
function keepGradient (tensor) {
  if (current !== null && !current.gradients.has(tensor)) current.gradients.set(tensor, tensor.grad)
}

module.exports = { JitError, Trace, tracing, changed, change, isOutside, valueNeeded, keepGradient }
