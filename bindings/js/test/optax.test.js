'use strict'
// polygrad/optax: programs as they are written for @jax-js/optax.

const assert = require('node:assert')
const test = require('node:test')
const { grad, jit, numpy: np, setOwnership } = require('polygrad/jax')
const {
  adam, adamw, addDecayedWeights, applyUpdates, chain, clipByGlobalNorm, identity, initEmptyState, l2Loss,
  scale, scaleBySchedule, setToZero, sgd, squaredError, treeBiasCorrection, treeMax, treeNorm, treeOnesLike,
  treeSum, treeUpdateMoment, treeZerosLike
} = require('polygrad/optax')

const near = (found, expected) => found.forEach((x, i) => assert.ok(Math.abs(x - expected[i]) < 1e-5, `${found}, expected ${expected}`))
const loss = (p) => np.square(p.w.mul(np.array([1, 2, 3])).sum().add(p.b.sum()).sub(1)).div(10)

/** Five steps from the same parameters. */
function trained (transform) {
  let params = { w: np.array([1, -2, 3]), b: np.array([[0.5]]) }
  let state = transform.init(params)
  for (let i = 0; i < 5; i++) {
    let updates
    ;[updates, state] = transform.update(grad(loss)(params), state, params)
    params = applyUpdates(params, updates)
  }
  return [...params.w.js(), ...params.b.js()[0]]
}

test('optimizers step as those of optax in Python', () => {
  near(trained(adam(0.1)), [0.51187044, -2.4881296, 2.5118704, 0.01187043])
  near(trained(adam(0.1, { nesterov: true })), [0.46520957, -2.5347903, 2.4652097, -0.03479035])
  near(trained(adamw(0.1, { weightDecay: 0.01 })), [0.50804085, -2.476989, 2.498061, 0.01053587])
  near(trained(adamw(0.1, { weightDecay: 0.1, mask: { w: true, b: false } })), [0.47429517, -2.3786752, 2.3762753, 0.01350235])
  near(trained(sgd(0.01)), [0.9482025, -2.103595, 2.8446074, 0.4482025])
  near(trained(sgd(0.01, { momentum: 0.9 })), [0.8653954, -2.2692091, 2.5961864, 0.3653954])
  near(trained(sgd(0.01, { momentum: 0.9, nesterov: true })), [0.8363695, -2.327261, 2.5091085, 0.33636948])
  near(trained(chain(clipByGlobalNorm(1), scale(-0.1))), [0.8709005, -2.258199, 2.6127021, 0.3709005])
  near(trained(sgd((count) => np.array(0.01).div(count.add(1)))), [0.97549516, -2.049010, 2.9264853, 0.47549510])
  near(trained(setToZero()), [1, -2, 3, 0.5])
})

test('the program of the README of jax-js, which owns its arrays', () => {
  setOwnership('strict')
  try {
    let params = np.array([1, 2, 3])
    const solver = adam(1e-2)
    let state = solver.init(params.ref)
    let updates
    const f = (x) => squaredError(x, np.ones([3])).sum()
    const slope = jit(grad(f))
    for (let i = 0; i < 600; i++) {
      [updates, state] = solver.update(slope(params.ref), state)
      params = applyUpdates(params, updates)
    }
    assert.strictEqual(params.refCount, 1)
    near(params.ref.js().map((x) => Math.round(10 * x) / 10), [1, 1, 1])
    const [same] = identity().update(params, identity().init(params.ref))
    assert.strictEqual(same.refCount, 1)
    same.dispose()
  } finally {
    setOwnership('shared')
  }
})

test('trees and losses', () => {
  const tr = { a: np.array([3, -4]), b: [np.array(12)] }
  assert.deepStrictEqual([treeSum(tr).js(), treeMax(tr).js(), treeNorm(tr).js(), treeNorm(tr, null, true).js()],
    [11, 12, 13, 169])
  assert.deepStrictEqual([treeNorm(tr, 1).js(), treeNorm(tr, Infinity).js()], [19, 12])
  assert.deepStrictEqual([treeZerosLike(tr).a.js(), treeOnesLike(tr, np.int32).a.dtype], [[0, 0], 'int32'])
  assert.deepStrictEqual(treeUpdateMoment(tr, treeOnesLike(tr), 0.5, 2).a.js(), [5, 8.5])
  near(treeBiasCorrection(tr, 0.5, np.array(2, { dtype: np.int32 })).a.js(), [4, -16 / 3])
  assert.deepStrictEqual([l2Loss(np.array([3])).js(), squaredError(np.array([3]), np.array([1])).js()], [[4.5], [4]])
  assert.deepStrictEqual(initEmptyState(tr), [])
})

test('bad input', () => {
  assert.throws(() => adam(0.1, { beta: 1 }), /adam: options: beta, expected b1, b2, eps, epsRoot, nesterov/)
  assert.throws(() => sgd('fast'), TypeError)
  assert.throws(() => clipByGlobalNorm(0), RangeError)
  assert.throws(() => treeNorm([np.array(1)], 3), RangeError)
  assert.throws(() => chain(3), /transforms\[0\]/)
  assert.throws(() => addDecayedWeights().update([np.array(1)], []), /params: undefined/)
  assert.throws(() => scaleBySchedule(1), TypeError)
  const step = (t, updates, params) => t.update(updates, t.init(params), params)
  assert.throws(() => step(adam(0.1, { b1: 'x' }), np.ones([2]), np.ones([2])), /scaleByAdam: b1: is "x", expected a tensor or a number/)
  assert.throws(() => step(adam(0.1), { a: np.ones([2]) }, { b: np.ones([2]) }), /JsTreeDef\(\{b: \*\}\), expected JsTreeDef\(\{a: \*\}\)/)
})
