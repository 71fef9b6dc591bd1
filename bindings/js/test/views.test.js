'use strict'
// Views show what is written to the memory that they show, and readers of it keep what was there.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor } = require('..')

const ints = (...numbers) => new Tensor(new Int32Array(numbers))

test('views that were made before there was memory', () => {
  const changes = {
    assign: (x) => x.assign(Tensor.arange(20).reshape(4, 5).cast('float32').mul(10)),
    item: (x) => x.setitem([1, 3], 100),
    row: (x) => x.setitem(1, new Tensor([1, 2, 3, 4, 5])),
    mask: (x) => x.assign(x.gt(7).where(0, x))
  }
  const views = {
    part: (x) => x.getitem('1:3'),
    row: (x) => x.getitem(1),
    element: (x) => x.getitem(1, 3),
    turned: (x) => x.T,
    flat: (x) => x.reshape(-1),
    backwards: (x) => x.flip(0),
    irregular: (x) => x.T.reshape(2, 10)
  }
  for (const [how, change] of Object.entries(changes)) {
    for (const [name, view] of Object.entries(views)) {
      const x = Tensor.arange(20).reshape(4, 5).cast('float32').mul(2)
      const shown = view(x)
      const later = x.add(1)
      const before = x.tolist()
      x.realize()
      change(x)
      const expected = view(new Tensor(x.tolist())).tolist()
      assert.deepStrictEqual(shown.mul(1).tolist(), expected, `${how}, ${name}: computed with`)
      assert.deepStrictEqual(shown.tolist(), expected, `${how}, ${name}: read`)
      assert.deepStrictEqual(later.sub(1).tolist(), before, `${how}, ${name}: a reader`)
      assert.notDeepStrictEqual(x.tolist(), before)
    }
  }
})

test('views of lazy readers keep their root', () => {
  const x = ints(1, 2, 3)
  const y = x.mul(2)
  const column = y.reshape(3, 1)
  x.assign(x.add(x)) // computes y, and column as a view of it
  y.setitem(-1, 9)
  assert.deepStrictEqual(column.tolist(), [[2], [4], [9]])
  column.setitem(0, 7)
  assert.deepStrictEqual(y.tolist(), [7, 4, 9])

  const a = new Tensor([[1, 2], [3, 4]])
  const b = a.add(10)
  const turned = b.T
  a.assign(b)
  turned.setitem(0, 5)
  assert.deepStrictEqual([b.tolist(), a.tolist()], [[[5, 12], [5, 14]], [[11, 12], [13, 14]]])

  const c = ints(1, 2, 3)
  const d = c.mul(2)
  const tail = d.getitem('1:')
  d.realize()
  c.setitem(0, 5)
  d.setitem(1, 100)
  assert.deepStrictEqual(tail.tolist(), [100, 6])
})

test('masks that are what is written', () => {
  for (const n of [3, 5, 8]) {
    const mask = Array.from({ length: n }, (a, i) => Array.from({ length: n }, (b, k) => (i * 7 + k * k * 3) % 5 < 2))
    const turned = mask.map((row, i) => row.map((on, k) => mask[k][i]))
    const cleared = mask.map((row, i) => row.map((on, k) => on && !turned[i][k]))
    const x = new Tensor(mask)
    x.T.setitem(x, false)
    assert.deepStrictEqual(x.tolist(), cleared)
    const y = new Tensor(mask)
    y.setitem(y.T, false)
    assert.deepStrictEqual(y.tolist(), cleared)
  }
})

test('results that are views of each other', () => {
  const a = ints(1, 2).neg()
  const b = a.contiguous()
  const c = b.reshape(2, 1)
  const d = b.maximum(a)
  c.realize(d)
  assert.deepStrictEqual([c.tolist(), d.tolist()], [[[-1], [-2]], [-1, -2]])
})

test('constants beyond the type in front of a cast, and arithmetic that wraps', () => {
  const typed = (numbers, dtype) => new Tensor(numbers, { dtype })
  const padded = (x, dtype, value) => x.cast(dtype).pad([[1, 1]], { value }).tolist()
  assert.deepStrictEqual(padded(new Tensor([true, false]), 'float32', 2), [2, 1, 0, 2])
  assert.deepStrictEqual(padded(ints(1, 2), 'float32', 1.5), [1.5, 1, 2, 1.5])
  assert.deepStrictEqual(padded(typed([1, 2], 'int8'), 'int32', 300), [300, 1, 2, 300])
  assert.deepStrictEqual(padded(typed([1, 2], 'uint8'), 'float32', -1), [-1, 1, 2, -1])
  assert.deepStrictEqual(padded(ints(1, 2), 'float32', -Infinity), [-Infinity, 1, 2, -Infinity])
  assert.deepStrictEqual(padded(typed([1, 2], 'float16'), 'float32', 1e6), [1e6, 1, 2, 1e6])
  assert.deepStrictEqual(padded(new Tensor([1, 2]), 'float64', 0.1), [0.1, 1, 2, 0.1])
  assert.deepStrictEqual(typed([3, 6, 2, 4, 0, 5, 9], 'uint32').sub(3).clip(1, 3).tolist(), [1, 3, 3, 1, 3, 2, 3])
  assert.deepStrictEqual([typed([7, 0, 1, 2], 'uint8').neg().argmax().item(), typed([7, 0, 1, 2], 'uint8').neg().max().item()], [2, 255])
  const z = typed([3], 'uint32').mod(4)
  assert.deepStrictEqual(z.mod(z.add(1)).tolist(), [3])
  assert.deepStrictEqual(new Tensor([10, 20]).getitem(new Tensor([3, -1, 2]).gt(0).cast('int32')).tolist(), [20, 10, 20])
})

/** Numbers that are the same in each run. */
function randomly (seed) {
  let state = seed + 1
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor(state / 2 ** 32 * n)
  }
}

// A model of what variables show: a root has values, and a variable is a root and the places of its elements there.
class Model {
  constructor (seed) {
    this.below = randomly(seed)
    this.vars = []
    for (let i = 0; i < 2; i++) {
      const values = Array.from({ length: 6 }, () => this.below(100))
      this.add(new Tensor(values).reshape(2, 3).contiguous().realize(), values, [2, 3])
    }
  }

  pick () { return this.vars[this.below(this.vars.length)] }

  add (tensor, values, shape) {
    this.vars.push({ tensor, root: { values }, places: values.map((_, i) => i), shape })
  }

  write (v, values) {
    v.places.forEach((p, i) => { v.root.values[p] = values[i] })
  }

  check (v, text) {
    assert.deepStrictEqual(v.tensor.tolist().flat(), v.places.map((p) => v.root.values[p]), text)
  }

  view (v) {
    const [n, m] = v.shape
    const at = (i, k) => v.places[i * m + k]
    const list = (rows, columns, f) => Array.from({ length: rows * columns }, (_, i) => f(Math.floor(i / columns), i % columns))
    const [tensor, places, shape] = [
      () => [v.tensor.T, list(m, n, (i, k) => at(k, i)), [m, n]],
      () => [v.tensor.getitem('0:1'), list(1, m, (i, k) => at(i, k)), [1, m]],
      () => [v.tensor.getitem(':', '1:').reshape(1, -1), list(n, m - 1, (i, k) => at(i, k + 1)), [1, n * (m - 1)]],
      () => [v.tensor.reshape(1, -1), v.places, [1, n * m]],
      () => [v.tensor.flip(1), list(n, m, (i, k) => at(i, m - 1 - k)), [n, m]],
      () => [v.tensor.T.reshape(1, -1), list(m, n, (i, k) => at(k, i)), [1, n * m]]
    ][m > 1 ? this.below(6) : 0]()
    this.vars.push({ tensor, root: v.root, places, shape })
  }

  step (text) {
    const v = this.pick()
    const shown = v.places.map((p) => v.root.values[p])
    switch (this.below(8)) {
      case 0: case 1:
        this.add(v.tensor.mul(2).add(1), shown.map((x) => x * 2 + 1), v.shape)
        if (shown.some((x) => x * 2 + 1 >= 4096)) this.vars.pop()
        break
      case 2: case 3: case 4:
        this.view(v)
        break
      case 5: {
        const values = shown.map(() => this.below(100))
        v.tensor.assign(new Tensor(values).reshape(...v.shape))
        this.write(v, values)
        break
      }
      case 6:
        v.tensor.assign(v.tensor.sub(5))
        this.write(v, shown.map((x) => x - 5))
        break
      case 7:
        this.check(v, text)
    }
    if (this.vars.length > 12) this.vars.splice(this.below(6), 6)
  }
}

test('random programs show what they should', () => {
  for (let seed = 0; seed < 40; seed++) {
    const model = new Model(seed)
    for (let step = 0; step < 50; step++) model.step(`seed ${seed}, step ${step}`)
    model.vars.forEach((v) => model.check(v, `seed ${seed}, at the end`))
  }
})
