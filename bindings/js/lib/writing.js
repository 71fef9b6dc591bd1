'use strict'
/** Writing to tensors: new values in the memory that they have. */

const { PolygradError } = require('./library.js')
const { Base, registered, nodeOf } = require('./base.js')
const { describe, leaf, compute, computeAsync } = require('./graph.js')
const { Values, detached } = require('./values.js')
const { named } = require('./arguments.js')
const trace = require('./trace.js')
const views = require('./views.js')

/** Changing a tensor. */
class Writing extends Values {
  /**
   * Gives the tensor new values, which are broadcast to its shape and have its type, in its memory;
   * they are computed at once. A view (what reshape, permute, flip, slices and the like make) writes
   * them where it shows them. What was made of the tensor before keeps its values.
   */
  assign (x) {
    const value = fit(this, x)
    if (trace.tracing()) {
      views.put(this, detached(value)._node)
    } else if (value !== this) {
      const { nodes, done } = views.prepare(this, value)
      done(compute(nodes, [this._node], [value._node]))
    }
    return this
  }

  /** assign computed in another thread. */
  async assignAsync (x) {
    const value = fit(this, x)
    if (trace.tracing()) throw trace.valueNeeded()
    if (value === this) return this
    const { nodes, done } = views.prepare(this, value)
    done(await computeAsync(nodes, [this._node], [value._node]))
    return this
  }

  /** Lets the tensor stand for what x stands for; whether it requires a gradient stays. */
  replace (x) {
    const { owner } = nodeOf(this, 'replace')
    const node = nodeOf(x, 'replace: x')
    if (trace.tracing()) trace.change(this, node)
    else this._bind(node)
    if (owner === this && !node.tracked) this.requiresGrad = true
    return this
  }

  /** Changes the elements that getitem(...items) takes: setitem(items, value). */
  setitem (...args) {
    const { items, value } = named('setitem', args, { items: undefined, value: undefined })
    if (value instanceof Base && value.dtype !== this.dtype) {
      throw new PolygradError(`setitem: value: ${value.dtype}, expected ${this.dtype} as the tensor has`)
    }
    const list = Array.isArray(items) ? items : [items]
    const mask = list.length === 1 && isWholeMask(list[0], this) && isSingle(value)
    const given = mask ? list : this._items(list)
    if (this._node.tracked && views.root(this._node).owner !== null) {
      throw new PolygradError('setitem: a tensor that requires a gradient cannot be changed in place')
    }
    if (trace.tracing() || this._node.tracked || (value instanceof Base && value._node.tracked)) {
      // Gradients and compiled steps see the change.
      views.put(this, (mask ? given[0].where(value, this) : this._withItems(given, value))._node)
    } else if (mask) {
      this.assign(given[0].where(value, this))
    } else if (given.some((item) => item instanceof Base)) {
      this.assign(this._withItems(given, value))
    } else {
      this.getitem(...given).assign(value)
    }
    return this
  }
}

/** Whether an item of an index says of each element of a tensor if it is taken. */
function isWholeMask (item, tensor) {
  return item instanceof Base && item.dtype === 'bool' && String(item.shape) === String(tensor.shape)
}

function isSingle (value) {
  return value instanceof Base ? value.numel() === 1 : ['number', 'boolean', 'bigint'].includes(typeof value)
}

/** A new value of a tensor in its shape. */
function fit (tensor, x) {
  const { shape, dtype } = describe(tensor._node)
  const value = x instanceof Base ? x : new registered.Tensor(x, { dtype: dtype.name })
  if (value.dtype !== dtype.name) throw new PolygradError(`assign: x: ${value.dtype}, expected ${dtype.name} as the tensor has`)
  const have = describe(value._node).shape
  const first = shape.length - have.length
  if (first < 0 || have.some((n, k) => n !== 1 && n !== shape[first + k])) {
    throw new PolygradError(`assign: x: shape [${have}], expected [${shape}] as the tensor has, or one that broadcasts to it`)
  }
  return first === 0 && have.every((n, k) => n === shape[k]) ? value : value.expand(shape)
}

/** Checks shapes; while a function is traced, lets the targets stand for their new values. */
function prepareAssign (targets, values) {
  targets.forEach((target, i) => {
    const have = values[i].shape
    const want = target.shape
    if (have.length !== want.length || have.some((n, k) => n !== want[k])) {
      throw new PolygradError(`assign: x: shape [${have}], expected [${want}] as the tensor has`)
    }
  })
  if (!trace.tracing()) return targets.forEach(settle)
  targets.forEach((target, i) => views.put(target, detached(values[i].cast(target.dtype))._node))
}

/** Gives tensors new values in their memory, all computed from the values before. */
function assign (targets, values) {
  prepareAssign(targets, values)
  if (!trace.tracing()) compute([], targets.map((t) => t._node), values.map((v) => v._node))
}

/** assign in another thread. */
async function assignAsync (targets, values) {
  prepareAssign(targets, values)
  await computeAsync([], targets.map((t) => t._node), values.map((v) => v._node))
}

/** Makes a tensor a leaf: computed, without history, with memory of its own. */
function settle (tensor) {
  const node = tensor.realize()._node
  if (node.source.length > 0) {
    tensor._bind(leaf(tensor.data.slice(), node.dtype, describe(node).shape))
  } else {
    views.cutHistory(node)
  }
}

module.exports = { Writing, assign, assignAsync, settle }
