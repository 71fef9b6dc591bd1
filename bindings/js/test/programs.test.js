'use strict'
// Runs the programs of variables that mean the same in all languages: see tests/programs/README.md.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { Tensor, TinyJit, Variable, SGD, Adam, AdamW } = require('..')

const PROGRAMS = JSON.parse(fs.readFileSync(path.join(__dirname, '..', '..', '..', 'tests', 'programs.json'), 'utf8'))
const OPTIMIZERS = { sgd: SGD, adam: Adam, adamw: AdamW }

const camel = (name) => name.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase())
const renamed = (args) => Object.fromEntries(Object.entries(args).map(([name, value]) => [camel(name), value]))

/** What runs a program: its variables by name. */
class Machine {
  constructor (variables) { this.variables = variables }

  /** The value of a statement: a number, or a variable's tensor. */
  value (given) { return typeof given === 'object' ? this.variables[given.var] : given }

  items (items) {
    return items.map((item) => {
      if (typeof item !== 'object' || item === null) return item
      if (item.slice === undefined) return this.value(item)
      const [start, stop, step] = item.slice
      return { start, stop, step }
    })
  }

  run (s) {
    const kind = Object.keys(KINDS).find((name) => name in s)
    assert.ok(kind, `unknown statement ${JSON.stringify(s)}`)
    KINDS[kind](this, s, this.variables)
  }
}

function compare (tensor, s) {
  const tolerance = s.tolerance ?? 1e-6
  const have = tensor.toArray()
  assert.strictEqual(have.length, s.values.length)
  s.values.forEach((want, i) => {
    assert.ok(Math.abs(have[i] - want) <= tolerance * Math.max(1, Math.abs(want)), `${have}, expected ${s.values}`)
  })
}

// A call and an error have names that stand in other statements too: they are looked at first.
const KINDS = {
  error: (m, s) => assert.throws(() => m.run(s.do), (error) => {
    assert.ok(error.message.toLowerCase().includes(s.error), `${error.message}, expected ${s.error}`)
    return true
  }),
  function: (m, s, v) => {
    v[s.function] = new TinyJit((...args) => {
      const inner = new Machine({ ...v, ...Object.fromEntries(s.params.map((name, i) => [name, args[i]])) })
      for (const statement of s.do) inner.run(statement)
      return s.returns.map((name) => inner.variables[name])
    })
  },
  run: (m, s, v) => v[s.run](...s.with.map((name) => v[name])).forEach((result, i) => { v[s.let[i]] = result }),
  data: (m, s, v) => { v[s.let] = new Tensor(s.data, { dtype: s.dtype, shape: s.shape, requiresGrad: s.grad ?? null }) },
  op: (m, s, v) => {
    const [first, ...others] = s.of.map((name) => v[name])
    if (s.with !== undefined) others.push(s.with)
    const args = renamed(s.args ?? {})
    const options = Object.keys(args).length > 0 ? [args] : []
    v[s.let] = s.op === 'getitem' ? first.getitem(...m.items(args.items)) : first[camel(s.op)](...others, ...options)
  },
  gradients: (m, s, v) => v[s.gradients].gradient(...s.of.map((name) => v[name])).forEach((g, i) => { v[s.let[i]] = g }),
  size: (m, s, v) => { v[s.size] = new Variable(s.size, s.min, s.max) },
  first: (m, s, v) => { v[s.let] = v[s.of[0]].shrink([[0, v[s.first].bind(s.is)]]) },
  seed: (m, s) => Tensor.manualSeed(s.seed),
  same: (m, s, v) => {
    const [a, b] = s.same.map((name) => v[name].tolist())
    assert.strictEqual(String(a) === String(b), s.is, `${a} and ${b}`)
  },
  read: (m, s, v) => v[s.read].tolist(),
  assign: (m, s, v) => v[s.assign].assign(m.value(s.value)),
  set: (m, s, v) => v[s.set].setitem(m.items(s.items), m.value(s.value)),
  realize: (m, s, v) => v[s.realize[0]].realize(...s.realize.slice(1).map((name) => v[name])),
  drop: (m, s, v) => delete v[s.drop],
  backward: (m, s, v) => v[s.backward].backward(...(s.gradient === undefined ? [] : [{ gradient: v[s.gradient] }])),
  zero_grad: (m, s, v) => { v[s.zero_grad].grad = null },
  optimizer: (m, s, v) => {
    v[s.optimizer] = new OPTIMIZERS[s.kind](s.params.map((name) => v[name]), { lr: s.lr, ...renamed(s.args) })
  },
  step: (m, s, v) => v[s.step].step(),
  expect: (m, s, v) => {
    assert.deepStrictEqual(v[s.expect].shape, s.shape)
    assert.strictEqual(v[s.expect].dtype, s.dtype)
    compare(v[s.expect], s)
  },
  expect_grad: (m, s, v) => {
    const grad = v[s.expect_grad].grad
    if (s.values === null) assert.strictEqual(grad, null)
    else compare(grad, s)
  }
}

test('programs of variables', async (t) => {
  assert.ok(PROGRAMS.length > 300, 'the file was cut off')
  for (const p of PROGRAMS) {
    await t.test(`${p.topic}: ${p.name}`, () => {
      const machine = new Machine({})
      for (const statement of p.do) machine.run(statement)
    })
  }
})
