'use strict'
/** polygrad/jax: nn, the functions of neural networks, and scipySpecial. index.d.ts tells what they do. */

const { Base } = require('../base.js')
const { Tensor } = require('../tensor.js')
const { show } = require('../arguments.js')
const N = require('../numpy.js')
const special = require('../special.js')
const { constant, define, defineAll, floating, kept, liftedOperation, promoted, promotedTensors, shapeOf } = require('./call.js')

const unary = (f) => (x) => f(floating(x))

/** Wraps f so that its two operands have one floating type; the second may be a number. */
const both = (f) => (x, a) => {
  const [p, q] = promoted([x, a])
  return f(floating(p), q)
}

const LOG_2 = Math.log(2)
const SELU = { alpha: 1.6732632423543772, lambda: 1.0507009873554805 }
const elu = (x, alpha) => x.gt(0).where(x, N.expm1(x.gt(0).where(0, x)).mul(alpha))

/** exp(x - max) and its sum, along axes. */
function softened (x, axis) {
  const top = N.max(x, { axis, keepdims: true }).detach()
  const e = x.sub(top).exp()
  return [x.sub(top), e, N.sum(e, { axis, keepdims: true })]
}

function logsumexp (x, axis = null, { keepdims = false } = {}) {
  const top = N.max(x, { axis, keepdims: true }).detach()
  const base = N.isfinite(top).where(top, 0)
  const sum = base.add(N.sum(x.sub(base).exp(), { axis, keepdims: true }).log())
  if (keepdims) return sum
  const all = axis === null ? [...shapeOf(x).keys()] : [axis].flat()
  return all.length === 0 ? sum : N.squeeze(sum, all)
}

const softmax = (x, axis = -1) => {
  const [, e, sum] = softened(floating(x), axis)
  return e.div(sum)
}
const logSoftmax = (x, axis = -1) => {
  const [off, , sum] = softened(floating(x), axis)
  return off.sub(sum.log())
}

const elementwise = {
  'relu(x:x)': (x) => x.relu(),
  'relu6(x:x)': (x) => x.relu6(),
  'sigmoid(x:x)': unary((x) => x.sigmoid()),
  'softplus(x:x)': unary((x) => x.softplus()),
  'sparsePlus(x:x)': unary((x) => x.le(-1).where(0, x.lt(1).where(x.add(1).square().div(4), x))),
  'sparseSigmoid(x:x)': unary((x) => x.add(1).div(2).clip(0, 1)),
  'softSign(x:x)': unary((x) => x.softsign()),
  'silu(x:x)': unary((x) => x.silu()),
  'logSigmoid(x:x)': unary((x) => x.logsigmoid()),
  'identity(x:x)': (x) => x,
  'leakyRelu(x:n, negativeSlope?:n)': (x, slope = 0.01) => both((v, s) => v.ge(0).where(v, v.mul(s)))(x, slope),
  'hardSigmoid(x:x)': unary((x) => x.add(3).relu6().div(6)),
  'hardSilu(x:x)': unary((x) => x.mul(x.add(3).relu6().div(6))),
  'hardTanh(x:x)': (x) => x.clip(-1, 1),
  'elu(x:n, alpha?:n)': (x, alpha = 1) => both(elu)(x, alpha),
  'celu(x:n, alpha?:n)': (x, alpha = 1) => both((v, a) => v.gt(0).where(v, N.expm1(v.gt(0).where(0, v).div(a)).mul(a)))(x, alpha),
  'selu(x:x)': unary((x) => elu(x, SELU.alpha).mul(SELU.lambda)),
  'gelu(x:x, options?:o)': (x, { approximate = true } = {}) => approximate
    ? floating(x).gelu()
    : floating(x).mul(special.erfc(floating(x).mul(-Math.SQRT1_2))).div(2),
  'glu(x:x, axis?)': (x, axis = -1) => {
    const n = shapeOf(x).at(axis)
    if (n === undefined || n % 2 !== 0) throw new TypeError(`glu: axis ${axis} of shape [${shapeOf(x)}], expected one of an even size`)
    const [a, b] = floating(x).chunk(2, axis)
    return a.mul(b.sigmoid())
  },
  'squareplus(x:n, b?:n)': (x, b = 4) => both((v, c) => v.square().add(c).sqrt().add(v).div(2))(x, b),
  'mish(x:x)': unary((x) => x.mish()),
  'log1mexp(x:x)': unary((x) => {
    const small = x.le(LOG_2)
    return small.where(N.expm1(small.where(x, LOG_2).neg()).neg().log(), N.log1p(small.where(LOG_2, x).neg().exp().neg()))
  })
}

/** Whether a reduction is a no-op: over an empty list of axes, or over all axes of a scalar. */
const isWhole = (x, axis) => (axis ?? shapeOf(x)).length === 0

const reductions = {
  'softmax(x:x, axis!)': softmax,
  'logSoftmax(x:x, axis!)': logSoftmax,
  'logsumexp(x:x, axis?, options?:o)': (x, axis, options) => kept(x, isWhole(x, axis), logsumexp(floating(x), axis ?? null, options)),
  'logmeanexp(x:x, axis?, options?:o)': (x, axis, options) => {
    const sum = logsumexp(floating(x), axis ?? null, options)
    const n = shapeOf(x).reduce((a, b) => a * b, 1) / shapeOf(sum).reduce((a, b) => a * b, 1)
    return kept(x, isWhole(x, axis), sum.sub(Math.log(n)))
  },
  'oneHot(x:x, numClasses)': (x, numClasses) => {
    if (!Number.isInteger(numClasses) || numClasses < 0) throw new TypeError(`oneHot: numClasses: ${show(numClasses)}, expected an integer`)
    return x.unsqueeze(-1).eq(Tensor.arange(numClasses, { dtype: 'int32' })).cast('float32')
  }
}

/** axis null stands for all axes, undefined for the last one. */
const standardize = define('standardize(x:x, axis!, options?:o)', (given, axis = -1, { mean, variance, epsilon = 1e-5 } = {}) => {
  const x = floating(given)
  const m = mean ?? N.mean(x, { axis, keepdims: true })
  const v = variance ?? N.mean(x.sub(m).square(), { axis, keepdims: true })
  return kept(given, isWhole(given, axis), x.sub(m).div((v instanceof Base ? v : constant(v)).add(epsilon).sqrt()))
})

/** A mask of the positions along an axis that are less than the length of their row in the batch. */
function before (lengths, n, shape) {
  return Tensor.arange(n, { dtype: 'int32' }).reshape(shape).lt(lengths.reshape([-1, 1, 1, 1]))
}

/** The attention mask: which keys each query attends to; null for all. */
function visible ({ mask, isCausal, querySeqLengths, keyValueSeqLengths, localWindowSize }, queries, keys) {
  const found = mask === undefined ? [] : [mask]
  const [q, k] = [Tensor.arange(queries, { dtype: 'int32' }).unsqueeze(-1), Tensor.arange(keys, { dtype: 'int32' })]
  if (isCausal) found.push(k.le(q))
  if (localWindowSize !== undefined) {
    const [left, right] = Array.isArray(localWindowSize) ? localWindowSize : [localWindowSize, localWindowSize]
    found.push(k.ge(q.sub(left)), k.le(q.add(right)))
  }
  if (querySeqLengths !== undefined) found.push(before(querySeqLengths, queries, [1, 1, queries, 1]))
  if (keyValueSeqLengths !== undefined) found.push(before(keyValueSeqLengths, keys, [1, 1, 1, keys]))
  return found.length === 0 ? null : found.reduce((a, b) => N.logicalAnd(a, b))
}

function attention (query, key, value, options = {}) {
  const given = promotedTensors([query, key, value]).map(floating)
  const ndim = shapeOf(given[0]).length
  if (![3, 4].includes(ndim) || given.some((x) => shapeOf(x).length !== ndim)) {
    throw new TypeError(`shapes ${given.map((x) => `[${shapeOf(x)}]`).join(', ')}, expected three of [B, L, N, H] or of [L, N, H]`)
  }
  const [q, k, v] = given.map((x) => (ndim === 3 ? x.unsqueeze(0) : x).transpose(1, 2))
  const [heads, shared] = [shapeOf(q)[1], shapeOf(k)[1]]
  if (heads % shared !== 0) throw new TypeError(`key: ${shared} heads, expected a divisor of the ${heads} of query`)
  const [kk, vv] = [k, v].map((x) => heads === shared ? x : x.repeatInterleave(heads / shared, 1))
  let logits = q.matmul(kk.transpose(-1, -2)).mul(options.scale ?? 1 / Math.sqrt(shapeOf(q).at(-1)))
  if (options.bias !== undefined) logits = logits.add(options.bias)
  const seen = visible(options, shapeOf(q)[2], shapeOf(k)[2])
  if (seen !== null) logits = seen.where(logits, -0.7 * 3.4028234663852886e38)
  const out = softmax(logits, -1).matmul(vv).transpose(1, 2)
  const shown = options.querySeqLengths === undefined
    ? out
    : before(options.querySeqLengths, shapeOf(q)[2], [1, shapeOf(q)[2], 1, 1]).where(out, 0)
  return ndim === 3 ? shown.squeeze(0) : shown
}

const nn = defineAll({ ...elementwise, ...reductions, 'dotProductAttention(query:n, key:n, value:n, options?:o)': attention })
Object.assign(nn, { standardize, swish: nn.silu, hardSwish: nn.hardSilu })

const own = defineAll({
  'erf(x:x)': unary((x) => special.erf(x)),
  'erfc(x:x)': unary((x) => special.erfc(x)),
  'logit(x:x)': unary((x) => special.logit(x))
})
const scipySpecial = {
  ...Object.fromEntries(Object.keys(special).map((name) => [name, liftedOperation(name, special[name])])),
  ...own,
  logSoftmax: nn.logSoftmax,
  logsumexp: nn.logsumexp,
  softmax: nn.softmax
}

module.exports = { nn: Object.freeze(nn), scipySpecial: Object.freeze(scipySpecial) }
