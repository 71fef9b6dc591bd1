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
      for (const [tensor, node] of this.before) {
        this.changes.push([node, tensor._node])
        // What the tensor stood for stays alive: the program reads it.
        tensor._node = node
      }
      for (const [tensor, grad] of this.gradients) tensor.grad = grad
    }
  }
}

/** Whether a function is being traced. */
function tracing () {
  return current !== null
}

/** Lets a tensor stand for a new value until the trace ends. */
function change (tensor, node) {
  const before = tensor._node
  if (!current.before.has(tensor)) {
    if (before.data === null || before.source.length > 0 || before.origin !== null) {
      throw new PolygradError('compileStep: a tensor is assigned that was not computed before the trace')
    }
    current.before.set(tensor, before)
  }
  if (before.owner !== null) {
    node.owner = tensor
    node.tracked = true
  }
  node.users++
  tensor._node = node
}

/** Puts the gradient of a tensor back when the trace ends, if there is one. */
function keepGradient (tensor) {
  if (current !== null && !current.gradients.has(tensor)) current.gradients.set(tensor, tensor.grad)
}

module.exports = { Trace, tracing, change, keepGradient }
