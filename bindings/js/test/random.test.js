'use strict'
// Random tensors are those of tinygrad, and of the Python package, for the same seed.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, Variable } = require('..')

test('each tensor takes the words that it takes in Python', () => {
  Tensor.manualSeed(2n ** 63n + 1337n)
  const attend = (q, k) => q.scaledDotProductAttention(k, k, { dropoutP: 0.5 })
  const found = [
    Tensor.rand(3), Tensor.rand(5, { dtype: 'float64' }), Tensor.rand(5, { dtype: 'float16' }), Tensor.randn(2),
    Tensor.uniform(3, { low: -2, high: 6 }), Tensor.uniform(2, { dtype: 'float64' }),
    Tensor.uniform(2, { low: -5, high: 2 ** 25, dtype: 'int32' }), Tensor.randint(4, { low: -3, high: 40 }),
    Tensor.randint(2, { low: 0, high: 2 ** 24 }), Tensor.normal(2, { mean: 3, std: 2 }), Tensor.randperm(6), Tensor.kaimingNormal(2, 2),
    Tensor.glorotUniform(1, 3, { dtype: 'float64' }), Tensor.scaledUniform(3), Tensor.kaimingUniform(2, 2),
    new Tensor([1, 2, 3]).multinomial(4, true), new Tensor([[1, 2, 3], [1, 2, 3]]).multinomial(2),
    Tensor.train(() => Tensor.ones(9).dropout(0.25)),
    Tensor.train(() => attend(Tensor.ones(2, 3, 4, 2), Tensor.ones(2, 1, 5, 2))),
    Tensor.rand(0), Tensor.ones(2, 3).randLike(), Tensor.rand(2)
  ].map((t) => t.tolist())
  const want = {
    0: [0.9363851547241211, 0.3577392101287842, 0.8367494344711304],
    3: [-1.286417841911316, -0.02415071614086628],
    7: [24, 8, 34, 23],
    10: [1, 2, 5, 4, 3, 0],
    15: [0, 1, 2, 1],
    17: [1, 1, 1, 0, 1, 0, 1, 1, 1].map((kept) => kept / 0.75),
    21: [0.12773525714874268, 0.6284881830215454]
  }
  for (const [i, values] of Object.entries(want)) {
    assert.deepStrictEqual(found[i].map(Math.fround), values.map(Math.fround), `tensor ${i}`)
  }
})

test('an axis of symbolic size takes the words of the largest', () => {
  const n = new Variable('n', 1, 8).bind(3)
  Tensor.manualSeed(2)
  Tensor.rand(n, 2)
  const found = Tensor.rand(4).tolist()
  Tensor.manualSeed(2)
  Tensor.rand(16)
  assert.deepStrictEqual(found, Tensor.rand(4).tolist())
})

test('bad sizes take no words', () => {
  Tensor.manualSeed(3)
  const want = Tensor.rand(2).tolist()
  Tensor.manualSeed(3)
  assert.throws(() => Tensor.rand(-1))
  assert.throws(() => Tensor.randn('x'), TypeError)
  assert.deepStrictEqual(Tensor.rand(2).tolist(), want)
})
