'use strict'
// What runs in other threads, and the event loop that goes on meanwhile.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, Linear, SGD, Instance, compileStep, getParameters, PolygradError } = require('..')

test('async variants give what the others give', async () => {
  const x = new Tensor([[1, 2], [3, 4]])
  const y = await x.mul(2).realizeAsync()
  assert.deepStrictEqual(y.tolist(), [[2, 4], [6, 8]])
  assert.deepStrictEqual(await x.sum(0).toArrayAsync(), Float32Array.of(4, 6))
  assert.strictEqual(await x.sum().itemAsync(), 10)
  assert.deepStrictEqual(await x.gt(2).tolistAsync(), [[false, false], [true, true]])
  assert.deepStrictEqual(await x.half().toArrayAsync(), Float32Array.of(1, 2, 3, 4))
  const [a, b] = [x.add(1), x.add(2)]
  await a.realizeAsync(b)
  assert.deepStrictEqual([a.data[0], b.data[0]], [2, 3])
  assert.deepStrictEqual((await x.assignAsync(x.mul(10))).tolist(), [[10, 20], [30, 40]])
})

test('many at a time', async () => {
  const all = await Promise.all(Array.from({ length: 300 }, (_, i) => new Tensor([i]).square().itemAsync()))
  assert.deepStrictEqual(all, Array.from({ length: 300 }, (_, i) => i * i))
  const x = new Tensor([2]).exp2()
  const same = await Promise.all([x.itemAsync(), x.itemAsync()])
  assert.deepStrictEqual(same, [4, 4])
})

test('training', async () => {
  Tensor.manualSeed(0)
  const model = new Linear(2, 1)
  const optimizer = new SGD(getParameters(model), { lr: 0.05 })
  const [x, y] = [new Tensor([[1, 2], [3, 4]]), new Tensor([[5], [11]])]
  let loss
  for (let i = 0; i < 100; i++) {
    optimizer.zeroGrad()
    loss = model.forward(x).mseLoss(y)
    await loss.backwardAsync()
    await optimizer.stepAsync()
  }
  assert.ok(await loss.itemAsync() < 0.1)
  const step = compileStep(() => model.forward(x).mseLoss(y))
  const value = await model.forward(x).mseLoss(y).itemAsync()
  await step.runAsync()
  assert.ok(Math.abs(step.lossValue() - value) <= 1e-6)
  step.dispose()
  await assert.rejects(step.runAsync(), PolygradError)
})

test('instances', async () => {
  const net = Instance.mlp({ layers: [2, 4, 1], loss: 'mse' })
  net.setOptimizer('sgd', { lr: 0.01 })
  const data = { x: [[1, 2]], y: [[3]] }
  const [loss] = net.valueAndGrad(data)
  assert.strictEqual((await net.valueAndGradAsync(data))[0], loss)
  assert.strictEqual(await net.trainStepAsync(data), loss)
  const both = await Promise.all([net.forwardAsync({ x: [[1, 2]] }), net.forwardAsync({ x: [[3, 4]] })])
  assert.notStrictEqual(both[0].output[0], both[1].output[0])
  assert.strictEqual((await net.callAsync('loss', data)).loss.length, 1)
  await assert.rejects(net.callAsync('nothing'), /callAsync: entry: there is no "nothing"/)
})

test('errors reject', async () => {
  const gone = Tensor.ones(2).add(1)
  gone.dispose()
  await assert.rejects(gone.realizeAsync(), /disposed/)
  await assert.rejects(new Tensor([1]).sum().backwardAsync(), PolygradError)
  await assert.rejects(new Tensor([1]).assignAsync([1, 2]), PolygradError)
  await assert.rejects(new Tensor([1, 2]).itemAsync(), PolygradError)
})

const threads = { skip: process.env.POLYGRAD_ENGINE === 'wasm' && 'WebAssembly has one thread' }

test('the event loop goes on, also while it uses the library', threads, async () => {
  const a = Tensor.rand(800, 800).realize()
  let product = a
  for (let i = 0; i < 12; i++) product = product.matmul(a)
  let ticks = 0
  const timer = setInterval(() => {
    ticks++
    new Tensor([1, 2]).add(ticks)
  }, 1)
  const start = performance.now()
  try {
    await product.sum().realizeAsync()
  } finally {
    clearInterval(timer)
  }
  const took = performance.now() - start
  assert.ok(ticks > took / 20, `${ticks} ticks in ${took.toFixed(0)} ms`)
})

test('tensors may be disposed, and forgotten, while they are computed', async () => {
  const x = Tensor.rand(300, 300).realize()
  const y = x.matmul(x)
  const going = y.realizeAsync()
  x.dispose()
  y.dispose()
  await going
  assert.strictEqual(y.isDisposed, true)
})

test('gradients of several threads add up, and those that are gone do not count', async () => {
  const w = new Tensor([1, 2], { requiresGrad: true })
  await Promise.all([2, 3, 4].map((k) => w.mul(k).sum().backwardAsync()))
  assert.deepStrictEqual(w.grad.tolist(), [9, 9])
  const optimizer = new SGD([w], { lr: 1 })
  const running = w.mul(5).sum().backwardAsync()
  optimizer.zeroGrad()
  await running
  assert.deepStrictEqual(w.grad.tolist(), [5, 5])
})

test('a training step does not wait for all who ask for values', async () => {
  const model = new Linear(4, 2)
  const optimizer = new SGD(getParameters(model), { lr: 0.01 })
  const x = Tensor.rand(8, 4).realize()
  let going = true
  let served = 0
  const ask = async (k) => { for (; going; served++) await x.add(k).sum().itemAsync() }
  const all = Array.from({ length: 200 }, (_, k) => ask(k))
  for (let i = 0; i < 5; i++) {
    optimizer.zeroGrad()
    const loss = model.forward(x).square().mean()
    const before = served
    await loss.backwardAsync()
    await optimizer.stepAsync()
    assert.ok(served - before < 20, `${served - before} values came first`)
  }
  going = false
  await Promise.all(all)
  assert.ok(served >= 200)
})

test('what tensors are given while they are computed from changes no result', async () => {
  const x = Tensor.rand(300, 300).realize()
  const want = x.matmul(x).sum().item()
  const sum = x.matmul(x).sum()
  const going = sum.realizeAsync()
  x.assign(0)
  await going
  assert.strictEqual(sum.item(), want)
})
