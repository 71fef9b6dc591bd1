'use strict'
/** The base classes of learning rate schedules, and schedules that are made of functions or of other schedules. */

const { PolygradError } = require('../library.js')
const { Tensor } = require('../tensor.js')
const { assign } = require('../writing.js')
const { tidy } = require('../base.js')
const { operationOf } = require('../call.js')
const { Shown } = require('../shown.js')
const { tracing } = require('../trace.js')
const { Optimizer, OptimizerGroup } = require('./optimizer.js')
const { named, number, integer, list, show } = require('../arguments.js')

/** Describes how a schedule is made: by an operation, from settings with defaults. */
function made (name, settings) {
  const before = name === 'ReduceLROnPlateau' ? [['metric'], ['best'], ['bad'], ['cooling']] : [['t']]
  return { name, rate: operationOf(name, [...before, ...Object.entries(settings)]), settings }
}

function needOptimizer (name, optimizer) {
  if (optimizer instanceof OptimizerGroup) {
    throw new TypeError(`${name}: optimizer: a group; make a schedule for each of its optimizers`)
  }
  if (!(optimizer instanceof Optimizer)) throw new TypeError(`${name}: optimizer: ${show(optimizer)}, expected an optimizer`)
  return optimizer
}

/** A scalar tensor for the state of a schedule. */
function counter (array) {
  return new Tensor(array, { shape: [], requiresGrad: false }).keep()
}

/** Assigns updates, which returns [targets, values]; disposes of temporary tensors. */
function change (updates) {
  const run = () => { assign(...updates()) }
  if (tracing()) run()
  else tidy(run)
}

class LRScheduler extends Shown {
  constructor (optimizer, ...args) {
    super()
    this._begin(new.target._made, optimizer, args)
  }

  /** Initializes the state, and sets the rate of the first step. */
  _begin ({ name, rate, settings }, optimizer, args) {
    const values = named(name, args, settings)
    this._operation = rate
    this._numbers = Object.values(values)
    this.optimizer = needOptimizer(name, optimizer)
    if ('baseLr' in values) {
      optimizer.lr = values.baseLr
      optimizer._initialLr = null
    }
    if (optimizer._initialLr == null) optimizer._initialLr = counter(Float32Array.of(optimizer.lr))
    this.baseLr = optimizer._initialLr
    this.epochCounter = counter(Int32Array.of(0))
    change(() => [[optimizer._lr], [this.getLr()]])
  }

  getLr () {
    return this._rate(this.baseLr, this.epochCounter)
  }

  getLastLr () {
    return [this.optimizer.lr]
  }

  step () {
    change(() => {
      const now = this.epochCounter.add(1)
      return [[this.epochCounter, this.optimizer._lr], [now, this._rate(this.baseLr, now)]]
    })
  }

  /** The rate after t steps of a schedule that begins with lr. */
  _rate (lr, t) {
    return this._operation.one(lr, [t, ...this._numbers])
  }
}

class LambdaLR extends LRScheduler {
  _begin (_, optimizer, [lrLambda]) {
    if (typeof lrLambda !== 'function') throw new TypeError(`LambdaLR: lrLambda: ${show(lrLambda)}, expected a function`)
    this.lrLambda = lrLambda
    super._begin({ name: 'LambdaLR', settings: {} }, optimizer, [])
  }

  _rate (lr, t) {
    return lr.mul(tracing() ? this.lrLambda(t) : number(this.lrLambda(t.item()), 'LambdaLR: what lrLambda returns'))
  }
}

class SequentialLR extends LRScheduler {
  _begin (_, optimizer, args) {
    const { schedulers, milestones } = named('SequentialLR', args, { schedulers: [], milestones: [] })
    if (!Array.isArray(schedulers)) throw new TypeError(`SequentialLR: schedulers: ${show(schedulers)}, expected a list of schedules`)
    const steps = list(milestones).map((m) => Number(integer(m, 'SequentialLR: milestones')))
    if (schedulers.length !== steps.length + 1 || steps.some((m, i) => i > 0 && m < steps[i - 1])) {
      throw new PolygradError(`SequentialLR: milestones: ${show(steps)} for ${schedulers.length} schedules, expected the steps, ` +
        'in their order, at which the ones after the first begin')
    }
    if (schedulers.some((s) => !(s instanceof LRScheduler) || s.optimizer !== optimizer)) {
      throw new PolygradError('SequentialLR: schedulers: expected schedules of the optimizer')
    }
    this.schedulers = schedulers
    this.milestones = steps
    super._begin({ name: 'SequentialLR', settings: {} }, optimizer, [])
  }

  _rate (lr, t) {
    return this.schedulers.slice(1).reduce((rate, schedule, i) => {
      const begin = this.milestones[i]
      return t.ge(begin).where(schedule._rate(schedule.baseLr, t.sub(begin)), rate)
    }, this.schedulers[0]._rate(this.schedulers[0].baseLr, t))
  }
}

class Plateau extends Shown {
  constructor (optimizer, ...args) {
    super()
    const { name, rate, settings } = new.target._made
    const values = named(name, args, settings)
    this.optimizer = needOptimizer(name, optimizer)
    this._operation = rate
    this._numbers = Object.values(values)
    this.best = counter(Float32Array.of(values.mode === 'max' ? -Infinity : Infinity))
    this.numBadEpochs = counter(Int32Array.of(0))
    this.cooldownCounter = counter(Int32Array.of(0))
    // A trial call, so that invalid settings are an error in the constructor.
    tidy(() => { this._next(this.best) })
  }

  _next (metric) {
    const state = [this.optimizer._lr, this.best, this.numBadEpochs, this.cooldownCounter]
    return [state, this._operation.all(state[0], [metric, ...state.slice(1), ...this._numbers])]
  }

  step (metrics) {
    const name = `${this.constructor.name}: metrics`
    change(() => {
      const value = metrics instanceof Tensor ? metrics : new Tensor(Float32Array.of(number(metrics, name)))
      return this._next(value.detach())
    })
  }

  getLastLr () {
    return [this.optimizer.lr]
  }
}

module.exports = { LRScheduler, LambdaLR, SequentialLR, Plateau, made }
