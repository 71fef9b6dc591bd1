'use strict'
/** What is done to gradients between backward() and the step of an optimizer. */

const { lib, PolygradError } = require('../library.js')
const { CTX, handles } = require('../graph.js')
const { Tensor } = require('../tensor.js')
const { Base, several, setGradient } = require('../base.js')
const { tracing } = require('../trace.js')
const { named, number, show } = require('../arguments.js')

/** The parameters that have a gradient, each once. */
function withGradients (name, parameters) {
  const given = parameters instanceof Base ? [parameters] : parameters
  if (typeof given?.[Symbol.iterator] !== 'function') throw new TypeError(`${name}: parameters: ${show(given)}, expected tensors`)
  const chosen = [...new Set(given)]
  for (const p of chosen) if (!(p instanceof Base)) throw new TypeError(`${name}: parameters: ${show(p)}, expected tensors`)
  return chosen.filter((p) => p.grad !== null)
}

/** Computes what comes instead of gradients and puts it there. */
function replace (parameters, grads) {
  if (!tracing() && grads.length > 0) grads[0].realize(...grads.slice(1))
  parameters.forEach((p, i) => setGradient(p, grads[i]))
}

/**
 * Scales gradients so that their norm, as one vector, is at most maxNorm, and returns the norm before, a
 * scalar tensor. They are multiplied by min(1, maxNorm / (norm + 1e-6)) (Pascanu, Mikolov and Bengio,
 * arXiv:1211.5063). normType (2) is the order of the norm, Infinity for the greatest element. With
 * errorIfNonfinite a norm that is infinite or NaN is an error, which looks at its value: not inside of
 * compileStep. Parameters without a gradient do not count.
 */
function clipGradNorm (parameters, ...args) {
  const name = 'clipGradNorm'
  const { maxNorm, normType, errorIfNonfinite } = named(name, args, { maxNorm: undefined, normType: 2, errorIfNonfinite: false })
  const chosen = withGradients(name, parameters)
  if (chosen.length === 0) return new Tensor(0)
  const nodes = chosen.map((p) => p.grad._node)
  const out = new BigUint64Array(nodes.length + 1)
  const status = lib.poly_clip_grad_norm(CTX, handles(nodes), nodes.length, number(maxNorm, `${name}: maxNorm`),
    number(normType, `${name}: normType`), out)
  const [norm, ...clipped] = several(status, out, nodes.length + 1, nodes)
  if (!tracing()) norm.realize(...clipped)
  if (errorIfNonfinite && !Number.isFinite(norm.item())) {
    throw new PolygradError(`${name}: the norm of the gradients is ${norm.item()}`)
  }
  replace(chosen, clipped)
  return norm
}

/** Clips the elements of gradients to -clipValue … clipValue. */
function clipGradValue (parameters, clipValue) {
  if (!(number(clipValue, 'clipGradValue: clipValue') >= 0)) {
    throw new RangeError(`clipGradValue: clipValue: ${clipValue}, expected 0 or more`)
  }
  const chosen = withGradients('clipGradValue', parameters)
  replace(chosen, chosen.map((p) => p.grad.clamp(-clipValue, clipValue)))
}

module.exports = { clipGradNorm, clipGradValue }
