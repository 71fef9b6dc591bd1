'use strict'
/** Optimizers as gradient transformations, as @jax-js/optax has them. index.d.ts tells what they do. */

const { consumes, numpy: np, tree, Array: JaxArray } = require('../jax/index.js')
const { show } = require('../arguments.js')
const { operation, call } = require('../call.js')

const map = tree.map
const isObject = (value) => typeof value === 'object' && value !== null

/** An object of settings with their defaults; other names are an error. */
function settings (who, given, defaults) {
  if (!isObject(given) || Array.isArray(given)) throw new TypeError(`${who}: options: ${show(given)}, expected an object`)
  const other = Object.keys(given).find((key) => !Object.hasOwn(defaults, key))
  if (other !== undefined) throw new TypeError(`${who}: options: ${other}, expected ${Object.keys(defaults).join(', ')}`)
  return { ...defaults, ...given }
}

/** A gradient transformation: init maps parameters to a state, update maps updates and a state to new updates and the next state. */
function transformation (init, update) {
  return { init: consumes(init), update: consumes(update) }
}

const zeroCount = () => np.array(0, { dtype: np.int32 })
const next = (count) => count.add(1)

// Functions of trees

const treeZerosLike = consumes((tr, dtype) => map((x) => np.zerosLike(x, dtype === undefined ? {} : { dtype }), tr))
const treeOnesLike = consumes((tr, dtype) => map((x) => np.onesLike(x, dtype === undefined ? {} : { dtype }), tr))

/** Reduces a tree: applies f to each leaf, and combines the results pairwise; empty is the result for no leaves. */
const reduced = (tr, f, combine, empty) => {
  const found = tree.leaves(tr).map(f)
  return found.length === 0 ? np.array(empty) : found.reduce(combine)
}

const treeSum = consumes((tr) => reduced(tr, (x) => np.sum(x), (a, b) => np.add(a, b), 0))
const treeMax = consumes((tr) => reduced(tr, (x) => np.max(x), (a, b) => np.maximum(a, b), -Infinity))

/** A norm of all elements of a tree: 1, 2 (also null) or Infinity. */
const treeNorm = consumes((tr, ord = null, squared = false) => {
  if (![null, 1, 2, Infinity, 'inf'].includes(ord)) throw new RangeError(`treeNorm: ord: ${show(ord)}, expected 1, 2, Infinity or null`)
  const square = (x) => np.square(x)
  if (ord === null || ord === 2) {
    const sum = treeSum(map(square, tr))
    return squared ? sum : np.sqrt(sum)
  }
  const norm = ord === 1 ? treeSum(map((x) => np.abs(x), tr)) : treeMax(map((x) => np.abs(x), tr))
  return squared ? square(norm) : norm
})

const treeUpdateMoment = consumes((updates, moments, decay, order) => map(
  (g, m) => np.power(g, order).mul(1 - decay).add(m.mul(decay)), updates, moments))

const treeBiasCorrection = consumes((moments, decay, count) => {
  const correction = np.power(decay, np.astype(count, np.float32)).mul(-1).add(1)
  return map((m) => m.div(np.astype(correction, m.dtype)), moments)
})

const applyUpdates = consumes((params, updates) => map((p, u) => np.astype(p.add(u), p.dtype), params, updates))

// Losses

const squaredError = consumes((predictions, targets) => np.square(targets === undefined ? predictions : predictions.sub(targets)))
const l2Loss = consumes((predictions, targets) => squaredError(predictions, targets).mul(0.5))

// Transformations

/** The tensor of an array; null if there is none. */
function tensorOf (array) {
  if (array?.refCount === 0) throw new ReferenceError(`Referenced tracer ${array.toString()} freed`)
  return array?._tensor ?? null
}

/** Applies an update rule of the library (tensor.UpdateRules) to updates and states of the same structure: [new updates, ...new states]. */
function byRule (name, updates, count, states, values) {
  const [leaves, structure] = tree.flatten(updates)
  const own = states.map((state) => tree.leaves(map((_, x) => tensorOf(x), updates, state)))
  const found = leaves.map((g, i) => {
    const results = call(operation(`optim.${name}`), tensorOf(g), [null, tensorOf(count), own.map((s) => s[i]), ...values])
    return results.map((tensor) => new JaxArray(tensor))
  })
  return [...states, null].map((_, k) => tree.unflatten(structure, found.map((results) => results[k])))
}

const initEmptyState = consumes(() => [])

const identity = () => transformation(initEmptyState, (updates, state) => [updates, state])
const setToZero = () => transformation(initEmptyState, (updates, state) => [map((u) => np.zerosLike(u), updates), state])

function scale (stepSize) {
  if (typeof stepSize !== 'number') throw new TypeError(`scale: stepSize: ${show(stepSize)}, expected a number`)
  return transformation(initEmptyState, (updates, state) => [map((u) => u.mul(stepSize), updates), state])
}

function scaleBySchedule (stepSizeFn) {
  if (typeof stepSizeFn !== 'function') throw new TypeError(`scaleBySchedule: stepSizeFn: ${show(stepSizeFn)}, expected a function`)
  return transformation(() => ({ count: zeroCount() }), (updates, { count }) => {
    const size = stepSizeFn(count)
    return [map((u) => u.mul(size instanceof JaxArray ? np.astype(size, u.dtype) : size), updates), { count: next(count) }]
  })
}

function scaleByLearningRate (learningRate, flipSign = true) {
  const sign = flipSign ? -1 : 1
  if (typeof learningRate === 'function') {
    return scaleBySchedule((count) => {
      const rate = learningRate(count)
      return rate instanceof JaxArray ? rate.mul(sign) : sign * rate
    })
  }
  if (typeof learningRate !== 'number') {
    throw new TypeError(`scaleByLearningRate: learningRate: ${show(learningRate)}, expected a number or a schedule`)
  }
  return scale(sign * learningRate)
}

function trace (options = {}) {
  const { decay, nesterov } = settings('trace', options, { decay: 0.9, nesterov: false, accumulatorDtype: undefined })
  const { accumulatorDtype } = options
  return transformation((params) => ({ trace: treeZerosLike(params, accumulatorDtype) }), (updates, state) => {
    const [found, sums] = byRule('trace', updates, null, [state.trace], [decay, nesterov])
    return [found, { trace: sums }]
  })
}

const ADAM = { b1: 0.9, b2: 0.999, eps: 1e-8, epsRoot: 0, nesterov: false }

function scaleByAdam (options = {}) {
  const { b1, b2, eps, epsRoot, nesterov } = settings('scaleByAdam', options, ADAM)
  return transformation((params) => ({ count: zeroCount(), mu: treeZerosLike(params), nu: treeZerosLike(params) }), (updates, state) => {
    const count = next(state.count)
    const [found, mu, nu] = byRule('scale_by_adam', updates, count, [state.mu, state.nu], [b1, b2, eps, epsRoot, nesterov])
    return [found, { count, mu, nu }]
  })
}

function addDecayedWeights (options = {}) {
  const { weightDecay, mask } = settings('addDecayedWeights', options, { weightDecay: 0, mask: null })
  return transformation(initEmptyState, (updates, state, params) => {
    if (params === undefined) throw new TypeError('addDecayedWeights: update: params: undefined, expected the parameters')
    const wanted = typeof mask === 'function' ? mask(params) : mask
    const decayed = (u, p) => u.add(p.mul(weightDecay))
    return [wanted === null ? map(decayed, updates, params) : map((u, p, m) => m ? decayed(u, p) : u, updates, params, wanted), state]
  })
}

function clipByGlobalNorm (maxNorm) {
  if (!(maxNorm > 0)) throw new RangeError(`clipByGlobalNorm: maxNorm: ${show(maxNorm)}, expected a positive number`)
  return transformation(initEmptyState, (updates, state) => {
    const norm = treeNorm(updates)
    const factor = np.where(norm.less(maxNorm), 1, np.array(maxNorm, { dtype: np.float32 }).div(norm))
    return [map((u) => u.mul(np.astype(factor, u.dtype)), updates), state]
  })
}

function chain (...transforms) {
  transforms.forEach((t, i) => {
    if (typeof t?.init !== 'function' || typeof t?.update !== 'function') {
      throw new TypeError(`chain: transforms[${i}]: ${show(t)}, expected an object of init and update`)
    }
  })
  return transformation((params) => transforms.map((t) => t.init(params)), (updates, state, params) => {
    if (!Array.isArray(state) || state.length !== transforms.length) {
      throw new TypeError(`chain: update: state: expected an array of ${transforms.length} states, as init returns`)
    }
    const states = []
    let found = updates
    transforms.forEach((t, i) => {
      const [after, own] = t.update(found, state[i], params)
      found = after
      states.push(own)
    })
    return [found, states]
  })
}

// Optimizers

const only = (options, names) => Object.fromEntries(Object.entries(options).filter(([key]) => names.includes(key)))

function sgd (learningRate, options = {}) {
  const defaults = { momentum: null, nesterov: false, accumulatorDtype: undefined }
  const { momentum, nesterov, accumulatorDtype } = settings('sgd', options, defaults)
  const steps = momentum === null ? [identity()] : [trace({ decay: momentum, nesterov, ...(accumulatorDtype && { accumulatorDtype }) })]
  return chain(...steps, scaleByLearningRate(learningRate))
}

function adam (learningRate, options = {}) {
  return chain(scaleByAdam(settings('adam', options, ADAM)), scaleByLearningRate(learningRate))
}

function adamw (learningRate, options = {}) {
  const all = settings('adamw', options, { ...ADAM, weightDecay: 1e-4, mask: null })
  return chain(scaleByAdam(only(all, Object.keys(ADAM))), addDecayedWeights(only(all, ['weightDecay', 'mask'])),
    scaleByLearningRate(learningRate))
}

module.exports = {
  adam,
  adamw,
  addDecayedWeights,
  applyUpdates,
  chain,
  clipByGlobalNorm,
  identity,
  initEmptyState,
  l2Loss,
  scale,
  scaleByAdam,
  scaleByLearningRate,
  scaleBySchedule,
  setToZero,
  sgd,
  squaredError,
  trace,
  treeBiasCorrection,
  treeMax,
  treeNorm,
  treeOnesLike,
  treeSum,
  treeUpdateMoment,
  treeZerosLike
}
