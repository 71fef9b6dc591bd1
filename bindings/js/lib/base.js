'use strict'
/** What all groups of tensor methods stand on. */

const { lib, fail, PolygradError } = require('./library.js')
const { CTX, GraphNode, beginNodes, endNodes, handles } = require('./graph.js')
const { scopes, note } = require('./live.js')
const trace = require('./trace.js')
const { show } = require('./arguments.js')

/** Tensors that were made since a tidy began; null outside of one. */
let scope = null

// What takes the place of the scope outside of all tidies while a function is compiled.
let apartFrom = null

const disposed = Object.freeze({
  get handle () {
    throw new PolygradError('the tensor was disposed')
  },
  users: 0,
  data: null,
  origin: null,
  owner: null,
  tracked: false,
  memory: null,
  source: Object.freeze([]),
  get shape () {
    return this.handle
  },
  drop () {}
})

/** A variable that stands for a node of the graph. */
class Base {
  /** @param {GraphNode} node */
  constructor (node) {
    this._node = node
    this._grad = null
    node.users++
    if (scope !== null) scope.add(this)
    else note(this)
  }

  /** The gradient, after backward: a tensor, or null. */
  get grad () {
    return this._grad
  }

  set grad (value) {
    if (value != null && !(value instanceof Base)) throw new TypeError(`grad: ${show(value)}, expected a tensor or null`)
    this._grad = value ?? null
  }

  /** Lets the tensor stand for another node. */
  _bind (node) {
    const before = this._node
    if (before === node) return
    node.users++
    this._node = node
    if (node.data === null && before.data !== null && !scope?.has(this)) note(this)
    before.drop()
  }

  /**
   * Gives back what the tensor holds, without waiting for the garbage collector. Tensors that were
   * computed from it go on working; the tensor itself does not. A second call does nothing.
   */
  dispose () {
    const before = this._node
    if (before === disposed) return
    if (before.owner === this) before.owner = null
    this._node = disposed
    before.drop()
    if (this.grad !== null) this.grad.dispose()
    this.grad = null
  }

  /** Whether dispose was called. */
  get isDisposed () {
    return this._node === disposed
  }
}

if (!Symbol.dispose) Object.defineProperty(Symbol, 'dispose', { value: Symbol('Symbol.dispose') })
Base.prototype[Symbol.dispose] = Base.prototype.dispose

// tensor.js puts the class here: it stands on this file.
const registered = { Tensor: Base }

/** Makes a tensor of a node. */
function wrap (node) {
  return new registered.Tensor(node)
}

/** Whether a gradient may be asked for through what is made of nodes; null if nobody has said of one of them. */
function trackedBy (source) {
  let tracked = source.length === 0 ? null : false
  for (let i = 0; i < source.length; i++) {
    if (source[i].tracked) return true
    if (source[i].tracked === null) tracked = null
  }
  return tracked
}

/** Makes a tensor from a handle of the library; NULL throws its error. */
function made (handle, source) {
  if (handle === 0) fail()
  return wrap(new GraphNode(handle, source, null, trackedBy(source)))
}

/** Makes a tensor from a handle of the library that may be a view of a node. */
function view (handle, node) {
  const tensor = made(handle, [node])
  tensor._node.shows = true
  return tensor
}

/** Makes tensors of the handles that the library wrote. */
function several (status, out, n, source) {
  if (status !== 0) fail()
  return Array.from({ length: n }, (_, i) => made(Number(out[i]), source))
}

/** The node of an argument that must be a tensor. */
function nodeOf (value, what) {
  if (!(value instanceof Base)) throw new TypeError(`${what}: ${show(value)}, expected a tensor`)
  if (value._node === disposed) throw new PolygradError(`${what}: the tensor was disposed`)
  return value._node
}

/** The node of a tensor that may be missing. */
function optional (value, what) {
  return value == null ? null : nodeOf(value, what)
}

/** The handle of a node, NULL for none. */
function handleOf (node) {
  return node === null ? 0 : node.handle
}

/** Those nodes that are there. */
function present (...nodes) {
  return nodes.filter((n) => n !== null)
}

/** Whether a number goes to the library as an integer, which takes the type of the tensor it meets. */
function isWhole (value) {
  return Number.isInteger(value) && value < 2 ** 63 && value >= -(2 ** 63) && !Object.is(value, -0)
}

/** A BigInt that C can take as int64_t. */
function fits (value, what) {
  if (BigInt.asIntN(64, value) === value) return value
  throw new RangeError(`${what}: ${value} is out of range, expected 64 bits`)
}

/** The node of an operand; a number takes its type from the tensor it meets. */
function operand (value, like, what) {
  if (value instanceof Base) return value._node
  const x = like._node.handle
  let handle
  switch (typeof value) {
    case 'number':
      handle = isWhole(value) ? lib.poly_const_like_int(CTX, x, value) : lib.poly_const_like_float(CTX, x, value)
      break
    case 'boolean':
      handle = lib.poly_const_like_bool(CTX, x, value ? 1 : 0)
      break
    case 'bigint':
      handle = lib.poly_const_like_int(CTX, x, fits(value, what))
      break
    default:
      if (value?.symbolicSize !== undefined) {
        handle = lib.poly_size_tensor(CTX, value.symbolicSize)
        break
      }
      if (Array.isArray(value) || ArrayBuffer.isView(value)) return registered.Tensor.from(value)._node
      throw new TypeError(`${what}: ${show(value)}, expected a tensor or a number`)
  }
  if (handle === 0) fail()
  return new GraphNode(handle, [], null, false)
}

/** An operand as a tensor, a number or null. */
function operandOf (value, like, what) {
  switch (typeof value) {
    case 'number':
    case 'boolean':
      return value
    case 'bigint':
      return BigInt.asUintN(64, value) === value ? value : fits(value, what)
  }
  if (value == null || value.symbolicSize !== undefined) return value
  if (value instanceof Base) {
    nodeOf(value, what)
    return value
  }
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return registered.Tensor.from(value)
  throw new TypeError(`${what}: ${show(value)}, expected a tensor or a number`)
}

/** Calls a function of the library with a tensor and a list of axes or sizes. */
function join (fn, tensors, dim, what) {
  if (tensors.length === 0) throw new PolygradError(`${what}: no tensors`)
  const nodes = tensors.map((t) => nodeOf(t, what))
  return made(lib[fn](CTX, handles(nodes), nodes.length, dim), nodes)
}

/** Finds the tensors in a value: itself, or in arrays, maps and objects. */
function tensorsIn (value, found = new Set(), seen = new Set()) {
  if (value instanceof Base) {
    found.add(value)
    if (value.grad !== null) found.add(value.grad)
  } else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !seen.has(value)) {
    seen.add(value)
    const items = value instanceof Map || value instanceof Set || Array.isArray(value) ? value.values() : Object.values(value)
    for (const item of items) tensorsIn(item, found, seen)
  }
  return found
}

/**
 * Runs a function and disposes of the tensors that it made, except those in its result, those that
 * require a gradient themselves, and gradients of tensors that were there before.
 */
function tidy (fn) {
  if (typeof fn !== 'function') throw new TypeError(`tidy: fn: ${show(fn)}, expected a function`)
  const outer = scope
  const nodes = beginNodes()
  const mine = new Set()
  scope = mine
  scopes.push(mine)
  let result
  try {
    result = fn()
    if (typeof result?.then === 'function') throw new TypeError('tidy: fn: returned a promise, expected a function that is not async')
    for (const tensor of tensorsIn(result)) {
      if (!mine.delete(tensor)) continue
      if (outer !== null) outer.add(tensor)
      else release(tensor)
    }
  } finally {
    scope = outer
    scopes.pop()
    for (const tensor of mine) {
      if (tensor._node.owner !== tensor) tensor.dispose()
      else release(tensor)
    }
    endNodes(nodes)
  }
  return result
}

/** Takes a tensor out of the scope it was made in, unless that ends with another one's. */
function keep (tensor, holder) {
  if (scope !== null && scope !== apartFrom && !(holder && scope.has(holder)) && scope.delete(tensor)) release(tensor)
  return tensor
}

/** Lets a tensor be known without a tidy. */
function release (tensor) {
  if (apartFrom !== null) apartFrom.add(tensor)
  else note(tensor)
}

/**
 * Runs a function whose lazy tensors nobody needs afterwards: no write computes them before it, though the collector
 * has not yet found them. With forget, what has values is forgotten too.
 */
function apart (fn, forget) {
  const before = [scope, apartFrom]
  const mine = new Set()
  scope = apartFrom = mine
  scopes.push(mine)
  try {
    return fn()
  } finally {
    scopes.pop()
    ;[scope, apartFrom] = before
    if (!forget) {
      for (const tensor of mine) {
        if (scope !== null) scope.add(tensor)
        else if (!tensor.isDisposed && tensor._node.data !== null) release(tensor)
      }
    }
  }
}

/** A tensor that nothing stands for any more: it goes with the scope that lets it go. */
function letGo (tensor) {
  if (scope !== null && tensor !== null) scope.add(tensor)
}

/** Gives a tensor another gradient. */
function setGradient (tensor, grad) {
  if (trace.tracing()) trace.keepGradient(tensor)
  else letGo(tensor.grad)
  tensor.grad = keep(grad, tensor)
}

module.exports = {
  Base, registered, wrap, trackedBy, made, view, several, nodeOf, optional,
  handleOf, present, isWhole, fits, operand, operandOf, join, tidy, apart, keep, letGo, setGradient
}
