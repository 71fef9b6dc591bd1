'use strict'
// Operations by hand-made numbers; the table of operations (table.test.js) has many more.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor } = require('..')

/** Checks values, to a few units in the last place of float32 where they are not whole. */
function near (tensor, want) {
  const walk = (got, expected, path) => {
    if (Array.isArray(expected)) {
      assert.ok(Array.isArray(got) && got.length === expected.length, `${path}: ${got}`)
      expected.forEach((e, i) => walk(got[i], e, `${path}[${i}]`))
    } else if (typeof expected === 'number') {
      const right = Object.is(got, expected) || Math.abs(got - expected) <= 1e-5 * (1 + Math.abs(expected))
      assert.ok(right, `${path}: ${got}, expected ${expected}`)
    } else {
      assert.strictEqual(got, expected, path)
    }
  }
  walk(tensor.tolist(), want, '')
}

const m = () => new Tensor([[4, 1], [2, 3]])
const int = (...values) => new Tensor(Int32Array.from(values))

const CASES = {
  clamp: [() => new Tensor([-2, 0.5, 2]).clamp(-1, 1), [-1, 0.5, 1]],
  'clamp by tensors': [() => new Tensor([-2, 0.5, 2]).clamp(new Tensor([0, 1, 0]), null), [0, 1, 2]],
  clip: [() => new Tensor([-2, 2]).clip({ max: 1 }), [-2, 1]],
  isclose: [() => new Tensor([1, 2, NaN]).isclose(new Tensor([1, 2.1, NaN]), { equalNan: true }), [true, false, true]],
  atan2: [() => new Tensor([1]).atan2(new Tensor([1])), [Math.PI / 4]],
  hypot: [() => new Tensor([3]).hypot(4), [5]],
  fmod: [() => new Tensor([-7]).fmod(4), [-3]],
  'div floor': [() => int(-7).div(2, { roundingMode: 'floor' }), [-4]],
  'div trunc': [() => int(-7).div(2, { roundingMode: 'trunc' }), [-3]],
  'where numbers': [() => new Tensor([true, false]).where(1, 2), [1, 2]],
  'where tensor and number': [() => new Tensor([1, -2, 3]).gt(0).where(new Tensor([10, 20, 30]), 0), [10, 0, 30]],
  maskedFill: [() => new Tensor([1, 2]).maskedFill(new Tensor([true, false]), 9), [9, 2]],
  lerp: [() => new Tensor([1, 2]).lerp(new Tensor([5, 6]), 0.5), [3, 4]],
  'pad reflect': [() => new Tensor([1, 2, 3]).pad([[1, 1]], 'reflect'), [2, 1, 2, 3, 2]],
  'pad replicate': [() => new Tensor([1, 2]).pad([2, 0], { mode: 'replicate' }), [1, 1, 1, 2]],
  'pad circular': [() => new Tensor([1, 2, 3]).pad([[1, 0]], { mode: 'circular' }), [3, 1, 2, 3]],
  'pad value': [() => new Tensor([1]).pad([[0, 1]], { value: 9 }), [1, 9]],
  'pad flat list': [() => new Tensor([[1]]).pad([1, 0]), [[0, 1]]],
  repeatInterleave: [() => new Tensor([1, 2]).repeatInterleave(2), [1, 1, 2, 2]],
  'repeatInterleave dim': [() => m().repeatInterleave(2, 0), [[4, 1], [4, 1], [2, 3], [2, 3]]],
  unfold: [() => Tensor.arange(5).unfold(0, 3, 2), [[0, 1, 2], [2, 3, 4]]],
  roll: [() => new Tensor([1, 2, 3]).roll(1), [3, 1, 2]],
  'roll dims': [() => m().roll([1, 1], [0, 1]), [[3, 2], [1, 4]]],
  diagonal: [() => m().diagonal(), [4, 3]],
  diag: [() => new Tensor([1, 2]).diag(), [[1, 0], [0, 2]]],
  rearrange: [() => Tensor.arange(4).reshape(1, 4).rearrange('b (h w) -> h b w', { h: 2 }), [[[0, 1]], [[2, 3]]]],
  unflatten: [() => Tensor.arange(4).unflatten(0, [2, -1]), [[0, 1], [2, 3]]],
  flatten: [() => m().flatten(), [4, 1, 2, 3]],
  shrink: [() => m().shrink([null, [1, 2]]), [[1], [3]]],
  cat: [() => Tensor.cat(m(), m(), { dim: 1 }), [[4, 1, 4, 1], [2, 3, 2, 3]]],
  'cat of a list': [() => Tensor.cat([m(), m()], 0).getitem(':', 0), [4, 2, 4, 2]],
  stack: [() => new Tensor([1, 2]).stack(new Tensor([3, 4]), { dim: 1 }), [[1, 3], [2, 4]]],
  meshgrid: [() => Tensor.meshgrid(int(1, 2), int(3, 4), { indexing: 'xy' })[0], [[1, 2], [1, 2]]],
  split: [() => Tensor.arange(5).split(2)[2], [4]],
  'split sizes': [() => Tensor.arange(5).split([1, 4])[1], [1, 2, 3, 4]],
  chunk: [() => Tensor.arange(5).chunk(2)[0], [0, 1, 2]],
  gather: [() => m().gather(1, new Tensor([[0, 0], [1, 0]]).int()), [[4, 4], [3, 2]]],
  indexSelect: [() => m().indexSelect(1, int(1, 1)), [[1, 1], [3, 3]]],
  scatter: [() => Tensor.zeros(3).scatter(0, int(2, 0), new Tensor([5, 6])), [6, 0, 5]],
  'scatter a number': [() => Tensor.zeros(3).scatter(0, int(2, 0), 7), [7, 0, 7]],
  'scatter add': [() => Tensor.ones(2).scatter(0, int(1, 1), new Tensor([5, 6]), 'add'), [1, 12]],
  scatterReduce: [() => Tensor.ones(2).scatterReduce(0, int(1, 1), new Tensor([5, 6]), 'amax', false), [1, 6]],
  maskedSelect: [() => m().maskedSelect(m().gt(1)), [4, 2, 3]],
  nonzero: [() => new Tensor([[0, 1], [2, 0]]).nonzero(), [[0, 1], [1, 0]]],
  oneHot: [() => int(0, 2).oneHot(), [[1, 0, 0], [0, 0, 1]]],
  sort: [() => new Tensor([3, 1, 2]).sort()[0], [1, 2, 3]],
  'sort indices': [() => new Tensor([3, 1, 2]).sort({ descending: true })[1], [0, 2, 1]],
  argsort: [() => new Tensor([3, 1, 2]).argsort(), [1, 2, 0]],
  topk: [() => new Tensor([3, 1, 2]).topk(2)[0], [3, 2]],
  'topk least': [() => new Tensor([3, 1, 2]).topk(1, { largest: false })[1], [1]],
  'sum in float64': [() => new Tensor([1e8, 1, -1e8]).sum({ dtype: 'float64' }), 1],
  prod: [() => m().prod(0), [8, 3]],
  cumprod: [() => new Tensor([1, 2, 3]).cumprod(), [1, 2, 6]],
  cummax: [() => new Tensor([1, 3, 2]).cummax()[0], [1, 3, 3]],
  cummin: [() => new Tensor([2, 3, 1]).cummin()[1], [0, 0, 2]],
  logcumsumexp: [() => new Tensor([0, 0]).logcumsumexp(), [0, Math.log(2)]],
  std: [() => new Tensor([1, 3]).std({ correction: 0 }), 1],
  stdMean: [() => Tensor.stack(...new Tensor([1, 3]).stdMean({ correction: 0 })), [1, 2]],
  varMean: [() => Tensor.stack(...new Tensor([[1, 3]]).varMean(1, false, 0)), [[1], [2]]],
  'linear in float64': [() => new Tensor([1, 2]).linear(new Tensor([[3, 4]]), new Tensor([1]), { dtype: 'float64' }), [12]],
  layernorm: [() => new Tensor([1, 3]).layernorm({ eps: 0 }), [-1, 1]],
  rmsnorm: [() => new Tensor([3, 3]).rmsnorm({ eps: 0 }), [1, 1]],
  groupnorm: [() => new Tensor([[[1], [3]]]).groupnorm(1, 0), [[[-1], [1]]]],
  batchnormStats: [() => new Tensor([[1], [3]]).batchnormStats()[1], [1]],
  'matmul reversed': [() => m().matmul([[0, 1], [1, 0]], { reverse: true }), [[2, 3], [4, 1]]],
  'matmul in float64': [() => m().matmul(m(), { dtype: 'float64' }), [[18, 7], [14, 11]]],
  einsum: [() => Tensor.einsum('ij,jk->ik', m(), m()), [[18, 7], [14, 11]]],
  attention: [() => { const q = new Tensor([[1, 0]]); return q.scaledDotProductAttention(q, new Tensor([[2, 3]])) }, [[2, 3]]],
  conv2d: [() => Tensor.arange(9).float().reshape(1, 1, 3, 3).conv2d(Tensor.ones(1, 1, 2, 2)), [[[[8, 12], [20, 24]]]]],
  'conv2d padding and stride': [
    () => Tensor.ones(1, 1, 3, 3).conv2d(Tensor.ones(1, 1, 3, 3), { padding: 1, stride: 2, bias: new Tensor([1]) }),
    [[[[5, 5], [5, 5]]]]
  ],
  'conv2d of one axis': [() => Tensor.arange(4).float().reshape(1, 1, 4).conv2d(Tensor.ones(1, 1, 2)), [[[1, 3, 5]]]],
  'conv2d padding by sides': [
    () => Tensor.ones(1, 1, 1, 1).conv2d(Tensor.ones(1, 1, 1, 1), { padding: [1, 0, 0, 2] }),
    [[[[0, 1], [0, 0], [0, 0]]]]
  ],
  convTranspose2d: [() => Tensor.ones(1, 1, 2, 2).convTranspose2d(Tensor.ones(1, 1, 2, 2)), [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]]],
  maxPool2d: [() => Tensor.arange(16).reshape(1, 1, 4, 4).maxPool2d(), [[[[5, 7], [13, 15]]]]],
  'maxPool2d of one axis': [() => Tensor.arange(4).reshape(1, 1, 4).maxPool2d([2]), [[[1, 3]]]],
  avgPool2d: [() => Tensor.arange(16).float().reshape(1, 1, 4, 4).avgPool2d(), [[[[2.5, 4.5], [10.5, 12.5]]]]],
  maxUnpool2d: [() => {
    const [values, indices] = Tensor.arange(4).float().reshape(1, 1, 2, 2).maxPool2d({ returnIndices: true })
    return values.maxUnpool2d(indices)
  }, [[[[0, 0], [0, 3]]]]],
  interpolate: [() => new Tensor([[[1, 3]]]).interpolate([4], { mode: 'nearest' }), [[[1, 1, 3, 3]]]],
  crossEntropy: [() => new Tensor([[0, 0]]).crossEntropy(int(1)), Math.log(2)],
  'crossEntropy none': [() => new Tensor([[0, 0], [0, 0]]).crossEntropy(int(1, 0), { reduction: 'none' }), [Math.log(2), Math.log(2)]],
  sparseCategoricalCrossentropy: [
    () => new Tensor([[0, 0], [9, 0]]).sparseCategoricalCrossentropy(int(1, 7), { ignoreIndex: 7 }),
    Math.log(2)
  ],
  nllLoss: [() => new Tensor([[-1, -2]]).nllLoss(int(1)), 2],
  binaryCrossEntropy: [() => new Tensor([0.5, 0.5]).binaryCrossEntropy([1, 0]), Math.log(2)],
  binaryCrossentropyLogits: [() => new Tensor([0]).binaryCrossentropyLogits(new Tensor([1]), { reduction: 'sum' }), Math.log(2)],
  mseLoss: [() => new Tensor([1, 2]).mseLoss([3, 2]), 2],
  l1Loss: [() => new Tensor([1, 2]).l1Loss([3, 2], { reduction: 'sum' }), 2],
  huberLoss: [() => new Tensor([0, 0]).huberLoss([0.5, 3]), (0.125 + 2.5) / 2],
  'number as a tensor': [() => new Tensor([1]).add(new Tensor(1)), [2]]
}
for (const [name, [make, want]] of Object.entries(CASES)) test(name, () => near(make(), want))

test('newtonSchulz makes a matrix nearly orthogonal', () => {
  const q = new Tensor([[2, 1], [0, 1]]).newtonSchulz(15, [1.5, -0.5, 0])
  near(q.matmul(q.T), [[1, 0], [0, 1]])
})

test('dropout drops in training only', () => {
  const x = Tensor.ones(1000)
  assert.strictEqual(x.dropout(0.5), x)
  const some = Tensor.train(() => x.dropout(0.25).toArray())
  const dropped = some.filter((v) => v === 0).length
  assert.ok(dropped > 180 && dropped < 320)
  assert.ok(some.every((v) => v === 0 || Math.abs(v - 4 / 3) < 1e-6))
  assert.strictEqual(Tensor.training, false)
  assert.throws(() => Tensor.train(() => { throw new Error('stop') }), /stop/)
  assert.strictEqual(Tensor.training, false)
})

test('wrong names of modes', () => {
  assert.throws(() => m().pad([[0, 0], [0, 0]], 'mirror'), TypeError)
  assert.throws(() => m().div(1, { roundingMode: 'up' }), TypeError)
  assert.throws(() => m().mseLoss(m(), { reduction: 'median' }), TypeError)
  assert.throws(() => m().scatterReduce(0, int(0), m(), 'min'), TypeError)
  assert.throws(() => m().scatter(0, int(0), m(), 'min'), TypeError)
  assert.throws(() => Tensor.meshgrid(int(1), { indexing: 'yx' }), TypeError)
  assert.throws(() => m().interpolate([2], 'cubic'), TypeError)
  assert.throws(() => m().conv2d(m()), /conv2d: weight/)
  assert.throws(() => Tensor.ones(1, 1, 2, 2).avgPool2d([2, 2], [1, 1, 1]), /avgPool2d: stride/)
})

test('allclose says true or false', () => {
  const x = new Tensor([1, 2])
  assert.strictEqual(x.allclose(new Tensor([1, 2 + 1e-6])), true)
  assert.strictEqual(x.allclose(new Tensor([1, 2.1])), false)
  assert.strictEqual(x.allclose(2, { atol: 1 }), true)
})
