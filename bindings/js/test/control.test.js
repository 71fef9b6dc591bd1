'use strict'
// Loops, branches, named axes, rules and compiled functions: values, derivatives through them, errors.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, TinyJit, JitError, PolygradError, liveNodes, random, func, lax } = require('..')

const { checkpoint, customJvp, customVjp, customVmap, grad, hessian, jacfwd, jacrev, jit, jvp, makeJaxpr, treeMap, vmap } = func
const { sequentialVmap } = func
const tensor = (...values) => new Tensor(values, { dtype: 'float64' })
const scalar = (value) => new Tensor(value, { dtype: 'float64' })
const lists = (tree) => treeMap((t) => t instanceof Tensor ? t.tolist() : t, tree)
const near = (tree, expected) => {
  const found = [tree].flat(9).map(Number)
  const wanted = [expected].flat(9)
  assert.ok(found.length === wanted.length && found.every((v, i) => Math.abs(v - wanted[i]) <= 1e-6 * (1 + Math.abs(v))),
    `${found}, expected ${wanted}`)
}

/** The slope of a function of a number by differences. */
const slope = (f, x) => (f(scalar(x + 1e-5)).item() - f(scalar(x - 1e-5)).item()) / 2e-5

test('scan: values, trees, and both modes of derivatives', () => {
  const sums = (init, xs, options) => lists(lax.scan((c, x) => [c.add(x), c.add(x)], init, xs, options))
  assert.deepStrictEqual(sums(0, tensor(1, 2, 3)), [6, [1, 3, 6]])
  assert.deepStrictEqual(sums(0, tensor(1, 2, 3), { reverse: true, unroll: 2 }), [6, [6, 5, 3]])
  assert.deepStrictEqual(lists(lax.scan((c) => [c.mul(2), c], 1, null, { length: 3 })), [8, [1, 2, 4]])
  assert.deepStrictEqual(lists(lax.scan((c) => [c, { n: 1 }], null, null, 2)), [null, { n: [1, 1] }])
  const [{ a, b }, kept] = lax.scan((c, { x: [x] }) => [{ a: c.b, b: c.a.add(x) }, [c.a, x]], { a: 0, b: 1 }, { x: [tensor(3, 4)] })
  assert.deepStrictEqual(lists([a, b, kept]), [3, 5, [[0, 1], [3, 4]]])

  const last = (w) => lax.scan((h, x) => [w.mul(h).add(x).tanh(), null], scalar(0), tensor(0.1, 0.2, 0.3))[0]
  near(grad(last)(scalar(0.5)).item(), slope(last, 0.5))
  near(jvp(last, [scalar(0.5)], [scalar(1)])[1].item(), slope(last, 0.5))
  near(hessian(last)(scalar(0.5)).item(), slope(grad(last), 0.5))
  near(vmap(grad(last))(tensor(0.5, 0.7)).tolist(), [slope(last, 0.5), slope(last, 0.7)])
  near(grad(checkpoint(last))(scalar(0.5)).item(), slope(last, 0.5))
})

test('numbers of a carry take the types of a step', () => {
  const ints = Tensor.from(Int32Array.of(3, 4))
  const types = (init, f, xs) => lax.scan((c, x) => [f(c, x), c], init, xs).map((t) => t.dtype)
  assert.deepStrictEqual(types(0, (c, x) => c.add(x), ints), ['float32', 'float32'])
  assert.deepStrictEqual(types(0, (c, x) => x, ints), ['int32', 'int32'])
  assert.deepStrictEqual(types(0.5, (c, x) => x, tensor(1)), ['float64', 'float64'])
  assert.throws(() => types(0.5, (c, x) => x, ints), /^TypeError: scan: init is float32 of shape \[\], and int32 of shape/)
})

test('whileLoop, foriLoop and map', () => {
  assert.strictEqual(lax.whileLoop((x) => x.lt(100), (x) => x.mul(2), 3).item(), 192)
  const doubled = lax.whileLoop(({ n }) => n.lt(100), ({ n, i }) => ({ n: n.mul(2), i: i.add(1) }), { n: 3, i: 0 })
  assert.deepStrictEqual(lists(doubled), { i: 6, n: 192 })
  const root = (a) => lax.whileLoop(([, e]) => e.gt(1e-9), ([x]) => [x.add(a.div(x)).div(2), x.mul(x).sub(a).abs()], [a, 1])[0]
  near(vmap(root)(tensor(1, 4, 9)).tolist(), [1, 2, 3])
  near(jvp(root, [scalar(4)], [scalar(1)])[1].item(), 0.25)

  const power = (n) => (x) => lax.foriLoop(0, n, (i, v) => v.mul(x), scalar(1))
  assert.strictEqual(power(5)(scalar(2)).item(), 32)
  assert.strictEqual(grad(power(5))(scalar(2)).item(), 80)
  assert.strictEqual(grad(grad(power(5)))(scalar(2)).item(), 160)
  assert.strictEqual(lax.foriLoop(1, 6, (i, x) => x.mul(i), 1).item(), 120)
  assert.strictEqual(lax.foriLoop(5, 2, (i, x) => x.mul(i), 1).item(), 1)
  assert.strictEqual(lax.foriLoop(Tensor.from(Int32Array.of(1)).getitem(0), 6, (i, x) => x.mul(i), 1).item(), 120)

  for (const options of [{}, { batchSize: 2 }, { batchSize: 3 }, { batchSize: 8 }]) {
    assert.deepStrictEqual(lists(lax.map(({ a }) => [a.mul(2), { s: a.sum() }], { a: tensor(1, 2, 3).reshape(3, 1) }, options)),
      [[[2], [4], [6]], { s: [1, 2, 3] }])
  }
})

test('cond and switch', () => {
  const f = (p, x) => lax.cond(p, (y) => ({ out: y.mul(y) }), () => ({ out: 7 }), x)
  assert.deepStrictEqual([true, 0, new Tensor(2).gt(1)].map((p) => f(p, scalar(3)).out.item()), [9, 7, 9])
  assert.deepStrictEqual(vmap(f)(new Tensor([true, false]), tensor(5, 6)).out.tolist(), [25, 7])
  assert.strictEqual(grad((x) => f(x.gt(1), x).out)(scalar(3)).item(), 6)
  assert.strictEqual(grad((x) => f(x.gt(4), x).out)(scalar(3)).item(), 0)
  const branches = [(x) => x.mul(2), (x) => x.mul(x), (x) => x.neg()]
  assert.deepStrictEqual([-1, 1, 9].map((i) => lax.switch(i, branches, 5).item()), [10, 25, -5])
  const index = Tensor.from(Int32Array.of(2, 0, 1))
  assert.deepStrictEqual(vmap((i, x) => grad((v) => lax.switch(i, branches, v))(x))(index, tensor(5, 5, 5)).tolist(), [-1, 2, 10])
  assert.deepStrictEqual(lax.select(new Tensor([true, false]), tensor(1, 2), tensor(3, 4)).tolist(), [1, 4])
})

test('associativeScan', () => {
  assert.deepStrictEqual(lax.associativeScan((a, b) => a.mul(b), tensor(1, 2, 3, 4)).tolist(), [1, 2, 6, 24])
  assert.deepStrictEqual(lax.associativeScan((a, b) => a.mul(b), tensor(3)).tolist(), [3])
  const x = new Tensor([[1, 2, 3], [4, 5, 6]])
  assert.deepStrictEqual(lax.associativeScan((a, b) => a.add(b), x, { axis: -1, reverse: true }).tolist(), [[6, 5, 3], [15, 11, 6]])
  const compose = (f, s) => [f[0].mul(s[0]), s[0].mul(f[1]).add(s[1])]
  for (const n of [2, 64, 100, 150]) {
    const a = Tensor.linspace(0.1, 0.9, n, { dtype: 'float64' })
    const b = a.sin()
    const found = (c) => lax.associativeScan(compose, [c, b])[1]
    const expected = (c) => lax.scan((v, [p, q]) => Array(2).fill(p.mul(v).add(q)), scalar(0), [c, b])[1]
    near(found(a).tolist(), expected(a).tolist())
    if (n === 100) near(grad((c) => found(c).sum())(a).tolist(), grad((c) => expected(c).sum())(a).tolist())
  }
})

test('loops in compiled functions, in each other, and after a step of TinyJit', () => {
  const rows = (x) => lax.scan((c, row) => [lax.foriLoop(0, 3, (i, v) => v.add(row.sum()), c), c], scalar(0), x)[0]
  const x = tensor(1, 2, 3, 4).reshape(2, 2)
  assert.strictEqual(rows(x).item(), 30)
  assert.deepStrictEqual(grad(rows)(x).tolist(), [[3, 3], [3, 3]])
  for (const compiled of [jit(grad(rows)), new TinyJit((v) => grad(rows)(v).realize())]) {
    for (let i = 0; i < 4; i++) assert.deepStrictEqual(compiled(x.add(i).realize()).tolist(), [[3, 3], [3, 3]])
  }
})

test('axes with names', () => {
  const x = tensor(1, 3)
  const over = (f, given) => lists(vmap(f, { axisName: 'i' })(given))
  assert.deepStrictEqual(over((v) => v.div(lax.psum(v, 'i')), x), [0.25, 0.75])
  assert.deepStrictEqual(over((v) => [lax.pmean(v, 'i'), lax.pmax([v], 'i'), lax.pmin(v, 'i')], x), [[2, 2], [[3, 3]], [1, 1]])
  assert.deepStrictEqual(over(() => [lax.axisIndex('i'), lax.axisSize('i')], x), [[0, 1], [2, 2]])
  assert.deepStrictEqual(over((v) => lax.ppermute(v, 'i', [[0, 1]]), x), [0, 1])
  const rows = tensor(1, 2, 3, 4).reshape(2, 2)
  assert.deepStrictEqual(over((v) => lax.allGather(v, 'i', { axis: -1 }), rows), [[[1, 3], [2, 4]], [[1, 3], [2, 4]]])
  assert.deepStrictEqual(over((v) => lax.allGather(v, 'i', 0, true), rows), [[1, 2, 3, 4], [1, 2, 3, 4]])
  const total = vmap(vmap((v) => lax.psum(v, ['i', 'j']), { axisName: 'j' }), { axisName: 'i' })
  assert.deepStrictEqual(total(rows).tolist(), [[10, 10], [10, 10]])
  assert.deepStrictEqual(vmap(() => lax.axisIndex('i'), { axisName: 'i', axisSize: 3 })().tolist(), [0, 1, 2])
  assert.deepStrictEqual(grad((v) => vmap((e) => lax.psum(e, 'i').mul(e), { axisName: 'i' })(v).sum())(x).tolist(), [8, 8])
})

test('derivatives by rules', () => {
  const f = customJvp((x) => x.add(1).log()).defjvp(([x], [t]) => [f(x), t.div(f(x).exp()).mul(10)])
  near([grad(f)(1).item(), jvp(f, [scalar(1)], [scalar(1)])[1].item(), grad(grad(f))(1).item()], [5, 5, -25])
  const product = customJvp((a, b) => a.x.mul(b)).defjvps((t, out, a, b) => t.x.mul(b).mul(2), null)
  assert.deepStrictEqual(lists(grad(product, [0, 1])({ x: scalar(3) }, scalar(4))), [{ x: 8 }, 0])
  const applied = customVjp((fn, x) => fn(x), { nondiffArgnums: 0 })
    .defvjp((fn, x) => [fn(x), { x, none: null }], (fn, stored, g) => [fn(stored.x).mul(g)])
  assert.strictEqual(grad((x) => applied((v) => v.mul(v), x))(scalar(3)).item(), 9)
  assert.deepStrictEqual(vmap(grad((x) => applied((v) => v.mul(v), x)))(tensor(3, 4)).tolist(), [9, 16])
  const none = customVjp((a, b) => a.x.mul(b)).defvjp((a, b) => [a.x.mul(b), b], (b, g) => [null, g])
  assert.deepStrictEqual(lists(grad(none, [0, 1])({ x: scalar(3) }, scalar(4))), [{ x: 0 }, 1])
  for (const policy of ['nothingSaveable', 'dotsSaveable', 'everythingSaveable']) {
    const block = checkpoint((x, w, act) => x.matmul(w)[act]().matmul(w), { policy, staticArgnums: -1 })
    const [w, x] = [tensor(1, 2, 3, 4).reshape(2, 2), tensor(0.1, 0.2)]
    const plain = grad((v) => x.matmul(v).tanh().matmul(v).sum())(w)
    near(grad((v) => block(x, v, 'tanh').sum())(w).tolist(), plain.tolist())
  }
})

test('customVmap: rules for batches', () => {
  const asked = []
  const product = customVmap((a, { b }) => ({ v: a.mul(b).sum(), b })).defVmap((size, [inA, { b: inB }], a, { b }) => {
    asked.push([size, inA, inB, a.shape.length, b.shape.length])
    return [{ v: a.mul(b).sum(-1).mul(10), b }, { v: true, b: inB }] // 10 times, to see that it is used
  })
  const x = tensor(1, 2, 3, 4).reshape(2, 2)
  const y = tensor(1, 10)
  assert.deepStrictEqual(lists(product(y, { b: y })), { v: 101, b: [1, 10] })
  const axes = { inAxes: [0, null], outAxes: { v: 0, b: null } }
  assert.deepStrictEqual(lists(vmap(product, axes)(x, { b: y })), { v: [210, 430], b: [1, 10] })
  assert.deepStrictEqual(vmap((r) => vmap((s) => product(r, { b: s }).v)(x))(x).tolist(), [[50, 110], [110, 250]])
  const steps = (r) => lax.scan((c, e) => [product(c, { b: c }).b, product(e, { b: c }).v], r, x)[1]
  assert.deepStrictEqual(vmap(steps)(x).tolist(), [[50, 110], [110, 250]])
  const change = (r) => jvp((v) => product(v, { b: y }).v, [r], [r])[1]
  assert.deepStrictEqual(jit(vmap(change))(x).tolist(), [210, 430])
  assert.deepStrictEqual(vmap(grad((r) => product(r, { b: y }).v))(x).tolist(), [[1, 10], [1, 10]])
  assert.deepStrictEqual(asked[0], [2, true, false, 2, 1])
  assert.throws(() => vmap(customVmap((v) => v))(x), /customVmap: no rule is stated: see defVmap/)
  const wrong = (rule) => () => vmap(customVmap((v) => v).defVmap(rule))(x)
  assert.throws(wrong((n, b, v) => v), /customVmap: the rule returns .*, expected the result and whether it is batched/)
  assert.throws(wrong((n, b, v) => [v, 1]), /customVmap: what is batched: 1, expected booleans/)
  assert.throws(wrong((n, b, v) => [v.sum(1), true]),
    /customVmap: rule: result 0 is float64 of shape \(2\), expected float64 of shape \(2,2\), as it is batched/)
})

test('sequentialVmap: one element of the batch after the other', () => {
  const product = sequentialVmap((a, { b }) => ({ v: a.mul(b).sum(), b }))
  const x = tensor(1, 2, 3, 4).reshape(2, 2)
  const found = vmap(product, { inAxes: [0, null] })(x, { b: tensor(1, 10) })
  assert.deepStrictEqual(lists(found), { v: [21, 43], b: [[1, 10], [1, 10]] })
  assert.deepStrictEqual(vmap(grad((r) => product(r, { b: r }).v))(x).tolist(), [[2, 4], [6, 8]])
})

test('jit: kinds of arguments, static and donated ones', () => {
  let traced = 0
  const step = jit((params, x, rate, { power }) => {
    traced++
    const g = grad((p) => x.mul(p.w).pow(power).sum())(params)
    return { w: params.w.sub(rate.mul(g.w)), more: [x, 3, null] }
  }, { staticArgnums: 3, donateArgnums: 0 })
  const first = { w: tensor(1, 2).realize() }
  let params = first
  for (const rate of [0.1, 0.2]) {
    const { w, more } = step(params, tensor(1, 1), rate, { power: 2 })
    assert.deepStrictEqual(lists(more), [[1, 1], 3, null])
    params = { w }
  }
  near(params.w.tolist(), [0.48, 0.96])
  assert.strictEqual(params.w, first.w)
  assert.deepStrictEqual([traced, step.cacheInfo(), step.cacheSize()], [1, { hits: 1, misses: 1, size: 1 }, 1])
  step({ w: tensor(1, 2) }, tensor(1, 1), 0.1, { power: 3 })
  step({ w: tensor(1, 2, 3) }, tensor(1, 1, 1), 0.1, { power: 2 })
  assert.deepStrictEqual([traced, step.cacheInfo()], [3, { hits: 1, misses: 3, size: 3 }])
  step.clearCache()
  assert.deepStrictEqual(step.cacheInfo(), { hits: 0, misses: 0, size: 0 })

  const slopes = jit(grad((x, n) => x.pow(n)), 1)
  assert.deepStrictEqual([slopes(2, 3), slopes(3, 3), slopes(3, 2)].map((t) => t.item()), [12, 27, 6])
  assert.strictEqual(grad(slopes)(2, 3).item(), 12) // called as it is
  const twice = jit((a, b) => a.add(b))
  const x = tensor(1)
  assert.deepStrictEqual([twice(x, x), twice(x, tensor(2)), twice(Float32Array.of(1), 2)].map((t) => t.tolist()), [[2], [3], [3]])
  assert.strictEqual(twice.cacheSize(), 3)
  const swapped = jit((a, b) => [b, { a }], { donateArgnums: [0, 1] })
  for (let i = 0; i < 2; i++) assert.deepStrictEqual(lists(swapped(tensor(i), tensor(2))), [[2], { a: [i] }])

  const lowered = slopes.lower(2, 5)
  assert.match(lowered.asText(), /^\{ lambda ; a:float32\[\]\. let\n/)
  const compiled = lowered.compile()
  assert.deepStrictEqual([compiled(2, 5).item(), compiled.nKernels, slopes(2, 5).item(), slopes.cacheSize()], [80, 1, 80, 3])
  assert.throws(() => compiled(2, 6), /^PolygradError: jit: compiled for .*, called with /)
})

test('makeJaxpr', () => {
  assert.strictEqual(makeJaxpr((x) => x.mul(2).sin())(1), `{ lambda ; a:float32[]. let
    b:float32[] = mul a 2.0
    c:float32[] = sin b
  in (c) }`)
  assert.match(makeJaxpr((x, n) => lax.foriLoop(0, n, (i, v) => v.mul(2), x), 1)(1, 3), /repeat\[step1 < 3.*\{\n[^]*mul t 2\.0/)
})

test('what comes with Jacobians', () => {
  const x = tensor(1, 2)
  const f = (v) => [v.square(), { s: v.sum() }]
  for (const jacobian of [jacfwd, jacrev]) assert.deepStrictEqual(lists(jacobian(f, { hasAux: true })(x)), [[[2, 0], [0, 4]], { s: 3 }])
  const g = (v, w) => [v.pow(3).sum().mul(w), { s: v.sum() }]
  assert.deepStrictEqual(lists(hessian(g, { argnums: [0], hasAux: true })(x, scalar(1))), [[[[[6, 0], [0, 12]]]], { s: 3 }])
})

test('PRNGKey is key', () => {
  assert.strictEqual(random.PRNGKey, random.key)
})

const x = tensor(1, 2)
const same = (v) => v
const WRONG = [
  [() => lax.scan(3, 0, x), TypeError, /^scan: f: 3, expected a function$/],
  [() => lax.scan(same, 0, x), TypeError, /^scan: f returns a Tensor, expected an array of the carry and what is kept$/],
  [() => lax.scan((c) => [[c], c], 0, x), TypeError, /^scan: a step returns a carry \[\*\], expected \* as it is before$/],
  [() => lax.scan((c) => [{ a: x }, c], { a: 0 }, x), TypeError, /^scan: init\.a is float32 of shape \[\], and float64 of .* after/],
  [() => lax.scan((c, v) => [c.add(v.cast('float64')), c], new Tensor(0), x), TypeError, /^scan: init is float32 .* float64 .* type/],
  [() => lax.scan((c) => [c, 'text'], 0, x), TypeError, /^scan: what f keeps is "text", expected a tensor or a number$/],
  [() => lax.scan((c) => [c, c], 0, [x, tensor(1)]), PolygradError, /^scan: xs\[1\] has shape \[1\], expected 2 steps as xs\[0\] has$/],
  [() => lax.scan((c) => [c, c], 0, x, { length: 3 }), PolygradError, /^scan: xs has shape \[2\], expected 3 steps as length has$/],
  [() => lax.scan((c) => [c, c], 0, { a: scalar(1) }), PolygradError, /^scan: xs\.a is a scalar, expected an axis to go along$/],
  [() => lax.scan((c) => [c, c], 0, null), PolygradError, /^scan: length: null, expected a number as xs has no tensors$/],
  [() => lax.scan((c) => [c, c], 0, x, { steps: 3 }), TypeError, /^scan: steps: unknown argument, expected length, reverse, unroll$/],
  [() => lax.scan((c, v) => [v.item(), c], 0, x), JitError, /a value is needed while scan traces/],
  [() => lax.whileLoop(() => 1, same, 0), TypeError, /^whileLoop: condFun returns 1, expected a bool of shape \[\]$/],
  [() => lax.whileLoop(() => x.gt(0), same, 0), TypeError, /^whileLoop: condFun returns bool of shape \[2\], expected a bool/],
  [() => lax.whileLoop(() => true, same, []), TypeError, /^whileLoop: initVal: \[\], expected a tensor in the tree$/],
  [() => grad((v) => lax.whileLoop((n) => n.lt(9), same, v))(scalar(1)), PolygradError, /^grad: a .* \(jvp\), .* \(scan, foriLoop\)$/],
  [() => lax.foriLoop(0, 1.5, (i, v) => v, 0), TypeError, /^foriLoop: upper is 1\.5, expected an integer of shape \[\]$/],
  [() => lax.map(same, x, { batchSize: 0 }), RangeError, /^map: batchSize: 0, expected 1 or more$/],
  [() => lax.cond(x, same, same, 1), TypeError, /^cond: pred is float64 of shape \[2\], expected a bool of shape \[\]$/],
  [() => lax.cond(true, same, (v) => [v], 1), PolygradError, /^cond: trueFun returns a tree \*, and falseFun \[\*\]$/],
  [() => lax.cond(true, (v) => [v], () => [x], 1), PolygradError, /^cond: trueFun .* at \[0\], and falseFun float64/],
  [() => lax.switch(0.5, [same], 1), TypeError, /^switch: index is float32 of shape \[\], expected an integer of shape \[\]$/],
  [() => lax.switch(0, [], 1), TypeError, /^switch: branches: \[\], expected an array of functions$/],
  [() => lax.switch(0, [same, 3], 1), TypeError, /^switch: branches\[1\]: 3, expected a function$/],
  [() => lax.associativeScan((a) => [a], x), PolygradError, /^associativeScan: fn returns a tree \[\*\], expected \* as elems$/],
  [() => lax.associativeScan(same, x, { axis: 1 }), RangeError, /^associativeScan: elems has shape \[2\], which has no axis 1$/],
  [() => lax.associativeScan((a) => a.sum(), x), PolygradError, /^associativeScan: elems is .*, and .* of fn: expected the same/],
  [() => lax.select(true, x, tensor(1)), PolygradError, /^select: onTrue is float64 of shape \[2\], onFalse float64 of shape \[1\]/],
  [() => lax.psum(x, 'i'), PolygradError, /^psum: no function is batched along the axis "i"/],
  [() => vmap((v) => lax.psum(v, 3), { axisName: 'i' })(x), TypeError, /^psum: axisName: 3, expected a string$/],
  [() => vmap(same, { axisName: 3 }), TypeError, /^vmap: axisName: 3, expected a string$/],
  [() => vmap((v) => lax.ppermute(v, 'i', [[0, 2]]), { axisName: 'i' })(x), TypeError, /^ppermute: perm: .* pairs of numbers from 0 to 1$/],
  [() => customJvp(same)(x), PolygradError, /^customJvp: no rule is stated: see defjvp$/],
  [() => customJvp(same).defjvp(() => x)(x), TypeError, /^customJvp: the rule returns a Tensor, expected an array of the/],
  [() => customJvp(same).defjvp(() => [x, tensor(1)])(x), PolygradError, /^customJvp: the tangent of the result is float64 of shape \[1\]/],
  [() => customVjp(same).defvjp(same, same)(x), TypeError, /^customVjp: fwd returns a Tensor, expected an array of a/],
  [() => customVjp(same).defvjp((v) => [v, v], same)(x), TypeError, /^customVjp: bwd returns a Tensor, expected an array of 1 gradients/],
  [() => customVjp(same).defvjp((v) => [[v], v], same)(x), PolygradError, /^customVjp: the result of fwd: a tree \[\*\], expected \*/],
  [() => customJvp((fn, v) => fn(v.a), 0).defjvp(same)(same, { a: x, b: 'text' }), TypeError, /^customJvp: args\[1\] has other leaves/],
  [() => checkpoint(same, { policy: 'all' }), TypeError, /^checkpoint: policy: "all", expected one of nothingSaveable, dotsSaveable/],
  [() => jit(3), TypeError, /^jit: f: 3, expected a function$/],
  [() => jit(same, { staticArgnums: 'x' })(x), TypeError, /^jit: staticArgnums: "x", expected an argument's number/],
  [() => jit(() => 'text')(x), TypeError, /^jit: the function returns "text", expected tensors$/],
  [() => jit((v) => v.sum().item())(x), JitError, /a value is needed while jit traces the function/]
]

test('errors name the function, the argument and the place in its tree', () => {
  for (const [call, kind, text] of WRONG) {
    assert.throws(call, (error) => {
      assert.match(error.message, text)
      assert.ok(error instanceof kind, `${error.name}: ${error.message}`)
      return true
    })
    assert.strictEqual(lax.foriLoop(1, 4, (i, v) => v.mul(i), 1).item(), 6)
  }
})

test('loops and rules are given back in a tidy', () => {
  const square = customVjp((v) => v.mul(v)).defvjp((v) => [v.mul(v), v], (v, g) => [v.mul(g)])
  const run = () => Tensor.tidy(() => {
    const f = (v) => lax.scan((c, e) => [square(c).add(e), c], v, x)[0]
    assert.strictEqual(grad(checkpoint(f))(scalar(1)).item(), 2)
  })
  run()
  const before = liveNodes()
  for (let i = 0; i < 5; i++) run()
  assert.ok(liveNodes() <= before + 20, `${liveNodes()} nodes, ${before} before`)
})

test('programs of jit do not keep the arguments they were compiled with', () => {
  const total = jit((v) => v.sum())
  const run = () => Tensor.tidy(() => assert.strictEqual(total(tensor(1, 2)).item(), 3))
  run()
  const before = liveNodes()
  for (let i = 0; i < 5; i++) run()
  total.clearCache()
  run()
  assert.ok(liveNodes() <= before + 10, `${liveNodes()} nodes, ${before} before`)
})
