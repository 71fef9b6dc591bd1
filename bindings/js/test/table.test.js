'use strict'
// Runs the table of operations that all languages share: see tests/table/README.md.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { Tensor } = require('..')

const TABLE = path.join(__dirname, '..', '..', '..', 'tests', 'ops.json')
// Integers beyond what a number of JavaScript holds are read as strings.
const CASES = JSON.parse(fs.readFileSync(TABLE, 'utf8').replace(/([:[,] ?)(-?\d{17,})(?=[,\]}])/g, '$1"$2"'))

const camel = (name) => name.replace(/_$/, '').replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase())
const isBig = (dtype) => dtype === 'int64' || dtype === 'uint64'

function element (value, dtype) {
  if (dtype === 'bool') return value
  if (isBig(dtype)) return BigInt(value)
  return typeof value === 'string' ? Number(value.replace('inf', 'Infinity')) : value
}

/** An input: a tensor or a plain number. */
function leaf (record, wants) {
  if (typeof record !== 'object') return record
  const data = record.data.map((v) => element(v, record.dtype))
  return new Tensor(data, { dtype: record.dtype, shape: record.shape, requiresGrad: wants })
}

/** A leaf through its view. */
function seen (tensor, record) {
  for (const [movement, argument] of record.view ?? []) tensor = tensor[movement](argument)
  return tensor
}

/** An argument; decimal strings are integers beyond what a number holds. */
function plain (value) {
  return typeof value === 'string' && /^-?\d+$/.test(value) ? BigInt(value) : value
}

function item (entry, inputs) {
  if (typeof entry !== 'object' || entry === null) return entry
  if (entry.slice === undefined) return inputs[entry.input]
  const [start, stop, step] = entry.slice
  return { start, stop, step }
}

/** Makes the call of a case and returns its results. */
function run (c, inputs) {
  const args = {}
  const used = new Set()
  for (const [name, value] of Object.entries(c.args ?? {})) {
    if (value?.input !== undefined) used.add(value.input)
    args[camel(name)] = value?.input === undefined ? plain(value) : inputs[value.input]
  }
  const operands = inputs.filter((_, i) => !used.has(i))
  const op = camel(c.op)
  const options = Object.keys(args).length > 0 ? [args] : []
  switch (c.kind) {
    case 'index': {
      const items = c.args.items.map((e) => item(e, inputs))
      return [op === 'getitem' ? inputs[0].getitem(...items) : inputs[0].setitem(items, inputs[1])]
    }
    case 'property': return [inputs[0][op]]
    case 'static': return [Tensor[op](...options)].flat()
    case 'list': return [op === 'einsum' ? Tensor.einsum(args.formula, ...operands) : Tensor[op](operands, ...options)].flat()
  }
  const result = [operands[0][op](...operands.slice(1), ...options)].flat()
  // A method that answers with a boolean stands for a bool without axes.
  return result.map((r) => typeof r === 'boolean' ? new Tensor(r) : r)
}

function compare (got, want, rtol, atol) {
  assert.strictEqual(got.dtype, want.dtype)
  assert.deepStrictEqual(got.shape, want.shape)
  const have = got.toArray()
  want.data.forEach((w, i) => {
    let value = element(w, want.dtype)
    let x = want.dtype === 'bool' ? have[i] !== 0 : have[i]
    if (typeof value !== 'number') return assert.strictEqual(x, value, `element ${i}`)
    if (want.dtype === 'float32') [x, value] = [Math.fround(x), Math.fround(value)]
    const right = Object.is(x, value) || x === value || Math.abs(x - value) <= atol + rtol * Math.abs(value)
    assert.ok(right, `element ${i}: ${x}, expected ${value}`)
  })
}

function check (c) {
  const records = c.inputs ?? []
  const grads = c.grads ?? records.map(() => null)
  const leaves = records.map((r, i) => leaf(r, grads[i] !== null))
  const inputs = leaves.map((t, i) => seen(t, records[i]))
  const results = Tensor.train(() => run(c, inputs), c.training ?? false)
  assert.strictEqual(results.length, c.outputs.length)
  if (c.seed !== undefined) {
    // The table's numbers are those of a seed, which JavaScript takes from its stream.
    results.forEach((got, i) => assert.deepStrictEqual([got.dtype, got.realize().shape], [c.outputs[i].dtype, c.outputs[i].shape]))
    return
  }
  results.forEach((got, i) => c.outputs[i] === null || compare(got, c.outputs[i], c.rtol ?? 0, c.atol ?? 0))
  if (c.grads === undefined) return
  const terms = results.flatMap((got, i) => c.weights[i] === null
    ? []
    : [got.mul(new Tensor(Float64Array.from(c.weights[i].map((w) => element(w, 'float64'))), { shape: got.shape })).sum()])
  terms.reduce((a, b) => a.add(b)).backward()
  leaves.forEach((tensor, i) => {
    if (grads[i] === null) return
    assert.ok(tensor.grad, `input ${i} has no gradient`)
    const have = tensor.grad.toArray()
    grads[i].forEach((w, k) => {
      const want = element(w, 'float64')
      const right = Object.is(have[k], want) || have[k] === want || Math.abs(have[k] - want) <= c.grad_tol * (1 + Math.abs(want))
      assert.ok(right, `gradient of input ${i}, element ${k}: ${have[k]}, expected ${want}`)
    })
  })
}

// The tests of the WebAssembly module have a part of the table: 2/4 is each fourth case, from the third on.
const [first, parts] = (process.env.POLY_PART ?? '0/1').split('/').map(Number)

test('table of operations', async (t) => {
  assert.ok(CASES.length > 600, 'the table was cut off')
  for (const c of CASES.filter((_, i) => i % parts === first)) {
    await t.test(c.name, () => {
      if (c.error === undefined) return check(c)
      assert.throws(() => Tensor.train(() => {
        const inputs = (c.inputs ?? []).map((r) => seen(leaf(r, false), r))
        for (const result of run(c, inputs)) result.realize()
      }), (error) => {
        assert.ok(error.message.toLowerCase().includes(c.error.toLowerCase()), `${error.message}, expected ${c.error}`)
        return true
      })
    })
  }
})
