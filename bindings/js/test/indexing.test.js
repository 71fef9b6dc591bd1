'use strict'
// Indices against the same chosen from nested lists.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, TinyJit, JitError, PolygradError } = require('..')

const LIST = [0, 100, 200].map((i) => [0, 10, 20, 30].map((k) => [i + k, i + k + 1]))
const make = () => new Tensor(LIST)
const int = (...values) => new Tensor(Int32Array.from(values))
const BOOLS = [[true, false, false, true], [false, false, false, false], [false, true, true, false]]

const CASES = {
  'slices as text': [['1:', '::-1', ':1'], LIST.slice(1).map((m) => [...m].reverse().map((r) => r.slice(0, 1)))],
  'spaces and signs': [[' 0 : -1 ', '-1::-2', 0], LIST.slice(0, -1).map((m) => [m[3][0], m[1][0]])],
  'all of an axis': [[':', 2], LIST.map((m) => m[2])],
  'a typed array': [[Int32Array.of(2, -3), ':', 1], [LIST[2], LIST[0]].map((m) => m.map((r) => r[1]))],
  'a list': [[[0, 2], [1, 0]], [LIST[0][1], LIST[2][0]]],
  'one list': [[[0, 2]], [LIST[0], LIST[2]]],
  'no position': [[[]], []],
  'an object': [[{ start: 0, stop: 2 }], LIST.slice(0, 2)],
  'nested positions': [[[[0, 2], [1, 0]]], [[LIST[0], LIST[2]], [LIST[1], LIST[0]]]],
  'two lists': [[int(0, 2), Uint8Array.of(3, 1)], [LIST[0][3], LIST[2][1]]],
  'lists apart': [[int(0, 2), ':', int(1, 0)], [LIST[0].map((r) => r[1]), LIST[2].map((r) => r[0])]],
  'a mask of one axis': [[[true, false, true]], [LIST[0], LIST[2]]],
  'a mask of the last axis': [['...', [false, true]], LIST.map((m) => m.map((r) => [r[1]]))],
  'a mask of two axes': [[new Tensor(BOOLS)], LIST.flatMap((m, i) => m.filter((_, k) => BOOLS[i][k]))],
  'a mask of two axes as lists, then an integer': [[BOOLS, 1], LIST.flatMap((m, i) => m.filter((_, k) => BOOLS[i][k]).map((r) => r[1]))],
  'a mask and positions': [[[true, false, true], Int32Array.of(3, 0)], [LIST[0][3], LIST[2][0]]],
  'a mask and a new axis': [[null, '1:', [false, true, false, true]], [LIST.slice(1).map((m) => [m[1], m[3]])]],
  'a mask that holds nowhere': [[[false, false, false]], []]
}

for (const [name, [index, want]] of Object.entries(CASES)) {
  test(`getitem: ${name}`, () => assert.deepStrictEqual(make().getitem(...index).tolist(), want))

  test(`setitem: ${name}`, () => {
    const t = make()
    const places = Tensor.arange(24).reshape(3, 4, 2).getitem(...index).tolist().flat(9)
    t.setitem(index, -1)
    assert.deepStrictEqual(t.tolist().flat(9), LIST.flat(9).map((v, i) => places.includes(i) ? -1 : v))
    const values = make().getitem(...index).mul(2)
    t.setitem(index, values)
    assert.deepStrictEqual(t.tolist().flat(9), LIST.flat(9).map((v, i) => places.includes(i) ? 2 * v : v))
  })
}

test('a mask of the whole tensor, computed from it', () => {
  const t = make()
  assert.deepStrictEqual(t.getitem(t.gt(120)).tolist(), LIST.flat(9).filter((v) => v > 120))
  t.setitem(t.gt(120), 0)
  assert.strictEqual(t.max().item(), 120)
  t.setitem(t.eq(0), [...Array(t.eq(0).sum().item()).keys()].map((i) => -i))
  assert.ok(t.min().item() < -10)
})

test('an index that is a typed array is one item', () => {
  const t = new Tensor([1, 2, 3, 4])
  t.setitem(Int32Array.of(3, 0), [9, 8])
  assert.deepStrictEqual(t.tolist(), [8, 2, 3, 9])
})

test('gradients go through positions and masks', () => {
  const x = new Tensor([1, 2, 3], { requiresGrad: true })
  x.getitem([true, false, true]).square().sum().backward()
  assert.deepStrictEqual(x.grad.tolist(), [2, 0, 6])
  const z = Tensor.zeros(3)
  z.setitem([[false, true, true]], x.getitem(Int32Array.of(0, 0)))
  z.mul(new Tensor([1, 10, 100])).sum().backward()
  assert.deepStrictEqual(x.grad.tolist(), [112, 0, 6])
})

test('bad indices are refused', () => {
  const t = make()
  const refused = [
    [() => t.getitem([true, false]), PolygradError,
      /getitem: index: a mask of shape \(2\), expected that of axis 0 of a tensor of shape \(3,4,2\)/],
    [() => t.getitem(0, new Tensor(BOOLS)), PolygradError, /mask of shape \(3,4\), expected that of axes 1 to 2/],
    [() => t.getitem('...', new Tensor(BOOLS)), PolygradError, /axes 1 to 2/],
    [() => t.getitem('1:2:3:4'), TypeError, /"1:2:3:4"/],
    [() => t.getitem('a:'), TypeError, /'start:stop:step'/],
    [() => t.getitem('1'), TypeError, /"1"/],
    [() => t.getitem(true), TypeError, /getitem: true, expected/],
    [() => t.getitem(new Tensor([1.5])), TypeError, /type|integer/],
    [() => t.getitem('::0'), Error, /step/],
    [() => t.getitem(0, 0, 0, 0), Error, /too many|4 ind|dimension|axes/],
    [() => t.getitem([[1, true]]), TypeError, /./],
    [() => t.setitem('x', 1), TypeError, /setitem: "x"/],
    [() => t.setitem([[true, true]], 1), PolygradError, /setitem: .*a mask/],
    [() => t.getitem([0, null]), TypeError, /\[0, null\], expected integers or booleans alone; slices are/],
    [() => t.getitem({ start: 0, end: 1 }), TypeError, /a slice has no end/]
  ]
  for (const [call, name, message] of refused) assert.throws(call, (e) => e instanceof name && message.test(e.message), String(call))
  assert.deepStrictEqual(t.tolist(), LIST)
  const w = new Tensor([1, 2], { requiresGrad: true })
  w.setitem(0, 5).square().sum().backward()
  assert.deepStrictEqual(w.grad.tolist(), [10, 4])
  const jit = new TinyJit((x) => x.getitem(x.gt(1)))
  assert.deepStrictEqual(jit(new Tensor([1, 2])).tolist(), [2])
  assert.throws(() => jit(new Tensor([1, 2])), JitError)
})

test('a mask without axes keeps all elements or none, along a new axis', () => {
  const t = make()
  assert.deepStrictEqual(t.getitem(new Tensor(true)).shape, [1, 3, 4, 2])
  assert.deepStrictEqual(t.getitem(new Tensor(false)).shape, [0, 3, 4, 2])
})

test('several masks choose elements together', () => {
  const t = new Tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
  assert.deepStrictEqual(t.getitem([true, false, true], [false, true, true]).tolist(), [2, 9])
  assert.deepStrictEqual(t.getitem(t.sum(1).gt(6), t.sum(0).gt(12)).tolist(), [5, 9])
})

test('an end may be as far away as a number can be', () => {
  const t = new Tensor([1, 2, 3])
  assert.deepStrictEqual(t.getitem({ start: -(2 ** 60), stop: 2 ** 60 }).tolist(), [1, 2, 3])
  assert.deepStrictEqual(t.getitem('1:99999999999999999999').tolist(), [2, 3])
  assert.throws(() => t.getitem(2 ** 60), /out of bounds for axis 0 of size 3/)
})
