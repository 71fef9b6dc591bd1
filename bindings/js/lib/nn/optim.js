'use strict'
/** Optimizers: they hold parameters and change them by their gradients. */

const { lib, fail, PolygradError } = require('../library.js')
const { prepare, handlesOf } = require('../handles.js')
const { made, tensorsOf } = require('../base.js')
const { named, number, list, small, put, show } = require('../arguments.js')

const registry = new FinalizationRegistry((handle) => lib.poly_optim_release(handle))

// What poly_optim_state is asked for.
const [RATE, , POWERS, FIRST, SECOND] = Array(5).keys()

/** A setting: a number from 0 on and less than a limit. */
function setting (value, what, below = Infinity) {
  if (number(value, what) >= 0 && value < below) return value
  throw new RangeError(`${what}: ${value}, expected 0 or more${below === Infinity ? '' : ` and less than ${below}`}`)
}

/** The numbers that a method's optimizer has, each checked. */
function settings (name, values, limits = {}) {
  for (const key in values) setting(values[key], `${name}: ${key}`, limits[key])
  return values
}

/**
 * What all optimizers share. step() computes all new values from the old ones, in one program, and
 * writes them in place.
 */
class Optimizer {
  constructor (params, lr) {
    const name = this.constructor.name
    const given = tensorsOf(params, `${name}: params`)
    const isBuffer = (param) => param.requiresGrad === false || !param.isFloatingPoint()
    /** What no step changes: tensors that want no gradient, and integers. */
    this.buffers = given.filter(isBuffer)
    /** The parameters, each once: a model may use one in two places. */
    this.params = given.filter((param) => !isBuffer(param))
    if (this.params.length === 0) throw new PolygradError(`${name}: params: is empty, expected tensors of floating types`)
    setting(lr, `${name}: lr`)
  }

  /** Makes the optimizer of the library. */
  _begin (fn, lr, ...settings_) {
    this._optim = fn(handlesOf(this.params), this.params.length, lr, ...settings_)
    if (this._optim === 0) fail()
    registry.register(this, this._optim)
    for (const param of this.params) param._wants = true
    // A leaf rather than a constant: another rate needs no other program.
    this._lr = this._of(RATE, 0)
  }

  /** A tensor of the state. */
  _of (what, i) {
    const tensor = made(lib.poly_optim_state(this._optim, what, i)).keep()
    tensor._wants = false
    return tensor
  }

  _each (what) {
    return this.params.map((_, i) => this._of(what, i))
  }

  /** The learning rate; setting it changes the rate of the steps that follow, also in compiled ones, and compiles nothing. */
  get lr () {
    return this._lr.item()
  }

  set lr (value) {
    this._lr.assign(setting(value, `${this.constructor.name}: lr`))
  }

  /** Forgets the gradients of all parameters. */
  zeroGrad () {
    for (const param of this.params) param.grad = null
  }

  /** Changes each parameter that has a gradient. */
  step () {
    const members = this._members()
    const given = new Int32Array(2 * members.length)
    members.forEach((member, i) => put(given, i, member._optim))
    prepare()
    if (lib.poly_optim_step(given, members.length) !== 0) fail()
  }

  /** step, whose gradients are computed in another thread. */
  async stepAsync () {
    const grads = this.params.map((param) => param.grad).filter((grad) => grad !== null)
    if (grads.length > 0) await grads[0].realizeAsync(...grads.slice(1))
    this.step()
  }

  /** The optimizers that step. */
  _members () {
    return [this]
  }
}

/** Several optimizers whose step is one program. */
class OptimizerGroup {
  constructor (...optimizers) {
    if (optimizers.length === 0) throw new PolygradError('OptimizerGroup: no optimizers, expected one or more')
    for (const optimizer of optimizers) {
      if (!(optimizer instanceof Optimizer)) throw new TypeError(`OptimizerGroup: ${show(optimizer)}, expected optimizers`)
    }
    this.optimizers = optimizers
  }

  /** The parameters of all optimizers. */
  get params () {
    return this.optimizers.flatMap((o) => o.params)
  }

  /** What the optimizers were given and do not change. */
  get buffers () {
    return this.optimizers.flatMap((o) => o.buffers)
  }

  _members () {
    return this.optimizers
  }
}
for (const name of ['zeroGrad', 'step', 'stepAsync']) OptimizerGroup.prototype[name] = Optimizer.prototype[name]

const LARS_DEFAULTS = {
  lr: 0.001, momentum: 0.9, weightDecay: 1e-4, nsSteps: 0, nsCoefficients: null, nesterov: false, classic: true, preWd: true, tcoef: 0.001
}

/**
 * Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv:1708.03888). The rate of a parameter p with the
 * gradient g is lr * tcoef * |p| / (|g| + weightDecay * |p|), or lr if tcoef is 0. g += weightDecay * p;
 * b = momentum * b + rate * g; p -= b. Unless classic, b = momentum * b + g and p -= rate * b. nesterov looks one step
 * ahead: momentum * b + g stands for b in the last step. With nsCoefficients the step is made orthogonal by nsSteps of
 * Newton and Schulz's iteration. Without preWd the parameter itself shrinks, by lr * weightDecay.
 */
class LARS extends Optimizer {
  constructor (params, ...args) {
    const o = named('LARS', args, LARS_DEFAULTS)
    super(params, o.lr)
    const name = this.constructor.name
    const { momentum, weightDecay, tcoef } = o
    Object.assign(this, settings(name, { momentum, weightDecay, tcoef }))
    this.nsSteps = small(o.nsSteps, `${name}: nsSteps`)
    this.nsCoefficients = o.nsCoefficients === null ? [] : list(o.nsCoefficients).map((c) => number(c, `${name}: nsCoefficients`))
    this.nesterov = o.nesterov
    this.classic = o.classic
    this.preWd = o.preWd
    if (this.nsCoefficients.length > 0 && this.params.some((p) => p.ndim === 0)) {
      throw new PolygradError(`${name}: params: a scalar, expected 1 dimension or more`)
    }
    const factors = Float64Array.from(this.nsCoefficients)
    this._begin(lib.poly_optim_lars, o.lr, momentum, weightDecay, tcoef, Number(this.nesterov), Number(this.classic), Number(!this.preWd),
      this.nsSteps, factors, factors.length)
    this.b = momentum > 0 ? this._each(FIRST) : []
  }
}

/**
 * Gradient descent: g += weightDecay * p, b = momentum * b + g, p -= lr * b. nesterov looks one step ahead:
 * p -= lr * (g + momentum * b). With classic the rate goes into the momentum: b = momentum * b + lr * g, p -= b.
 */
class SGD extends LARS {
  constructor (params, ...args) {
    const o = named('SGD', args, { lr: 0.001, momentum: 0, weightDecay: 0, nesterov: false, classic: false })
    super(params, { ...o, tcoef: 0 })
  }
}

/**
 * Gradient descent by steps that are made orthogonal (Jordan et al., 2024; arXiv:2502.16982): the step is
 * newtonSchulz(g + momentum * b), of a parameter as a matrix of its first axis and all others together. It is meant for
 * matrices: give biases, norms and embeddings to AdamW (see OptimizerGroup).
 */
class Muon extends LARS {
  constructor (params, ...args) {
    const o = named('Muon', args,
      { lr: 0.001, momentum: 0.95, weightDecay: 0.1, nsSteps: 5, nsCoefficients: [3.4445, -4.775, 2.0315], nesterov: true })
    super(params, { ...o, classic: false, preWd: false, tcoef: 0 })
  }
}

/**
 * Moments, and the ratio of norms of each parameter (You et al., arXiv:1904.00962). With the betas b1 and b2,
 * m = b1 * m + (1 - b1) * g, v = b2 * v + (1 - b2) * g^2, and after t steps the step is
 * s = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + weightDecay * p; p -= lr * |p| / |s| * s. A ratio of which a norm
 * is 0 counts as 1; adam leaves it out.
 */
class LAMB extends Optimizer {
  constructor (params, ...args) {
    const o = named('LAMB', args, { lr: 0.001, betas: [0.9, 0.999], eps: 1e-6, weightDecay: 0, adam: false })
    super(params, o.lr)
    const name = this.constructor.name
    if (list(o.betas).length !== 2) throw new PolygradError(`${name}: betas: ${show(o.betas)}, expected two numbers`)
    this.betas = list(o.betas)
    for (const beta of this.betas) setting(beta, `${name}: betas`, 1)
    Object.assign(this, settings(name, { eps: o.eps, weightDecay: o.weightDecay }))
    this.adam = o.adam
    this._begin(lib.poly_optim_lamb, o.lr, ...this.betas, this.eps, this.weightDecay, Number(this.adam), Number(this._coupled))
    this.m = this._each(FIRST)
    this.v = this._each(SECOND)
    // The powers b^t, in float64 because they come close to 1 and are subtracted from it.
    this.powers = [0, 1].map((i) => this._of(POWERS, i))
  }
}

/** Whether weight decay is added to the gradient. */
LAMB.prototype._coupled = false

const ADAM = { lr: 0.001, betas: [0.9, 0.999], eps: 1e-8 }

/** Adam (Kingma and Ba, arXiv:1412.6980); weightDecay is added to the gradient. */
class Adam extends LAMB {
  constructor (params, ...args) {
    super(params, { ...named('Adam', args, { ...ADAM, weightDecay: 0 }), adam: true })
  }
}
Adam.prototype._coupled = true

/** Adam whose weight decay acts on the parameter itself (Loshchilov and Hutter, arXiv:1711.05101). */
class AdamW extends LAMB {
  constructor (params, ...args) {
    super(params, { ...named('AdamW', args, { ...ADAM, weightDecay: 0.01 }), adam: true })
  }
}

module.exports = { Optimizer, OptimizerGroup, LARS, SGD, Muon, LAMB, Adam, AdamW }
