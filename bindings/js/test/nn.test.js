'use strict'
// Layers, optimizers, state dicts and compiled steps.

const test = require('node:test')
const assert = require('node:assert')
const { nn, Tensor, Linear, SGD, Adam, AdamW, compileStep, getParameters, getStateDict, loadStateDict } = require('..')

function near (got, want, tolerance = 1e-5) {
  assert.strictEqual(got.length, want.length)
  want.forEach((w, i) => assert.ok(Math.abs(got[i] - w) <= tolerance * (1 + Math.abs(w)), `element ${i}: ${got[i]}, expected ${w}`))
}

test('layers compute what they say', () => {
  const x = new Tensor([[1, 2, 3], [4, 6, 8]])
  const linear = new nn.Linear(3, 2)
  near(linear.forward(x).toArray(), x.matmul(linear.weight.T).add(linear.bias).toArray())
  assert.strictEqual(new nn.Linear(3, 2, false).bias, null)
  assert.ok(linear.weight.abs().max().item() <= 1 / Math.sqrt(3))
  near(new nn.LayerNorm(3, { eps: 0 }).forward(x).toArray(), [-1, 0, 1, -1, 0, 1].map((v) => v * Math.sqrt(1.5)))
  near(new nn.RMSNorm(3, 0).forward(new Tensor([3, 3, 3])).toArray(), [1, 1, 1])
  near(new nn.GroupNorm(1, 2, { eps: 0 }).forward(new Tensor([[[1], [3]]])).toArray(), [-1, 1])
  near(new nn.InstanceNorm(1, { eps: 0 }).forward(new Tensor([[[1, 3]]])).toArray(), [-1, 1])
  const table = new nn.Embedding(5, 2)
  near(table.forward(new Tensor(Int32Array.of(3, 0))).toArray(), [...table.weight.data.slice(6, 8), ...table.weight.data.slice(0, 2)])
  assert.deepStrictEqual(new nn.Conv2d(3, 4, 3, { stride: 2, padding: 1 }).forward(Tensor.rand(2, 3, 8, 8)).shape, [2, 4, 4, 4])
  assert.deepStrictEqual(new nn.Conv1d(3, 4, 4, { padding: 'same' }).forward(Tensor.rand(2, 3, 8)).shape, [2, 4, 8])
  assert.deepStrictEqual(new nn.Conv2d(4, 4, 1, { groups: 2, bias: false }).weight.shape, [4, 2, 1, 1])
  assert.deepStrictEqual(new nn.ConvTranspose1d(2, 4, 3).forward(Tensor.rand(1, 2, 9)).shape, [1, 4, 11])
  assert.deepStrictEqual(new nn.ConvTranspose2d(3, 4, 2, { stride: 2 }).forward(Tensor.rand(2, 3, 4, 4)).shape, [2, 4, 8, 8])
  const both = new nn.Sequential(linear, (t) => t.relu())
  near(both.forward(x).toArray(), linear.forward(x).relu().toArray())
  assert.throws(() => new nn.LayerNorm(4).forward(x), /LayerNorm: x: shape \(2,3\), expected \(…, 4\)/)
  assert.throws(() => new nn.Conv2d(1, 1, 3, { padding: 'same', stride: 2 }), /stride of 1/)
})

test('Dropout follows Tensor.training', () => {
  const [dropout, x] = [new nn.Dropout(0.5), Tensor.ones(100)]
  assert.strictEqual(dropout.forward(x), x)
  assert.ok(Tensor.train(() => dropout.forward(x).eq(0).any().item()))
  assert.throws(() => new nn.Dropout(1.5), RangeError)
})

test('BatchNorm normalises by the batch in training, and by running statistics otherwise', () => {
  const norm = new nn.BatchNorm(2, { eps: 0 })
  const x = new Tensor([[1, 10], [3, 30]])
  near(Tensor.train(() => norm.forward(x).toArray()), [-1, -1, 1, 1])
  near(norm.runningMean.toArray(), [0.2, 2])
  near(norm.runningVar.toArray(), [0.9 + 0.2, 0.9 + 20])
  assert.strictEqual(norm.numBatchesTracked.item(), 1n)
  near(norm.forward(x).toArray(), [0.8 / Math.sqrt(1.1), 8 / Math.sqrt(20.9), 2.8 / Math.sqrt(1.1), 28 / Math.sqrt(20.9)])
  assert.deepStrictEqual(Object.keys(getStateDict(norm)), ['weight', 'bias', 'num_batches_tracked', 'running_mean', 'running_var'])
  assert.deepStrictEqual(getParameters(norm).length, 2)
  // States have Python's names; those of properties are taken, too.
  const state = { weight: [1, 2], bias: [3, 4], running_mean: [5, 6], runningVar: [7, 8], numBatchesTracked: 9 }
  loadStateDict(norm, state)
  near(norm.runningMean.toArray(), [5, 6])
  near(norm.runningVar.toArray(), [7, 8])
  assert.strictEqual(norm.numBatchesTracked.item(), 9n)
  assert.throws(() => loadStateDict(norm, { weight: [1, 2] }), /missing \[bias,num_batches_tracked,running_mean,running_var\]/)
})

/** Runs an optimizer on sum(p^3) and compares p with numbers in float64. */
function follows (make, update) {
  const p = new Tensor([1, -2], { requiresGrad: true })
  const optimizer = make([p])
  const states = [1, -2].map((value) => ({ value }))
  for (let t = 1; t <= 5; t++) {
    optimizer.zeroGrad()
    p.pow(3).sum().backward()
    optimizer.step()
    for (const s of states) update(s, 3 * s.value ** 2, t)
    near(p.toArray(), states.map((s) => s.value), 2e-5)
  }
}

test('SGD', () => follows((p) => new SGD(p, { lr: 0.01 }), (s, g) => { s.value -= 0.01 * g }))

test('SGD with momentum and weight decay', () => {
  follows((p) => new SGD(p, 0.01, { momentum: 0.9, weightDecay: 0.1 }), (s, g) => {
    s.b = 0.9 * (s.b ?? 0) + g + 0.1 * s.value
    s.value -= 0.01 * s.b
  })
})

test("SGD with Nesterov's momentum", () => {
  follows((p) => new SGD(p, { lr: 0.01, momentum: 0.9, nesterov: true }), (s, g) => {
    s.b = 0.9 * (s.b ?? 0) + g
    s.value -= 0.01 * (g + 0.9 * s.b)
  })
})

function adam (s, g, t, lr, decay, decoupled) {
  if (!decoupled) g += decay * s.value
  else s.value *= 1 - lr * decay
  s.m = 0.9 * (s.m ?? 0) + 0.1 * g
  s.v = 0.999 * (s.v ?? 0) + 0.001 * g * g
  s.value -= lr * (s.m / (1 - 0.9 ** t)) / (Math.sqrt(s.v / (1 - 0.999 ** t)) + 1e-8)
}

test('Adam', () => follows((p) => new Adam(p, { lr: 0.1, weightDecay: 0.1 }), (s, g, t) => adam(s, g, t, 0.1, 0.1, false)))
test('AdamW', () => follows((p) => new AdamW(p, { lr: 0.1 }), (s, g, t) => adam(s, g, t, 0.1, 0.01, true)))

test('optimizers: the rate, parameters without a gradient, bad arguments', () => {
  const [p, q] = [new Tensor([1]), new Tensor([1])]
  const optimizer = new SGD([p, q, p], 0.5)
  assert.strictEqual(optimizer.params.length, 2)
  assert.ok(p.requiresGrad)
  p.sum().backward()
  optimizer.lr = 0.25
  assert.strictEqual(optimizer.lr, 0.25)
  optimizer.step()
  assert.deepStrictEqual([p.item(), q.item()], [0.75, 1])
  assert.throws(() => new SGD(p), TypeError)
  assert.throws(() => new SGD([]), /SGD: params/)
  assert.throws(() => new Adam([p], -1), RangeError)
  assert.throws(() => new Adam([p], { rate: 1 }), TypeError)
})

test('all gradients are evaluated before the first update', () => {
  // q's gradient is p's value: the step must see the old one.
  const [p, q] = [new Tensor([2], { requiresGrad: true }), new Tensor([3], { requiresGrad: true })]
  const optimizer = new SGD([p, q], 1)
  const grads = p.mul(q).sum().gradient(p, q)
  p.grad = grads[0]
  q.grad = grads[1]
  optimizer.step()
  assert.deepStrictEqual([p.item(), q.item()], [-1, 1])
})

test('an optimizer goes on from its state dict', () => {
  const start = () => {
    const p = new Tensor([1, -2], { requiresGrad: true })
    return { p, optimizer: new Adam([p], { lr: 0.1 }) }
  }
  const train = ({ p, optimizer }) => {
    for (let i = 0; i < 3; i++) {
      optimizer.zeroGrad()
      p.pow(3).sum().backward()
      optimizer.step()
    }
    return p.toArray().slice()
  }
  const [one, other] = [start(), start()]
  train(one)
  const state = Object.fromEntries(Object.entries(getStateDict(one.optimizer)).map(([name, t]) => [name, t.clone().realize()]))
  assert.ok(Object.keys(state).length >= 5)
  loadStateDict(other.optimizer, state)
  assert.deepStrictEqual(train(other), train(one))
})

test('state dicts', () => {
  const [a, b] = [new nn.Sequential(new Linear(2, 3), new Linear(3, 1)), new nn.Sequential(new Linear(2, 3), new Linear(3, 1))]
  assert.deepStrictEqual(Object.keys(getStateDict(a)), ['layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias'])
  loadStateDict(b, getStateDict(a))
  const x = Tensor.rand(4, 2).realize()
  assert.deepStrictEqual(b.forward(x).toArray(), a.forward(x).toArray())
  loadStateDict(b, new Map([['layers.1.bias', Float32Array.of(7)]]), { strict: false })
  assert.strictEqual(b.layers[1].bias.item(), 7)
  assert.throws(() => loadStateDict(b, {}), /loadStateDict: missing \[layers.0.weight/)
  assert.throws(() => loadStateDict(b, { 'layers.1.bias': [1, 2] }, { strict: false }),
    /Shape mismatch in layer `layers.1.bias`: Expected shape \[1\], but found \[2\] in state dict./)
  loadStateDict(b, { ...getStateDict(a), 'layers.1.bias': new Tensor(3), extra: [1] }, { verbose: false })
  assert.strictEqual(b.layers[1].bias.item(), 3)
})

test('what a model lacks is a warning', async () => {
  const warned = new Promise((resolve) => process.once('warning', resolve))
  loadStateDict([new Tensor([1])], { 0: [2], extra: [1] })
  assert.match((await warned).message, /the model has no \[extra\]/)
})

function training () {
  Tensor.manualSeed(3)
  const model = new nn.Sequential(new Linear(2, 8), (x) => x.tanh(), new Linear(8, 1))
  const optimizer = new Adam(getParameters(model), { lr: 0.01 })
  const x = Tensor.rand(16, 2).realize()
  const y = x.sum(1, true).realize()
  // A lazy loss that is computed after the step would see the new parameters.
  const step = (now = false) => {
    optimizer.zeroGrad()
    const loss = model.forward(x).mseLoss(y)
    if (now) loss.realize()
    loss.backward()
    optimizer.step()
    return loss
  }
  return { model, x, y, step }
}

test('a compiled step does what the function does', () => {
  const [plain, compiled] = [training(), training()]
  const want = Array.from({ length: 20 }, () => plain.step(true).item())
  const step = compileStep(compiled.step)
  const got = Array.from({ length: 20 }, () => { step.run(); return step.lossValue() })
  near(got, want, 1e-5)
  near(compiled.model.layers[0].weight.toArray(), plain.model.layers[0].weight.toArray(), 1e-4)
  assert.ok(step.nKernels > 3 && step.nIntermediates >= 0)
  assert.strictEqual(step.outputs[0].length, 1)
  step.dispose()
  step.dispose()
  assert.throws(() => step.run(), /run: the step was disposed/)
})

test('a compiled step reads its inputs anew, and random numbers differ from run to run', () => {
  const x = new Tensor([1, 2])
  const total = new Tensor([0])
  const step = compileStep((t) => {
    total.assign(total.add(t.sum()))
    return [t.sum(), Tensor.rand(4)]
  }, x)
  step.run()
  const first = step.outputs[1].slice()
  x.data.set([10, 20])
  step.run()
  assert.deepStrictEqual([step.lossValue(), total.item()], [30, 33])
  assert.notDeepStrictEqual(step.outputs[1], first)
})

test('compiled steps write through views', () => {
  const cache = Tensor.zeros(3, 2).realize()
  const turned = cache.T
  const x = new Tensor([1, 2])
  const step = compileStep((row) => {
    const old = cache.add(0)
    cache.getitem('1:').assign(old.getitem(':-1'))
    cache.setitem([0], row)
    turned.setitem([1, 0], turned.getitem(1, 0).add(10))
    const fresh = Tensor.zeros(2)
    fresh.setitem([1], turned.sum())
    return fresh
  }, x)
  assert.deepStrictEqual(cache.tolist(), [[0, 0], [0, 0], [0, 0]])
  step.run()
  x.data.fill(4)
  step.run()
  assert.deepStrictEqual(cache.tolist(), [[4, 14], [1, 12], [0, 0]])
  assert.deepStrictEqual(turned.tolist(), [[4, 1, 0], [14, 12, 0]])
  assert.deepStrictEqual([...step.outputs[0]], [0, 31])
})

test('compileStep: what it refuses', () => {
  const x = new Tensor([1])
  assert.throws(() => compileStep(() => x.add(1).item()), /a value is needed while compileStep traces/)
  assert.throws(() => compileStep(() => {}), /returns nothing and changes nothing/)
  assert.throws(() => compileStep(() => 3), TypeError)
  assert.throws(() => compileStep(3), TypeError)
  assert.throws(() => compileStep(() => compileStep(() => x.add(1))), /inside/)
  assert.deepStrictEqual(x.add(1).tolist(), [2], 'tracing has ended')
})

test('a loss that is read after the step is the loss before it', async () => {
  for (const later of [false, true]) {
    const w = new Tensor([3, 4], { requiresGrad: true })
    const optimizer = new SGD([w], { lr: 0.5 })
    const loss = w.square().sum()
    if (later) await loss.backwardAsync()
    else loss.backward()
    optimizer.step()
    assert.strictEqual(loss.item(), 25)
    assert.deepStrictEqual(w.tolist(), [0, 0])
  }
})

test('functions in training mode that run at the same time', async () => {
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  const modes = []
  await Promise.all([10, 30].map((ms) => Tensor.train(async () => { await wait(ms); modes.push(Tensor.training) })))
  assert.deepStrictEqual([modes, Tensor.training], [[true, true], false])
  assert.strictEqual(Tensor.train(() => Tensor.train(() => Tensor.training, false)), false)
  assert.strictEqual(Tensor.training, false)
})
