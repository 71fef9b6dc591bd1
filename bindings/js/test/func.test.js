'use strict'
// Function transformations: trees, errors, and values. Go's tests compare with JAX.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, TinyJit, JitError, PolygradError, Linear, Variable, liveNodes, func } = require('..')

const {
  evalShape, functionalCall, grad, hessian, hvp, jacfwd, jacrev, jvp, linearTranspose, linearize, stopGradient, treeMap, valueAndGrad, vjp,
  vmap
} = func
const tensor = (...values) => new Tensor(values, { dtype: 'float64' })
const lists = (tree) => treeMap((t) => t.tolist(), tree)
const close = (a, b) => {
  const [x, y] = [a, b].map((t) => Array.from(t.toArray()))
  assert.ok(x.length === y.length && x.every((v, i) => Math.abs(v - y[i]) <= 1e-9 * (1 + Math.abs(v))), `${x}, expected ${y}`)
}

test('trees of arrays and objects', () => {
  const tree = { list: [tensor(1), null], 'a-b': { c: [tensor(3)] }, alone: tensor(4), empty: [], none: undefined }
  const loss = (t) => t.list[0].pow(2).add(t['a-b'].c[0].pow(2)).add(t.alone.pow(2)).sum()
  const g = grad(loss)(tree)
  assert.deepStrictEqual(lists(g), { 'a-b': { c: [[6]] }, alone: [8], empty: [], list: [[2], null], none: undefined })
  assert.deepStrictEqual(treeMap((a, b) => a + b, { b: 1, a: [2, 3] }, { a: [20, 30], b: 10 }), { a: [22, 33], b: 11 })
  assert.deepStrictEqual(grad((p) => p.w.mul(p.x))({ w: 2, x: 3 }).w.item(), 3)
  assert.deepStrictEqual(grad((x) => x.square().sum())(Float64Array.of(1, 2)).tolist(), [2, 4])
})

test('argnums and auxiliary results', () => {
  const f = (x, y, { scale = 1 } = {}) => [x.mul(y).sum().mul(scale), { y: y.mul(2), name: x.sum() }]
  const [x, y] = [tensor(1, 2), tensor(3, 4)]
  const [[value, aux], [gy, gx]] = valueAndGrad(f, { argnums: [1, -3], hasAux: true })(x, y, { scale: 2 })
  assert.deepStrictEqual(lists([value, aux.y, aux.name, gy, gx]), [22, [6, 8], 3, [2, 4], [6, 8]])
  const [g, more] = grad(f, 0, true)(x, y)
  assert.deepStrictEqual(lists([g, more.y]), [[3, 4], [6, 8]])
  const both = (v) => [v.mul(2), v.sum()]
  const [doubled, pullback, sum] = vjp(both, [x], { hasAux: true })
  assert.deepStrictEqual(lists([doubled, sum, pullback(tensor(1, 10))]), [[2, 4], 3, [[2, 20]]])
  const [, change, alone] = jvp(both, [x], [tensor(1, 10)], { hasAux: true })
  assert.deepStrictEqual(lists([change, alone]), [[2, 20], 3])
  assert.deepStrictEqual(lists(linearTranspose((v) => v.mul(3), [x])(tensor(1, 2))), [[3, 6]])
})

test('integers have no derivatives', () => {
  const [x, n] = [tensor(1, 2), new Tensor(Int32Array.of(1, 0))]
  const [value, pullback] = vjp((a, i) => a.getitem(i), [x, n])
  const [gx, gn] = pullback(tensor(1, 10))
  assert.deepStrictEqual([value.tolist(), gx.tolist(), gn], [[2, 1], [10, 1], null])
  const [, change] = jvp((a, i) => [a.getitem(i), i.add(1)], [x, n], [tensor(1, 10), n])
  assert.deepStrictEqual(lists(change), [[10, 1], [0, 0]])
  assert.deepStrictEqual(grad((a) => a.gt(1).sum().mul(2.0).cast('float64'))(x).tolist(), [0, 0])
})

test('axes of batches', () => {
  const x = new Tensor(Float64Array.from({ length: 24 }, (_, i) => i), { shape: [2, 3, 4] })
  const w = tensor(0, 1, 2, 3)
  const out = vmap((a, p) => a.mul(p.w), { inAxes: [-2, null], outAxes: -1 })(x, { w })
  assert.deepStrictEqual(out.tolist(), x.mul(w).permute(0, 2, 1).tolist())
  const sums = vmap((a, n) => [a.a.sum(), n], { inAxes: [{ a: 1 }, null], outAxes: [0, null] })
  assert.deepStrictEqual(lists(sums({ a: x }, tensor(3))), [x.sum([0, 2]).tolist(), [3]])
  const dot = (a, b) => a.dot(b)
  const twice = vmap(vmap(dot, [null, 0]), [0, null])
  close(twice(x.getitem(0), x.getitem(1)), x.getitem(0).matmul(x.getitem(1).T))
  assert.deepStrictEqual(vmap(() => 1, { axisSize: 3 })().tolist(), [1, 1, 1])
  assert.deepStrictEqual(vmap((v) => v.mul(2), 1, 1)(x.getitem(0)).shape, [3, 4])
  assert.deepStrictEqual(vmap((a, k) => a.mul(k), [0, null])(tensor(1, 2), 3).tolist(), [3, 6])
  assert.deepStrictEqual(vmap((v) => v.mul(2))(Float32Array.of(1, 2)).tolist(), [2, 4])
  const [a, b] = vmap((v) => v.add(Tensor.rand(3)))(Tensor.zeros(2, 3)).tolist()
  assert.deepStrictEqual(a, b, 'random numbers are the same for all elements')
})

test('second derivatives', () => {
  const [x, v] = [tensor(0.3, -0.5), tensor(1, 2)]
  const f = (a) => a.sin().mul(a.exp()).sum().mul(a.getitem(0).mul(a.getitem(1)).tanh())
  const h = hessian(f)(x)
  close(h, h.T)
  for (const other of [jacfwd(jacfwd(f)), jacrev(jacfwd(f)), jacrev(jacrev(f)), jacrev(grad(f))]) close(other(x), h)
  close(hvp(f, [x], [v])[0], h.matmul(v))
  close(vmap(linearize(grad(f), [x])[1])(Tensor.eye(2, { dtype: 'float64' })), h)
  assert.strictEqual(grad(grad((a) => a.pow(3)))(2).item(), 12)
  assert.deepStrictEqual(lists(jacfwd((p, q) => ({ out: p.a.mul(q) }), [0, 1])({ a: tensor(1, 2) }, tensor(3, 4))),
    { out: [{ a: [[3, 0], [0, 4]] }, [[1, 0], [0, 2]]] })
})

test('inside of compiled functions, and compiled functions inside', () => {
  const step = new TinyJit((x) => hessian((v) => v.pow(3).sum())(x).realize())
  for (let i = 0; i < 4; i++) assert.deepStrictEqual(step(tensor(i, 1)).tolist(), [[6 * i, 0], [0, 6]])
  const cubes = new TinyJit((v) => v.pow(3))
  for (let i = 0; i < 3; i++) assert.deepStrictEqual(grad((v) => cubes(v).sum())(tensor(2)).tolist(), [12])
})

test('layers by functionalCall', () => {
  const layer = new Linear(3, 2)
  const before = layer.weight.tolist()
  const params = { weight: Tensor.ones(2, 3), bias: Tensor.zeros(2) }
  const xs = new Tensor(Float32Array.from({ length: 12 }, (_, i) => i), { shape: [4, 3] })
  const loss = (p, x) => functionalCall(layer, p, x).square().sum()
  const each = vmap(grad(loss), [null, 0])(params, xs)
  assert.deepStrictEqual(each.weight.tolist(), xs.tolist().map((x) => {
    const sum = 2 * x.reduce((a, b) => a + b)
    return [x.map((v) => v * sum), x.map((v) => v * sum)]
  }))
  assert.deepStrictEqual([each.bias.shape, layer.weight.tolist(), layer.weight.shape], [[4, 2], before, [2, 3]])
})

test('sizes may be variables', () => {
  const n = new Variable('n', 1, 8).bind(3)
  const x = tensor(0, 1, 2, 3, 4, 5, 6, 7).shrink([[0, n]])
  assert.strictEqual(vmap((v) => v.mul(2).add(1))(x).sum().item(), 9)
  assert.strictEqual(grad((v) => v.mul(v).sum())(x).sum().item(), 6)
})

test('constants, and gradients of what a function returns', () => {
  const w = tensor(1, 2)
  w.requiresGrad = true
  grad((x) => x.mul(x).mul(w).sum())(tensor(3, 4)).sum().backward()
  assert.deepStrictEqual(w.grad.tolist(), [6, 8])
  const x = tensor(1, 2)
  assert.deepStrictEqual(grad((y) => x.mul(y).sum())(x).tolist(), [1, 2])
  assert.deepStrictEqual(grad((y) => stopGradient(y).mul(y).sum())(x).tolist(), [1, 2])
})

test('writes in a function', () => {
  const f = (x) => {
    const y = x.mul(1)
    y.setitem([0], x.getitem(1).mul(3))
    const z = y.add(x)
    return z.mul(z).sum()
  }
  assert.deepStrictEqual(grad(f)(tensor(1, 2)).tolist(), [14, 58])
  assert.deepStrictEqual(vmap(f)(tensor(1, 2, 3, 4).reshape(2, 2)).tolist(), [65, 289])
})

const x = tensor(1, 2)
const sum = (v) => v.sum()
const WRONG = [
  [() => grad((v) => v)(x), PolygradError, /^grad: the function returns float64 of shape \(2\)/],
  [() => valueAndGrad((a) => ({ a }))(x), TypeError, /^valueAndGrad: the function returns an object, expected a loss: one scalar$/],
  [() => grad(sum)(new Tensor(Int32Array.of(1, 2))), TypeError, /^grad: args\[0\] is int32, expected a floating type/],
  [() => grad((p) => p.a.sum())({ a: x, b: [x.cast('int32')] }), TypeError, /^grad: args\[0\]\.b\[0\] is int32/],
  [() => grad(sum, { argnums: 1 })(x), RangeError, /^grad: argnums: 1, expected 0 to 0$/],
  [() => grad(sum, 'x')(x), TypeError, /^grad: argnums: "x", expected an argument's number/],
  [() => grad((p) => p.a.sum())({ a: x, b: 'text' }), TypeError, /^grad: args\[0\] has other leaves/],
  [() => grad(3), TypeError, /^grad: f: 3, expected a function$/],
  [() => hessian(3), TypeError, /^hessian: f: 3, expected a function$/],
  [() => grad(sum, { argnum: 1 }), TypeError, /^grad: argnum: unknown argument, expected argnums, hasAux, holomorphic$/],
  [() => vjp(sum, [x], { hasAux: 1 }), TypeError, /^vjp: hasAux: 1, expected true or false$/],
  [() => grad(sum, { hasAux: true })(x), TypeError, /^grad: hasAux: the function returns .*, expected an array of a loss and more$/],
  [() => grad((v) => v.sum().item())(x), JitError, /a value is needed while grad traces/],
  [() => grad((v) => v.mul(new Tensor(v.tolist())).sum())(x), JitError, /pass what it depends on as a number/],
  [() => grad((v) => v.nonzero())(x), JitError, /the size of the result depends on it; keep the shape/],
  [() => grad((v) => v.maskedSelect(v.gt(1)).sum())(x), JitError, /keep the shape \(where/],
  [() => grad((v) => v.sum().backward())(x), JitError, /while grad traces|gradient of a function/],
  [() => grad(async (v) => v.sum())(x), TypeError, /^grad: the function returns a Promise, expected tensors$/],
  [() => vmap((v) => v)(new Tensor(1)), RangeError, /^vmap: args\[0\] has shape \[\], which has no axis 0 of the batch$/],
  [() => vmap((v) => v)(3), TypeError, /^vmap: args\[0\] is 3, expected a tensor with an axis 0/],
  [() => vmap((v) => v)({ a: x, b: tensor(1) }), PolygradError, /^vmap: args\[0\]\.b has size 1 along axis 0, expected 2 as args\[0\]\.a/],
  [() => vmap((v) => v, [0, 0])(x), PolygradError, /^vmap: inAxes: \[0, 0\], expected a tree like \[\*\], or its beginning$/],
  [() => vmap((v) => v, [{ b: 0 }])({ a: x }), PolygradError, /^vmap: inAxes\[0\]: .*, expected a tree like \{ a: \* \}/],
  [() => vmap((v) => v, 0.5)(x), TypeError, /^vmap: inAxes: 0.5, expected integers and null$/],
  [() => vmap((v) => v, null)(x), PolygradError, /^vmap: no argument is mapped/],
  [() => grad(function down (v) { return v.gt(0).where(down(v), v) })(x), JitError, /^grad: the function calls itself without an end/],
  [() => vmap((v) => v, 0, 3)(x), RangeError, /^vmap: outAxes: 3, expected -1 to 0$/],
  [() => vmap((v) => v, 0, null)(x), PolygradError, /^vmap: outAxes: none for result 0, which differs/],
  [() => vmap((v) => v, { axisSize: 3 })(x), PolygradError, /^vmap: a batch of 3, expected 2/],
  [() => linearTranspose((v) => v.mul(v), [x]), PolygradError, /^linearTranspose: the function is not linear in args\[0\]/],
  [() => vmap(() => 'text')(x), TypeError, /^vmap: the function returns "text", expected tensors$/],
  [() => jvp((v) => v, [x], [tensor(1)]), PolygradError, /^jvp: the tangent of args\[0\] is float64 of shape \[1\], expected .* \[2\]$/],
  [() => functionalCall({}, {}, x), TypeError, /^functionalCall: module: an object, expected a layer/],
  [() => jvp((v) => v, [x], [[x]]), PolygradError, /^jvp: tangents\[0\]: a tree \[\*\], expected \* as primals\[0\]$/],
  [() => jvp((v) => v, x, x), TypeError, /^jvp: tangents: a Tensor, expected an array with one tree for each argument$/],
  [() => linearize((v) => v, [x])[1](), PolygradError, /^linearize: 0 tangents, expected 1 as primals$/],
  [() => vjp((v) => [v, v], [x])[1](x), PolygradError, /^vjp: the cotangent: a tree \*, expected \[\*, \*\] as the result$/],
  [() => functionalCall(new Linear(2, 2), { w: x }, x), PolygradError, /: parameters: "w", expected names of weight, bias$/],
  [() => treeMap((a) => a, { a: 1 }, { b: 1 }), PolygradError, /^treeMap: rest\[0\]: a tree \{ b: \* \}, expected \{ a: \* \} as tree$/]
]

test('errors name the function, the argument and the place in its tree', () => {
  for (const [call, kind, text] of WRONG) {
    assert.throws(call, (error) => {
      assert.match(error.message, text)
      assert.ok(error instanceof kind, `${error.name}: ${error.message}`)
      return true
    })
    assert.deepStrictEqual(grad((v) => v.mul(v).sum())(x).tolist(), [2, 4])
  }
  const gone = tensor(1)
  gone.dispose()
  assert.throws(() => grad(sum)([gone]), /^PolygradError: grad: args\[0\]\[0\]: the tensor was disposed$/)
  const loop = []
  loop.push(loop)
  assert.throws(() => grad(sum)(loop), /^PolygradError: grad: args\[0\]: it holds itself/)
})

test('side effects', () => {
  const total = tensor(0)
  const seen = []
  grad((v) => {
    seen.push(v.mul(2))
    return v.sum()
  })(x)
  assert.throws(() => seen[0].tolist(), /a tensor has left it otherwise than as a result/)
  assert.throws(() => grad((v) => {
    total.assign(v.sum().reshape(1))
    return v.sum()
  })(x), /a tensor from outside is written while grad traces/)
  assert.deepStrictEqual(total.tolist(), [0])
})

test('evalShape computes nothing', () => {
  const found = evalShape((a, n) => ({ a: a.matmul(a.T), b: [n] }), Tensor.empty(1000, 2), 3)
  assert.deepStrictEqual(found, { a: { shape: [1000, 1000], dtype: 'float32' }, b: [{ shape: [], dtype: 'float32' }] })
})

test('expressions are given back at once, in a tidy all of them', () => {
  const run = () => Tensor.tidy(() => assert.strictEqual(hessian((v) => v.pow(3).sum())(tensor(1)).item(), 6))
  run()
  const before = liveNodes()
  for (let i = 0; i < 5; i++) run()
  assert.ok(liveNodes() <= before + 20, `${liveNodes()} nodes, ${before} before`)
})

test('a jit tells calls of one kind from others that look alike', () => {
  let traced = 0
  const f = func.jit((left, right) => {
    traced++
    return typeof right === 'string' ? left.mul(2) : left.add(right)
  })
  const [a, b] = [tensor(1, 2), tensor(3, 4)]
  const calls = [
    [[a, b], [4, 6]], [[b, a], [4, 6]], [[a, a], [2, 4]], [[a, b], [4, 6]], [[a, 'float64[2]'], [2, 4]], [[a, b], [4, 6]],
    [[a, 'float64[2]'], [2, 4]], [[a, tensor(5)], [6, 7]], [[tensor(5), b], [8, 9]], [[a, b], [4, 6]]
  ]
  for (const [args, want] of calls) assert.deepStrictEqual(f(...args).tolist(), want)
  assert.deepStrictEqual([traced, f.cacheInfo().misses, f.cacheInfo().hits], [5, 5, 5])
  f.clearCache()
  assert.deepStrictEqual(f(a, b).tolist(), [4, 6])
  assert.strictEqual(traced, 6)
  const constant = func.jit((left, right) => left.add(right), { staticArgnums: 1 })
  assert.deepStrictEqual([a, b, a].map((y) => constant(a, y).tolist()), [[2, 4], [4, 6], [2, 4]])
})
