'use strict'
/**
 * Schedules of learning rates, with PyTorch's names and conventions.
 *
 * A schedule belongs to an optimizer, sets its rate when it is made and again by each step(), which
 * comes after the optimizer's. The rate and the number of steps are tensors: a step that stands in a
 * function given to compileStep is part of the program, and one that stands outside changes the rate
 * that the program reads. In neither case is anything compiled again.
 */

const { PolygradError } = require('../library.js')
const { Tensor } = require('../tensor.js')
const { assign } = require('../writing.js')
const { byNodes, tidy } = require('../base.js')
const { tracing } = require('../trace.js')
const { Optimizer, OptimizerGroup } = require('./optim.js')
const { named, number, integer, list, show } = require('../arguments.js')

// PolyRateSchedule.
const [STEP, MULTISTEP, EXPONENTIAL, CONSTANT, LINEAR, POLYNOMIAL, COSINE, RESTARTS, WARMUP, ONE_CYCLE] = Array(10).keys()

function needOptimizer (name, optimizer) {
  if (optimizer instanceof OptimizerGroup) {
    throw new TypeError(`${name}: optimizer: a group; make a schedule for each of its optimizers`)
  }
  if (!(optimizer instanceof Optimizer)) throw new TypeError(`${name}: optimizer: ${show(optimizer)}, expected an optimizer`)
  return optimizer
}

/** Carries updates out; temporary tensors go. */
function change (updates) {
  const run = () => {
    const [targets, values] = updates()
    assign(targets, values)
  }
  if (tracing()) run()
  else tidy(run)
}

/**
 * What schedules share: the number of steps so far, epochCounter, and a rate made of it. The first
 * schedule of an optimizer keeps its rate; all of its schedules begin with that.
 */
class LRScheduler {
  constructor (optimizer, schedule, numbers) {
    const name = this.constructor.name
    this.optimizer = needOptimizer(name, optimizer)
    this._schedule = schedule
    this._numbers = Float64Array.from(numbers, (v) => number(v, name))
    optimizer._initialLr ??= new Tensor(Float32Array.of(optimizer.lr), { shape: [], requiresGrad: false }).keep()
    this.baseLr = optimizer._initialLr
    this.epochCounter = new Tensor(Int32Array.of(0), { shape: [], requiresGrad: false }).keep()
  }

  /** Sets the rate of the first step. */
  _start () {
    change(() => [[this.optimizer._lr], [this.getLr()]])
  }

  /** The rate for the number of steps so far, a tensor of one element. */
  getLr () {
    return this._rate(this.baseLr, this.epochCounter)
  }

  /** The rate of the optimizer, in a list. */
  getLastLr () {
    return [this.optimizer.lr]
  }

  /** Counts a step and sets the rate of the next one. */
  step () {
    change(() => {
      const now = this.epochCounter.add(1)
      return [[this.epochCounter, this.optimizer._lr], [now, this._rate(this.baseLr, now)]]
    })
  }

  /** The rate after t steps of a schedule that begins with lr. */
  _rate (lr, t) {
    return byNodes('poly_learning_rate', 1, lr, t, this._schedule, this._numbers, this._numbers.length)[0]
  }
}

/** Makes the class of a schedule: its arguments with their defaults, and the numbers of the library made of them. */
function scheduleClass (name, schedule, defaults, numbersOf) {
  const holder = {
    [name]: class extends LRScheduler {
      constructor (optimizer, ...args) {
        const values = named(name, args, defaults)
        for (const key in values) {
          if (values[key] === undefined) throw new TypeError(`${name}: ${key}: undefined, expected a number`)
        }
        super(optimizer, schedule, numbersOf(values))
        this._start()
      }
    }
  }
  return holder[name]
}

/** The rate times gamma after each stepSize steps. */
const StepLR = scheduleClass('StepLR', STEP, { stepSize: undefined, gamma: 0.1 }, (o) => [o.stepSize, o.gamma])

/** The rate times gamma for each milestone that the number of steps has reached. */
const MultiStepLR = scheduleClass('MultiStepLR', MULTISTEP, { milestones: undefined, gamma: 0.1 }, (o) => [o.gamma, ...list(o.milestones)])

/** The rate times gamma after each step. */
const ExponentialLR = scheduleClass('ExponentialLR', EXPONENTIAL, { gamma: undefined }, (o) => [o.gamma])

/** The rate times factor before totalIters steps, then the rate itself. */
const ConstantLR = scheduleClass('ConstantLR', CONSTANT, { factor: 1 / 3, totalIters: 5 }, (o) => [o.factor, o.totalIters])

/** The rate times a factor that goes from startFactor to endFactor in totalIters steps: a warmup. */
const LinearLR = scheduleClass('LinearLR', LINEAR, { startFactor: 1 / 3, endFactor: 1, totalIters: 5 },
  (o) => [o.startFactor, o.endFactor, o.totalIters])

/** The rate times (1 - t/totalIters)^power after t steps, 0 from totalIters on. */
const PolynomialLR = scheduleClass('PolynomialLR', POLYNOMIAL, { totalIters: 5, power: 1 }, (o) => [o.totalIters, o.power])

/** The rate goes down to etaMin along a half cosine of TMax steps, and up again (arXiv:1608.03983). */
const CosineAnnealingLR = scheduleClass('CosineAnnealingLR', COSINE, { TMax: undefined, etaMin: 0 }, (o) => [o.TMax, o.etaMin])

/** Half cosines down to etaMin in T0, T0 * TMult, T0 * TMult^2 … steps (arXiv:1608.03983). */
const CosineAnnealingWarmRestarts = scheduleClass('CosineAnnealingWarmRestarts', RESTARTS, { T0: undefined, TMult: 1, etaMin: 0 },
  (o) => [o.T0, o.TMult, o.etaMin])

/**
 * One cycle: from maxLr/divFactor up to maxLr, and down to that /finalDivFactor. The rise takes the share
 * pctStart of totalSteps. annealStrategy is "cos" or "linear"; with threePhase the rate goes back to where it
 * began as fast as it rose, and falls after that. Smith and Topin, Super-convergence, arXiv:1708.07120.
 */
const OneCycleLR = scheduleClass('OneCycleLR', ONE_CYCLE, {
  maxLr: undefined, totalSteps: undefined, pctStart: 0.3, annealStrategy: 'cos', divFactor: 25, finalDivFactor: 1e4, threePhase: false
}, (o) => {
  if (!['cos', 'linear'].includes(o.annealStrategy)) {
    throw new PolygradError(`OneCycleLR: annealStrategy: ${show(o.annealStrategy)}, expected "cos" or "linear"`)
  }
  const shape = [o.annealStrategy === 'linear' ? 1 : 0, o.divFactor, o.finalDivFactor, o.threePhase ? 1 : 0]
  return [o.maxLr, o.totalSteps, o.pctStart, ...shape]
})

/** A rise to baseLr in warmupSteps steps, then a half cosine of decaySteps down to endLr. */
class CosineAnnealingLRWithWarmup extends LRScheduler {
  constructor (optimizer, ...args) {
    const name = 'CosineAnnealingLRWithWarmup'
    const { baseLr, endLr, warmupSteps, decaySteps } = named(name, args,
      { baseLr: undefined, endLr: undefined, warmupSteps: undefined, decaySteps: undefined })
    needOptimizer(name, optimizer).lr = baseLr
    optimizer._initialLr = null
    super(optimizer, WARMUP, [warmupSteps, decaySteps, endLr])
    this._start()
  }
}

/**
 * The rate times fn(t) after t steps. t is a number, but inside of compileStep a tensor of one element, of
 * which fn must make its result by operations of tensors.
 */
class LambdaLR extends LRScheduler {
  constructor (optimizer, lrLambda) {
    if (typeof lrLambda !== 'function') throw new TypeError(`LambdaLR: lrLambda: ${show(lrLambda)}, expected a function`)
    super(optimizer, 0, [])
    this.lrLambda = lrLambda
    this._start()
  }

  _rate (lr, t) {
    return lr.mul(tracing() ? this.lrLambda(t) : number(this.lrLambda(t.item()), 'LambdaLR: what lrLambda returns'))
  }
}

/** Schedules of one optimizer one after the other; each begins anew at its milestone. */
class SequentialLR extends LRScheduler {
  constructor (optimizer, ...args) {
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
    super(optimizer, 0, [])
    this.schedulers = schedulers
    this.milestones = steps
    this._start()
  }

  _rate (lr, t) {
    return this.schedulers.slice(1).reduce((rate, schedule, i) => {
      const begin = this.milestones[i]
      return t.ge(begin).where(schedule._rate(schedule.baseLr, t.sub(begin)), rate)
    }, this.schedulers[0]._rate(this.schedulers[0].baseLr, t))
  }
}

const PLATEAU = {
  mode: 'min', factor: 0.1, patience: 10, threshold: 1e-4, thresholdMode: 'rel', cooldown: 0, minLr: 0, eps: 1e-8
}

/**
 * The rate times factor when a metric has stopped getting better. step(metric) counts the steps without a
 * metric that is less ("min") or greater ("max") than the best one so far by more than threshold, or
 * threshold times the best ("rel", not "abs"). After more than patience of them the rate falls, to at least
 * minLr and by more than eps, and cooldown steps do not count. Inside of compileStep the metric is a tensor.
 */
class ReduceLROnPlateau {
  constructor (optimizer, ...args) {
    const name = 'ReduceLROnPlateau'
    const o = named(name, args, PLATEAU)
    for (const [key, choices] of [['mode', ['min', 'max']], ['thresholdMode', ['rel', 'abs']]]) {
      if (!choices.includes(o[key])) throw new PolygradError(`${name}: ${key}: ${show(o[key])}, expected one of ${choices.join(', ')}`)
    }
    this.optimizer = needOptimizer(name, optimizer)
    const numbers = ['threshold', 'factor', 'minLr', 'eps'].map((key) => number(o[key], `${name}: ${key}`))
    const counts = ['patience', 'cooldown'].map((key) => Number(integer(o[key], `${name}: ${key}`)))
    this._settings = [o.mode === 'max' ? 1 : 0, o.thresholdMode === 'rel' ? 1 : 0, ...numbers, ...counts]
    this.best = new Tensor(Float32Array.of(o.mode === 'max' ? -Infinity : Infinity), { shape: [], requiresGrad: false }).keep()
    this.numBadEpochs = new Tensor(Int32Array.of(0), { shape: [], requiresGrad: false }).keep()
    this.cooldownCounter = new Tensor(Int32Array.of(0), { shape: [], requiresGrad: false }).keep()
    // Arguments that do not fit are an error here.
    tidy(() => { this._next(this.best) })
  }

  _next (metric) {
    const state = [this.optimizer._lr, this.best, this.numBadEpochs, this.cooldownCounter]
    return [state, byNodes('poly_plateau', 4, state[0], metric, ...state.slice(1), ...this._settings)]
  }

  /** Looks at a metric, which is a number or a tensor of one element. */
  step (metric) {
    change(() => {
      const value = metric instanceof Tensor ? metric : new Tensor(Float32Array.of(number(metric, 'ReduceLROnPlateau: metric')))
      return this._next(value.detach())
    })
  }

  /** The rate of the optimizer, in a list. */
  getLastLr () {
    return [this.optimizer.lr]
  }
}

module.exports = {
  LRScheduler,
  StepLR,
  MultiStepLR,
  ExponentialLR,
  ConstantLR,
  LinearLR,
  PolynomialLR,
  CosineAnnealingLR,
  CosineAnnealingLRWithWarmup,
  CosineAnnealingWarmRestarts,
  OneCycleLR,
  LambdaLR,
  SequentialLR,
  ReduceLROnPlateau
}
