'use strict'
// How tensors print: as numpy does, where JavaScript has no way of its own.

const test = require('node:test')
const assert = require('node:assert')
const { inspect } = require('node:util')
const { Tensor, TinyJit, Variable } = require('..')

const CASES = {
  'a matrix': [new Tensor([[1, 2.5], [-3, 4]]), `Tensor([[ 1. ,  2.5],
        [-3. ,  4. ]], shape=[2,2], dtype=float32)`],
  'whole numbers': [new Tensor([1, -20, 3]), 'Tensor([  1, -20,   3], shape=[3], dtype=float32)'],
  'what is lazy': [new Tensor([1]).add(1), 'Tensor(lazy, shape=[1], dtype=float32)'],
  'a long vector': [Tensor.arange(5000).realize(), 'Tensor([   0,    1,    2, ..., 4997, 4998, 4999], shape=[5000], dtype=int32)'],
  'a large matrix': [Tensor.arange(1400).reshape(200, 7).realize(), `Tensor([[   0,    1,    2, ...,    4,    5,    6],
        [   7,    8,    9, ...,   11,   12,   13],
        [  14,   15,   16, ...,   18,   19,   20],
        ...,
        [1379, 1380, 1381, ..., 1383, 1384, 1385],
        [1386, 1387, 1388, ..., 1390, 1391, 1392],
        [1393, 1394, 1395, ..., 1397, 1398, 1399]], shape=[200,7], dtype=int32)`],
  'three axes': [new Tensor([[[1, 2]], [[3, 4]]]), `Tensor([[[1, 2]],

        [[3, 4]]], shape=[2,1,2], dtype=float32)`],
  'a long line': [Tensor.full([16], 1000).realize(), `Tensor([1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000,
        1000, 1000, 1000, 1000, 1000], shape=[16], dtype=float32)`],
  'the least digits of a type': [new Tensor([0.1, 2 / 3]), 'Tensor([0.1      , 0.6666667], shape=[2], dtype=float32)'],
  double: [new Tensor([0.1, 2 / 3], { dtype: 'float64' }), 'Tensor([0.1       , 0.66666667], shape=[2], dtype=float64)'],
  'no numbers': [new Tensor([NaN, Infinity, -0.5]), 'Tensor([     NaN, Infinity,     -0.5], shape=[3], dtype=float32)'],
  'small numbers': [new Tensor([1.5e-7, 3]), 'Tensor([1.5e-7,   3e+0], shape=[2], dtype=float32)'],
  'large numbers': [new Tensor([1e10, -1]), 'Tensor([1e+10, -1e+0], shape=[2], dtype=float32)'],
  bigints: [new Tensor([1n, -(2n ** 60n)]), `Tensor([                   1, ${-(2n ** 60n)}], shape=[2], dtype=int64)`],
  booleans: [new Tensor([true, false]), 'Tensor([ true, false], shape=[2], dtype=bool)'],
  'a scalar': [new Tensor(2.5), 'Tensor(2.5, shape=[], dtype=float32)'],
  'nothing in it': [Tensor.zeros(2, 0).realize(), 'Tensor([], shape=[2,0], dtype=float32)'],
  'a gradient': [new Tensor([1], { requiresGrad: true }), 'Tensor([1], shape=[1], dtype=float32, requiresGrad=true)'],
  'a view': [new Tensor([[1, 2], [3, 4]]).T.getitem(1), 'Tensor([2, 4], shape=[2], dtype=float32)'],
  'a view backwards': [new Tensor([1, 2, 3]).getitem('::-2'), 'Tensor([3, 1], shape=[2], dtype=float32)'],
  'a size that varies': [new Tensor([1, 2, 3]).getitem({ stop: new Variable('n', 1, 3).bind(2) }).mul(2).realize(),
    'Tensor([2, 4], shape=[(n=2)], dtype=float32)']
}
for (const [name, [tensor, want]] of Object.entries(CASES)) {
  test(`prints ${name}`, () => {
    assert.deepStrictEqual([String(tensor), inspect(tensor)], [want, want])
  })
}

test('prints all values of small types', () => {
  for (const [dtype, bits] of [['float16', 16], ['bfloat16', 16], ['fp8e4m3', 8], ['fp8e5m2', 8]]) {
    const n = Math.min(1000, 2 ** bits)
    const raw = (bits === 8 ? Uint8Array : Uint16Array).from({ length: n }, (_, i) => Math.floor(i * 2 ** bits / n))
    const tensor = new Tensor(raw).bitcast(dtype).realize()
    const found = /\[([^\]]*)\]/.exec(String(tensor))[1].split(',')
    tensor.tolist().forEach((v, i) => {
      const got = Number(found[i])
      assert.ok(Object.is(got, v) || Math.abs(got - v) <= 1e-7 * Math.abs(v) + 5e-9, `${dtype} ${raw[i]}: ${found[i]}, expected ${v}`)
    })
  }
})

test('printing computes nothing', () => {
  const lazy = new Tensor([1]).add(1)
  assert.deepStrictEqual([String(lazy), lazy.isRealized], ['Tensor(lazy, shape=[1], dtype=float32)', false])
  const x = new Tensor([1, 2])
  assert.deepStrictEqual([x, x.getitem('1:'), x.getitem('::-1'), x.add(1).realize()].map((t) => t.isRealized), [true, true, true, true])
  const texts = []
  const f = new TinyJit((a) => {
    texts.push(String(a), String(x))
    return a.add(x)
  })
  for (let i = 0; i < 2; i++) f(new Tensor([1, 2]))
  assert.deepStrictEqual(texts.slice(2), ['Tensor(lazy, shape=[2], dtype=float32)', 'Tensor(lazy, shape=[2], dtype=float32)'])
})

test('within objects only small tensors show their values', () => {
  assert.strictEqual(inspect({ a: Tensor.ones(3).realize(), b: Tensor.ones(30).realize() }, { breakLength: 200 }),
    '{ a: Tensor([1, 1, 1], shape=[3], dtype=float32), b: Tensor(shape=[30], dtype=float32) }')
})
