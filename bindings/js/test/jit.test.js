'use strict'
// TinyJit: what it captures, what it runs, and what it refuses.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, TinyJit, JitError, Variable, Linear, BatchNorm, SGD, compileStep, getParameters, liveNodes, viz } = require('..')

const numbers = (...shape) => new Tensor(
  Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i + shape.length)), { shape })

function near (got, want, tolerance = 1e-5) {
  const [a, b] = [got, want].map((values) => Array.from(values.flat ? values.flat(9) : values))
  assert.strictEqual(a.length, b.length)
  b.forEach((w, i) => assert.ok(Math.abs(a[i] - w) <= tolerance * (1 + Math.abs(w)), `element ${i}: ${a[i]}, expected ${w}`))
}

test('the function is called twice and the program gives the same', () => {
  let calls = 0
  const f = new TinyJit(function layer (a, b) {
    calls++
    const c = a.matmul(b).realize()
    return c.add(1).relu()
  })
  for (let i = 0; i < 5; i++) {
    const [a, b] = [numbers(3, 4).mul(i), numbers(4, 2)]
    near(f(a, b).tolist(), a.matmul(b).add(1).relu().tolist())
  }
  assert.deepStrictEqual([calls, f.cnt, f.name, f.length], [2, 5, 'layer', 2])
  assert.ok(f.captured.nKernels >= 1 && f.captured.nIntermediates >= 0 && f instanceof TinyJit)
  assert.match(viz.kernels(f), /kernel/)
  assert.throws(() => viz.kernels(new TinyJit(() => null)), /no program before its second call/)
})

const CONTAINERS = {
  array: [(t) => [t, t.add(1)], (r) => r],
  object: [(t) => ({ a: t, b: t.add(1) }), (r) => [r.a, r.b]],
  nested: [(t) => ({ a: [t, [t.add(1)]], n: null }), (r) => [r.a[0], r.a[1][0]]]
}
for (const [name, [pack, open]] of Object.entries(CONTAINERS)) {
  test(`results in containers: ${name}`, () => {
    const f = new TinyJit((x) => pack(x.mul(2)))
    for (let i = 0; i < 4; i++) assert.deepStrictEqual(open(f(new Tensor([i]))).map((t) => t.tolist()), [[2 * i], [2 * i + 1]])
  })
}

test('prune computes once what depends on no argument', () => {
  const [a, b] = [numbers(8, 8).add(1).realize(), numbers(8, 8).realize()]
  const compute = (x) => x.matmul(a.matmul(b)).add(a.sum())
  const [whole, rest] = [new TinyJit(compute), new TinyJit(compute, { prune: true })]
  assert.deepStrictEqual([whole.prune, rest.prune], [false, true])
  const x = numbers(3, 8)
  const want = compute(x).tolist()
  for (let i = 0; i < 4; i++) for (const f of [whole, rest]) near(f(x).tolist(), want)
  assert.ok(rest.captured.nKernels < whole.captured.nKernels)
  for (const weights of [a, b]) weights.assign(Tensor.zeros(8, 8))
  near(rest(x).tolist(), want)
  near(whole(x).tolist(), compute(x).tolist())
  assert.throws(() => new TinyJit(compute, { prune: 1 }), /TinyJit: prune: 1, expected true or false/)
})

test('prune leaves what changes', async () => {
  const state = Tensor.zeros(4).contiguous().realize()
  const [x, w] = [numbers(8, 4).realize(), numbers(4, 4).realize()]
  const f = new TinyJit((part) => {
    state.assign(state.add(1))
    Tensor.rand(3) // of which nothing is made
    const square = w.matmul(w)
    return [part.matmul(square).sum(), state.sum(), Tensor.rand(4).sum(), square.sum()]
  }, { prune: true })
  const square = w.matmul(w).realize()
  const noise = new Set()
  for (let i = 1; i < 7; i++) {
    const part = x.getitem({ stop: new Variable('n', 1, 8).bind(i) })
    const [product, sum, random, same] = (i < 5 ? f(part) : await f.callAsync(part)).map((t) => t.item())
    near([product, sum, same], [x.getitem({ stop: i }).matmul(square).sum().item(), 4 * i, square.sum().item()], 1e-4)
    noise.add(random)
  }
  assert.strictEqual(noise.size, 6)
})

test('a pruned method has a program for each object', () => {
  class Layer {
    constructor (value) {
      this.weight = Tensor.full([4, 4], value).contiguous().realize()
    }
  }
  Layer.prototype.forward = new TinyJit(function (x) {
    return x.add(this.weight.matmul(this.weight).sum())
  }, { prune: true })
  for (const value of [1, 2]) {
    const layer = new Layer(value)
    for (let i = 0; i < 4; i++) assert.deepStrictEqual(layer.forward(new Tensor([i])).tolist(), [i + 64 * value * value])
  }
})

test('arguments in containers, in any order of names', () => {
  const f = new TinyJit((a, { more, scale }) => a.mul(scale.by).add(more[0]).sub(more[1][0]))
  for (let i = 0; i < 4; i++) {
    const [x, y, z, s] = [0, 1, 2, 3].map((k) => new Tensor([i + k]))
    const want = [i * (i + 3) + (i + 1) - (i + 2)]
    assert.deepStrictEqual(f(x, { more: [y, [z]], scale: { by: s } }).tolist(), want)
    assert.deepStrictEqual(f(x, { scale: { by: s }, more: [y, [z]] }).tolist(), want)
  }
})

test('results have memory of their own', () => {
  const f = new TinyJit((x) => x.add(1))
  const results = [0, 1, 2, 3].map((i) => f(new Tensor([i])))
  assert.deepStrictEqual(results.map((r) => r.tolist()), [[1], [2], [3], [4]])
  let x = new Tensor([1])
  for (let i = 0; i < 5; i++) x = f(x) // a result as the next argument
  assert.deepStrictEqual([x.tolist(), x.mul(2).tolist(), Boolean(x.requiresGrad)], [[6], [12], false])
})

test('assignments happen in each call', () => {
  const [state, seen] = [new Tensor([0, 0]), new Tensor([1, 2])]
  const f = new TinyJit((x) => {
    state.assign(state.mul(2).add(x))
    x.assign(x.add(10))
    return seen.mul(2)
  })
  let want = [0, 0]
  for (let i = 0; i < 5; i++) {
    seen.assign(new Tensor([1 + i, 2]))
    const x = new Tensor([i, 1])
    assert.deepStrictEqual(f(x).tolist(), [2 + 2 * i, 4])
    want = [want[0] * 2 + i, want[1] * 2 + 1]
    assert.deepStrictEqual([state.tolist(), x.tolist()], [want, [i + 10, 11]])
  }
})

test('what is returned as it was given is the same tensor', () => {
  const state = new Tensor([1])
  const f = new TinyJit((x, y) => {
    x.assign(x.add(y))
    state.assign(state.add(1))
    return [x, state, y, x.mul(2)]
  })
  for (let i = 0; i < 4; i++) {
    const [x, y] = [new Tensor([1]), new Tensor([2])]
    const [a, b, c, d] = f(x, y)
    assert.ok(a === x && b === state && c === y)
    assert.deepStrictEqual([d.tolist(), x.tolist()], [[6], [3]])
  }
  assert.deepStrictEqual(state.tolist(), [5])
})

test('random numbers are those of a function that is not captured', () => {
  const f = (x) => [x.add(Tensor.rand(3)), Tensor.randn(2, 2)]
  const run = (g) => {
    Tensor.manualSeed(7)
    return Array.from({ length: 5 }, () => g(new Tensor([0])).map((t) => t.tolist()))
  }
  const plain = run(f)
  assert.deepStrictEqual(run(new TinyJit(f)), plain)
  assert.strictEqual(new Set(plain.map(String)).size, 5)
})

function train (steps, make) {
  Tensor.manualSeed(3)
  const [first, norm, last] = [new Linear(4, 8), new BatchNorm(8), new Linear(8, 2)]
  const parameters = getParameters([first, norm, last])
  const optimizer = new SGD(parameters, { lr: 0.02, momentum: 0.9 })
  const call = make((x, y) => {
    optimizer.zeroGrad()
    const loss = last.forward(norm.forward(first.forward(x))).sub(y).square().mean()
    loss.backward()
    optimizer.step()
    return loss
  })
  const losses = Tensor.train(() => Array.from({ length: steps }, (_, i) => Tensor.tidy(() => {
    const x = numbers(16, 4).add(i).sin()
    return call(x, x.getitem(':', '0:2').mul(3)).item()
  })))
  return [losses, parameters.flatMap((p) => [...p.toArray()])]
}

test('a training step', () => {
  const [losses, weights] = train(30, (f) => new TinyJit(f))
  const [want, expected] = train(30, (f) => f)
  near(losses, want, 1e-3)
  near(weights, expected, 1e-2)
  const mean = (some) => some.reduce((a, b) => a + b) / some.length
  assert.ok(mean(losses.slice(20)) < mean(losses.slice(0, 10)), String(losses))
})

test('one program serves all values of variables', () => {
  const [n, m] = [new Variable('n', 1, 8), new Variable('m', 1, 5)]
  const [x, y] = [numbers(8, 3).realize(), numbers(5, 3).realize()]
  const f = new TinyJit((a, b) => [a.cat(b).mul(2).realize(), a.mean(0)])
  for (const [i, j] of [[1, 1], [2, 5], [8, 3], [5, 2], [3, 4]]) {
    const [both, mean] = f(x.getitem({ stop: n.bind(i) }), y.getitem({ stop: m.bind(j) }))
    assert.ok(both.shape[0].equals(n.bind(i).add(m.bind(j))))
    near(both.tolist(), x.getitem({ stop: i }).cat(y.getitem({ stop: j })).mul(2).tolist())
    near(mean.tolist(), x.getitem({ stop: i }).mean(0).tolist())
  }
  assert.throws(() => f(x.getitem({ stop: n.bind(2) }), y.getitem({ stop: n.bind(2) })),
    /argument 1 is float32 of shape \[n,3\], expected float32 of shape \[m,3\]/)
})

test('variables as arguments', () => {
  const n = new Variable('n', 0, 7)
  const x = numbers(8).realize()
  const f = new TinyJit((at) => x.getitem(at).add(at))
  for (const i of [3, 0, 7, 5]) near([f(n.bind(i)).item()], [x.data[i] + i])
  assert.throws(() => f(n), { name: 'JitError', message: /bind its variables/ })
  assert.throws(() => f(new Variable('m', 0, 7).bind(1)), /argument is m, but the function was captured with n/)
})

test('methods have a program for each object', () => {
  class Model {
    constructor (scale) {
      this.scale = new Tensor([scale])
    }
  }
  Model.prototype.forward = new TinyJit(function (x) { return x.mul(this.scale) })
  const models = [new Model(2), new Model(3)]
  for (let i = 0; i < 4; i++) assert.deepStrictEqual(models.map((m) => m.forward(new Tensor([i])).item()), [2 * i, 3 * i])
  assert.throws(() => models[0].forward(new Tensor([1, 2])), JitError)
  Model.prototype.forward.reset()
  for (let i = 0; i < 3; i++) assert.deepStrictEqual(models[0].forward(new Tensor([1, i])).tolist(), [2, 2 * i])
  const own = { double: new TinyJit((x) => x.mul(2)) }
  for (let i = 0; i < 3; i++) own.double(new Tensor([i]))
  assert.strictEqual(own.double.cnt, 3)
})

test('reset', () => {
  const f = new TinyJit((x) => x.mul(2))
  for (const size of [2, 5]) {
    for (let i = 0; i < 3; i++) assert.deepStrictEqual(f(Tensor.ones(size)).tolist(), Array(size).fill(2))
    f.reset()
    assert.deepStrictEqual([f.cnt, f.captured], [0, null])
  }
})

function captured (f, ...args) {
  const jit = new TinyJit(f)
  jit(...args)
  jit(...args)
  return jit
}

const [X, Y] = [new Tensor([1, 2]), new Tensor([3, 4])]
const plus = (a) => a.add(1)
const REFUSED = [
  [() => captured(plus, X)(new Tensor([1])), /TinyJit: argument 0 is float32 of shape \[1\], expected float32 of shape \[2\]/],
  [() => captured(plus, X)(new Tensor(Int32Array.of(1, 2))), /int32 of shape/],
  [() => captured(plus, X)(X, Y), /another structure/],
  [() => captured(([a]) => a.add(1), [X, Y])(X, Y), /another structure/],
  [() => captured((a, b) => a.add(b), X, Y)({ a: X, b: Y }), /another structure/],
  [() => captured((a, k) => a.mul(k), X, 2)(X, 3), /argument is 3, but .* with 2/],
  [() => captured((a, k) => a.mul(k), X, 2)(X, 2n), /argument is 2, but .* with 2/],
  [() => captured((a) => [a.add(1), 3], X), /returns 3, expected tensors/],
  [() => captured(async (a) => a.add(1), X), /returns a Promise/],
  [() => captured(() => null, X), /computes nothing/],
  [() => captured((a) => a, X), /computes nothing/],
  [() => captured((a, b) => a.add(b), X, X), /more than once/],
  [() => captured((a, b) => a.add(b), X, Y)(X, X), /more than once/],
  [() => captured((a) => new Tensor(a.tolist()), X), /a value is needed while TinyJit/],
  [() => captured((a) => a.mul(a.sum().item()), X), /a value is needed while TinyJit/],
  [() => captured((a) => new Tensor(a.add(1).realize().data), X), /a value is needed/],
  [() => captured(captured(plus, X), X), /TinyJit inside another TinyJit/],
  [() => compileStep(new TinyJit(plus), X), /TinyJit inside another TinyJit/],
  [() => captured((a) => compileStep(() => a.add(1)), X), /compileStep inside of TinyJit/]
]
REFUSED.forEach(([call, message], i) => {
  test(`refused: ${i} ${message.source}`, () => {
    assert.throws(call, { name: 'JitError', message })
    assert.deepStrictEqual([X.tolist(), X.add(1).tolist()], [[1, 2], [2, 3]], 'what failed left nothing behind')
  })
})

test('a call that is refused changes nothing', () => {
  const f = captured((a) => a.mul(2), X)
  assert.throws(() => f(new Tensor([1, 2, 3])), JitError)
  assert.deepStrictEqual(f(Y).tolist(), [6, 8])
  assert.throws(() => new TinyJit(3), { name: 'TypeError', message: 'TinyJit: fn: 3, expected a function' })
})

test('empty results and types', () => {
  const f = new TinyJit((a) => [a.getitem('0:0'), a.cast('int8'), a.gt(1), a.cast('bfloat16')])
  for (let i = 0; i < 4; i++) {
    const [empty, small, mask, half] = f(X)
    assert.deepStrictEqual([empty.shape, small.dtype, half.dtype], [[0], 'int8', 'bfloat16'])
    assert.deepStrictEqual([small.tolist(), mask.tolist(), half.tolist()], [[1, 2], [false, true], [1, 2]])
  }
})

test('arguments need not be computed', () => {
  const f = new TinyJit((a) => a.add(1))
  for (let i = 0; i < 4; i++) {
    const x = new Tensor([1, 2]).mul(i)
    assert.deepStrictEqual([f(x.getitem('1:')).tolist(), f(x.getitem('0:1')).tolist()], [[2 * i + 1], [i + 1]])
  }
})

test('views as arguments', () => {
  const base = numbers(3, 4).realize()
  const f = new TinyJit((a) => a.mul(2))
  const g = new TinyJit((a) => a.add(1))
  for (const i of [0, 1, 2, 1]) {
    near(f(base.getitem(i)).tolist(), [...base.data.slice(4 * i, 4 * i + 4)].map((v) => 2 * v))
    const column = base.T.getitem(i).realize()
    near(g(column).tolist(), [0, 1, 2].map((k) => base.data[4 * k + i] + 1))
  }
  const fill = new TinyJit((a) => {
    a.assign(Tensor.zeros(4))
    return a.sum()
  })
  assert.throws(() => [0, 1].map(() => fill(base.getitem(1))), /argument 0 is a view, expected a tensor with memory of its own/)
  assert.strictEqual(fill(Tensor.ones(4).contiguous()).item(), 0)
  assert.throws(() => fill(base.getitem(2)), /argument 0 is a view/)
})

test('tensors made in the function are made in each call', () => {
  const f = (x) => {
    const total = new Tensor([0])
    for (let i = 0; i < 3; i++) total.assign(total.add(x.getitem(i)))
    const rows = Tensor.zeros(2, 2).contiguous()
    rows.setitem([0], total)
    rows.setitem([':', 1], rows.getitem(':', 1).add(1))
    const half = new Tensor([0], { dtype: 'bfloat16' })
    half.assign(half.add(1))
    return [total, rows, new Tensor([5]), half]
  }
  const jit = new TinyJit(f)
  for (let i = 0; i < 4; i++) {
    const x = new Tensor([i, 1, 2])
    assert.deepStrictEqual(jit(x).map((t) => t.tolist()), f(x).map((t) => t.tolist()))
  }
})

test('a cache is written at a symbolic place', () => {
  const at = new Variable('at', 0, 7)
  const cache = Tensor.zeros(8, 3).contiguous().realize()
  const expected = Array.from({ length: 8 }, () => [0, 0, 0])
  const f = new TinyJit((row, i) => {
    cache.getitem({ start: i, stop: i.add(1) }).assign(row)
    const known = cache.getitem({ stop: i.add(1) })
    return [known.sum(0), known.matmul(row.T).realize()]
  })
  for (const i of [2, 0, 7, 3, 5]) {
    const row = numbers(1, 3).add(i)
    expected[i] = row.tolist()[0]
    const [total, products] = f(row, at.bind(i))
    const known = new Tensor(expected.slice(0, i + 1))
    near(total.tolist(), known.sum(0).tolist())
    near(products.tolist(), known.matmul(row.T).tolist())
    near(cache.tolist(), expected)
  }
})

test('what was made before a run keeps its value', async () => {
  const state = new Tensor([1]).realize()
  const step = new TinyJit((x) => {
    state.assign(state.add(x))
    x.assign(x.mul(2))
    return state.mul(1)
  })
  for (let i = 0; i < 2; i++) step(new Tensor([1]))
  const given = new Tensor([5])
  const [ofState, ofGiven] = [state.mul(10), given.add(0.5)]
  assert.deepStrictEqual(step(given).tolist(), [8])
  assert.deepStrictEqual([ofState.tolist(), ofGiven.tolist(), state.tolist(), given.tolist()], [[30], [5.5], [8], [10]])
  const later = state.mul(10)
  const result = step.callAsync(given)
  assert.deepStrictEqual((await result).tolist(), [18])
  assert.deepStrictEqual([later.tolist(), given.tolist()], [[80], [20]])
})

test('what the function made for itself is not computed', () => {
  const state = new Tensor([1]).realize()
  const inner = []
  const f = new TinyJit((x) => {
    inner.push(state.mul(3))
    const weighted = Tensor.tidy(() => state.mul(2).keep())
    inner.push(weighted)
    state.assign(weighted.add(x))
    return state.mul(1)
  })
  const first = f(new Tensor([1]))
  const lazy = state.mul(5)
  for (let i = 0; i < 3; i++) f(new Tensor([1]))
  assert.deepStrictEqual(inner.map((t) => t.isRealized), [false, false, false, false])
  assert.deepStrictEqual([first.tolist(), lazy.tolist(), state.tolist()], [[3], [15], [31]])
})

test('calls in another thread', async () => {
  const f = new TinyJit((x, i) => x.add(Tensor.rand(3)).add(i))
  const n = new Variable('n', 0, 9)
  const run = async (call) => {
    Tensor.manualSeed(11)
    return Promise.all([1, 2, 3, 4, 5].map((i) => call(new Tensor([i]).mul(10), n.bind(i)))).then((all) => all.map((t) => t.tolist()))
  }
  const want = await run((x, i) => x.add(Tensor.rand(3)).add(i))
  assert.deepStrictEqual(await run((x, i) => f.callAsync(x, i)), want)
  assert.deepStrictEqual(await run((x, i) => f.callAsync(x, i)), want)
  assert.deepStrictEqual([f.cnt, await run(f)], [10, want])
  await assert.rejects(f.callAsync(new Tensor([1, 2]), n.bind(1)), JitError)
})

test('calls in tidy have flat memory', () => {
  const state = new Tensor([0])
  const step = new TinyJit((x) => {
    state.assign(state.add(x))
    return state.mul(2)
  })
  const once = () => Tensor.tidy(() => step(new Tensor([1]).mul(2)).item())
  for (let i = 0; i < 20; i++) once()
  const before = liveNodes()
  for (let i = 0; i < 300; i++) once()
  assert.strictEqual(once(), 2 * 2 * 321)
  assert.ok(liveNodes() <= before + 20, `${liveNodes()} nodes, ${before} before`)
})

test('nothing is captured where the environment says so', async () => {
  let calls = 0
  const f = new TinyJit((x) => x.add(++calls))
  const before = process.env.JIT
  process.env.JIT = '0'
  try {
    for (const want of [2, 3]) assert.deepStrictEqual(f(new Tensor([1])).tolist(), [want])
    for (const want of [4, 5]) assert.deepStrictEqual((await f.callAsync(new Tensor([1]))).tolist(), [want])
    assert.strictEqual(f.captured, null)
    process.env.JIT = 'off'
    assert.throws(() => f(new Tensor([1])), /JIT: got 'off', expected one of 0, 1, 2$/)
  } finally {
    if (before === undefined) delete process.env.JIT
    else process.env.JIT = before
  }
  for (let i = 0; i < 3; i++) assert.deepStrictEqual(f(new Tensor([1])).tolist(), [6])
  assert.strictEqual(calls, 5)
})
