'use strict'
/** polygrad/jax: numpy.linalg and lax.linalg, on arrays. index.d.ts tells what the functions do. */

const N = require('../numpy.js')
const L = require('../linalg.js')
const { show } = require('../arguments.js')
const { defineAll, floating, kept, liftedOperation, promotedTensors, shapeOf } = require('./call.js')

const product = (f) => (x, y, ...rest) => f(...promotedTensors([x, y]), ...rest)

/** The mean of a matrix and its transpose. */
const symmetric = (a) => floating(a).add(N.matrixTranspose(floating(a))).div(2)
const matrix = (symmetrizeInput) => symmetrizeInput ? symmetric : floating

/** A vector norm where there is one axis, a matrix norm where there are two. */
function norm (given, { ord = null, axis = null, keepdims = false } = {}) {
  const x = floating(given)
  const ndim = shapeOf(x).length
  const axes = axis === null ? null : [axis].flat()
  if (axes === null && (ord === null || ndim === 1)) {
    if (ord === null) return rooted(x, null, keepdims)
    return L.vectorNorm(x, { axis: null, ord, keepdims })
  }
  const at = axes ?? [...Array(ndim).keys()]
  if (at.length === 1) return typeof (ord ?? 2) === 'number' ? L.vectorNorm(x, { axis: at[0], ord: ord ?? 2, keepdims }) : unknown(ord)
  if (at.length !== 2) throw new TypeError(`norm: axis: ${show(axis)}, expected one or two axes of an array of ${ndim} dimensions`)
  const places = at.map((a) => a < 0 ? a + ndim : a)
  const moved = N.moveaxis(x, places, [-2, -1])
  const out = L.matrixNorm(moved, { ord: ord === null || ord === 'f' ? 'fro' : ord, keepdims })
  return keepdims ? N.moveaxis(out, [-2, -1], places) : out
}

const rooted = (x, axis, keepdims) => N.sum(x.mul(x), { axis, keepdims }).sqrt()

function unknown (ord) {
  throw new TypeError(`norm: ord: ${show(ord)}, expected a number for vectors`)
}

const linalg = defineAll({
  'cholesky(a:x, options?:o)': (a, { upper = false, symmetrizeInput = true } = {}) => L.cholesky(matrix(symmetrizeInput)(a), upper),
  'cross(x1:n, x2:n, axis?)': (x, y, axis = -1) => N.cross(...promotedTensors([x, y]), axis),
  'det(a:x)': (a) => L.det(floating(a)),
  'diagonal(a:x, offset?, axis1?, axis2?)': (a, offset = 0, axis1 = -2, axis2 = -1) => a.diagonal(offset, axis1, axis2),
  'eigh(a:x, options?:o)': (a, { symmetrizeInput = true } = {}) => L.eigh(matrix(symmetrizeInput)(a)),
  'eigvalsh(a:x, options?:o)': (a, { symmetrizeInput = true } = {}) => L.eigvalsh(matrix(symmetrizeInput)(a)),
  'inv(a:t)': (a) => L.inv(floating(a)),
  'lstsq(a:n, b:n)': product((a, b) => L.lstsq(floating(a), floating(b))[0]),
  'matmul(x:n, y:n)': product((x, y) => N.matmul(x, y)),
  'matrixNorm(x:x, options?:o)': (x, { ord = 'fro', keepdims = false } = {}) => L.matrixNorm(floating(x), { ord, keepdims }),
  'matrixPower(a:x, n)': (a, n) => kept(a, n === 1, L.matrixPower(a, n)),
  'matrixTranspose(a:x)': (a) => N.matrixTranspose(a),
  'multiDot(arrays:l)': (arrays) => L.multiDot(promotedTensors(arrays)),
  'norm(x:x, options?:o)': norm,
  'outer(x:n, y:n)': product((x, y) => N.outer(x, y)),
  'slogdet(a:x)': (a) => L.slogdet(floating(a)),
  'solve(a:n, b:n)': product((a, b) => L.solve(floating(a), floating(b))),
  'svd(a:x, options?:o)': (a, { fullMatrices = false, computeUv = true } = {}) => computeUv
    ? L.svd(floating(a), fullMatrices)
    : L.svdvals(floating(a)),
  'svdvals(a:x)': (a) => L.svdvals(floating(a)),
  'tensordot(x:n, y:n, axes?)': (x, y, axes = 2) => {
    const both = promotedTensors([x, y])
    return Array.isArray(axes) ? N.tensordot(...both, ...axes) : N.tensordot(...both, axes)
  },
  'trace(a:x, offset?, axis1?, axis2?)': (a, offset = 0, axis1 = -2, axis2 = -1) => N.trace(a, offset, axis1, axis2),
  'vecdot(x:n, y:n, options?:o)': (x, y, { axis = -1 } = {}) => N.vecdot(...promotedTensors([x, y]), axis),
  'vectorNorm(x:x, options?:o)': (x, { ord = 2, axis = null, keepdims = false } = {}) =>
    L.vectorNorm(floating(x), { axis, ord, keepdims })
})

/** lax.linalg. */
const laxLinalg = defineAll({
  'cholesky(a:x, options?:o)': (a, { upper = false } = {}) => L.cholesky(floating(a), upper),
  'eigh(x:x, options?:o)': (x, { lower = true, symmetrizeInput = true } = {}) => {
    const [values, vectors] = L.eigh(matrix(symmetrizeInput)(x), !lower)
    return [vectors, values]
  },
  'svd(a:x, options?:o)': (a, { computeUv = true, fullMatrices = false } = {}) => computeUv
    ? L.svd(floating(a), fullMatrices)
    : L.svdvals(floating(a)),
  'lu(x:x)': (x) => luOf(floating(x)),
  'triangularSolve(a:n, b:n, options?:o)': (a, b, { leftSide = false, lower = false, transposeA = false, unitDiagonal = false } = {}) => {
    const [m, given] = promotedTensors([a, b]).map(floating)
    const solve = (right, trans) => L.solveTriangular(m, right, { lower, trans, unitDiagonal })
    return leftSide ? solve(given, transposeA) : N.matrixTranspose(solve(N.matrixTranspose(given), !transposeA))
  }
})

/** LU decomposition: [both factors packed in one matrix, pivots, row permutation]. */
function luOf (x) {
  const [permutation, lower, upper] = L.lu(x)
  const [m, n, k] = [...shapeOf(x).slice(-2), shapeOf(lower).at(-1)]
  return [N.tril(lower, -1).pad([0, n - k, 0, 0]).add(upper.pad([0, 0, 0, m - k])), pivotsOf(permutation, k), permutation]
}

/** The pivots of a row permutation: exchanging rows i and pivots[i] for i = 0, 1, … yields it. */
function pivotsOf (permutation, k) {
  const places = N.cumulativeSum(permutation.onesLike(), { axis: -1 }).sub(1).cast('int32')
  const part = (x, i) => x.getitem('...', { start: i, stop: i + 1 })
  let order = places
  const found = []
  for (let i = 0; i < k; i++) {
    const wanted = part(permutation, i)
    found.push(N.argmax(order.eq(wanted).cast('int32'), { axis: -1, keepdims: true }).cast('int32'))
    order = places.eq(i).where(wanted, places.eq(found[i]).where(part(order, i), order))
  }
  return found.length === 0 ? permutation.getitem('...', { start: 0, stop: 0 }) : N.concat(found, -1)
}

/** Functions of linalg that numpy and scipy have and jax-js lacks. */
const others = Object.fromEntries(Object.keys(L).filter((name) => linalg[name] === undefined)
  .map((name) => [name, liftedOperation(name, L[name])]))

module.exports = { linalg: Object.freeze({ ...linalg, ...others }), laxLinalg: Object.freeze(laxLinalg) }
