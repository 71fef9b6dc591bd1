'use strict'
// Optimizers, schedules, clipping, recurrent layers and attention against their formulas in float64.

const test = require('node:test')
const assert = require('node:assert')
const { nn, Tensor, compileStep, getParameters, getStateDict } = require('..')

function near (got, want, tolerance = 1e-5) {
  assert.strictEqual(got.length, want.length)
  want.forEach((w, i) => assert.ok(Math.abs(got[i] - w) <= tolerance * (1 + Math.abs(w)), `element ${i}: ${got[i]}, expected ${w}`))
}

const norm = (v) => Math.sqrt(v.reduce((a, x) => a + x * x, 0))
const map = (v, ...more) => v.map((x, i) => more[more.length - 1](x, ...more.slice(0, -1).map((w) => w[i])))

/** Runs an optimizer on sum(p^3), p of shape (2, 1), and compares p with what update makes of numbers. */
function follows (make, update, tolerance = 2e-5) {
  const p = new Tensor([[1], [-2]], { requiresGrad: true })
  const optimizer = make([p])
  let s = { p: [1, -2], b: [0, 0], m: [0, 0], v: [0, 0] }
  for (let t = 1; t <= 5; t++) {
    optimizer.zeroGrad()
    p.pow(3).sum().backward()
    optimizer.step()
    s = update(s, s.p.map((x) => 3 * x * x), t)
    near(p.toArray(), s.p, tolerance)
  }
}

test('LARS', () => follows((p) => new nn.LARS(p, 0.1, { tcoef: 0.5, weightDecay: 0.1 }), (s, g) => {
  const r = 0.5 * norm(s.p) / (norm(g) + 0.1 * norm(s.p))
  const b = map(s.b, g, s.p, (x, y, z) => 0.9 * x + 0.1 * r * (y + 0.1 * z))
  return { p: map(s.p, b, (x, y) => x - y), b }
}))

test('SGD, the classic way', () => follows((p) => new nn.SGD(p, { lr: 0.01, momentum: 0.9, classic: true }), (s, g) => {
  const b = map(s.b, g, (x, y) => 0.9 * x + 0.01 * y)
  return { p: map(s.p, b, (x, y) => x - y), b }
}))

test('Muon', () => follows((p) => new nn.Muon(p, { lr: 0.1, nsSteps: 2, nsCoefficients: [1.5, -0.5] }), (s, g) => {
  const b = map(s.b, g, (x, y) => 0.95 * x + y)
  let step = map(g, b, (x, y) => x + 0.95 * y)
  step = step.map((x) => x / norm(step))
  for (let i = 0; i < 2; i++) step = step.map((x) => 1.5 * x - 0.5 * norm(step) ** 2 * x)
  return { p: map(s.p, step, (p, d) => p * (1 - 0.01) - 0.1 * d), b }
}, 1e-4))

test('LAMB', () => follows((p) => new nn.LAMB(p, 0.1, { weightDecay: 0.1 }), (s, g, t) => {
  const m = map(s.m, g, (x, y) => 0.9 * x + 0.1 * y)
  const v = map(s.v, g, (x, y) => 0.999 * x + 0.001 * y * y)
  const step = map(m, v, s.p, (x, y, z) => x / (1 - 0.9 ** t) / (Math.sqrt(y / (1 - 0.999 ** t)) + 1e-6) + 0.1 * z)
  const r = norm(s.p) / norm(step)
  return { p: map(s.p, step, (p, d) => p - 0.1 * r * d), m, v }
}))

test('a group steps in one program, and half precision keeps its state in float32', async () => {
  const [a, b] = [new Tensor([1, 2]), new Tensor([3], { dtype: 'float16' })]
  const group = new nn.OptimizerGroup(new nn.SGD([a], 0.5), new nn.Adam([b], 0.25))
  const loss = a.mul(a).sum().mul(b).sum()
  loss.backward()
  group.step()
  near(a.toArray(), [-2, -4])
  near(b.float().toArray(), [2.75], 1e-3)
  assert.strictEqual(group.optimizers[1].m[0].dtype, 'float32')
  assert.strictEqual(b.dtype, 'float16')
  await group.stepAsync()
  near(a.toArray(), [-5, -10])
  group.zeroGrad()
  assert.deepStrictEqual(group.params.map((p) => p.grad), [null, null])
  assert.throws(() => new nn.OptimizerGroup(), /no optimizers/)
  assert.throws(() => new nn.OptimizerGroup(3), TypeError)
})

const half = (a, b, x) => b + (a - b) * (1 + Math.cos(Math.PI * x)) / 2
const SCHEDULES = {
  StepLR: [(o) => new nn.StepLR(o, 3, 0.5), (t) => 0.3 * 0.5 ** Math.floor(t / 3)],
  MultiStepLR: [(o) => new nn.MultiStepLR(o, [2, 5]), (t) => 0.3 * 0.1 ** ((t >= 2) + (t >= 5))],
  ExponentialLR: [(o) => new nn.ExponentialLR(o, { gamma: 0.9 }), (t) => 0.3 * 0.9 ** t],
  ConstantLR: [(o) => new nn.ConstantLR(o, 0.25, 4), (t) => t < 4 ? 0.075 : 0.3],
  LinearLR: [(o) => new nn.LinearLR(o, 0.1, 0.8, 4), (t) => 0.3 * (0.1 + 0.7 * Math.min(t / 4, 1))],
  PolynomialLR: [(o) => new nn.PolynomialLR(o, 6, 2), (t) => 0.3 * (1 - Math.min(t / 6, 1)) ** 2],
  CosineAnnealingLR: [(o) => new nn.CosineAnnealingLR(o, { TMax: 4, etaMin: 0.1 }), (t) => half(0.3, 0.1, t / 4)],
  CosineAnnealingWarmRestarts: [(o) => new nn.CosineAnnealingWarmRestarts(o, 2, 2),
    (t) => half(0.3, 0, t < 2 ? t / 2 : t < 6 ? (t - 2) / 4 : (t - 6) / 8)],
  CosineAnnealingLRWithWarmup: [(o) => new nn.CosineAnnealingLRWithWarmup(o, 0.5, 0.1, 3, 4),
    (t) => t < 3 ? 0.5 * (t + 1) / 3 : half(0.5, 0.1, Math.min((t - 2) / 4, 1))],
  OneCycleLR: [(o) => new nn.OneCycleLR(o, { maxLr: 1, totalSteps: 8, pctStart: 0.5 }),
    (t) => t <= 3 ? half(0.04, 1, t / 3) : half(1, 0.04 / 1e4, Math.min((t - 3) / 4, 1))],
  LambdaLR: [(o) => new nn.LambdaLR(o, (t) => typeof t === 'number' ? 1 / (1 + t) : t.add(1).reciprocal()), (t) => 0.3 / (1 + t)],
  SequentialLR: [(o) => new nn.SequentialLR(o, [new nn.LinearLR(o, 0.5, 1, 2), new nn.ExponentialLR(o, 0.5)], [2]),
    (t) => t < 2 ? 0.3 * (0.5 + 0.25 * t) : 0.3 * 0.5 ** (t - 2)]
}

for (const [name, [make, formula]] of Object.entries(SCHEDULES)) {
  test(`${name}, outside and inside of a compiled step`, () => {
    const [one, other] = [0, 1].map(() => new nn.SGD([new Tensor([1])], 0.3))
    const [outside, inside] = [make(one), make(other)]
    assert.strictEqual(outside.constructor.name, name)
    const step = compileStep(() => inside.step())
    for (let t = 0; t < 10; t++) {
      near([one.lr, other.lr, outside.getLr().item()], [formula(t), formula(t), formula(t)], 1e-6)
      assert.deepStrictEqual(outside.getLastLr(), [one.lr])
      outside.step()
      step.run()
    }
    assert.strictEqual(inside.epochCounter.item(), 10)
  })
}

test('ReduceLROnPlateau', () => {
  const [one, other] = [0, 1].map(() => new nn.SGD([new Tensor([1])], 1))
  const options = { factor: 0.5, patience: 1, cooldown: 1, minLr: 0.2, mode: 'max', thresholdMode: 'abs', threshold: 0.5 }
  const [outside, inside] = [one, other].map((o) => new nn.ReduceLROnPlateau(o, options))
  const metric = new Tensor([0])
  const step = compileStep(() => inside.step(metric.mul(1)))
  const rates = [1, 2, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4, 9].map((m) => {
    outside.step(m)
    metric.data[0] = m
    step.run()
    assert.strictEqual(one.lr, other.lr)
    return Math.fround(one.lr)
  })
  near(rates, [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25])
  assert.throws(() => new nn.ReduceLROnPlateau(one, { mode: 'least' }), /mode: "least"/)
  assert.throws(() => new nn.ReduceLROnPlateau(one, { factor: 2 }), /factor/)
})

test('schedules: bad arguments', () => {
  const o = new nn.SGD([new Tensor([1])], 1)
  const step = new nn.StepLR(o, 1)
  assert.throws(() => new nn.StepLR(3, 1), /StepLR: optimizer: 3/)
  assert.throws(() => new nn.StepLR(new nn.OptimizerGroup(o), 1), /each of its optimizers/)
  assert.throws(() => new nn.StepLR(o), /stepSize: is not given, expected a number/)
  assert.throws(() => new nn.StepLR(o, 0), /StepLR: stepSize: is 0/)
  assert.throws(() => new nn.OneCycleLR(o, { maxLr: 1, totalSteps: 5, annealStrategy: 'no' }), /annealStrategy/)
  assert.throws(() => new nn.LambdaLR(o, 3), TypeError)
  assert.throws(() => new nn.SequentialLR(o, [step], [1]), /milestones/)
  assert.throws(() => new nn.SequentialLR(new nn.SGD([new Tensor([1])]), [step], []), /schedules of the optimizer/)
  assert.throws(() => new nn.SGD([new Tensor([1])], { momentum: -1 }), /SGD: momentum: -1/)
  assert.throws(() => new nn.Adam([new Tensor([1])], { betas: [0.9, 1] }), /Adam: betas: 1, expected 0 or more and less than 1/)
  assert.throws(() => new nn.Muon([new Tensor(1)]), /scalar/)
  assert.throws(() => new nn.SGD([3]), /params: 3/)
})

test('clipping', () => {
  const make = () => {
    const ps = [[1, 2], [[2]], [1]].map((values) => new Tensor(values, { requiresGrad: true }))
    ps[0].mul(new Tensor([1, 2])).sum().add(ps[1].mul(-2).sum()).backward()
    return ps
  }
  for (const [order, want] of [[2, 3], [1, 5], [Infinity, 2]]) {
    const ps = make()
    near([nn.clipGradNorm(ps, 1, { normType: order }).item()], [want])
    near([...ps[0].grad.toArray(), ...ps[1].grad.toArray()], [1, 2, -2].map((g) => g / want))
    assert.strictEqual(ps[2].grad, null)
  }
  const ps = make()
  near([nn.clipGradNorm(ps, 10).item()], [3])
  near(ps[0].grad.toArray(), [1, 2])
  nn.clipGradValue(ps, 1.5)
  near([...ps[0].grad.toArray(), ...ps[1].grad.toArray()], [1, 1.5, -1.5])
  ps[0].grad = new Tensor([Infinity, 1])
  assert.throws(() => nn.clipGradNorm(ps, 1, { errorIfNonfinite: true }), /Infinity/)
  assert.throws(() => nn.clipGradNorm(ps, -1), /clipGradNorm: maxNorm: is -1/)
  assert.throws(() => nn.clipGradNorm(3, 1), TypeError)
  assert.throws(() => nn.clipGradValue(ps, -1), RangeError)
  assert.strictEqual(nn.clipGradNorm([new Tensor([1])], 1).item(), 0)
})

test('a compiled step with clipping and a schedule does what an eager one does', () => {
  const runs = [0, 1].map(() => {
    Tensor.manualSeed(4)
    const layer = new nn.Linear(3, 2)
    const optimizer = new nn.LAMB(getParameters(layer), 0.1)
    const schedule = new nn.StepLR(optimizer, 2, 0.5)
    const x = Tensor.rand(4, 3).realize()
    const step = () => {
      optimizer.zeroGrad()
      const loss = layer.forward(x).square().mean()
      loss.backward()
      const size = nn.clipGradNorm(optimizer.params, 0.1)
      optimizer.step()
      schedule.step()
      return [loss, size]
    }
    return { layer, optimizer, step }
  })
  const program = compileStep(runs[0].step)
  for (let i = 0; i < 5; i++) {
    program.run()
    near(program.outputs.map((o) => o[0]), runs[1].step().map((t) => t.item()), 1e-4)
  }
  near([runs[0].optimizer.lr, runs[1].optimizer.lr], [0.025, 0.025])
  near(runs[0].layer.weight.toArray(), runs[1].layer.weight.toArray(), 1e-4)
})

const sigmoid = (x) => 1 / (1 + Math.exp(-x))

/** An LSTM of one unit and one input in numbers. */
function lstm (xs, w, h = 0, c = 0) {
  return xs.map((x) => {
    const [i, f, g, o] = [0, 1, 2, 3].map((k) => x * w.weightIh[k] + h * w.weightHh[k] + w.biasIh[k] + w.biasHh[k])
    c = sigmoid(f) * c + sigmoid(i) * Math.tanh(g)
    h = sigmoid(o) * Math.tanh(c)
    return [h, c]
  })
}

test('GRUCell and GRU', () => {
  const cell = new nn.GRUCell(1, 1)
  const [p, q, r] = cell.weightIh.tolist().flat(), [s, t, u] = cell.weightHh.tolist().flat()
  const step = (x, h) => {
    const z = sigmoid(q * x + t * h)
    return (1 - z) * Math.tanh(r * x + sigmoid(p * x + s * h) * u * h) + z * h
  }
  assert.ok(Math.abs(cell.forward(new Tensor([[2]]), new Tensor([[0.5]])).item() - step(2, 0.5)) < 1e-6)
  const layer = new nn.GRU(1, 1, { batchFirst: true, bias: false })
  layer.weightIhL0.assign(cell.weightIh)
  layer.weightHhL0.assign(cell.weightHh)
  const [out, h] = layer.forward(new Tensor([[[2], [3]]]))
  assert.deepStrictEqual(out.shape, [1, 2, 1])
  assert.deepStrictEqual(h.shape, [1, 1, 1])
  assert.ok(Math.abs(h.item() - step(3, step(2, 0))) < 1e-6)
})

test('LSTMCell and LSTM', () => {
  Tensor.manualSeed(1)
  const cell = new nn.LSTMCell(1, 1)
  cell.biasIh.data.set([0.1, -0.2, 0.3, 0.4])
  const numbers = (layer, end) => Object.fromEntries(['weightIh', 'weightHh', 'biasIh', 'biasHh'].map((n) => [n, [...layer[n + end].data]]))
  const [h, c] = cell.forward(new Tensor([[0.5]]))
  near([h.item(), c.item()], lstm([0.5], numbers(cell, ''))[0])
  const next = cell.forward(new Tensor([[-1]]), [h, c])
  near(next.map((t) => t.item()), lstm([0.5, -1], numbers(cell, ''))[1])

  const xs = Array.from({ length: 20 }, (_, i) => Math.sin(i))
  const layer = new nn.LSTM(1, 1, { bidirectional: true, batchFirst: true })
  const [out, [hs, cs]] = layer.forward(new Tensor(xs).reshape(1, 20, 1))
  const there = lstm(xs, numbers(layer, 'L0'))
  const back = lstm(xs.toReversed?.() ?? [...xs].reverse(), numbers(layer, 'L0Reverse'))
  near(out.toArray(), there.flatMap((s, i) => [s[0], back[19 - i][0]]))
  near([...hs.toArray(), ...cs.toArray()], [there[19][0], back[19][0], there[19][1], back[19][1]])

  const deep = new nn.LSTM(3, 2, { numLayers: 2, bias: false, dropout: 0.5 })
  assert.strictEqual(Object.keys(getStateDict(deep)).length, 4)
  const x = Tensor.rand(4, 5, 3).realize()
  const [y, state] = deep.forward(x)
  assert.deepStrictEqual([y.shape, state[0].shape], [[4, 5, 2], [2, 5, 2]])
  const [rest] = deep.forward(x.shrink([[2, 4], [0, 5], [0, 3]]), deep.forward(x.shrink([[0, 2], [0, 5], [0, 3]]))[1])
  near(rest.toArray(), [...y.toArray().slice(20)])
  y.sum().backward()
  assert.ok(deep.weightHhL1.grad !== null)
  assert.throws(() => deep.forward(x, [x, x]), /LSTM: h: shape \(4,5,3\), expected \(2,5,2\)/)
  assert.throws(() => deep.forward(Tensor.ones(4, 3)), /3 dimensions/)
  assert.throws(() => new nn.LSTM(3, 0), RangeError)
  assert.throws(() => cell.forward(Tensor.ones(2, 3)), /LSTMCell: x: shape \(2,3\), expected \(…, 1\)/)
})

test('MultiHeadAttention and TransformerBlock', () => {
  Tensor.manualSeed(2)
  const attention = new nn.MultiHeadAttention(8, 4, { numKvHeads: 2 })
  const x = Tensor.randn(2, 5, 8).realize()
  const heads = (layer, n) => layer.forward(x).reshape(2, 5, n, 2).permute(0, 2, 1, 3)
  const shared = (layer) => heads(layer, 2).repeatInterleave(2, 1)
  const [q, k, v] = [heads(attention.qProj, 4), shared(attention.kProj), shared(attention.vProj)]
  const scores = q.matmul(k.transpose(-2, -1)).div(Math.sqrt(2))
  const mask = Tensor.ones(5, 5).tril()
  const weights = mask.ne(0).where(scores, -Infinity).softmax(-1)
  const want = attention.oProj.forward(weights.matmul(v).permute(0, 2, 1, 3).reshape(2, 5, 8))
  near(attention.forward(x, { isCausal: true }).toArray(), [...want.toArray()])
  near(attention.forward(x, x, x, mask.ne(0)).toArray(), [...want.toArray()])

  const block = new nn.TransformerBlock(8, 2, { causal: true, norm: 'rms', ffDim: 12, activation: (t) => t.relu() })
  const y = x.add(block.attn.forward(block.attnNorm.forward(x), { isCausal: true }))
  near(block.forward(x).toArray(), [...y.add(block.down.forward(block.up.forward(block.ffNorm.forward(y)).relu())).toArray()])
  const post = new nn.TransformerBlock(8, 2, { preNorm: false, dropout: 0.5 })
  const z = post.attnNorm.forward(x.add(post.attn.forward(x)))
  const plain = [...post.ffNorm.forward(z.add(post.down.forward(post.up.forward(z).gelu()))).toArray()]
  near(post.forward(x).toArray(), plain)
  const dropped = Tensor.train(() => post.forward(x).toArray())
  assert.ok(plain.some((p, i) => Math.abs(p - dropped[i]) > 1e-3))
  assert.throws(() => new nn.MultiHeadAttention(8, 3), /numHeads: 3, expected a part of 8/)
  assert.throws(() => new nn.MultiHeadAttention(8, 4, { numKvHeads: 3 }), /numKvHeads/)
  assert.throws(() => new nn.TransformerBlock(8, 2, { norm: 'batch' }), /norm: "batch"/)
})

test('LayerNorm2d, RMSNorm without a weight, Conv3d', () => {
  near(new nn.LayerNorm2d(2, 0).forward(new Tensor([[[[1]], [[3]]]])).toArray(), [-1, 1])
  assert.throws(() => new nn.LayerNorm2d(2).forward(Tensor.ones(2, 2)), /4 dimensions/)
  near(new nn.RMSNorm(2, { elementwiseAffine: false }).forward(new Tensor([[1e-3, 1e-3]])).toArray(), [Math.SQRT1_2, Math.SQRT1_2], 1e-5)
  assert.deepStrictEqual(new nn.Conv3d(2, 4, 3).forward(Tensor.ones(1, 2, 5, 5, 5)).shape, [1, 4, 3, 3, 3])
  assert.throws(() => new nn.Embedding(3, 2).forward(new Tensor([1])), /expected an integer type/)
})
