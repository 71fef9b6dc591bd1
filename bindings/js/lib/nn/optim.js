'use strict'
/** Optimizers: they hold parameters and change them by their gradients. */

const { lib, PolygradError } = require('../library.js')
const { CTX } = require('../graph.js')
const { Tensor } = require('../tensor.js')
const { assign, assignAsync, settle } = require('../writing.js')
const { Base, tidy, letGo, several } = require('../base.js')
const { tracing } = require('../trace.js')
const { named, number, list, small, show } = require('../arguments.js')

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
    if (params instanceof Base || typeof params?.[Symbol.iterator] !== 'function') {
      throw new TypeError(`${name}: params: expected a list of tensors`)
    }
    const given = [...new Set(params)]
    for (const param of given) if (!(param instanceof Base)) throw new TypeError(`${name}: params: ${show(param)}, expected tensors`)
    const isBuffer = (param) => param.requiresGrad === false || !param.isFloatingPoint()
    /** What no step changes: tensors that want no gradient, and integers. */
    this.buffers = given.filter(isBuffer)
    /** The parameters, each once: a model may use one in two places. */
    this.params = given.filter((param) => !isBuffer(param))
    if (this.params.length === 0) throw new PolygradError(`${name}: params: is empty, expected tensors of floating types`)
    setting(lr, `${name}: lr`)
    for (const param of this.params) {
      settle(param)
      if (!param.requiresGrad) param.requiresGrad = true
    }
    // A leaf rather than a constant: another rate needs no other program.
    this._lr = new Tensor(Float32Array.of(lr), { shape: [], requiresGrad: false })
  }

  /** The learning rate. */
  get lr () {
    return this._lr.data[0]
  }

  set lr (value) {
    this._lr.data[0] = setting(value, `${this.constructor.name}: lr`)
  }

  /** Forgets the gradients of all parameters. */
  zeroGrad () {
    for (const param of this.params) {
      letGo(param.grad)
      param.grad = null
    }
  }

  /** Changes each parameter that has a gradient. */
  step () {
    if (tracing()) {
      const { targets, values } = this._updates()
      if (targets.length > 0) assign(targets, values)
      return
    }
    tidy(() => {
      const { targets, values } = this._updates()
      if (targets.length > 0) assign(targets, values)
    })
  }

  /** step computed in another thread. */
  async stepAsync () {
    const { targets, values } = tidy(() => this._updates())
    if (targets.length > 0) await assignAsync(targets, values)
    for (const value of values) value.dispose()
  }

  /** Tensors to be changed and their new values, all made of the old ones. */
  _updates () {
    const updates = { targets: [], values: [] }
    const chosen = this.params.map((_, i) => i).filter((i) => this.params[i].grad !== null)
    if (chosen.length === 0) return updates
    const shared = this._begin(updates)
    for (const i of chosen) this._update(i, this.params[i]._node, this.params[i].grad._node, updates, shared)
    return updates
  }

  /** A tensor of zeros, of at least float32, for each parameter. */
  _state () {
    return this.params.map((p) => {
      const dtype = p.dtype === 'float64' ? 'float64' : 'float32'
      return Tensor.zeros(p.shape, { dtype, requiresGrad: false }).realize().keep()
    })
  }

  /** Adds updates that concern no single parameter. */
  _begin () {
    return null
  }
}

function add ({ targets, values }, changed, news) {
  targets.push(...changed)
  values.push(...news)
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

  /** All updates of all optimizers. */
  _updates () {
    const updates = { targets: [], values: [] }
    for (const { targets, values } of this.optimizers.map((o) => o._updates())) add(updates, targets, values)
    return updates
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
    this.b = momentum > 0 ? this._state() : []
  }

  _update (i, param, grad, updates) {
    const changed = this.b.length > 0 ? [this.params[i], this.b[i]] : [this.params[i]]
    const nodes = [param, grad, this._lr._node, ...changed.slice(1).map((b) => b._node)]
    const out = new BigUint64Array(2)
    const factors = Float64Array.from(this.nsCoefficients)
    const status = lib.poly_lars(CTX, nodes[0].handle, nodes[1].handle, nodes[2].handle, nodes[3]?.handle ?? 0, this.momentum,
      this.weightDecay, this.tcoef, this.nesterov ? 1 : 0, this.classic ? 1 : 0, this.preWd ? 0 : 1, this.nsSteps,
      factors.length > 0 ? factors : null, factors.length, out)
    add(updates, changed, several(status, out, changed.length, nodes))
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
    this.m = this._state()
    this.v = this._state()
    // The powers b^t, in float64 because they come close to 1 and are subtracted from it.
    this.powers = [0, 1].map(() => new Tensor(Float64Array.of(1), { shape: [], requiresGrad: false }))
  }

  _begin (updates) {
    const powers = this.powers.map((power, i) => power.mul(this.betas[i]))
    add(updates, this.powers, powers)
    return powers.map((p) => p._node)
  }

  _update (i, param, grad, updates, powers) {
    const state = [this._lr._node, this.m[i]._node, this.v[i]._node]
    const nodes = [param, grad, ...state, ...powers]
    const out = new BigUint64Array(3)
    const status = lib.poly_lamb(CTX, ...nodes.map((n) => n.handle), ...this.betas, this.eps, this.weightDecay, this.adam ? 1 : 0,
      this._coupled ? 1 : 0, out)
    add(updates, [this.params[i], this.m[i], this.v[i]], several(status, out, 3, nodes))
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
