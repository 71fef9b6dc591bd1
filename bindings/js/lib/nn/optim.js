'use strict'
/** Optimizers: they hold parameters and change them by their gradients. */

const { PolygradError } = require('../library.js')
const { Tensor, assign, assignAsync, settle } = require('../tensor.js')
const { Base, tidy, letGo } = require('../base.js')
const { tracing } = require('../trace.js')
const { named, number } = require('../arguments.js')

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
    /** The parameters, each once: a model may use one in two places. */
    this.params = [...new Set(params)]
    if (this.params.length === 0) throw new PolygradError(`${name}: params: is empty, expected tensors`)
    if (!(number(lr, `${name}: lr`) >= 0)) throw new RangeError(`${name}: lr: ${lr}, expected 0 or more`)
    for (const param of this.params) {
      settle(param)
      if (!param.requiresGrad) param.requiresGrad = true
    }
    // A leaf rather than a constant: another rate needs no other program.
    this._lr = new Tensor(Float32Array.of(lr), { shape: [] })
  }

  /** The learning rate. */
  get lr () {
    return this._lr.data[0]
  }

  set lr (value) {
    this._lr.data[0] = number(value, 'lr')
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
    for (const i of chosen) {
      const param = this.params[i]
      this._update(i, param.detach(), param.grad.detach(), updates, shared)
    }
    return updates
  }

  /** A tensor of zeros for each parameter. */
  _state () {
    return this.params.map((p) => Tensor.zeros(p.shape, { dtype: p.dtype }).realize().keep())
  }

  /** Adds updates that concern no single parameter. */
  _begin () {
    return null
  }
}

function add ({ targets, values }, target, value) {
  targets.push(target)
  values.push(value)
}

/**
 * Gradient descent: g = grad + weightDecay * p; with momentum b = momentum * b + g, and then g = b, or
 * g + momentum * b with nesterov; p -= lr * g.
 */
class SGD extends Optimizer {
  constructor (params, ...args) {
    const { lr, momentum, weightDecay, nesterov } = named('SGD', args, { lr: 0.01, momentum: 0, weightDecay: 0, nesterov: false })
    super(params, lr)
    this.momentum = number(momentum, 'SGD: momentum')
    this.weightDecay = number(weightDecay, 'SGD: weightDecay')
    this.nesterov = nesterov
    this.b = momentum ? this._state() : []
  }

  _update (i, param, grad, updates) {
    let g = this.weightDecay ? grad.add(param.mul(this.weightDecay)) : grad
    if (this.momentum) {
      const b = this.b[i].mul(this.momentum).add(g)
      add(updates, this.b[i], b)
      g = this.nesterov ? g.add(b.mul(this.momentum)) : b
    }
    add(updates, this.params[i], param.sub(this._lr.mul(g)))
  }
}

/** Adam (Kingma and Ba, 2015); weightDecay is added to the gradient. */
class Adam extends Optimizer {
  constructor (params, ...args) {
    const { lr, betas, eps, weightDecay } = named('Adam', args, { lr: 0.001, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0 })
    super(params, lr)
    this.betas = betas
    this.eps = number(eps, 'Adam: eps')
    this.weightDecay = number(weightDecay, 'Adam: weightDecay')
    this.m = this._state()
    this.v = this._state()
    // The powers beta^t, in float64 because they come close to 1 and are subtracted from it.
    this._powers = [0, 1].map(() => new Tensor(Float64Array.of(1), { shape: [] }))
  }

  _begin (updates) {
    return this._powers.map((power, i) => {
      const next = power.mul(this.betas[i])
      add(updates, power, next)
      return next.sub(1, { reverse: true }).reciprocal().float()
    })
  }

  _update (i, param, grad, updates, [first, second]) {
    const [beta1, beta2] = this.betas
    const g = this.weightDecay && !this._decoupled ? grad.add(param.mul(this.weightDecay)) : grad
    const m = this.m[i].mul(beta1).add(g.mul(1 - beta1))
    const v = this.v[i].mul(beta2).add(g.square().mul(1 - beta2))
    const from = this.weightDecay && this._decoupled
      ? param.mul(this._lr.mul(this.weightDecay).sub(1, { reverse: true }))
      : param
    const change = this._lr.mul(m.mul(first)).div(v.mul(second).sqrt().add(this.eps))
    add(updates, this.params[i], from.sub(change))
    add(updates, this.m[i], m)
    add(updates, this.v[i], v)
  }
}

/** Whether weight decay acts on the parameter itself rather than on its gradient. */
Adam.prototype._decoupled = false

/** Adam whose weight decay acts on the parameter itself (Loshchilov and Hutter, 2019). */
class AdamW extends Adam {
  constructor (params, ...args) {
    super(params, named('AdamW', args, { lr: 0.001, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0.01 }))
  }
}
AdamW.prototype._decoupled = true

module.exports = { Optimizer, SGD, Adam, AdamW }
