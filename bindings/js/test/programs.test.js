'use strict'
// Runs the programs of variables that mean the same in all languages: see tests/programs/README.md.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { Tensor, TinyJit, Variable, SGD, Adam, AdamW, func, lax } = require('..')

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

const tensors = (results) => [results].flat(Infinity)
/** A function whose result is a tensor, or an array of several. */
const single = (f) => (...args) => {
  const results = tensors(f(...args))
  return results.length === 1 ? results[0] : results
}

/** Transformations of functions. */
const TRANSFORMS = {
  vmap: (f, axes, how) => func.vmap(f, { inAxes: axes, outAxes: how.out.length === 1 ? how.out[0] : how.out, axisName: how.name ?? null }),
  jvp: (f, n) => (...xs) => func.jvp(f, xs.slice(0, n), xs.slice(n)),
  vjp: (f, n) => (...xs) => func.vjp(f, xs.slice(0, n))[1](xs.length === n + 1 ? xs[n] : xs.slice(n)),
  checkpoint: (f, policy) => (...xs) => func.checkpoint(f, { policy: camel(policy) })(...xs),
  custom_jvp: (f, rule, how, v) => func.customJvp(f).defjvp((xs, ts) => [f(...xs), v[rule](...xs, ...ts)]),
  custom_vjp: (f, [forward, backward], how, v) => func.customVjp(f).defvjp((...xs) => {
    const [value, ...kept] = v[forward](...xs)
    return [value, kept]
  }, (kept, g) => tensors(v[backward](...kept, g)))
}
for (const kind of ['grad', 'jacfwd', 'jacrev', 'hessian']) TRANSFORMS[kind] = (f, argnums) => func[kind](f, { argnums })

/** Loops and branches: of functions, a carry, sequences, and the statement. */
const CONTROLS = {
  scan: ([f], carry, over, s) => lax.scan((c, x) => {
    const found = tensors(f(...c, ...x))
    return [found.slice(0, c.length), found.slice(c.length)]
  }, carry, over, { reverse: s.reverse ?? false }),
  while_loop: ([more, f], carry) => lax.whileLoop((c) => more(...c), (c) => tensors(f(...c)), carry),
  fori_loop: ([f], carry, over, s) => lax.foriLoop(...s.between, (i, c) => tensors(f(i, ...c)), carry),
  map: ([f], carry, over) => lax.map((x) => f(...x), over),
  associative_scan: ([f], carry, over, s) =>
    lax.associativeScan((a, b) => tensors(f(...a, ...b)), over, { reverse: s.reverse ?? false }),
  cond: (functions, carry, over, s, v) => lax.cond(v[s.on], ...functions, ...s.with.map((name) => v[name])),
  switch: (functions, carry, over, s, v) => lax.switch(v[s.on], functions, ...s.with.map((name) => v[name]))
}

// A call and an error have names that stand in other statements too: they are looked at first.
const KINDS = {
  error: (m, s) => assert.throws(() => m.run(s.do), (error) => {
    assert.ok(error.message.toLowerCase().includes(s.error), `${error.message}, expected ${s.error}`)
    return true
  }),
  function: (m, s, v) => {
    const body = (...args) => {
      const inner = new Machine({ ...v, ...Object.fromEntries(s.params.map((name, i) => [name, args[i]])) })
      for (const statement of s.do) inner.run(statement)
      return s.returns.map((name) => inner.variables[name])
    }
    v[s.function] = s.as === undefined
      ? new TinyJit(body)
      : s.as.reduce((f, how) => {
        const [[kind, given]] = Object.entries(how)
        return single(TRANSFORMS[kind](f, given, how, v))
      }, single(body))
  },
  run: (m, s, v) => tensors(v[s.run](...s.with.map((name) => v[name]))).forEach((result, i) => { v[s.let[i]] = result }),
  control: (m, s, v) => {
    const [functions, carry, over] = [s.functions, s.carry ?? [], s.over ?? []].map((names) => names.map((name) => v[name]))
    tensors(CONTROLS[s.control](functions, carry, over, s, v)).forEach((result, i) => { v[s.let[i]] = result })
  },
  along: (m, s, v) => { v[s.let] = lax[s.along](v[s.of[0]], s.axis) },
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
