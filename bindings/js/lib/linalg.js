'use strict'
/** Tensor methods for products of matrices, linear algebra, attention and losses. */

const { lib, constants: c } = require('./library.js')
const { CTX, handles, describe } = require('./graph.js')
const { made, several, wrap, nodeOf, optional, handleOf, present, operand } = require('./base.js')
const { Reduce } = require('./reduce.js')
const { named, list, small, integer, number, string, choice, within } = require('./arguments.js')
const { toDType } = require('./dtype.js')
const seeds = require('./random.js')

const LOSSES = { mean: c.POLY_LOSS_MEAN, sum: c.POLY_LOSS_SUM, none: c.POLY_LOSS_NONE }

/** What becomes of the losses of the elements. */
function reductionOf (name, fn) {
  return choice(LOSSES, name, `${fn}: reduction`)
}

/** The shape of query @ key.T, of which heads that share a key have as many as query. */
function scoresOf (query, key) {
  const lead = [query, key].map((shape) => shape.slice(0, -2).reverse())
  const n = Math.max(lead[0].length, lead[1].length)
  const wide = Array.from({ length: n }, (_, i) => {
    const [a, b] = lead.map((sizes) => sizes[i] ?? 1)
    return a === 1 || b === 1 || a === b ? (a === 1 ? b : a) : null
  }).reverse()
  return [...(wide.includes(null) ? query.slice(0, -2) : wide), ...query.slice(-2, -1), ...key.slice(-2, -1)]
}

/** Products, decompositions and losses. */
class Linalg extends Reduce {
  /** The matrix product, accumulated in and returned as dtype if one is given. */
  matmul (x, ...args) {
    const { reverse, dtype } = named('matmul', args, { reverse: false, dtype: null })
    const other = operand(x, this, 'matmul: x')
    const [a, b] = reverse ? [other, this._node] : [this._node, other]
    return made(dtype === null
      ? lib.poly_matmul(CTX, a.handle, b.handle)
      : lib.poly_matmul_as(CTX, a.handle, b.handle, toDType(dtype).id), [a, b])
  }

  /** The matrix product. */
  dot (x, ...args) {
    return this.matmul(x, ...args)
  }

  /**
   * x @ weight + bias for a weight of shape (in, out), or x * weight + bias for one of one axis; one of shape (out, in)
   * is turned where only that fits. With dtype, all three are converted first.
   */
  linear (...args) {
    const { weight, bias, dtype } = named('linear', args, { weight: undefined, bias: null, dtype: null })
    if (dtype !== null) {
      const [x, w, b] = [this, weight, bias].map((t) => t === null ? null : wrap(nodeOf(t, 'linear')).cast(dtype))
      return x.linear(w, b)
    }
    const w = nodeOf(weight, 'linear: weight')
    const b = optional(bias, 'linear: bias')
    return made(lib.poly_dense(CTX, this._node.handle, w.handle, handleOf(b)), present(this._node, w, b))
  }

  /** Sums of products of elements, as the formula says: Tensor.einsum('ij,jk->ik', a, b). */
  static einsum (formula, ...operands) {
    string(formula, 'einsum: formula')
    const nodes = operands.flat().map((t) => nodeOf(t, 'einsum: operands'))
    return made(lib.poly_einsum(CTX, formula, handles(nodes), null, null, nodes.length, null, null), nodes)
  }

  /** The Cholesky factor of symmetric positive definite matrices. */
  cholesky (...args) {
    const { upper } = named('cholesky', args, { upper: false })
    return made(lib.poly_cholesky(CTX, this._node.handle, null, 0, upper ? 1 : 0), [this._node])
  }

  /** x with this @ x = b for a triangular matrix. */
  triangularSolve (b, ...args) {
    const { upper, transpose, unitDiagonal } = named('triangularSolve', args,
      { upper: false, transpose: false, unitDiagonal: false })
    const right = nodeOf(b, 'triangularSolve: b')
    return made(lib.poly_triangular_solve(CTX, this._node.handle, null, 0, right.handle, null, 0, upper ? 1 : 0,
      transpose ? 1 : 0, unitDiagonal ? 1 : 0, null, null), [this._node, right])
  }

  /** x with this @ x = b. */
  solve (b) {
    const right = nodeOf(b, 'solve: b')
    return made(lib.poly_solve(CTX, this._node.handle, right.handle), [this._node, right])
  }

  /** The inverse of square matrices. */
  inv () {
    return made(lib.poly_inv(CTX, this._node.handle), [this._node])
  }

  /** The determinant of square matrices. */
  det () {
    return made(lib.poly_det(CTX, this._node.handle), [this._node])
  }

  /** Sign and logarithm of the absolute value of the determinant: [sign, logabsdet]. */
  slogdet () {
    const out = new BigUint64Array(2)
    return several(lib.poly_slogdet(CTX, this._node.handle, out), out, 2, [this._node])
  }

  /** An orthogonal and an upper triangular matrix whose product this is: [Q, R]. */
  qr () {
    const out = new BigUint64Array(2)
    return several(lib.poly_qr(CTX, this._node.handle, out), out, 2, [this._node])
  }

  /** The singular value decomposition: [U, S, V^T]. */
  svd (...args) {
    const { fullMatrices } = named('svd', args, { fullMatrices: true })
    const out = new BigUint64Array(3)
    return several(lib.poly_svd(CTX, this._node.handle, fullMatrices ? 1 : 0, out), out, 3, [this._node])
  }

  /** Eigenvalues of symmetric matrices, the least first, and eigenvectors, the columns: [values, vectors]. */
  eigh (...args) {
    const { upper } = named('eigh', args, { upper: false })
    const out = new BigUint64Array(2)
    return several(lib.poly_eigh(CTX, this._node.handle, upper ? 1 : 0, out), out, 2, [this._node])
  }

  /**
   * The x for which |this @ x - b| is least, of the least norm if there are many, the squares |this @ x - b|^2, the
   * rank and the singular values: [x, residuals, rank, s]. Those up to rcond times the greatest count as 0.
   */
  lstsq (b, ...args) {
    const { rcond } = named('lstsq', args, { rcond: null })
    const right = nodeOf(b, 'lstsq: b')
    const cutoff = rcond === null ? -1 : within(rcond, 0, 1, 'lstsq: rcond')
    const out = new BigUint64Array(4)
    return several(lib.poly_lstsq(CTX, this._node.handle, right.handle, cutoff, out), out, 4, [this._node, right])
  }

  /** The nearest orthogonal matrix by Newton and Schulz's iteration with the given coefficients. */
  newtonSchulz (...args) {
    const { steps, params, eps } = named('newtonSchulz', args, { steps: undefined, params: undefined, eps: 1e-7 })
    const p = Float64Array.from(list(params), (factor) => number(factor, 'newtonSchulz: params'))
    return made(lib.poly_newton_schulz(CTX, this._node.handle, small(steps, 'newtonSchulz: steps'), p, p.length,
      number(eps, 'newtonSchulz: eps')), [this._node])
  }

  /**
   * softmax(this @ key.T / sqrt(d) + mask) @ value over the last two axes. A bool mask tells which
   * pairs may attend; another one is added. dropoutP counts while Tensor.training is set.
   */
  scaledDotProductAttention (key, value, ...args) {
    const fn = 'scaledDotProductAttention'
    const { attnMask, dropoutP, isCausal, enableGqa, scale } = named(fn, args,
      { attnMask: null, dropoutP: 0, isCausal: false, enableGqa: false, scale: null })
    const k = nodeOf(key, `${fn}: key`)
    const v = nodeOf(value, `${fn}: value`)
    const mask = optional(attnMask, `${fn}: attnMask`)
    const p = this.constructor.training ? within(dropoutP, 0, 1, `${fn}: dropoutP`) : 0
    const seed = p > 0 ? seeds.nextSeed(seeds.wordsOf(scoresOf(describe(this._node).shape, describe(k).shape))) : null
    return made(lib.poly_attention(CTX, this._node.handle, k.handle, v.handle, handleOf(mask), isCausal ? 1 : 0,
      enableGqa ? 1 : 0, scale === null ? 0 : number(scale, `${fn}: scale`), p, handleOf(seed)), present(this._node, k, v, mask, seed))
  }

  // Losses

  /**
   * The cross entropy of logits (N, C, …) and class numbers (N, …), or probabilities of the shape of this tensor. The
   * classes are axis 1, of a vector axis 0, if axis names no other.
   */
  crossEntropy (target, ...args) {
    const options = named('crossEntropy', args, { reduction: 'mean', labelSmoothing: 0, axis: null })
    const { reduction, labelSmoothing } = options
    const axis = options.axis ?? Math.min(1, describe(this._node).shape.length - 1)
    const y = operand(target, this, 'crossEntropy: target')
    return made(lib.poly_cross_entropy_loss(CTX, this._node.handle, y.handle, small(axis, 'crossEntropy: axis'),
      within(labelSmoothing, 0, 1, 'crossEntropy: labelSmoothing'), reductionOf(reduction, 'crossEntropy')), [this._node, y])
  }

  /** The cross entropy of logits along the last axis and class numbers; those equal to ignoreIndex do not count. */
  sparseCategoricalCrossentropy (target, ...args) {
    const fn = 'sparseCategoricalCrossentropy'
    const { ignoreIndex, labelSmoothing, reduction } = named(fn, args, { ignoreIndex: -1, labelSmoothing: 0, reduction: 'mean' })
    const y = operand(target, this, `${fn}: target`)
    return made(lib.poly_sparse_cross_entropy_loss(CTX, this._node.handle, y.handle, integer(ignoreIndex, `${fn}: ignoreIndex`),
      within(labelSmoothing, 0, 1, `${fn}: labelSmoothing`), reductionOf(reduction, fn)), [this._node, y])
  }

  /** The mean (or sum, …) of -weight[target] * x[target] for log probabilities x of shape (N, C, …). */
  nllLoss (target, ...args) {
    const { weight, ignoreIndex, reduction } = named('nllLoss', args, { weight: null, ignoreIndex: null, reduction: 'mean' })
    const y = operand(target, this, 'nllLoss: target')
    const w = optional(weight, 'nllLoss: weight')
    return made(lib.poly_nll_loss(CTX, this._node.handle, y.handle, handleOf(w), ignoreIndex === null ? 0 : 1,
      ignoreIndex === null ? 0 : integer(ignoreIndex, 'nllLoss: ignoreIndex'), reductionOf(reduction, 'nllLoss')),
      present(this._node, y, w))
  }

  /** The mean of -(y log x + (1-y) log(1-x)). */
  binaryCrossentropy (target, ...args) {
    const { reduction } = named('binaryCrossentropy', args, { reduction: 'mean' })
    const y = operand(target, this, 'binaryCrossentropy: target')
    return made(lib.poly_binary_cross_entropy(CTX, this._node.handle, y.handle, reductionOf(reduction, 'binaryCrossentropy')),
      [this._node, y])
  }

  /** binaryCrossentropy(target). */
  binaryCrossEntropy (target, ...args) {
    return this.binaryCrossentropy(target, ...args)
  }

  /** binaryCrossentropy of sigmoid(x), without overflow; posWeight weighs the positive targets. */
  binaryCrossentropyLogits (target, ...args) {
    const { reduction, posWeight } = named('binaryCrossentropyLogits', args, { reduction: 'mean', posWeight: null })
    const y = operand(target, this, 'binaryCrossentropyLogits: target')
    const w = optional(posWeight, 'binaryCrossentropyLogits: posWeight')
    return made(lib.poly_binary_cross_entropy_logits(CTX, this._node.handle, y.handle, handleOf(w),
      reductionOf(reduction, 'binaryCrossentropyLogits')), present(this._node, y, w))
  }

  /** The mean of (x - y)^2. */
  mseLoss (target, ...args) {
    return difference(this, 'mseLoss', 'poly_mse_loss', target, named('mseLoss', args, { reduction: 'mean' }))
  }

  /** The mean of |x - y|. */
  l1Loss (target, ...args) {
    return difference(this, 'l1Loss', 'poly_l1_loss', target, named('l1Loss', args, { reduction: 'mean' }))
  }

  /** The mean of (x - y)^2 / 2 up to delta and delta * (|x - y| - delta / 2) beyond. */
  huberLoss (target, ...args) {
    const { delta, reduction } = named('huberLoss', args, { delta: 1, reduction: 'mean' })
    const y = operand(target, this, 'huberLoss: target')
    return made(lib.poly_huber_loss(CTX, this._node.handle, y.handle, number(delta, 'huberLoss: delta'),
      reductionOf(reduction, 'huberLoss')), [this._node, y])
  }
}

function difference (self, fn, name, target, { reduction }) {
  const y = operand(target, self, `${fn}: target`)
  return made(lib[name](CTX, self._node.handle, y.handle, reductionOf(reduction, fn)), [self._node, y])
}

module.exports = { Linalg }
