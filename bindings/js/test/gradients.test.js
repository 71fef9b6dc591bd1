'use strict'
// Gradients: what they are asked for, how they cross computed tensors.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, nn } = require('..')

const wanting = (data) => new Tensor(data, { requiresGrad: true })

test('backward adds to grad', () => {
  const x = wanting([1, 2, 3])
  x.mul(x).sum().backward()
  assert.deepStrictEqual(x.grad.toArray(), Float32Array.of(2, 4, 6))
  x.sum().backward()
  assert.deepStrictEqual(x.grad.tolist(), [3, 5, 7])
  x.grad = null
  x.mul(2).backward(new Tensor([1, 0, 10]))
  assert.deepStrictEqual(x.grad.tolist(), [2, 0, 20])
})

test('gradients go through computed tensors', () => {
  const x = wanting([1, 2])
  const middle = x.square().realize()
  const loss = middle.mul(x).sum()
  assert.strictEqual(loss.item(), 9)
  loss.backward()
  assert.deepStrictEqual(x.grad.tolist(), [3, 12])
})

test('gradients of gradients', () => {
  const x = wanting([2])
  const [first] = x.pow(3).sum().gradient(x)
  const [second] = first.sum().gradient(x)
  assert.deepStrictEqual([first.tolist(), second.tolist()], [[12], [12]])
})

test('gradient with respect to any tensor, also one that has no part in it', () => {
  const [a, b] = [new Tensor([1, 2]), new Tensor([3])]
  const grads = a.square().sum().gradient(a, b, { materializeGrads: true })
  assert.deepStrictEqual(grads.map((g) => g.tolist()), [[2, 4], [0]])
  const [weighted] = a.square().gradient(a, { gradient: new Tensor([1, 10]) })
  assert.deepStrictEqual(weighted.tolist(), [2, 40])
  assert.throws(() => a.square().sum().gradient(a, b), /gradient: targets\[1\]: the tensor does not depend on it/)
})

test('detach stops gradients', () => {
  const x = wanting([3])
  assert.strictEqual(x.detach().requiresGrad, false)
  x.mul(x.detach()).sum().backward()
  assert.deepStrictEqual(x.grad.tolist(), [3])
  assert.deepStrictEqual(x.square().realize().detach().tolist(), [9])
})

test('several tensors share a graph', () => {
  const [w, b] = [wanting([[1], [2]]), wanting([0.5])]
  const x = new Tensor([[3, 4]])
  x.linear(w, b).sum().backward()
  assert.deepStrictEqual([w.grad.tolist(), b.grad.tolist()], [[[3], [4]], [1]])
})

test('a gradient for a tensor that was computed', () => {
  const x = new Tensor([1, 2]).add(1)
  x.requiresGrad = true
  x.square().sum().backward()
  assert.deepStrictEqual(x.grad.tolist(), [4, 6])
  x.requiresGrad = false
  assert.strictEqual(x.requiresGrad, false)
})

test('two variables for one node', () => {
  const x = new Tensor([1, 2])
  const y = new Tensor(x)
  x.requiresGrad = true
  assert.strictEqual(y.requiresGrad_(true), y)
  x.sum().backward()
  assert.strictEqual(y.grad, null)
  const z = new Tensor(x, { requiresGrad: true })
  z.data[0] = 9
  assert.strictEqual(x.data[0], 1)
  assert.strictEqual(x.clone().requiresGrad, true)
})

test('requiresGrad is null until somebody says', () => {
  const [a, b, w] = [null, false, true].map((requiresGrad) => new Tensor([1], { requiresGrad }))
  const wanted = (...tensors) => tensors.map((t) => t.requiresGrad)
  assert.deepStrictEqual(wanted(new Tensor([1]), a, b, w, Tensor.zeros(2), Tensor.rand(2)), [null, null, false, true, null, null])
  assert.deepStrictEqual(wanted(a.add(b), b.mul(2), a.add(w), a.mul(2)), [null, null, true, null])
  assert.deepStrictEqual(wanted(a.add(b).realize(), w.gt(0).realize()), [null, null])
  assert.deepStrictEqual(wanted(Tensor.ones(2, { requiresGrad: false }), w.clone(), w.detach()), [false, true, false])
  assert.strictEqual(new Tensor(w, { requiresGrad: false }).requiresGrad, false)
  assert.strictEqual(w.requiresGrad, true)
  assert.strictEqual(w.requiresGrad_(undefined).requiresGrad, true)
  assert.strictEqual(w.requiresGrad_(null).requiresGrad, null)
  assert.throws(() => { w.requiresGrad = 1 }, { name: 'TypeError', message: 'requiresGrad: 1, expected true, false or null' })
  assert.strictEqual(new Tensor(wanting([1]).mul(2), { requiresGrad: true }).requiresGrad_().requiresGrad, true)
})

test('optimizers train what is not excluded', () => {
  const [a, b, c] = [new Tensor([1]), new Tensor([1], { requiresGrad: false }), new Tensor(Int32Array.of(1))]
  const optimizer = new nn.SGD([a, b, c], 0.5)
  assert.deepStrictEqual([a.requiresGrad, b.requiresGrad, optimizer.buffers.length, optimizer.params[0] === a], [true, false, 2, true])
  a.mul(b).sum().backward()
  optimizer.step()
  assert.deepStrictEqual([a.item(), b.item(), b.grad, new nn.OptimizerGroup(optimizer).buffers[0] === b], [0.5, 1, null, true])
  assert.throws(() => new nn.SGD([b], 0.1), /SGD: params: is empty/)
  const layers = { first: new nn.Linear(2, 3), norm: new nn.BatchNorm(4), rest: { a, b, c } }
  assert.deepStrictEqual(nn.getParameters(layers).map((p) => p.shape), [[3, 2], [3], [4], [4], [1]])
})

test('replace keeps requiresGrad', () => {
  const w = wanting([1, 2])
  assert.strictEqual(w.replace(Tensor.ones(2).contiguous()), w)
  assert.strictEqual(w.requiresGrad, true)
  w.mul(3).sum().backward()
  assert.deepStrictEqual(w.grad.tolist(), [3, 3])
  const x = new Tensor([1])
  x.replace(w.mul(2))
  x.sum().backward()
  assert.deepStrictEqual(w.grad.tolist(), [5, 5])
})

test('a gradient of an intermediate tensor', () => {
  const x = wanting([1, 2])
  const h = x.mul(2).requiresGrad_()
  const early = h.mul(1)
  h.realize()
  early.add(h.mul(h)).sum().backward()
  assert.deepStrictEqual([h.grad.tolist(), x.grad.tolist()], [[5, 9], [10, 18]])
})

test('gradients add up in the tensor that holds them', () => {
  const x = wanting([3])
  x.mul(2).backward(new Tensor(1))
  const held = x.grad
  Tensor.tidy(() => { x.mul(3).backward() })
  assert.ok(x.grad === held)
  assert.deepStrictEqual([held.tolist(), x.clone().grad], [[5], null])
})

test('errors', () => {
  assert.throws(() => new Tensor([1]).sum().backward(), /backward: no tensor that this one depends on requires a gradient/)
  assert.throws(() => wanting([1, 2]).backward(), /backward: gradient: not given: the tensor has shape \(2\)/)
  assert.throws(() => new Tensor([1n], { requiresGrad: true }), { name: 'TypeError', message: /int64/ })
  assert.throws(() => wanting([1]).sum().backward(3), TypeError)
})

test('results of noGrad do not require gradients', async () => {
  const w = new Tensor([1, 2], { requiresGrad: true })
  const y = Tensor.noGrad(() => w.mul(2))
  assert.strictEqual(y.requiresGrad, null)
  y.mul(w).sum().backward()
  assert.deepStrictEqual(w.grad.tolist(), [2, 4])
  assert.strictEqual(await Tensor.noGrad(async () => { await null; return w.mul(2).requiresGrad }), null)
  assert.throws(() => Tensor.noGrad(() => { throw new Error('x') }), /x/)
  assert.strictEqual(w.mul(2).requiresGrad, true)
  assert.throws(() => Tensor.noGrad(1), /noGrad: fn: 1, expected a function/)
})
