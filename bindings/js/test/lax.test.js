'use strict'

const assert = require('node:assert')
const test = require('node:test')

const { Tensor, func, lax } = require('..')

const list = (x) => x.tolist()

test('slices at places that are tensors', () => {
  const x = new Tensor([[1, 2, 3], [4, 5, 6]])
  assert.deepStrictEqual(list(lax.dynamicSlice(x, new Tensor([0, 1]).cast('int32'), [2, 2])), [[2, 3], [5, 6]])
  assert.deepStrictEqual(list(lax.dynamicSliceInDim(x, 1, 2, { axis: 1 })), [[2, 3], [5, 6]])
  assert.deepStrictEqual(list(lax.dynamicIndexInDim(x, -1, { keepdims: false })), [4, 5, 6])
  assert.deepStrictEqual(list(lax.dynamicUpdateIndexInDim(x, new Tensor([7, 8, 9]), 0, 0)), [[7, 8, 9], [4, 5, 6]])
  const slope = func.grad((y) => lax.dynamicSliceInDim(y, 1, 1).sum())(x)
  assert.deepStrictEqual(list(slope), [[0, 0, 0], [1, 1, 1]])
})

test('gathers and scatters', () => {
  const x = new Tensor([[1, 2], [3, 4], [5, 6]])
  const at = new Tensor([[2], [9]]).cast('int32')
  const axes = { offsetDims: [1], collapsedSliceDims: [0], startIndexMap: [0], sliceSizes: [1, 2] }
  assert.deepStrictEqual(list(lax.gather(x, at, { ...axes, fillValue: -1 })), [[5, 6], [-1, -1]])
  assert.deepStrictEqual(list(lax.gather(x, at, { ...axes, mode: 'clip' })), [[5, 6], [5, 6]])
  assert.deepStrictEqual(list(lax.scatterAdd(x, at, new Tensor([[10, 20], [30, 40]]), [1], [0], [0])), [[1, 2], [3, 4], [15, 26]])
})

test('reductions, windows and products', () => {
  const x = new Tensor([[1, 2, 3], [4, 5, 6]])
  assert.deepStrictEqual(list(lax.reduce(x, 1, 'mul', [1])), [6, 120])
  assert.deepStrictEqual(list(lax.reduceWindow(x, 0, 'add', [1, 2], { padding: 'SAME' })), [[3, 5, 3], [9, 11, 6]])
  assert.deepStrictEqual(list(lax.cumsum(x, { axis: 1, reverse: true })), [[6, 5, 3], [15, 11, 6]])
  assert.deepStrictEqual(list(lax.dotGeneral(x, x, [1], [1])), [[14, 32], [32, 77]])
  assert.deepStrictEqual(lax.topK(new Tensor([3, 1, 2]), 2).map(list), [[3, 2], [0, 2]])
  assert.deepStrictEqual(lax.sort([new Tensor([2, 1, 2]), new Tensor([6, 5, 4])], { numKeys: 2 }).map(list), [[1, 2, 2], [5, 4, 6]])
  assert.deepStrictEqual(list(lax.pad(new Tensor([1, 2]), 0, [-1], [1], [2])), [0, 0, 2, 0])
  assert.deepStrictEqual(list(lax.broadcastedIota('int32', [2, 2], 1)), [[0, 1], [0, 1]])
  assert.deepStrictEqual(list(lax.selectN([new Tensor([0, 1]).cast('int32'), new Tensor([1, 2]), new Tensor([3, 4])])), [1, 4])
})

test('bad input', () => {
  const x = new Tensor([1, 2, 3])
  assert.throws(() => lax.dynamicSliceInDim(x, 0, 4), /dynamicSliceInDim: sliceSize: 4, expected 0 to 3, the size of axis 0/)
  assert.throws(() => lax.reduce(x, 0, 'sub'), /computation: "sub", expected one of/)
  assert.throws(() => lax.cumsum(3), /lax.cumsum: x/)
})
