'use strict'
/** polygrad/jax: random, numbers by key as JAX makes them. index.d.ts tells what the functions do. */

const { Base, describe } = require('../base.js')
const R = require('../random.js')
const { show } = require('../arguments.js')
const { define, defineAll, liftedOperation } = require('./call.js')

const sizes = (shape) => shape === undefined ? [] : shape

/** Wraps a sampler: a function of a key, of array-like parameters, and of a shape. */
const sampler = (name, parameters = [], defaults = {}) => {
  const list = ['key:x', ...parameters.map((p) => `${p}${p in defaults ? '?' : ''}:x`), 'shape?']
  return [name, define(`${name}(${list.join(', ')})`, (key, ...rest) => {
    const given = Object.fromEntries(parameters.map((p, i) => [p, rest[i] ?? defaults[p]]))
    const shape = rest[parameters.length]
    const batch = Object.values(given).filter((value) => value instanceof Base).map((value) => describe(value).shape)
    const widest = batch.reduce((a, b) => b.length > a.length ? b : a, [])
    return R[name](key, { ...given, shape: shape ?? (parameters.length > 0 ? widest : []) })
  })]
}

const samplers = Object.fromEntries([
  sampler('cauchy'), sampler('exponential'), sampler('gumbel'), sampler('laplace'), sampler('logistic'), sampler('maxwell'),
  sampler('normal'), sampler('doubleSidedMaxwell', ['loc', 'scale']), sampler('lognormal', ['sigma'], { sigma: 1 }),
  sampler('pareto', ['b']), sampler('rayleigh', ['scale'], { scale: 1 }), sampler('triangular', ['left', 'mode', 'right']),
  sampler('weibullMin', ['scale', 'concentration'])
])

const dtypeOf = (dtype) => dtype === undefined ? {} : { dtype }

const others = defineAll({
  'key(seed:x)': (seed) => R.key(seed.item()),
  'split(key:x, num?)': (key, num = 2) => R.split(key, num),
  'bits(key:x, shape?)': (key, shape) => R.bits(key, { shape: sizes(shape) }),
  'uniform(key:x, shape?, options?:o)': (key, shape, { minval = 0, maxval = 1 } = {}) =>
    R.uniform(key, { shape: sizes(shape), minval, maxval }),
  'ball(key:x, d, options?:o)': (key, d, { p = 2, shape } = {}) => R.ball(key, { d, p, shape: sizes(shape) }),
  'bernoulli(key:x, p?:x, shape?)': (key, p, shape) => R.bernoulli(key, {
    p: p ?? 0.5, shape: shape ?? (p === undefined ? [] : describe(p).shape)
  }),
  'categorical(key:x, logits:x, options?:o)': (key, logits, { axis = -1, shape = null, replace = true } = {}) =>
    R.categorical(key, { logits, axis, shape, replace }).cast('int32'),
  'choice(key:x, a:x, options?:o)': (key, a, { shape = [], replace = true, p = null, axis = 0 } = {}) =>
    R.choice(key, { a: population(a), shape, replace, p, axis }),
  'geometric(key:x, p:x, options?:o)': (key, p, { shape, dtype } = {}) =>
    R.geometric(key, { p, shape: shape ?? describe(p).shape, ...dtypeOf(dtype) }),
  'multivariateNormal(key:x, mean:x, cov:x, shape?)': (key, mean, cov, shape) =>
    R.multivariateNormal(key, { mean, cov, shape: shape ?? describe(mean).shape.slice(0, -1) }),
  'permutation(key:x, x:x, axis?)': (key, x, axis = 0) => R.permutation(key, { x: population(x), axis }),
  'rademacher(key:x, options?:o)': (key, { shape, dtype } = {}) => R.rademacher(key, { shape: sizes(shape), ...dtypeOf(dtype) }),
  'randint(key:x, options:o)': (key, { minval, maxval, shape, dtype } = {}) => {
    if (minval === undefined || maxval === undefined) {
      throw new TypeError(`options: ${show({ minval, maxval })}, expected minval and maxval`)
    }
    return R.randint(key, { shape: sizes(shape), minval, maxval, ...dtypeOf(dtype) })
  }
})

/** The population to choose from: an array, or the number n for 0 … n - 1. */
const population = (x) => describe(x).shape.length > 0 ? x : Number(x.item())

const table = { ...samplers, ...others }
const random = Object.freeze({
  ...Object.fromEntries(Object.keys(R).filter((name) => table[name] === undefined).map((name) => [name, liftedOperation(name, R[name])])),
  ...table
})

module.exports = { random }
