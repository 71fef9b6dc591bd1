'use strict'
// Gradients: what they are asked for, how they cross computed tensors.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor } = require('..')

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
  const grads = a.square().sum().gradient(a, b)
  assert.deepStrictEqual(grads.map((g) => g.tolist()), [[2, 4], [0]])
  const [weighted] = a.square().gradient(a, { gradient: new Tensor([1, 10]) })
  assert.deepStrictEqual(weighted.tolist(), [2, 40])
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

test('errors', () => {
  assert.throws(() => new Tensor([1]).sum().backward(), /backward: no tensor that this one depends on requires a gradient/)
  assert.throws(() => wanting([1, 2]).backward(), /backward: the tensor has shape \[2\]/)
  assert.throws(() => new Tensor([1n], { requiresGrad: true }), { name: 'TypeError', message: /int64/ })
  assert.throws(() => wanting([1]).sum().backward(3), TypeError)
})
