'use strict'
/**
 * Tracing: running a function of tensors without computing, to compile what it does.
 *
 * While a function is traced, assignments are not carried out. The tensor stands for its new value
 * until the end, when what has changed becomes part of the program and everything is put back.
 */

const { PolygradError } = require('./library.js')

let current = null

/** What a traced function does to tensors that exist outside of it. */
class Trace {
  constructor () {
    this.before = new Map()
    this.gradients = new Map()
    // What is in memory, by what stands for it now.
    this.memory = new Map()
    /** Pairs of the node that a tensor stood for and the node of its new value. */
    this.changes = []
  }

  /** Runs a function and puts all tensors back. */
  run (fn) {
    if (current !== null) throw new PolygradError('compileStep inside of compileStep')
    current = this
    try {
      return fn()
    } finally {
      current = null
      for (const [now, node] of this.memory) this.changes.push([node, now])
      // What the tensor stood for stays alive: the program reads it.
      for (const [tensor, node] of this.before) tensor._node = node
      for (const [tensor, grad] of this.gradients) tensor.grad = grad
    }
  }
}

/** Whether a function is being traced. */
function tracing () {
  return current !== null
}

/** Lets a tensor stand for a new value, or as a view for that of its root, until the trace ends. */
function change (tensor, node, isRoot) {
  const before = tensor._node
  if (isRoot && current.memory.has(before)) {
    current.memory.set(node, current.memory.get(before))
    current.memory.delete(before)
  } else if (isRoot && before.data !== null) {
    current.memory.set(node, before)
  }
  if (!current.before.has(tensor)) current.before.set(tensor, before)
  if (isRoot && before.owner === tensor) {
    node.owner = tensor
    node.tracked = true
  }
  node.users++
  tensor._node = node
}

/** Whether a node is memory, or stands for some while the trace runs. */
function isMemory (node) {
  return node.data !== null || current.memory.has(node)
}

/** Puts the gradient of a tensor back when the trace ends, if there is one. */
function keepGradient (tensor) {
  if (current !== null && !current.gradients.has(tensor)) current.gradients.set(tensor, tensor.grad)
}

module.exports = { Trace, tracing, change, isMemory, keepGradient }
