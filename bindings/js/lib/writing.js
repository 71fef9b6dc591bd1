'use strict'
/** Assignment to tensors, and gradients. */

const { lib, engine, find, fail, PolygradError } = require('./library.js')
const { bury, prepare, own, handlesOf, inTurn } = require('./handles.js')
const { Base, registered, made, describe, handleOf, tensorOf, keep } = require('./base.js')
const { packed, packedItems } = require('./call.js')
const { Values, realizeInTurn } = require('./values.js')
const { items } = require('./indexing.js')
const { tracing } = require('./trace.js')
const { types } = require('./dtype.js')
const { isComplex, named, get, show } = require('./arguments.js')

const assignAt = find('poly_array_assign', 'int', ['uintptr_t', 'uintptr_t'])
const setAt = find('poly_array_set', 'int', ['uintptr_t', 'uintptr_t', 'int', 'uintptr_t'])
const gradAt = find('poly_array_grad', 'int', ['uintptr_t', 'uintptr_t'])
const gradient = engine.block(8)

/** Assignment, requiresGrad, and gradients. */
class Writing extends Values {
  assign (x) {
    const value = given(this, x, 'assign: x')
    if (value instanceof Base) mustBroadcast(this, value)
    prepare()
    if (assignAt(handleOf(this), packed(value)[0]) !== 0) fail()
    return this
  }

  /** assign, but the value is computed in another thread first. */
  async assignAsync (x) {
    const value = given(this, x, 'assign: x')
    if (!(value instanceof Base)) return this.assign(value)
    mustBroadcast(this, value)
    await value.realizeAsync()
    return this.assign(value)
  }

  replace (x) {
    tensorOf(this, 'replace')
    if (lib.poly_array_replace(this._handle, tensorOf(x, 'replace: x')._handle) !== 0) fail()
    this._known = x._known
    this._memory = x._memory
    return this
  }

  setitem (...args) {
    const { items: list, value } = named('setitem', args, { items: undefined, value: undefined })
    const to = given(this, value, 'setitem: value')
    const index = Array.isArray(list) ? list : [list]
    prepare()
    if (setAt(handleOf(this), ...packedItems(items(index, 'setitem'), to)) !== 0) fail()
    return this
  }

  // Gradients

  /** The gradient, after backward: a tensor, or null. */
  get grad () {
    const has = gradAt(handleOf(this), gradient.address)
    if (has < 0) fail()
    if (tracing()) return has === 0 ? null : made(get(gradient.ints, 0))
    if (has === 0) {
      this._grad = null
    } else if (this._grad === null || this._grad.isDisposed) {
      this._grad = keep(made(get(gradient.ints, 0)))
    } else {
      // The library gives a new handle: the gradient tensor that the user holds takes it.
      bury(this._grad._handle)
      this._grad._handle = get(gradient.ints, 0)
      own(this._grad)
    }
    return this._grad
  }

  set grad (value) {
    if (value != null && !(value instanceof Base)) throw new TypeError(`grad: ${show(value)}, expected a tensor or null`)
    if (lib.poly_array_set_grad(handleOf(this), value == null ? 0 : handleOf(value)) !== 0) fail()
    if (!tracing()) this._grad = value == null ? null : keep(value)
  }

  get requiresGrad () {
    const on = lib.poly_array_requires_grad(handleOf(this))
    if (on < 0) fail()
    return on === 1 ? true : this._wants === false ? false : null
  }

  set requiresGrad (wanted) {
    wanted ??= null
    if (typeof wanted !== 'boolean' && wanted !== null) {
      throw new TypeError(`requiresGrad: ${show(wanted)}, expected true, false or null`)
    }
    const { dtype } = describe(this)
    if (wanted && !dtype.isDifferentiable) throw new TypeError(`requiresGrad: the tensor is ${dtype.name}, expected a floating type`)
    if (lib.poly_array_require_grad(handleOf(this), wanted ? 1 : 0) !== 0) fail()
    this._wants = wanted
  }

  requiresGrad_ (wanted = true) {
    this.requiresGrad = wanted
    return this
  }

  backward (...args) {
    const seed = seedOf('backward', args)
    prepare()
    if (lib.poly_array_backward(handleOf(this), seed) !== 0) fail()
    return this
  }

  async backwardAsync (...args) {
    const seed = seedOf('backward', args)
    await realizeInTurn([this], 'training')
    await inTurn([this, args], () => lib.poly_array_backward_async(handleOf(this), seed), 'training')
    return this
  }

  gradient (...args) {
    const targets = args.filter((t) => t instanceof Base)
    targets.forEach((t) => tensorOf(t, 'gradient'))
    const options = args.filter((t) => !(t instanceof Base))
    const { gradient: incoming, materializeGrads } = named('gradient', options, { gradient: null, materializeGrads: false })
    const seed = incoming == null ? 0 : tensorOf(incoming, 'gradient: gradient')._handle
    const out = new Int32Array(2 * targets.length)
    if (lib.poly_array_gradient(handleOf(this), handlesOf(targets), targets.length, seed, materializeGrads ? 1 : 0, out) !== 0) fail()
    return Array.from(targets, (_, i) => get(out, i)).map(made)
  }
}

/** The handle of the argument gradient, 0 if it is not given. */
function seedOf (fn, args) {
  const options = named(fn, args.map((t) => t instanceof Base ? { gradient: t } : t), { gradient: null })
  return options.gradient == null ? 0 : tensorOf(options.gradient, `${fn}: gradient`)._handle
}

/** A new value for elements of a tensor: a number, or a tensor of the same dtype. */
function given (tensor, x, what) {
  const { dtype } = describe(tensor)
  if (dtype === types.bool ? typeof x === 'boolean' : typeof x === 'number' || typeof x === 'bigint') return x
  if (dtype.isComplex && isComplex(x)) return x
  const value = x instanceof Base ? tensorOf(x, what) : new registered.Tensor(x, { dtype: dtype.name })
  if (value.dtype !== dtype.name) throw new PolygradError(`${what}: ${value.dtype}, expected ${dtype.name} as the tensor has`)
  return value
}

function mustBroadcast (tensor, value) {
  const { shape } = describe(tensor)
  const have = describe(value).shape
  const first = shape.length - have.length
  if (first < 0 || have.some((n, k) => n !== 1 && n !== shape[first + k])) {
    throw new PolygradError(`assign: x: shape [${have}], expected [${shape}] as the tensor has, or one that broadcasts to it`)
  }
}

/** Assigns to several tensors at once: every value is computed from the old contents, and cast to the type of its target. */
function assign (targets, values) {
  prepare()
  const news = values.map((value, i) => value.dtype === targets[i].dtype ? value : value.cast(targets[i].dtype))
  news.forEach((value, i) => mustBroadcast(targets[i], value))
  if (lib.poly_array_assign_n(handlesOf(targets), handlesOf(news), news.length) !== 0) fail()
}

module.exports = { Writing, assign }
