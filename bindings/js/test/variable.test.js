'use strict'
// Variables in shapes and indices: every value gives what numbers in its place give.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, Variable, SymInt, PolygradError, liveNodes } = require('..')

const N = new Variable('n', 1, 6)
const M = new Variable('m', 2, 5)
const X = Tensor.arange(48).reshape(6, 8).cast('float32').realize()

test('sizes compute, and equal ones are equal', () => {
  const n = N.bind(5)
  const m = M.bind(3)
  for (const [size, value] of [[n.add(m).add(1), 9], [n.sub(7), -2], [n.mul(m), 15], [n.sub(12).floordiv(2), -4],
    [n.mod(3), 2], [n.sub(12).mod(5), 3], [n.neg(), -5], [n.minimum(4), 4], [n.maximum(m), 5]]) {
    assert.strictEqual(size.val, value)
  }
  assert.ok(N.mul(4).floordiv(4).equals(N) && !N.bind(2).equals(N) && !N.equals(3))
  assert.strictEqual(N.bind(2), N.bind(2))
  assert.strictEqual(N.sub(N), 0)
  assert.deepStrictEqual([N.add(M).min, N.add(M).max, N.name], [3, 11, 'n'])
  assert.strictEqual(`${N.mul(2).add(1)} ${N.bind(3)}`, 'n*2+1 (n=3)')
  assert.ok(N.bind(3).mul(2).unbound.equals(N.mul(2)))
  assert.deepStrictEqual([...N.bind(3).mul(M).variables].map(([v, value]) => [String(v), value]), [['m', null], ['n', 3]])
})

const CASES = {
  slice: (i) => X.getitem({ stop: i }),
  'both axes': (i, j) => X.getitem({ stop: i }, { stop: j }).mul(2),
  window: (i) => X.getitem('...', { start: i, stop: typeof i === 'number' ? i + 2 : i.add(2) }),
  step: (i) => X.getitem({ stop: i }, '::3').add(1),
  element: (i, j) => X.getitem(j).add(1),
  shrink: (i, j) => X.shrink([[0, i], [0, j]]),
  pad: (i, j) => X.getitem('0:2').pad([[i, 0], [0, j]]),
  expand: (i) => X.getitem('0:1').expand(i, 8),
  reshape: (i) => X.getitem({ stop: i }).reshape(i, 2, 4).sum(1),
  cat: (i, j) => X.getitem({ stop: i }).cat(X.getitem({ stop: j })),
  mean: (i, j) => X.getitem({ stop: i }, { stop: j }).mean(1),
  softmax: (i, j) => X.getitem('...', { stop: j }).div(8).softmax(),
  matmul: (i, j) => X.getitem('...', { stop: j }).matmul(X.getitem({ stop: j })),
  number: (i, j) => X.mul(i).add(j),
  zeros: (i) => Tensor.zeros(i, 2).add(1),
  arange: (i, j) => Tensor.arange(9, i, j)
}

// Kernels for any size may add in another order than those for one.
const rounded = (list) => list.map((v) => Array.isArray(v) ? rounded(v) : Number(v.toPrecision(6)))

for (const [name, f] of Object.entries(CASES)) {
  test(`variables give what numbers give: ${name}`, () => {
    for (const [i, j] of [[1, 2], [4, 3], [6, 5]]) {
      const want = rounded(f(i, j).tolist())
      const got = f(N.bind(i), M.bind(j))
      assert.deepStrictEqual(rounded(got.tolist()), want)
      assert.deepStrictEqual(rounded(got.realize().tolist()), want)
      assert.strictEqual(got.toArray().length, want.flat(9).length)
    }
  })
}

test('symbolic shapes are told', () => {
  const y = X.getitem({ stop: N.bind(4) })
  assert.strictEqual(y.shape[0], N.bind(4))
  assert.strictEqual(y.shape[1], 8)
  assert.strictEqual(y.numel(), N.bind(4).mul(8))
  assert.match(String(y), /shape=\[\(n=4\),8\]/)
  assert.deepStrictEqual(y.clone().tolist(), y.tolist())
})

test('bad sizes are refused', () => {
  for (const [f, error] of [
    [() => new SymInt(), TypeError],
    [() => new Variable('', 1, 2), PolygradError],
    [() => new Variable('n', 3, 2), PolygradError],
    [() => new Variable(3, 1, 2), TypeError],
    [() => N.bind(7), Error],
    [() => N.bind(1.5), TypeError],
    [() => N.add('1'), TypeError],
    [() => N + 1, TypeError],
    [() => N * 2, TypeError],
    [() => N.val, PolygradError],
    [() => N.floordiv(M.sub(3)), PolygradError],
    [() => X.getitem(N.bind(5).add(2)), RangeError],
    [() => X.getitem({ stop: N.bind(6).add(1) }), RangeError],
    [() => X.reshape(N.bind(2), 24), PolygradError],
    [() => X.getitem({ stop: N }).sum().item(), PolygradError]
  ]) assert.throws(f, error, String(f))
})

test('sizes of a loop are given back', () => {
  const run = () => Tensor.tidy(() => {
    for (let i = 0; i < 200; i++) X.getitem({ stop: N.bind(1 + i % 6) }).sum().item()
  })
  run()
  const before = liveNodes()
  for (let k = 0; k < 5; k++) run()
  assert.ok(liveNodes() - before < 50, `${liveNodes() - before} nodes more`)
})

test('padTo takes sizes of both kinds', () => {
  const n = new Variable('n', 1, 5).bind(2)
  assert.deepStrictEqual(new Tensor([1, 2, 3]).getitem({ stop: n }).padTo(4).tolist(), [1, 2, 0, 0])
  assert.deepStrictEqual(new Tensor([1]).padTo(n).tolist(), [1, 0])
  assert.deepStrictEqual(new Tensor([1]).padTo(3n).tolist(), [1, 0, 0])
})
