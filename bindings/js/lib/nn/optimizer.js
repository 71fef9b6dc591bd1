'use strict'
/** The base classes of optimizers. */

const { lib, fail, PolygradError } = require('../library.js')
const { CTX, freeWith, prepare } = require('../handles.js')
const { made: tensorOf, tensorsOf } = require('../base.js')
const { realizeInTurn } = require('../values.js')
const { operationOf } = require('../call.js')
const { Shown } = require('../shown.js')
const { named, number, list, put, show } = require('../arguments.js')

// The kinds of state of poly_optim_state: the learning rate, state common to all parameters, and from FIRST on state of each parameter.
const RATE = 0
const SHARED = 2
const FIRST = 3

/** Describes how an optimizer is made: by an operation, from settings with defaults; shared and states name its state (see above). */
function made (name, settings, shared, states) {
  const names = Object.entries(settings).flatMap(([key, value]) => key === 'betas' ? [[key, 0], [key, 0]] : [[key, value]])
  return { rule: operationOf(name, [['params', []], ...names]), settings, shared, states }
}

/** The common base of Optimizer and OptimizerGroup. */
class Stepping extends Shown {
  zeroGrad () {
    for (const param of this.params) param.grad = null
  }

  step () {
    const members = this._members()
    const given = new Int32Array(2 * members.length)
    members.forEach((member, i) => put(given, i, member._optim))
    prepare()
    if (lib.poly_optim_step(given, members.length) !== 0) fail()
  }

  /** step, but the gradients are computed in another thread first. */
  async stepAsync () {
    const grads = this.params.map((param) => param.grad).filter((grad) => grad !== null)
    if (grads.length > 0) await realizeInTurn(grads, 'training')
    this.step()
  }
}

class Optimizer extends Stepping {
  static _getters = ['lr']

  get _ofPackage () { return true }

  constructor (params, ...args) {
    if (new.target._made === undefined) throw new TypeError('Optimizer is only a base: use SGD, Adam or another one')
    super()
    const { rule, settings, shared, states } = new.target._made
    const name = rule.title
    const { lr, ...values } = named(name, args, settings)
    if ('betas' in values && list(values.betas).length !== 2) {
      throw new PolygradError(`${name}: betas: ${show(values.betas)}, expected two numbers`)
    }
    const given = tensorsOf(params, `${name}: params`)
    const isBuffer = (param) => param.requiresGrad === false || !param.isFloatingPoint()
    /** Tensors that no step changes: those that require no gradient, and integers. */
    this.buffers = given.filter(isBuffer)
    /** The parameters, each once: a model may use one in two places. */
    this.params = given.filter((param) => !isBuffer(param))
    if (this.params.length === 0) throw new PolygradError(`${name}: params: is empty, expected tensors of floating types`)
    const numbers = Object.entries(values).flatMap(([key, value]) => key === 'betas' ? list(value) : [value])
    const count = new Int32Array(1)
    const handle = lib.poly_optim_new(CTX, rule.number, ...rule.packed([this.params, lr, ...numbers]), count)
    if (handle === 0) fail()
    this._optim = handle
    freeWith(this, lib.poly_optim_release, handle)
    for (const param of this.params) param._wants = true
    Object.assign(this, values)
    // The rate is a buffer rather than a constant, so that compiled steps stay valid when it changes.
    this._lr = stateOf(this, RATE, 0)
    shared.forEach((key, i) => { this[key] = stateOf(this, SHARED, i) })
    states.forEach((key, k) => { this[key] = k < count[0] ? this.params.map((_, i) => stateOf(this, FIRST + k, i)) : [] })
  }

  /** The learning rate; setting it changes the rate of the steps that follow, also in compiled ones, and compiles nothing. */
  get lr () {
    return this._lr.item()
  }

  set lr (value) {
    const what = `${this.constructor.name}: lr`
    if (!(number(value, what) >= 0 && value < Infinity)) throw new RangeError(`${what}: ${value}, expected 0 or more`)
    this._lr.assign(value)
  }

  /** The optimizers that a step updates. */
  _members () {
    return [this]
  }
}

/** A tensor of the state of an optimizer. */
function stateOf (optimizer, what, i) {
  const tensor = tensorOf(lib.poly_optim_state(optimizer._optim, what, i)).keep()
  tensor._wants = false
  return tensor
}

class OptimizerGroup extends Stepping {
  constructor (...optimizers) {
    if (optimizers.length === 0) throw new PolygradError('OptimizerGroup: no optimizers, expected one or more')
    for (const optimizer of optimizers) {
      if (!(optimizer instanceof Optimizer)) throw new TypeError(`OptimizerGroup: ${show(optimizer)}, expected optimizers`)
    }
    super()
    this.optimizers = optimizers
  }

  get params () {
    return this.optimizers.flatMap((o) => o.params)
  }

  get buffers () {
    return this.optimizers.flatMap((o) => o.buffers)
  }

  _members () {
    return this.optimizers
  }
}

module.exports = { Optimizer, OptimizerGroup, made }
