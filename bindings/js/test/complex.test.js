'use strict'
/** Complex tensors: numbers are { re, im }, typed arrays have real and imaginary parts in turn. */

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, dtypes, func, linalg, numpy } = require('..')

const I = { re: 0, im: 1 }
const z = () => new Tensor([{ re: 1, im: 2 }, { re: -3, im: 0.5 }])

test('numbers, lists and typed arrays become tensors and come back', () => {
  assert.strictEqual(z().dtype, 'complex64')
  assert.deepStrictEqual(z().shape, [2])
  assert.deepStrictEqual(z().tolist(), [{ re: 1, im: 2 }, { re: -3, im: 0.5 }])
  assert.deepStrictEqual(z().toArray(), Float32Array.of(1, 2, -3, 0.5))
  assert.deepStrictEqual(z().sum().item(), { re: -2, im: 2.5 })
  assert.deepStrictEqual(new Tensor([[1, I], [true, 2]]).tolist(), [[{ re: 1, im: 0 }, I], [{ re: 1, im: 0 }, { re: 2, im: 0 }]])
  assert.deepStrictEqual(new Tensor(I, { dtype: 'complex128' }).item(), I)
  assert.deepStrictEqual(new Tensor([1, 2], { dtype: 'complex64' }).toArray(), Float32Array.of(1, 0, 2, 0))
  assert.strictEqual(z().nbytes(), 16)
  assert.strictEqual(z().isFloatingPoint(), false)
  assert.strictEqual(dtypes.isComplex('complex128'), true)
  assert.strictEqual(JSON.stringify(z()), '[{"re":1,"im":2},{"re":-3,"im":0.5}]')
})

test('typed arrays are shared', () => {
  const pairs = Float64Array.of(1, 2, 3, 4)
  const x = new Tensor(pairs, { dtype: 'complex128' })
  assert.deepStrictEqual(x.shape, [2])
  if (process.env.POLYGRAD_ENGINE !== 'wasm') assert.strictEqual(x.data, pairs) // WebAssembly copies them
  x.data[3] = 9
  assert.deepStrictEqual(x.add(0).tolist(), [{ re: 1, im: 2 }, { re: 3, im: 9 }])
  assert.deepStrictEqual(new Tensor(Float32Array.of(1, 2, 3, 4), { dtype: 'complex128', shape: [1, 2] }).shape, [1, 2])
  assert.deepStrictEqual(new Tensor(Int32Array.of(1, 2), { dtype: 'complex64' }).tolist(), [{ re: 1, im: 0 }, { re: 2, im: 0 }])
  const y = z().mul(2)
  y.data[0] = 7
  assert.deepStrictEqual(y.tolist()[0], { re: 7, im: 4 })
  assert.deepStrictEqual(new Tensor([[1, I], [2, 3]]).T.toArray(), Float32Array.of(1, 0, 2, 0, 0, 1, 3, 0))
})

test('operands, methods and promotion', () => {
  assert.deepStrictEqual(z().mul(I).tolist(), [{ re: -2, im: 1 }, { re: -0.5, im: -3 }])
  assert.deepStrictEqual(new Tensor([2]).sub(I, { reverse: true }).tolist(), [{ re: -2, im: 1 }])
  assert.strictEqual(new Tensor([1], { dtype: 'float64' }).add({ re: 0.1, im: 0 }).dtype, 'complex128')
  assert.strictEqual(new Tensor([1], { dtype: 'float64' }).add({ re: 0.1, im: 0 }).item().re, 1.1)
  assert.deepStrictEqual(z().conj().toArray(), Float32Array.of(1, -2, -3, -0.5))
  assert.deepStrictEqual(new Tensor([3, 0]).complex(new Tensor([4, 1])).abs().tolist(), [5, 1])
  assert.deepStrictEqual(new Tensor([true, false]).where(z(), I).toArray(), Float32Array.of(1, 2, 0, 1))
  assert.deepStrictEqual(Tensor.full([2], I).tolist(), [I, I])
  assert.deepStrictEqual(Tensor.full([1], I, { dtype: 'complex128' }).tolist(), [I])
  assert.deepStrictEqual(z().fullLike(I).tolist(), [I, I])
  const a = new Tensor([[2, I], [{ re: 0, im: -1 }, 3]])
  a.matmul(linalg.solve(a, z())).sub(z()).abs().tolist().forEach((error) => assert.ok(error < 1e-6))
})

test('writes', () => {
  const x = z()
  x.setitem(0, { re: 9, im: 8 })
  x.setitem(1, 7)
  assert.deepStrictEqual(x.tolist(), [{ re: 9, im: 8 }, { re: 7, im: 0 }])
  x.assign(I)
  assert.deepStrictEqual(x.tolist(), [I, I])
})

test('texts', () => {
  assert.strictEqual(String(z().realize()), 'Tensor([ 1 + 2. i, -3 + 0.5i], shape=[2], dtype=complex64)')
  assert.strictEqual(String(new Tensor([{ re: 1.5, im: -2 }]).realize()), 'Tensor([1.5 - 2i], shape=[1], dtype=complex64)')
})

test('gradients are conjugates of the direction of growth', () => {
  assert.deepStrictEqual(func.grad((x) => x.abs().square().sum())(new Tensor([{ re: 1, im: 2 }])).tolist(), [{ re: 2, im: -4 }])
  const x = z().requiresGrad_()
  x.mul(x).sum().real().backward()
  assert.deepStrictEqual(x.grad.tolist(), [{ re: 2, im: 4 }, { re: -6, im: 1 }])
})

test('refusals', () => {
  assert.throws(() => new Tensor(new Float32Array(3), { dtype: 'complex64' }), /3 numbers, expected pairs/)
  assert.throws(() => new Tensor([{ re: 1 }]), { name: 'TypeError' })
  assert.throws(() => new Tensor([I], { dtype: 'float32' }), { name: 'TypeError' })
  assert.throws(() => z().lt(I), /complex numbers have no order/)
  assert.throws(() => z().cast('float32'), /has no imaginary part/)
  assert.throws(() => Tensor.full([1], I, { dtype: 'float32' }), /has no imaginary part/)
  assert.throws(() => new Tensor([1]).assign(I), { name: 'TypeError' })
})

test('derivatives of holomorphic functions', () => {
  const x = new Tensor([{ re: 1, im: 2 }, { re: 3, im: -1 }])
  const list = (u) => JSON.parse(JSON.stringify(u.tolist())) // -0 is 0
  const square = (u) => u.mul(u)
  const rows = [[{ re: 2, im: 4 }, { re: 0, im: 0 }], [{ re: 0, im: 0 }, { re: 6, im: -2 }]]
  for (const jacobian of [func.jacfwd, func.jacrev]) {
    assert.deepStrictEqual(list(jacobian(square, { holomorphic: true })(x)), rows)
    assert.throws(() => jacobian(square)(x), /real functions unless holomorphic is given/)
    assert.throws(() => jacobian(square, { holomorphic: true })(new Tensor([1, 2])), /an argument or a result is real/)
  }
  const sum = (u) => square(u).sum()
  assert.deepStrictEqual(list(func.grad(sum, { holomorphic: true })(x)), [rows[0][0], rows[1][1]])
  assert.deepStrictEqual(func.valueAndGrad(sum, { holomorphic: true })(x)[0].item(), { re: 5, im: -2 })
  assert.throws(() => func.grad(sum)(x), /expected a loss/)
  assert.throws(() => func.grad(sum, { holomorphic: 1 }), /grad: holomorphic: 1, expected true or false/)
  const two = { re: 2, im: 0 }
  assert.deepStrictEqual(list(func.hessian(sum, { holomorphic: true })(x)), [[two, rows[0][1]], [rows[0][1], two]])
})

test('eigenvalues of general matrices, and roots', () => {
  const [values, vectors] = linalg.eig(new Tensor([[0, 1], [-1, 0]], { dtype: 'float64' }))
  const near = (a, b) => assert(Math.abs(a - b) < 1e-14, `${a}, expected ${b}`)
  assert.deepStrictEqual([values.dtype, vectors.shape], ['complex128', [2, 2]])
  const [one, other] = values.tolist()
  near(one.re, 0)
  near(Math.abs(one.im), 1)
  assert.strictEqual(one.im, -other.im)
  const roots = numpy.roots(new Tensor([1, -5, 6, 0], { dtype: 'float64' })).tolist().map((u) => u.re).sort()
  roots.forEach((r, i) => near(r, [0, 2, 3][i]))
})
