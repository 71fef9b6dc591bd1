'use strict'
// Linear algebra by hand-made numbers. A page's first part does without it (scripts/profile.mjs).

const test = require('node:test')
const assert = require('node:assert')
const { Tensor } = require('..')

const m = () => new Tensor([[4, 1], [2, 3]])

const CASES = {
  cholesky: [() => new Tensor([[4, 2], [2, 5]]).cholesky(), [[2, 0], [1, 2]]],
  triangularSolve: [() => new Tensor([[2, 0], [1, 4]]).triangularSolve(new Tensor([2, 9])), [1, 2]],
  solve: [() => m().solve(new Tensor([9, 7])), [2, 1]],
  inv: [() => m().inv(), [[0.3, -0.1], [-0.2, 0.4]]],
  det: [() => m().det(), 10],
  slogdet: [() => m().slogdet()[1], Math.log(10)],
  qr: [() => { const [q, r] = m().qr(); return q.matmul(r) }, [[4, 1], [2, 3]]],
  svd: [() => { const [u, s, vt] = m().svd(); return u.mul(s).matmul(vt) }, [[4, 1], [2, 3]]]
}
for (const [name, [make, want]] of Object.entries(CASES)) {
  test(name, () => {
    const found = make()
    const [got, expected] = [found.tolist(), want].map((values) => [values].flat(Infinity))
    assert.deepStrictEqual(found.shape, new Tensor(want).shape)
    const isNear = (value, i) => Math.abs(value - expected[i]) <= 1e-5 * (1 + Math.abs(expected[i]))
    assert.ok(got.every(isNear), `${got}, expected ${expected}`)
  })
}
