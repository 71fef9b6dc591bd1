'use strict'
// What is given back, and when.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, Linear, Adam, TinyJit, getParameters, compileStep, liveNodes, PolygradError } = require('..')

test('dispose gives nodes back', () => {
  const before = liveNodes()
  const a = new Tensor([1, 2])
  const b = a.add(1).mul(a)
  assert.ok(liveNodes() >= before + 2)
  a.dispose()
  assert.deepStrictEqual(b.tolist(), [2, 6], 'what was made of it goes on working')
  b.dispose()
  b.dispose()
  assert.ok(a.isDisposed && b.isDisposed)
  assert.throws(() => a.add(1), (e) => e instanceof PolygradError && e.message === 'the tensor was disposed')
  assert.throws(() => new Tensor([1]).add(a), PolygradError)
  for (const use of [() => a.shape, () => a.tolist(), () => a.realize(), () => a.sum(), () => a.data]) assert.throws(use, PolygradError)
  assert.strictEqual(String(a), 'Tensor(disposed)')
  assert.strictEqual(a[Symbol.dispose], a.dispose)
})

test('dispose gives the gradient back too', () => {
  const x = new Tensor([1, 2], { requiresGrad: true })
  x.square().sum().backward()
  const { grad } = x
  x.dispose()
  assert.ok(grad.isDisposed)
})

test('tidy keeps results, parameters and gradients only', () => {
  const x = new Tensor([1, 2], { requiresGrad: true })
  let inner
  const { kept, list } = Tensor.tidy(() => {
    inner = x.mul(2)
    inner.mul(x).sum().backward()
    return { kept: inner.add(1), list: [x.add(2)], number: 3 }
  })
  assert.ok(inner.isDisposed)
  assert.deepStrictEqual([kept.tolist(), list[0].tolist(), x.grad.tolist()], [[3, 5], [3, 4], [4, 8]])
  const [outer, parameter] = Tensor.tidy(() => {
    const y = Tensor.tidy(() => x.detach().add(5).keep())
    return [y, new Tensor([1], { requiresGrad: true })]
  })
  assert.deepStrictEqual([outer.tolist(), parameter.isDisposed], [[6, 7], false])
  assert.throws(() => Tensor.tidy(() => { inner = x.mul(3); throw new Error('stop') }), /stop/)
  assert.ok(inner.isDisposed)
  assert.throws(() => Tensor.tidy(async () => {}), TypeError)
})

test('a training loop in tidy has flat memory without waiting', () => {
  const model = new Linear(4, 2)
  const optimizer = new Adam(getParameters(model), { lr: 0.01 })
  const x = Tensor.rand(8, 4).realize()
  const once = () => Tensor.tidy(() => {
    optimizer.zeroGrad()
    const loss = model.forward(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()
  })
  for (let i = 0; i < 20; i++) once()
  const before = liveNodes()
  for (let i = 0; i < 200; i++) once()
  assert.ok(liveNodes() <= before + 50, `${liveNodes()} nodes, ${before} before`)
})

test('large results that are forgotten are given back where turns end, though they are little garbage for the engine', async () => {
  const x = Tensor.ones(1024, 1024).realize()
  const add = new TinyJit((y) => y.add(1).realize())
  for (let i = 0; i < 1200; i++) { // 4.7 GiB
    add(x)
    if (i % 8 === 0) await new Promise((resolve) => setTimeout(resolve))
  }
  assert.strictEqual(add(x).sum().item(), 2 * 1024 * 1024)
})

test('a tensor outlives all that were made beside it', () => {
  const kept = []
  for (let i = 0; i < 9000; i++) {
    const tensor = new Tensor([i])
    if (i % 65 === 0) kept.push(tensor)
    if (i % 1000 === 999) tensor.add(1).realize() // may look for garbage
  }
  assert.deepStrictEqual(kept.map((tensor) => tensor.item()), kept.map((_, i) => 65 * i))
})

test('a compiled step keeps what it works on', () => {
  const make = () => {
    const x = new Tensor([1, 2])
    const step = compileStep((t) => t.add(1).sum(), x)
    x.dispose()
    return step
  }
  const step = make()
  step.run()
  assert.strictEqual(step.lossValue(), 5)
})
