'use strict'
// Random numbers by key are those of JAX, as in Go and in Python.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, random, PolygradError } = require('..')

const key = random.key(42)
const flat = (x) => Array.from(x.toArray())

test('what jax.random gives of the key 42', () => {
  const want = {
    key: [random.key(42), [0, 42]],
    'key of -1': [random.key(-1), [0, 2 ** 32 - 1]],
    'key of 2^40 + 3': [random.key(2 ** 40 + 3), [256, 3]],
    'key of a BigInt': [random.key({ seed: 2n ** 40n + 3n }), [256, 3]],
    split: [random.split(key), [1832780943, 270669613, 64467757, 2916123636]],
    foldIn: [random.foldIn(key, 7), [2547012911, 1371500959]],
    bits: [random.bits(key, [4]), [2098992034, 2919706841, 2646866425, 2409546199]],
    'bits of 8': [random.bits(key, { shape: [4], dtype: 'uint8' }), [162, 217, 249, 215]],
    'bits of 64': [random.bits(key, [2], 'uint64'), [7871734211187709741n, 276886910877598708n]],
    uniform: [random.uniform(key, [3]), [0.48870957, 0.6797972, 0.6162715].map(Math.fround)],
    randint: [random.randint(key, [5], 3, 100), [38, 79, 89, 54, 28]],
    'randint of all': [random.randint(key, [3], -(2 ** 31), 2 ** 31 - 1), [977810628, 1236381714, -1367112521]],
    'randint of uint8': [random.randint(key, [5], 0, 256, { dtype: 'uint8' }), [196, 18, 183, 193, 141]],
    permutation: [random.permutation(key, 8), [7, 4, 2, 5, 3, 6, 0, 1]],
    choice: [random.choice(key, 10, [5], { replace: false }), [7, 4, 2, 5, 3]],
    'choice of elements': [random.choice(key, [5, 6, 7, 8, 9, 10, 11, 12, 13, 14], { shape: 5, replace: false }), [12, 9, 7, 10, 8]],
    categorical: [random.categorical(key, [[0, 1, 2], [3, 2, 1]], { shape: [4, 2] }), [2, 0, 2, 0, 1, 0, 1, 0]],
    rademacher: [random.rademacher(key, [6]), [1, -1, -1, -1, 1, -1]],
    geometric: [random.geometric(key, 0.25, [6]), [3, 2, 2, 3, 3, 2]]
  }
  for (const [name, [x, values]] of Object.entries(want)) assert.deepStrictEqual(flat(x), values, name)
})

test('every function of the module draws', () => {
  const arguments_ = {
    key: [1], split: [], foldIn: [1], permutation: [5], choice: [4, [5]], randint: [[5], 0, 9], bernoulli: [0.5, [5]],
    categorical: [new Tensor([0, 1])], geometric: [0.5, [5]], multivariateNormal: [[0, 1], [[1, 0], [0, 2]]], orthogonal: [3],
    truncatedNormal: [-1, 1, [5]], lognormal: [0.5, [5]], pareto: [2, [5]], rayleigh: [2, [5]], doubleSidedMaxwell: [0, 1, [5]],
    weibullMin: [1, 2, [5]], triangular: [0, 1, 2, [5]], wald: [1, [5]],
    gamma: [2, [5]], loggamma: [0.01, [5]], beta: [1, 2, [5]], chisquare: [3, [5]], f: [3, 4, [5]], t: [3, [5]],
    generalizedNormal: [1.5, [5]], dirichlet: [[1, 2, 3]], ball: [3, { shape: [5] }], poisson: [20, [5]], binomial: [50, 0.4, [5]],
    multinomial: [9, [0.2, 0.8]]
  }
  for (const [name, draw] of Object.entries(random)) {
    const x = ['key', 'PRNGKey'].includes(name) ? draw(1) : draw(key, ...arguments_[name] ?? [[5]])
    assert.ok(flat(x).every((v) => Number.isFinite(Number(v))), name)
  }
})

test('arguments by name and their types', () => {
  const x = random.uniform(key, [4], { dtype: 'float64', minval: [1, 2, 3, 4], maxval: 5 })
  assert.strictEqual(x.dtype, 'float64')
  assert.ok(x.tolist().every((v, i) => v >= i + 1 && v < 5))
  assert.deepStrictEqual(random.split(key, 3).shape, [3, 2])
  assert.deepStrictEqual(random.split(key, [2, 3]).shape, [2, 3, 2])
  const [sub] = random.split(key)
  assert.deepStrictEqual(random.normal(sub, { shape: [2, 2] }).shape, [2, 2])
  assert.notDeepStrictEqual(flat(random.normal(sub, [3])), flat(random.normal(key, [3])))
})

test('errors name the function and the argument', () => {
  const wrong = [
    [() => random.uniform(42), TypeError, /^random\.uniform: key: 42, expected a tensor$/],
    [() => random.foldIn(undefined, 1), TypeError, /^random\.foldIn: key: undefined, expected a tensor$/],
    [() => random.uniform(new Tensor([1, 2])), Error, /^random\.uniform: key: /],
    [() => random.uniform(key, ['x']), TypeError, /^random\.uniform: shape/],
    [() => random.uniform(key, [3], { low: 1 }), TypeError, /^random\.uniform: low: unknown argument, expected shape, dtype/],
    [() => random.uniform(key, [3], 'int32'), Error, /^random\.uniform: dtype/],
    [() => random.uniform(key, [3], { dtype: 'x' }), TypeError, /^random\.uniform: dtype/],
    [() => random.randint(key, [3]), Error, /^random\.randint: minval/],
    [() => random.split(key, -1), RangeError, /^random\.split: num/],
    [() => random.truncatedNormal(key, 'a', 1), TypeError, /^random\.truncatedNormal: lower/],
    [() => random.key('x'), TypeError, /^random\.key: seed/],
    [() => random.permutation(key, 1.5), Error, /^random\.permutation: x/]
  ]
  for (const [call, kind, text] of wrong) {
    assert.throws(call, (error) => {
      assert.match(error.message, text)
      assert.ok(error instanceof kind || error instanceof PolygradError && kind === Error, `${error.name}: ${error.message}`)
      return true
    })
  }
  assert.deepStrictEqual(flat(random.uniform(key, [1])).length, 1)
})
