'use strict'
/** Gradients of tensors: which of them want one, and the way back from a loss. */

const { PolygradError } = require('./library.js')
const { Base, wrap, nodeOf, setGradient } = require('./base.js')
const { describe, leaf } = require('./graph.js')
const { Writing } = require('./writing.js')
const { named, show } = require('./arguments.js')
const autograd = require('./autograd.js')
const trace = require('./trace.js')

/** Asking for gradients. */
class Gradients extends Writing {
  /**
   * Whether backward gives this tensor, or one that it was computed from, a gradient. null means that nobody has
   * said: an optimizer makes it true, and leaves alone what is false.
   */
  get requiresGrad () {
    return this._node.tracked
  }

  set requiresGrad (wanted) {
    let node = this._node
    wanted ??= null
    if (typeof wanted !== 'boolean' && wanted !== null) {
      throw new TypeError(`requiresGrad: ${show(wanted)}, expected true, false or null`)
    }
    if (!wanted) {
      const from = autograd.lazy(node)
      for (const n of [node, from]) {
        n.owner = null
        n.tracked = Boolean(n.tracked && n.source.some((s) => s.tracked)) || wanted
      }
      node.tracked = from.tracked
      return
    }
    const { shape, dtype } = describe(node)
    if (!dtype.isFloat) throw new TypeError(`requiresGrad: the tensor is ${dtype.name}, expected a floating type`)
    if (node.owner !== null && node.owner !== this) {
      // Another variable stands for the same node: this one needs memory of its own.
      this._bind(leaf(this.data.slice(), dtype, shape))
    } else if (!node.tracked && node.data === null && !trace.tracing()) {
      this.realize()
    }
    node = this._node
    for (const n of [node, autograd.lazy(node)]) {
      n.owner = this
      n.tracked = true
    }
  }

  /** Sets requiresGrad and returns the tensor. */
  requiresGrad_ (wanted = true) {
    this.requiresGrad = wanted
    return this
  }

  /**
   * Computes the gradients of this tensor for all tensors that require one and adds them to grad. A
   * tensor that is not a scalar needs its incoming gradient, of its own shape.
   */
  backward (...args) {
    const found = gradientsOf(this, args)
    // The loss with them: read after an optimizer's step it is still the one before.
    if (!trace.tracing()) this.realize(...found.map(([, grad]) => grad))
    return finishBackward(this, found)
  }

  /** backward computed in another thread. */
  async backwardAsync (...args) {
    const found = gradientsOf(this, args)
    await this.realizeAsync(...found.map(([, grad]) => grad))
    return finishBackward(this, found)
  }

  /** The gradients of this tensor with respect to others, as lazy tensors: x.gradient(a, b, { gradient }). */
  gradient (...args) {
    const targets = args.filter((t) => t instanceof Base)
    const { gradient } = named('gradient', args.filter((t) => !(t instanceof Base)), { gradient: null })
    const seed = seedOf(this, gradient, 'gradient: gradient')
    const found = autograd.differentiate(this._node, seed, targets.map((t) => t._node), true)
    return targets.map((t, i) => found[i] === null ? t.zerosLike() : wrap(found[i]))
  }
}

/** The node of a gradient, in the shape of the tensor if both have one element. */
function seedOf (tensor, gradient, what) {
  if (gradient === null) return null
  const node = nodeOf(gradient, what)
  const single = tensor.numel() === 1 && gradient.numel() === 1
  return single && gradient.ndim !== tensor.ndim ? gradient.reshape(tensor.shape)._node : node
}

function gradientsOf (tensor, args) {
  const { gradient } = named('backward', args.map((t) => t instanceof Base ? { gradient: t } : t), { gradient: null })
  if (gradient === null && tensor.numel() !== 1) {
    throw new PolygradError(`backward: the tensor has shape [${tensor.shape}], expected one element or a gradient`)
  }
  const targets = autograd.owners(tensor._node)
  if (targets.length === 0) throw new PolygradError('backward: no tensor that this one depends on requires a gradient')
  const seed = seedOf(tensor, gradient, 'backward: gradient')
  const found = []
  autograd.differentiate(tensor._node, seed, targets, false).forEach((grad, i) => {
    const { owner } = targets[i]
    if (owner === null || grad === null) return
    const total = wrap(grad)
    const before = owner.grad?._node
    found.push([owner, before === undefined ? total : owner.grad.add(total), total, before])
  })
  return found
}

function finishBackward (tensor, found) {
  for (const [owner, sum, total, before] of found) {
    let grad = sum
    // Another gradient has come or gone while this one was computed in another thread.
    if (owner.grad?._node !== before) grad = owner.grad === null ? total : owner.grad.add(total).realize()
    if (owner.grad === null || trace.tracing()) setGradient(owner, grad)
    else owner.grad._bind(grad._node) // whoever holds the gradient sees the sum
  }
  return tensor
}

module.exports = { Gradients }
