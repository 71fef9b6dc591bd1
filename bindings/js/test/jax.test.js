'use strict'
// polygrad/jax: programs as they are written for @jax-js/jax.

const assert = require('node:assert')
const test = require('node:test')
const {
  numpy: np, blockUntilReady, defaultDevice, devicePut, devices, getWebGPUDevice, grad, hessian, init, jacfwd, jacrev, jit, jvp, lax,
  linearize, makeJaxpr, nn, random, scipySpecial, setOwnership, tree, valueAndGrad, vjp, vmap
} = require('polygrad/jax')

const near = (found, expected, tolerance = 1e-5) => {
  const flat = (x) => [x].flat(Infinity)
  const [a, b] = [flat(found), flat(expected)]
  assert.strictEqual(a.length, b.length)
  a.forEach((x, i) => assert.ok(Math.abs(x - b[i]) <= tolerance * (1 + Math.abs(b[i])), `${x} at ${i}, expected ${b[i]}`))
}

/** Does something while calls consume their arguments. */
const strictly = (body) => {
  setOwnership('strict')
  try {
    return body()
  } finally {
    setOwnership('shared')
  }
}

test('the program of the README of jax-js', () => {
  const x = np.array([1, 2, 3])
  assert.deepStrictEqual(x.mul(4).js(), [4, 8, 12])
  assert.deepStrictEqual(np.array(new Float32Array([10, 20, 30, 100, 200, 300])).reshape([2, 3]).js(), [[10, 20, 30], [100, 200, 300]])
  const z = np.linspace(-10, 10, 1000)
  assert.ok(np.allclose(vmap(grad(np.sin))(z.ref), np.cos(z)))
  const hypot = jit(function hypot (x1, x2) {
    return np.sqrt(np.square(x1).add(np.square(x2)))
  })
  assert.strictEqual(hypot(3, 4).js(), 5)
  const getSums = (p) => p.foo.sum().add(p.bar.map((y) => y.sum()).reduce(np.add))
  const sums = grad(getSums)({ foo: np.array([1, 2, 3]), bar: [np.array([10]), np.array([11, 12])] })
  assert.deepStrictEqual([sums.foo.js(), sums.bar.map((y) => y.js())], [[1, 1, 1], [[1], [1, 1]]])
  near(scipySpecial.erfc(np.arange(3).astype(np.float32)).js(), [1, 0.15729921, 0.00467773])
})

test('what arrays are', async () => {
  const x = np.array([[1, 2], [3, 4]])
  assert.deepStrictEqual([x.shape, x.ndim, x.size, x.dtype, x.weakType, x.device], [[2, 2], 2, 4, 'float32', false, 'wasm'])
  assert.deepStrictEqual([String(x), String(x.aval), String(np.array(3).aval)], ['Array:float32[2,2]', 'float32[2,2]', 'float32[]'])
  assert.deepStrictEqual([...x].map((row) => row.js()), [[1, 2], [3, 4]])
  assert.deepStrictEqual([await x.jsAsync(), [...await x.data()], [...x.dataSync()]], [[[1, 2], [3, 4]], [1, 2, 3, 4], [1, 2, 3, 4]])
  assert.deepStrictEqual(np.array([true, false]).dataSync(), new Int32Array([1, 0]))
  assert.deepStrictEqual(np.array([true, false]).js(), [true, false])
  assert.strictEqual(np.array(5) * 2 + np.array([[1]]).item(), 11)
  assert.deepStrictEqual(np.array([1.5, 2], { dtype: np.float16 }).js(), [1.5, 2])
  const data = new Float32Array([1, 2])
  const copied = np.array(data)
  data[0] = 7
  assert.deepStrictEqual(copied.js(), [1, 2])
  assert.deepStrictEqual(np.arange(24).reshape([2, 3, 4]).slice(1, [1], null, [0, -2]).shape, [2, 1, 2])
  assert.deepStrictEqual(np.arange(5).slice(np.array([4, 0], { dtype: np.int32 })).js(), [4, 0])
  assert.deepStrictEqual(np.array([1]).view(np.int32).js(), [1065353216])
  assert.strictEqual(await x.blockUntilReady(), x)
})

test('types are promoted, and numbers take the type of what they meet', () => {
  const type = (x) => String(x.aval)
  const int = np.array([1, 2], { dtype: np.int32 })
  assert.deepStrictEqual([int.add(1.5).js(), type(int.add(1.5)), type(int.add(3)), type(int.add(np.array(3)))],
    [[2.5, 3.5], 'float32[2]', 'int32[2]', 'int32[2]'])
  assert.deepStrictEqual([type(int.div(2)), type(int.add(np.array([1, 2], { dtype: np.uint32 }))), type(np.array([true]).add(1))],
    ['float32[2]', 'int32[2]', 'uint32[1]'])
  const half = np.array([1], { dtype: np.float16 })
  assert.deepStrictEqual([type(half.mul(0.5)), type(half.mul(int)), type(half.mul(np.array([1])))],
    ['float16[1]', 'float16[2]', 'float32[1]'])
  const weak = [np.array(3), np.array(3).add(4), np.sin(3), np.sum(np.array(3)), np.array(3).mean(), np.where(true, 1, 2)]
  const strong = [np.array([3]), np.array([3]).add(4), np.array(3, { dtype: np.float32 }), np.array(true), np.array(3).equal(3)]
  assert.deepStrictEqual([weak.map((x) => x.weakType), strong.map((x) => x.weakType)], [Array(6).fill(true), Array(5).fill(false)])
  assert.ok(jit((x) => x.add(1))(3).weakType && !jit((x) => x.add(1))(np.array([3])).weakType && grad((x) => x)(3).weakType)
  assert.deepStrictEqual(jvp(np.sin, [3], [1]).concat(jvp(np.sin, [3], [np.array(1, { dtype: 'float32' })]), vjp(np.sin, [3])[0])
    .map((x) => x.weakType), [true, true, true, false, true])
  assert.deepStrictEqual([np.promoteTypes('uint32', 'int32'), np.promoteTypes('bool', 'float16'), np.resultType(int, 1, np.float64)],
    ['int32', 'float16', 'float64'])
})

test('nothing is consumed unless that is asked for', () => {
  const x = np.array([1, 2])
  x.add(x).mul(x).js()
  x.js()
  assert.strictEqual(x.refCount, 1)
  assert.strictEqual(x.ref, x)
  x.dispose()
  x.dispose()
  assert.deepStrictEqual([x.refCount, x.shape, String(x)], [0, [2], 'Array:float32[2]'])
  for (const use of [() => x.add(1), () => x.ref, () => x.dispose(), () => x.js(), () => np.ndim(x)]) {
    assert.throws(use, { name: 'ReferenceError', message: /^Referenced tracer Array:float32\[2\] freed: use \.ref/ })
  }
  const scalar = np.array(1)
  scalar.dispose()
  assert.throws(() => scalar.add(1), { name: 'ReferenceError', message: /^Referenced tracer Array:float32\[\] freed/ })
  const same = np.array([3])
  const alias = np.array(same)
  same.dispose()
  assert.throws(() => alias.js(), ReferenceError)
  // Functions may dispose their arguments, also where they are traced.
  const ignores = (a) => {
    const out = np.ones([2]).sum()
    a.dispose()
    return out
  }
  const y = np.array([3, 4])
  assert.deepStrictEqual([grad(ignores)(y).js(), jit(ignores)(y).js(), y.js()], [[0, 0], 2, [3, 4]])
})

test('strict ownership counts as jax-js does', () => strictly(() => {
  const counted = (use, count) => {
    const x = np.array([1, 2])
    use(x)
    assert.strictEqual(x.refCount, count, String(use))
  }
  counted((x) => x.js(), 0)
  counted((x) => x.dataSync(), 0)
  counted((x) => [np.shape(x), np.size(x), np.ndim(x), np.resultType(x), x.shape], 1)
  counted((x) => [...x], 0)
  counted((x) => np.array(x), 1)
  counted((x) => np.zerosLike(x), 0)
  counted((x) => np.allclose(x.ref, x), 0)
  counted((x) => x.reshape([2, 1]), 0)
  counted((x) => x.ref.add(x), 0)
  counted((x) => x.ref, 2)
  counted((x) => np.stack([x.ref, x]), 0)
  counted((x) => grad((a) => a.ref.mul(a).sum())(x), 0)
  counted((x) => jit((a) => a.ref.mul(a))(x), 0)
  counted((x) => lax.topK(x, 1), 0)
  // What changes nothing returns its operand.
  for (const f of [(x) => x.astype('float32'), (x) => x.view(), np.positive, nn.identity, np.clip, lax.stopGradient, (x) => np.sum(x, []),
    (x) => np.moveaxis(x, 0, -1), (x) => np.swapaxes(x, 0, 0), (x) => np.concatenate([x]), (x) => np.hstack([x]), (x) => np.roll(x, 2, 0),
    (x) => np.repeat(x, 1, 0), (x) => np.diff(x, 0), (x) => np.meshgrid([x])[0], (x) => lax.bitcastConvertType(x, 'float32')]) {
    counted((x) => assert.ok(f(x) === x, String(f)), 1)
  }
  counted((x) => assert.ok(np.sort(x) !== x), 0)
  assert.throws(() => counted((x) => x.add(x), 0), ReferenceError)
  const [y, pullback] = vjp((x) => x.ref.mul(x), [np.array([3])])
  assert.deepStrictEqual([y.js(), pullback(np.array([1])).map((x) => x.js())], [[9], [[6]]])
  pullback.dispose()
  const held = np.array([1, 2])
  const added = jit((x) => x.add(held))
  assert.deepStrictEqual([added(np.array([1, 1])).js(), added(np.array([2, 2])).js(), held.refCount], [[2, 3], [3, 4], 0])
  const trees = { a: np.array([1]), b: [np.array([2])] }
  assert.strictEqual(tree.ref(trees).a.refCount, 2)
  tree.dispose(trees)
  tree.dispose(trees)
  assert.strictEqual(trees.b[0].refCount, 0)
}))

test('calls that fail and makeJaxpr consume nothing', () => strictly(() => {
  const [x, y] = [np.array([1, 2]), np.array([1, 2, 3])]
  const added = jit((a, b) => a.add(b))
  for (const fails of [() => x.add(y), () => np.add(x, 'a'), () => x.sum(3), () => np.where(x, y, x), () => added(x, y)]) {
    assert.throws(fails)
    assert.deepStrictEqual([x.refCount, y.refCount], [1, 1], String(fails))
  }
  assert.throws(() => x.add(x), ReferenceError)
  makeJaxpr((a) => a.ref.mul(a))(x)
  assert.deepStrictEqual([x.refCount, x.js()], [1, [1, 2]])
}))

test('function transformations', () => {
  const f = (x, y) => x.mul(y).sum()
  assert.deepStrictEqual(grad(f, { argnums: [0, 1] })(np.array([1, 2]), np.array([3, 4])).map((g) => g.js()), [[3, 4], [1, 2]])
  const [[value, aux], g] = valueAndGrad((x) => [x.mul(x).sum(), { x }], { hasAux: true })(np.array([1, 2]))
  assert.deepStrictEqual([value.js(), aux.x.js(), g.js()], [5, [1, 2], [2, 4]])
  const [only, more] = grad((x) => [x.sum(), [x.mul(2)]], { hasAux: true })(np.array([1]))
  assert.deepStrictEqual([only.js(), more[0].js()], [[1], [2]])
  assert.deepStrictEqual(jvp((x) => x.mul(x), [np.array([3])], [np.array([1])]).map((x) => x.js()), [[9], [6]])
  const [y, change] = linearize((x) => x.mul(x), [np.array([3])])
  assert.deepStrictEqual([y.js(), change(np.array([2])).js()], [[9], [12]])
  assert.deepStrictEqual(jacfwd((x) => x.mul(x))(np.array([1, 2])).js(), [[2, 0], [0, 4]])
  assert.deepStrictEqual(jacrev((x) => x.reshape([2, 2]).mul(2))(np.zeros([4])).shape, [2, 2, 4])
  assert.deepStrictEqual(hessian((x) => x.mul(x).mul(x).sum())(np.array([1, 2, 3])).js(), [[6, 0, 0], [0, 12, 0], [0, 0, 18]])
  const second = hessian((p) => p.a.mul(p.b).sum())({ a: np.array([1]), b: np.array([2]) })
  assert.deepStrictEqual(second.a.b.js(), [[1]])
  assert.deepStrictEqual(vmap((x, z) => x.add(z), [0, null])(np.ones([2, 3]), np.array([1, 2, 3])).js(), [[2, 3, 4], [2, 3, 4]])
  assert.deepStrictEqual(vmap((p) => p.a.sum(), [{ a: 1 }])({ a: np.ones([2, 3]) }).js(), [2, 2, 2])
  let traces = 0
  const counted = jit((x, n) => {
    traces++
    return x.mul(n)
  }, { staticArgnums: [1] })
  const products = [counted(np.array([1]), 2), counted(np.array([2]), 2), counted(np.array([1]), 3)]
  assert.deepStrictEqual(products.map((x) => x.js()), [[2], [4], [3]])
  assert.strictEqual(traces, 2)
  counted.dispose()
  assert.deepStrictEqual([counted(np.array([5]), 2).js(), traces], [[10], 3])
  assert.deepStrictEqual(lax.scan((c, x) => [c.add(x), c], np.array(0), np.array([1, 2, 3])).map((x) => x.js()), [6, [0, 1, 3]])
})

test('gradients where jax-js has others', () => {
  near(grad((x) => np.power(x, 2).sum())(np.array([0, 3])).js(), [0, 6])
  near(grad((x) => np.prod(x))(np.array([0, 2, 3])).js(), [6, 0, 0])
  assert.strictEqual(grad((x) => nn.relu(x))(0).js(), 0)
  assert.deepStrictEqual(np.argmax(np.array([1, NaN, 3])).js(), 1)
  assert.deepStrictEqual(np.logaddexp(-Infinity, -Infinity).js(), -Infinity)
  near(np.hypot(1e30, 1e30).js(), 1.4142135e30)
  assert.deepStrictEqual(np.rightShift(np.array([-8], { dtype: np.int32 }), 1).js(), [-4])
  assert.deepStrictEqual(np.floorDivide(np.array([7, -7], { dtype: np.int32 }), 2).js(), [3, -4])
  near(np.exp(np.array([100], { dtype: np.float64 })).js(), [Math.exp(100)], 1e-14)
  const plus = jit((x, n) => x.add(n), { staticArgnums: [1] })
  assert.deepStrictEqual([plus(np.array([1]), Infinity).js(), plus(np.array([1]), -Infinity).js()], [[Infinity], [-Infinity]])
  near(grad((x) => np.linalg.eigh(x)[0].sum())(np.array([[2, 1], [1, 3]])).js(), [[1, 0], [0, 1]])
})

test('ranges of integers have the distance of their first two numbers', () => {
  const of = (...args) => np.arange(...args.slice(0, -1), { dtype: args.at(-1) }).js()
  assert.deepStrictEqual(of(2, 4, 0.5, np.uint32), [2, 2, 2, 2])
  assert.deepStrictEqual(of(0.5, 3, 1, np.int32), [0, 1, 2])
  assert.deepStrictEqual(of(5, 0, -2.5, np.int32), [5, 2])
  assert.deepStrictEqual(of(0, 1, 0.25, np.float32), [0, 0.25, 0.5, 0.75])
  for (const f of [np.hann, np.bartlett, np.blackman, (n) => np.linspace(0, 1, n)]) assert.throws(() => f(-1), RangeError)
})

test('expressions are printed as jax-js prints them', () => {
  const text = (f, ...args) => makeJaxpr(f)(...args).jaxpr.toString()
  assert.strictEqual(text((x) => np.sin(x).mul(x).sum(), np.zeros([3])), `{ lambda a:float32[3] .
  let b:float32[3] = sin a
      c:float32[3] = mul b a
      d:float32[] = reduce [ op=Add
                             axis=0 ] c
  in ( d ) }`)
  assert.strictEqual(text((x, y) => [x.add(2), np.dot(x, y)], np.zeros([3]), np.ones([3])), `{ lambda a:float32[3], b:float32[3] .
  let c:float32[3] = add a 2
      d:float32[] = dot a b
  in ( c, d ) }`)
  assert.strictEqual(text((x) => np.where(x.greater(0), x, 0), np.zeros([3])), `{ lambda a:float32[3] .
  let b:bool[3] = compare [ op=less ] 0 a
      c:float32[3] = where b a 0
  in ( c ) }`)
  assert.strictEqual(text((x) => x.reshape([3, 2]).transpose().slice([0, 1]), np.zeros([6])), `{ lambda a:float32[6] .
  let b:float32[3,2] = reshape [ shape=3,2 ] a
      c:float32[2,3] = transpose [ perm=1,0 ] b
      d:float32[1,3] = shrink [ slice=0,1,0,3 ] c
  in ( d ) }`)
  assert.strictEqual(text((x) => np.maximum(x.max(), 0).add(np.exp(x)), np.zeros([3])), `{ lambda a:float32[3] .
  let b:float32[] = reduce [ op=Max
                             axis=0 ] a
      c:float32[] = max b 0
      d:float32[3] = exp a
      e:float32[3] = add c d
  in ( e ) }`)
  assert.strictEqual(text((x) => x.mean(), np.zeros([3])), `{ lambda a:float32[3] .
  let b:float32[] = reduce [ op=Add
                             axis=0 ] a
      c:float32[] = mul b 0.3333333432674408
  in ( c ) }`)
  assert.strictEqual(text((x, y) => x.add(y), np.zeros([6]), np.zeros([2, 6])), `{ lambda a:float32[6], b:float32[2,6] .
  let c:float32[2,6] = add a b
  in ( c ) }`)
  assert.strictEqual(text((x) => nn.softmax(x), np.zeros([3])), `{ lambda a:float32[3] .
  let b:float32[] = reduce [ op=Max
                             axis=0 ] a
      c:float32[1] = reshape [ shape=1 ] b
      d:float32[1] = stop_gradient c
      e:float32[1] = neg d
      f:float32[3] = add a e
      g:float32[3] = exp f
      h:float32[] = reduce [ op=Add
                             axis=0 ] g
      i:float32[1] = reshape [ shape=1 ] h
      j:float32[1] = reciprocal i
      k:float32[3] = mul g j
  in ( k ) }`)
  for (const [f, statement] of [
    [np.sort, 'sort a'], [np.log, 'log a'], [np.floor, 'floor a'], [nn.relu, 'max a 0'], [(x) => np.minimum(x, 1), 'min a 1'],
  ]) assert.strictEqual(text(f, np.zeros([3])), `{ lambda a:float32[3] .\n  let b:float32[3] = ${statement}\n  in ( b ) }`)
  assert.strictEqual(text((x) => grad((y) => np.sin(y).sum())(x), np.zeros([3])).split('\n')[1], '  let b:float32[3] = cos a')
  assert.strictEqual(text((x, y) => np.concatenate([x, y, x]), np.zeros([2]), np.ones([3])), `{ lambda a:float32[2], b:float32[3] .
  let c:float32[7] = concatenate [ axis=0 ] a b a
  in ( c ) }`)
  assert.strictEqual(text((x, y) => np.stack([x, y], 1), np.zeros([2]), np.ones([2])), `{ lambda a:float32[2], b:float32[2] .
  let c:float32[2,1] = reshape [ shape=2,1 ] a
      d:float32[2,1] = reshape [ shape=2,1 ] b
      e:float32[2,2] = concatenate [ axis=1 ] c d
  in ( e ) }`)
  // Compositions of the library that jax-js writes in another way, and products without axes of ones.
  for (const [f, ...lines] of [
    [nn.softplus, 'b:float32[3] = exp a', 'c:float32[3] = add b 1', 'd:float32[3] = log c'],
    [np.abs, 'b:bool[3] = compare [ op=less ] a 0', 'c:float32[3] = mul a -1', 'd:float32[3] = where b c a'],
    [(x) => np.fmod(x, 2), 'b:float32[3] = mod a 2'],
    [(x) => np.broadcastTo(x, [2, 3]), 'b:float32[2,3] = broadcast [ shape=2,3', '                             axis=0 ] a'],
    [(x) => np.outer(x, x), 'b:float32[3,1] = reshape [ shape=3,1 ] a', 'c:float32[3,3] = mul b a']
  ]) assert.deepStrictEqual(text(f, np.zeros([3])).split('\n').slice(1, -1).map((line) => line.slice(6)), lines)
  assert.match(text((x) => x.min(), np.zeros([3])), /reduce \[ op=Min\n/)
  assert.strictEqual(text(np.matmul, np.zeros([2, 3]), np.zeros([3, 4])), `{ lambda a:float32[2,3], b:float32[3,4] .
  let c:float32[4,3] = transpose [ perm=1,0 ] b
      d:float32[2,1,3] = reshape [ shape=2,1,3 ] a
      e:float32[1,4,3] = reshape [ shape=1,4,3 ] c
      f:float32[2,4] = dot d e
  in ( f ) }`)
  assert.strictEqual(text((x) => ({ b: x.add(1), a: x }), np.zeros([3])).split('\n')[2], '  in ( b, a ) }')
  // Types are those of what is computed.
  assert.strictEqual(text((x) => np.repeat(x.max(), 2), np.zeros([3])), `{ lambda a:float32[3] .
  let b:float32[] = reduce [ op=Max
                             axis=0 ] a
      c:float32[1] = reshape [ shape=1 ] b
      d:float32[1,2] = broadcast [ shape=1,2
                                   axis=1 ] c
      e:float32[2] = reshape [ shape=2 ] d
  in ( e ) }`)
  // New arrays are constants.
  assert.strictEqual(text((x) => x.add(np.ones([3])), np.zeros([3])), `{ lambda a:float32[3], b:float32[3] .
  let c:float32[3] = add b a
  in ( c ) }`)
  // Calls of compiled functions.
  const scaled = jit(function halved (x, n) { return [x.mul(n), x] })
  assert.strictEqual(text((x) => jit((y) => scaled(y, 0.5)[0].add(y))(x).neg(), np.zeros([2, 2])), `{ lambda a:float32[2,2] .
  let b:float32[2,2] = jit [ name=closure
                             jaxpr={ lambda a:float32[2,2] .
                               let b:float32[2,2] _ = jit [ name=halved
                                                            jaxpr={ lambda a:float32[2,2], b:float32[] .
                                                              let c:float32[2,2] = mul a b
                                                              in ( c, a ) }
                                                            numConsts=0 ] a 0.5
                                   c:float32[2,2] = add b a
                               in ( c ) }
                             numConsts=0 ] a
      c:float32[2,2] = neg b
  in ( c ) }`)
  assert.strictEqual(text((x) => x, 3), '{ lambda a:float32[] .\n  ( a ) }')
  assert.strictEqual(String(makeJaxpr((x) => ({ a: x }))(3).treedef), 'JsTreeDef({a: *})')
})

test('trees', () => {
  assert.strictEqual(String(tree.structure({ b: 1, a: [2, { c: 3 }] })), 'JsTreeDef({b: *, a: [*, {c: *}]})')
  assert.deepStrictEqual(tree.flatten([null, { x: 1 }])[0], [null, 1])
  assert.deepStrictEqual(tree.map((a, b) => a + b, { x: 1, y: [2] }, { y: [4], x: 3 }), { x: 4, y: [6] })
  assert.deepStrictEqual(tree.unflatten(tree.structure({ x: 1, y: [2] }), [5, 6]), { x: 5, y: [6] })
  assert.ok(tree.structure([1]).equals(tree.structure([2])) && !tree.structure([1]).equals(tree.structure({ a: 2 })))
  assert.throws(() => tree.map((a) => a, { x: 1 }, { y: 1 }),
    /tree\.map: rest\[0\]: JsTreeDef\(\{y: \*\}\), expected JsTreeDef\(\{x: \*\}\)/)
  assert.throws(() => tree.unflatten(tree.structure([1, 2]), [1]), /fewer than the 2/)
})

test('random numbers are those of JAX', () => {
  const key = random.key(0)
  assert.deepStrictEqual([random.key(42).js(), key.dtype], [[0, 42], 'uint32'])
  assert.deepStrictEqual(random.bits(key, [3]).js(), [4070199207, 4202968722, 1427181096])
  assert.deepStrictEqual(random.split(key).js(), [[1797259609, 2579123966], [928981903, 3453687069]])
  near(random.uniform(key, [3]).js(), [0.947667, 0.9785799, 0.33229148])
  near(random.normal(key, [2]).js(), [1.6226422, 2.0252647])
  for (const [name, ...args] of [
    ['ball', 3, { shape: [5] }], ['bernoulli', 0.3, [5]], ['categorical', np.array([1, 2]), { shape: [5] }], ['cauchy', [5]],
    ['choice', 9, { shape: [5] }], ['doubleSidedMaxwell', 1, 2, [5]], ['exponential', [5]], ['geometric', 0.3, { shape: [5] }],
    ['gumbel', [5]], ['laplace', [5]], ['logistic', [5]], ['lognormal', 1, [5]], ['maxwell', [5]],
    ['multivariateNormal', np.zeros([2]), np.eye(2), [5]], ['pareto', 2, [5]], ['permutation', 5], ['rademacher', { shape: [5] }],
    ['randint', { minval: 0, maxval: 9, shape: [5] }], ['rayleigh', 1, [5]], ['triangular', 0, 1, 2, [5]], ['weibullMin', 1, 2, [5]]
  ]) {
    const x = random[name](key, ...args)
    assert.strictEqual(x.shape[0], 5, name)
    assert.ok([x.js()].flat(2).every((v) => Number.isFinite(Number(v))), name)
  }
})

test('devices', async () => {
  assert.deepStrictEqual([await init(), await init('cpu'), devices], [['cpu', 'wasm'], ['cpu'], ['cpu', 'wasm', 'webgpu', 'webgl']])
  assert.strictEqual(defaultDevice(), 'wasm')
  assert.throws(() => defaultDevice('foo'), RangeError)
  assert.throws(() => defaultDevice('webgpu'), /webgpu is not available/)
  assert.throws(() => getWebGPUDevice(), TypeError)
  const there = await devicePut({ a: np.array([1]), b: 2 }, 'cpu')
  assert.deepStrictEqual([there.a.device, there.b.js()], ['cpu', 2])
  assert.throws(() => there.a.gpuBufferSync(), /on the device cpu, expected one on webgpu/)
  assert.deepStrictEqual((await blockUntilReady([np.ones([2]).add(1)]))[0].js(), [2, 2])
})

test('cpu is the interpreter, where arrays stay that were put there', async () => {
  const here = np.arange(6).reshape([2, 3])
  const there = await devicePut(here, 'cpu')
  assert.deepStrictEqual([here.device, there.device, there.add(here).device], ['wasm', 'cpu', 'cpu'])
  assert.deepStrictEqual(np.matmul(there, here.transpose()).js(), [[5, 14], [14, 50]])
  assert.strictEqual(there._tensor.device, 'INTERP')
  try {
    assert.strictEqual(defaultDevice('cpu'), 'cpu')
    const made = np.linspace(0, 1, 3)
    assert.deepStrictEqual([made.device, made._tensor.device, here.device], ['cpu', 'INTERP', 'cpu'])
    near(grad((x) => np.sin(x).sum())(made).js(), [1, Math.cos(0.5), Math.cos(1)])
    near(jit((x) => np.exp(x).sum())(made).js(), 1 + Math.exp(0.5) + Math.E)
  } finally {
    assert.strictEqual(defaultDevice('wasm'), 'wasm')
  }
  assert.deepStrictEqual([there.mul(2).device, np.ones([2], { device: 'cpu' }).device], ['cpu', 'cpu'])
})

test('transforms of any length', () => {
  for (const n of [1, 2, 5, 12, 67, 100, 131, 360]) {
    const [re, im] = [7, 11].map((by) => Array.from({ length: n }, (_, i) => Math.sin(by * i * i)))
    const found = np.fft.fft({ real: np.array(re, { dtype: np.float64 }), imag: np.array(im, { dtype: np.float64 }) })
    const sums = Array.from({ length: n }, (_, k) => re.reduce(([s, t], x, j) => {
      const [c, d] = [Math.cos(2 * Math.PI * ((j * k) % n) / n), -Math.sin(2 * Math.PI * ((j * k) % n) / n)]
      return [s + x * c - im[j] * d, t + x * d + im[j] * c]
    }, [0, 0]))
    near(found.real.js(), sums.map(([s]) => s), 1e-12)
    near(found.imag.js(), sums.map(([, t]) => t), 1e-12)
    near(np.fft.ifft(found).real.js(), re, 1e-12)
  }
  const x = np.array([[1, 2, 3, 4], [5, 6, 8, 9]])
  near(np.fft.irfft2(np.fft.rfft2(x)).js(), x.js())
  near(np.fft.hfft(np.fft.ihfft(np.array([1, 2, 3, 5]))).js(), [1, 2, 3, 5])
  near(np.fft.fftfreq(5, 0.5).js(), [0, 0.4, 0.8, -0.8, -0.4])
  near(grad((a) => np.fft.rfft(a).real.sum())(np.array([1, 2, 3, 4])).js(), [3, 0, 1, 0])
  assert.throws(() => np.fft.fft(x), /fft: a: .*expected \{ real, imag \}/)
})

test('lists are arrays; weak types of what is made without a type; bounds of slices; batches of nothing', () => {
  near(np.add([1, 2], np.array([1, 2], { dtype: 'int32' })).js(), [2, 4])
  assert.deepStrictEqual([np.exp([[0]]).shape, np.exp([0]).weakType, np.append(np.array([1]), []).js()], [[1, 1], false, [1]])
  const made = [np.eye(2), np.identity(2), np.onesLike(3), np.linalg.inv(np.eye(2))]
  assert.deepStrictEqual(made.map((x) => x.weakType), [true, true, true, false])
  assert.deepStrictEqual(np.broadcastArrays(np.array([1]), 2).map((x) => x.weakType), [false, true])
  assert.strictEqual(np.eye(2).add(np.ones([2], { dtype: 'int32' })).dtype, 'int32')
  assert.strictEqual(np.eye(2, 2, { dtype: 'float32' }).weakType, false)
  const scalars = [np.zeros([]), np.full([], 2), np.select([np.array([true])], [1])]
  assert.deepStrictEqual(scalars.map((x) => x.weakType), [true, true, true])
  const strong = [np.ones([1]), np.full([], true), np.zeros([], { dtype: 'float32' })]
  assert.deepStrictEqual(strong.map((x) => x.weakType), [false, false, false])
  assert.strictEqual(np.full([], 2).add(np.ones([2], { dtype: 'int32' })).dtype, 'int32')
  const [row, all] = [np.array([[0, 0], [0, 0]]), [[0.25, 0.25], [0.25, 0.25]]]
  assert.deepStrictEqual(nn.softmax(row, null).js(), all)
  near(np.exp(nn.logSoftmax(row, null)).js(), all)
  for (const index of [[[0, 11]], [[5, 2]], [[-11]], [0, 1]]) assert.throws(() => np.arange(10).slice(...index), RangeError)
  assert.deepStrictEqual(np.arange(10).slice([10]).shape, [0])
  assert.deepStrictEqual(vmap((x) => x.sum())(np.zeros([0, 3])).shape, [0])
  assert.deepStrictEqual(np.fmod(np.array([-7, 7, -8], { dtype: 'int32' }), 4).js(), [-3, 3, 0])
})

test('errors are of the kinds of jax-js', () => {
  const x = np.array([1, 2, 3])
  const kinds = {
    TypeError: [
      () => x.add(np.array([1, 2])), () => np.add('a', 1), () => np.zeros([2], { dtype: 'foo' }), () => grad(3),
      () => grad((y) => y)(x), () => grad((y) => y.sum())(x.astype(np.int32)), () => vmap((a, b) => a.add(b))(x, np.ones([2])),
      () => x + 1, () => x.item(), () => x.reshape([2]), () => np.split(x, 2), () => np.promoteTypes('foo', 'int32'), () => np.array('a'),
      () => np.array([[1], [2, 3]]), () => np.abs([[1], [2, 3]]), () => np.cumulativeSum([[1, 2]]), () => np.vecmat([[1, 2]], [3, 4]),
      () => np.matvec([1], [1]), () => np.reshape(x), () => np.expandDims(x), () => np.diag(np.zeros([1, 1, 1])),
      () => np.transpose(3, [0, 0]),
      () => jit(3), () => x.slice('a'), () => nn.glu(x), () => np.finfo('int32')
    ],
    RangeError: [
      () => x.sum(2), () => x.slice(5), () => grad((y) => y.sum(), { argnums: 1 })(x), () => np.concatenate([x, x], 1),
      () => setOwnership('a'), () => np.sum(3, 0), () => np.sort(3), () => nn.softmax(3), () => np.flip(3, -1), () => np.flipud(3),
      () => np.pad(x, -1), () => np.pad(x, { 0: [1, -1] })
    ]
  }
  for (const [name, uses] of Object.entries(kinds)) for (const use of uses) assert.throws(use, { name }, String(use))
})

test('errors of lists name the argument', () => {
  assert.throws(() => np.add([[1], [2, 3]], 1), { name: 'TypeError', message: /^add: x: a list of 2 elements at depth 1, expected 1/ })
  assert.throws(() => np.array([[1], [2, 3]]), { name: 'TypeError', message: /^array: values: a list of 2 elements at depth 1/ })
})

test('complex numbers beside others', () => {
  const i = { re: 0, im: 1 }
  const c = np.array([{ re: 1, im: 2 }])
  assert.deepStrictEqual([c.add(1.5).js(), c.add(np.array([1.5])).js(), np.add(c, np.array([2], { dtype: 'int32' })).js()],
    [[{ re: 2.5, im: 2 }], [{ re: 2.5, im: 2 }], [{ re: 3, im: 2 }]])
  assert.deepStrictEqual([np.multiply(np.array([1, 2]), i).js(), np.array(i).item()], [[i, { re: 0, im: 2 }], i])
  assert.deepStrictEqual(np.concatenate([c, np.array([2.5])]).js(), [{ re: 1, im: 2 }, { re: 2.5, im: 0 }])
  assert.deepStrictEqual(np.matmul([[1, 2]], [[i], [1]]).js(), [[{ re: 2, im: 1 }]])
  assert.deepStrictEqual([np.vecmat([i], [[i]]).js(), np.matvec([[i]], [i]).js()], [[{ re: 1, im: 0 }], [{ re: -1, im: 0 }]])
  const types = [['complex64', 'int32'], ['complex64', 'float16'], ['bool', 'complex64'], ['complex64', 'float64'], ['complex64', 'int64'],
    ['complex64', 'complex128'], ['float32', 'complex128']]
  assert.deepStrictEqual(types.map(([a, b]) => np.promoteTypes(a, b)),
    ['complex64', 'complex64', 'complex64', 'complex128', 'complex64', 'complex128', 'complex128'])
  assert.deepStrictEqual([np.finfo(np.complex64).bits, np.finfo(np.complex128).dtype, np.zeros([1], { dtype: np.complex64 }).js()],
    [32, 'float64', [{ re: 0, im: 0 }]])
  assert.throws(() => np.maximum(c, 1), { name: 'TypeError', message: /complex numbers have no order/ })
})

test('values are those of JAX', () => {
  const calls = require('./jax/values.json')
  assert.ok(calls.length > 450)
  const given = (x) => {
    if (Array.isArray(x)) return x.map(given)
    if (x === null || typeof x !== 'object') return x
    if ('number' in x) return Number(x.number.replace('inf', 'Infinity'))
    if ('array' in x) return np.array(numbersIn(x.array), { dtype: x.dtype })
    return Object.fromEntries(Object.entries(x).map(([key, value]) => [key, given(value)]))
  }
  const numbersIn = (x) => Array.isArray(x) ? x.map(numbersIn) : typeof x === 'string' ? Number(x) : x
  const compare = (found, expected, what) => {
    if (Array.isArray(expected)) {
      assert.strictEqual(found.length, expected.length, what)
      expected.forEach((part, i) => compare(found[i], part, what))
      return
    }
    assert.deepStrictEqual(np.shape(found), expected.shape, what)
    const values = [found.js()].flat(Infinity)
    expected.values.forEach((value, i) => {
      const wanted = given(value)
      const same = Object.is(values[i], wanted) || Math.abs(values[i] - wanted) <= 2e-5 * (1 + Math.abs(wanted)) || values[i] === wanted ||
        (Number.isNaN(values[i]) && Number.isNaN(wanted))
      assert.ok(same, `${what}: ${values[i]} at ${i}, expected ${wanted}`)
    })
  }
  const spaces = { numpy: np, 'numpy.linalg': np.linalg, nn, lax, 'lax.linalg': lax.linalg, scipySpecial }
  const wrong = []
  for (const { space, name, args, options, found } of calls) {
    const f = spaces[space][name]
    const what = `${space}.${name}(${JSON.stringify(args)}, ${JSON.stringify(options)})`
    try {
      const positional = given(args)
      if (Object.keys(options).length > 0) {
        while (positional.length < PLACES[name]) positional.push(undefined)
        positional.push(given(options))
      }
      compare(f(...positional), found, what)
    } catch (error) {
      wrong.push(`${what}: ${error.message}`)
    }
  }
  assert.deepStrictEqual(wrong, [])
})

/** Where options stand among the arguments of functions that have optional ones before them. */
const PLACES = {
  sum: 2, prod: 2, mean: 2, max: 2, min: 2, ptp: 2, std: 2, var_: 2, any: 2, all: 2, countNonzero: 2, argmax: 2, argmin: 2, nanargmax: 2,
  nanargmin: 2, average: 2, cov: 2, trapezoid: 2, diff: 3, logsumexp: 2
}

test('elements at an index in a new array', () => {
  const x = np.arange(6).reshape([2, 3]).astype(np.float32)
  const rows = (y) => y.js()
  assert.deepStrictEqual(rows(x.at(0).set(7)), [[7, 7, 7], [3, 4, 5]])
  assert.deepStrictEqual(rows(x.at([], 1).add(np.array([10, 20]))), [[0, 11, 2], [3, 24, 5]])
  assert.deepStrictEqual(rows(x.at(1, [1]).multiply(2)), [[0, 1, 2], [3, 8, 10]])
  assert.deepStrictEqual(rows(x.at(1, [1]).mul(2)), [[0, 1, 2], [3, 8, 10]])
  assert.deepStrictEqual(rows(x.at([0, 1]).divide(2)), [[0, 0.5, 1], [3, 4, 5]])
  assert.deepStrictEqual(rows(x.at(-1, -1).subtract(1)), [[0, 1, 2], [3, 4, 4]])
  assert.deepStrictEqual(rows(x.at([], [1]).min(3)), [[0, 1, 2], [3, 3, 3]])
  assert.deepStrictEqual(rows(x.at([], [1]).max(2)), [[0, 2, 2], [3, 4, 5]])
  rows(x.at(1).power(2)).flat().forEach((value, i) => assert.ok(Math.abs(value - [0, 1, 2, 9, 16, 25][i]) < 1e-5))
  assert.deepStrictEqual(rows(x.at(1).apply((row) => np.negative(row))), [[0, 1, 2], [-3, -4, -5]])
  assert.deepStrictEqual(x.at(1, [0, 2]).get().js(), [3, 4])
  assert.deepStrictEqual(rows(x.at(np.greater(x, 2)).set(-1)), [[0, 1, 2], [-1, -1, -1]])
  assert.deepStrictEqual(rows(x.at(np.array([true, false])).add(1)), [[1, 2, 3], [3, 4, 5]])
  const twice = np.array([0, 2, 0], { dtype: np.int32 })
  assert.deepStrictEqual(np.zeros([3]).at(twice).add(np.array([1, 2, 3])).js(), [4, 0, 2])
  assert.deepStrictEqual(np.ones([3]).at(twice).multiply(np.array([2, 3, 5])).js(), [10, 1, 3])
  assert.strictEqual(np.arange(3).at(0).set(5).dtype, np.int32)
  const changed = (v) => x.at(0).set(v).mul(x).sum()
  assert.deepStrictEqual(grad(changed)(np.ones([3])).js(), [0, 1, 2])
  assert.deepStrictEqual(grad((y) => y.at(0).add(1).mul(y).sum())(x).js(), [[1, 3, 5], [6, 8, 10]])
  assert.deepStrictEqual(jit((y) => y.at(0).add(1))(x).js(), [[1, 2, 3], [3, 4, 5]])
  assert.throws(() => x.at(0).set('a'), TypeError)
  assert.throws(() => x.at(0).set(np.ones([2])), TypeError)
  assert.throws(() => x.at(5).set(1), RangeError)
  assert.throws(() => x.at('a').set(1), TypeError)
  assert.throws(() => np.arange(3).at(0).divide(2), TypeError)
  assert.throws(() => x.at(0).apply(3), TypeError)
  const before = setOwnership('strict')
  try {
    const y = np.ones([2])
    assert.deepStrictEqual(y.ref.at(0).set(3).js(), [3, 1])
    assert.deepStrictEqual(y.at(0).apply((z) => z.mul(2)).js(), [2, 1])
    assert.throws(() => y.js(), ReferenceError)
  } finally {
    setOwnership(before)
  }
})

test('objects keep the order of their keys', () => {
  const x = np.ones([2])
  const given = { b: x, a: { d: x, c: x } }
  const keys = (t) => JSON.stringify(t, (key, value) => value instanceof np.Array ? 0 : value)
  const wanted = '{"b":0,"a":{"d":0,"c":0}}'
  const loss = (t) => t.b.mul(2).add(t.a.d.mul(3)).add(t.a.c.mul(5)).sum()
  const gradients = grad(loss)(given)
  assert.strictEqual(keys(gradients), wanted)
  assert.deepStrictEqual([gradients.b, gradients.a.d, gradients.a.c].map((g) => g.slice(0).item()), [2, 3, 5])
  assert.strictEqual(keys(jit((t) => t)(given)), wanted)
  assert.strictEqual(keys(jit((t) => ({ b: t.b.mul(2), a: t.a }))(given)), wanted)
  assert.strictEqual(keys(jit(grad(loss))({ b: x, a: { d: x, c: 1 } })), wanted)
  assert.strictEqual(keys(vmap((t) => ({ z: t.b, a: t.a.c }))(given)), '{"z":0,"a":0}')
})

test('grids are of vectors, and convolutions have a stride for each axis', () => {
  const [image, kernel] = [np.ones([1, 1, 4, 4]), np.ones([1, 1, 2, 2])]
  for (const strides of [[], [2], [2, 2, 2]]) {
    const message = /: strides: \[.*\], expected one for each of 2 axes$/
    for (const f of [lax.conv, lax.convGeneralDilated, lax.convTranspose]) {
      assert.throws(() => f(image, kernel, strides, 'SAME'), { name: 'TypeError', message })
    }
  }
  assert.deepStrictEqual(lax.conv(image, kernel, [2, 1], 'SAME').shape, [1, 1, 2, 4])
  assert.deepStrictEqual(lax.convTranspose(image, kernel, [2, 1], 'SAME').shape, [1, 1, 8, 4])
  for (const [x, n] of [[np.ones([2, 2]), 2], [3, 0]]) {
    assert.throws(() => np.meshgrid([np.ones([2]), x]), { name: 'TypeError', message: `meshgrid: xs[1]: has ${n} dimensions, expected 1` })
  }
})

test('triangular factors of matrices that are not square', () => {
  for (const [m, n] of [[3, 2], [2, 3], [5, 1], [1, 4], [6, 4]]) {
    const x = np.array([...Array(m).keys()].map((i) => [...Array(n).keys()].map((j) => Math.sin(3 * i + 7 * j + 1))))
    const [both, pivots, permutation] = lax.linalg.lu(x)
    const k = Math.min(m, n)
    assert.deepStrictEqual([both.shape, pivots.shape, permutation.shape], [[m, n], [k], [m]])
    const order = [...Array(m).keys()]
    pivots.js().forEach((p, i) => { [order[i], order[p]] = [order[p], order[i]] })
    assert.deepStrictEqual(permutation.js(), order)
    const lower = np.tril(both, -1).slice([], [0, k]).add(np.eye(m, k))
    const product = np.matmul(lower, np.triu(both).slice([0, k]))
    assert.ok(np.allclose(product, np.take(x, permutation, 0), { atol: 1e-5 }))
  }
})
