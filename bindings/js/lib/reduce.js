'use strict'
/** Tensor methods that reduce, scan and normalise. */

const { lib, constants: c } = require('./library.js')
const { CTX } = require('./graph.js')
const { made, several, optional, handleOf, present } = require('./base.js')
const { Indexing } = require('./indexing.js')
const { named, list, small, number, dims } = require('./arguments.js')
const { toDType } = require('./dtype.js')

/** Reductions, scans, softmax and norms. */
class Reduce extends Indexing {
  _reduce (op, axis, keepdim, correction, what) {
    const node = this._node
    if (axis === null) return made(lib.poly_reduce(CTX, op, node.handle, null, -1, keepdim ? 1 : 0, correction), [node])
    const axes = list(axis)
    return made(lib.poly_reduce(CTX, op, node.handle, dims(axes, what), axes.length, keepdim ? 1 : 0, correction), [node])
  }

  _reduceAs (op, axis, keepdim, dtype, what) {
    if (dtype === null) return this._reduce(op, axis, keepdim, 0, what)
    const node = this._node
    const axes = axis === null ? [] : list(axis)
    return made(lib.poly_reduce_as(CTX, op, node.handle, dims(axes, what), axis === null ? -1 : axes.length, keepdim ? 1 : 0,
      toDType(dtype).id), [node])
  }

  /** The sum along axes (none: all of them), accumulated in dtype if one is given. */
  sum (...args) {
    const { axis, keepdim, dtype } = named('sum', args, { axis: null, keepdim: false, dtype: null })
    return this._reduceAs(c.POLY_REDUCE_SUM, axis, keepdim, dtype, 'sum: axis')
  }

  /** The product along axes, accumulated in dtype if one is given. */
  prod (...args) {
    const { axis, keepdim, dtype } = named('prod', args, { axis: null, keepdim: false, dtype: null })
    return this._reduceAs(c.POLY_REDUCE_PROD, axis, keepdim, dtype, 'prod: axis')
  }

  /** The variance along axes, divided by count - correction. */
  var (...args) {
    const { axis, keepdim, correction } = named('var', args, { axis: null, keepdim: false, correction: 1 })
    return this._reduce(c.POLY_REDUCE_VAR, axis, keepdim, small(correction, 'var: correction'), 'var: axis')
  }

  /** The standard deviation along axes. */
  std (...args) {
    const { axis, keepdim, correction } = named('std', args, { axis: null, keepdim: false, correction: 1 })
    return this._reduce(c.POLY_REDUCE_STD, axis, keepdim, small(correction, 'std: correction'), 'std: axis')
  }

  /** Standard deviation and mean along axes: [std, mean]. */
  stdMean (...args) {
    const { axis, keepdim, correction } = named('stdMean', args, { axis: null, keepdim: false, correction: 1 })
    return [this.std(axis, keepdim, correction), this.mean(axis, keepdim)]
  }

  /** Variance and mean along axes: [var, mean]. */
  varMean (...args) {
    const { axis, keepdim, correction } = named('varMean', args, { axis: null, keepdim: false, correction: 1 })
    return [this.var(axis, keepdim, correction), this.mean(axis, keepdim)]
  }

  /** e^x / sum(e^x) along an axis. */
  softmax (...args) {
    const { axis } = named('softmax', args, { axis: -1 })
    return made(lib.poly_softmax(CTX, this._node.handle, null, 0, small(axis, 'softmax: axis')), [this._node])
  }

  /** log(softmax(x)) along an axis. */
  logSoftmax (...args) {
    const { axis } = named('logSoftmax', args, { axis: -1 })
    return made(lib.poly_log_softmax(CTX, this._node.handle, null, 0, small(axis, 'logSoftmax: axis')), [this._node])
  }

  // Norms

  /** (x - mean) / sqrt(variance + eps) along axes, then * weight + bias if they are given. */
  layernorm (...args) {
    const { axis, eps, weight, bias } = named('layernorm', args, { axis: -1, eps: 1e-5, weight: null, bias: null })
    const axes = list(axis)
    const w = optional(weight, 'layernorm: weight')
    const b = optional(bias, 'layernorm: bias')
    return made(lib.poly_layernorm_axes(CTX, this._node.handle, dims(axes, 'layernorm: axis'), axes.length,
      number(eps, 'layernorm: eps'), handleOf(w), handleOf(b)), present(this._node, w, b))
  }

  /** x / sqrt(mean(x^2) + eps) along the last axis, then * weight if it is given. */
  rmsnorm (...args) {
    const { eps, weight } = named('rmsnorm', args, { eps: 1e-5, weight: null })
    const w = optional(weight, 'rmsnorm: weight')
    return made(lib.poly_rmsnorm(CTX, this._node.handle, number(eps, 'rmsnorm: eps'), handleOf(w)), present(this._node, w))
  }

  /** Channels of (N, C, …) normalised in groups, then * weight + bias per channel if they are given. */
  groupnorm (...args) {
    const { groups, eps, weight, bias } = named('groupnorm', args, { groups: undefined, eps: 1e-5, weight: null, bias: null })
    const w = optional(weight, 'groupnorm: weight')
    const b = optional(bias, 'groupnorm: bias')
    return made(lib.poly_groupnorm(CTX, this._node.handle, small(groups, 'groupnorm: groups'), number(eps, 'groupnorm: eps'),
      handleOf(w), handleOf(b)), present(this._node, w, b))
  }

  /** (x - mean) * weight * invstd + bias per channel; weight and bias may be null. */
  batchnorm (...args) {
    const { weight, bias, mean, invstd, axis } = named('batchnorm', args,
      { weight: null, bias: null, mean: undefined, invstd: undefined, axis: 1 })
    const nodes = [weight, bias, mean, invstd].map((t) => optional(t, 'batchnorm'))
    const axes = list(axis)
    return made(lib.poly_batchnorm(CTX, this._node.handle, ...nodes.map(handleOf), dims(axes, 'batchnorm: axis'), axes.length),
      present(this._node, ...nodes))
  }

  /** Mean and variance of each channel (axis 1): [mean, variance]. */
  batchnormStats () {
    const out = new BigUint64Array(2)
    return several(lib.poly_batchnorm_stats(CTX, this._node.handle, out), out, 2, [this._node])
  }
}

function define (name, value) {
  Object.defineProperty(value, 'name', { value: name })
  Object.defineProperty(Reduce.prototype, name, { value, writable: true, configurable: true })
}

// Reductions f({ axis, keepdim }) by the library's number.
const REDUCTIONS = {
  max: c.POLY_REDUCE_MAX,
  min: c.POLY_REDUCE_MIN,
  mean: c.POLY_REDUCE_MEAN,
  any: c.POLY_REDUCE_ANY,
  all: c.POLY_REDUCE_ALL,
  argmax: c.POLY_REDUCE_ARGMAX,
  argmin: c.POLY_REDUCE_ARGMIN,
  logsumexp: c.POLY_REDUCE_LOGSUMEXP
}
for (const [name, op] of Object.entries(REDUCTIONS)) {
  define(name, function (...args) {
    const { axis, keepdim } = named(name, args, { axis: null, keepdim: false })
    return this._reduce(op, axis, keepdim, 0, `${name}: axis`)
  })
}

// Scans along an axis, which give one tensor or values and indices.
for (const [name, fn] of Object.entries({ cumsum: 'poly_cumsum', cumprod: 'poly_cumprod', logcumsumexp: 'poly_logcumsumexp' })) {
  define(name, function (...args) {
    const { axis } = named(name, args, { axis: 0 })
    return made(lib[fn](CTX, this._node.handle, small(axis, `${name}: axis`)), [this._node])
  })
}
for (const [name, fn] of Object.entries({ cummax: 'poly_cummax', cummin: 'poly_cummin' })) {
  define(name, function (...args) {
    const { axis } = named(name, args, { axis: 0 })
    const out = new BigUint64Array(2)
    return several(lib[fn](CTX, this._node.handle, small(axis, `${name}: axis`), out), out, 2, [this._node])
  })
}

module.exports = { Reduce }
