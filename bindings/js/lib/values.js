'use strict'
/** The values of tensors: when they are computed, and how they come to JavaScript. */

const { lib, PolygradError } = require('./library.js')
const { wrap, made, nodeOf, tidy, keep } = require('./base.js')
const { SymInt, valuesOf } = require('./variable.js')
const { Display } = require('./display.js')
const { CTX, describe, leaf, pin, count, compute, computeAsync } = require('./graph.js')
const { types } = require('./dtype.js')
const { nested } = require('./data.js')
const trace = require('./trace.js')
const views = require('./views.js')

/** Computing tensors and reading them. */
class Values extends Display {
  /** Whether the values of the tensor, or of its root, are computed. */
  get isRealized () {
    return views.isThere(this)
  }

  /** Computes this tensor, and others with it, and returns it. A compiled function computes them into memory of their own. */
  realize (...others) {
    if (trace.tracing()) {
      store([this, ...others])
      return this
    }
    const todo = pending([this, ...others])
    if (todo !== null) settleWith(todo, compute([...todo.keys()]))
    return this
  }

  /** realize in another thread: the event loop goes on meanwhile. */
  async realizeAsync (...others) {
    const todo = pending([this, ...others])
    if (todo !== null) settleWith(todo, await computeAsync([...todo.keys()]))
    return this
  }

  /**
   * The memory of the computed tensor, without a copy: writes to it change the tensor.
   * float16, bfloat16 and fp8 are there as bits, bools as 0 and 1. Elements of a view that do not lie
   * one after the other in memory are copied. A symbolic size has room for its largest value.
   */
  get data () {
    if (trace.tracing() && !views.isThere(this)) throw trace.valueNeeded()
    const { _node: node } = this.realize()
    return pin(node.data ?? compute([node])[0].data)
  }

  /**
   * The values as a typed array: the memory itself; float16, bfloat16 and fp8 as a new Float32Array, and
   * tensors with symbolic sizes as a new array of the elements that they have.
   */
  toArray () {
    const { dtype, shape } = describe(this._node)
    const array = dtype.isRaw ? tidy(() => this.cast('float32').data) : this.data
    return used(array, shape)
  }

  /** toArray computed in another thread. */
  async toArrayAsync () {
    const { dtype } = describe(this._node)
    if (!dtype.isRaw) return used((await this.realizeAsync()).data, this._node.shape)
    const wide = await this.cast('float32').realizeAsync()
    const array = wide.data
    const { shape } = describe(this._node)
    wide.dispose()
    return used(array, shape)
  }

  /** The value of a tensor with one element: a number, a bigint (64-bit integers) or a boolean. */
  item () {
    if (this.numel() !== 1) throw new PolygradError(`item: the tensor has shape [${this.shape}], expected one element`)
    const [element] = this.toArray()
    return this.dtype === 'bool' ? element !== 0 : element
  }

  /** item computed in another thread. */
  async itemAsync () {
    await this.realizeAsync()
    return this.item()
  }

  /** The values as nested lists; a number for a tensor without axes. */
  tolist () {
    const { shape, dtype } = describe(this._node)
    return nested(this.toArray(), valuesOf(shape), dtype === types.bool)
  }

  /** What JSON.stringify writes of the tensor: tolist. */
  toJSON () {
    return this.tolist()
  }

  /** tolist computed in another thread. */
  async tolistAsync () {
    const { shape, dtype } = describe(this._node)
    return nested(await this.toArrayAsync(), valuesOf(shape), dtype === types.bool)
  }

  /** The tensor without its history: no gradient flows through it. */
  detach () {
    const tensor = detached(this)
    tensor._node.data = this._node.data
    tensor._node.shows = true
    return tensor
  }

  /** A copy with memory of its own, which requires a gradient if this tensor does; a gradient that is there is copied too. */
  clone () {
    const node = this._node
    if (node.data === null || node.origin !== null || trace.tracing()) return this.contiguous()
    const copy = wrap(leaf(node.data.slice(), describe(node).dtype, node.shape))
    copy.requiresGrad = node.tracked
    if (this.grad !== null) copy.grad = this.grad.clone()
    return copy
  }

  /** Keeps the tensor when the tidy in which it was made ends; returns it. */
  keep () {
    return keep(this)
  }

  /**
   * Runs a function and disposes of the tensors that were made meanwhile, except those in its result
   * and those that require a gradient. A loop that never awaits should run in it: the garbage
   * collector tells of unused tensors only between turns of the event loop.
   */
  static tidy (fn) {
    return tidy(fn)
  }
}

function detached (tensor) {
  const result = made(lib.poly_detach(CTX, tensor._node.handle), [tensor._node])
  result._node.tracked = false
  return result
}

/** The nodes that tensors need to have computed, each with the tensors that stand for it. */
function pending (tensors) {
  let todo = null
  for (const tensor of tensors) {
    if (nodeOf(tensor, 'realize').handle === 0) throw new PolygradError('realize: the tensor was disposed')
    if (views.isThere(tensor)) continue
    const node = tensor._node
    todo ??= new Map()
    if (todo.has(node)) todo.get(node).push(tensor)
    else todo.set(node, [tensor])
  }
  if (todo !== null && trace.tracing()) throw trace.valueNeeded()
  return todo
}

/** Lets a program that is being traced compute tensors into memory of their own. */
function store (tensors) {
  for (const tensor of tensors) {
    const node = nodeOf(tensor, 'realize')
    if (node.data !== null || node.isInput || node.shows || trace.isOutside(node)) continue
    views.standFor(node, tensor.contiguous()._node)
  }
}

/** Lets tensors stand for what was computed of the nodes that they stood for. */
function settleWith (todo, computed) {
  let i = 0
  for (const [node, tensors] of todo) {
    const now = computed[i++]
    for (const tensor of tensors) if (tensor._node === node) tensor._bind(now)
  }
}

/** The elements that a tensor has, of memory with room for the largest symbolic sizes. */
function used (array, shape) {
  if (!shape.some((n) => n instanceof SymInt)) return array
  const sizes = valuesOf(shape)
  const out = new array.constructor(count(sizes))
  const at = sizes.map(() => 0)
  for (let i = 0; i < out.length; i++) {
    let from = 0
    for (let k = 0; k < sizes.length; k++) from = from * count([shape[k]]) + at[k]
    out[i] = array[from]
    for (let k = sizes.length - 1; k >= 0 && ++at[k] === sizes[k]; k--) at[k] = 0
  }
  return out
}

module.exports = { Values, detached }
