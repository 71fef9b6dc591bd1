'use strict'
/** Gradient clipping, between backward() and the step of an optimizer. */

const { PolygradError } = require('../library.js')
const { Tensor } = require('../tensor.js')
const { Base, tensorsOf } = require('../base.js')
const { operation, call } = require('../call.js')
const { assign } = require('../writing.js')
const { tracing } = require('../trace.js')
const { named, number } = require('../arguments.js')

/** The parameters that have a gradient, each once. */
function withGradients (name, parameters) {
  return tensorsOf(parameters instanceof Base ? [parameters] : parameters, `${name}: parameters`).filter((p) => p.grad !== null)
}

/** Replaces the gradients of parameters in place, so that all references to a gradient tensor see the new values. */
function replace (parameters, grads) {
  if (tracing()) parameters.forEach((p, i) => { p.grad = grads[i] })
  else if (grads.length > 0) assign(parameters.map((p) => p.grad), grads)
}

function clipGradNorm (parameters, ...args) {
  const name = 'clipGradNorm'
  const { maxNorm, normType, errorIfNonfinite } = named(name, args, { maxNorm: undefined, normType: 2, errorIfNonfinite: false })
  const chosen = withGradients(name, parameters)
  if (chosen.length === 0) return new Tensor(0)
  const grads = chosen.map((p) => p.grad)
  const order = number(normType, `${name}: normType`)
  const most = number(maxNorm, `${name}: maxNorm`)
  const [norm, ...clipped] = call(operation('clip_grad_norm'), grads, [most, order])
  if (!tracing()) norm.realize(...clipped)
  if (errorIfNonfinite && !Number.isFinite(norm.item())) {
    throw new PolygradError(`${name}: the norm of the gradients is ${norm.item()}`)
  }
  replace(chosen, clipped)
  return norm
}

function clipGradValue (parameters, clipValue) {
  if (!(number(clipValue, 'clipGradValue: clipValue') >= 0)) {
    throw new RangeError(`clipGradValue: clipValue: ${clipValue}, expected 0 or more`)
  }
  const chosen = withGradients('clipGradValue', parameters)
  replace(chosen, chosen.map((p) => p.grad.clamp(-clipValue, clipValue)))
}

module.exports = { clipGradNorm, clipGradValue }
