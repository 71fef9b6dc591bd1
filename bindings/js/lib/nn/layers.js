'use strict'
/** Layers: objects that hold parameters and turn a tensor into another: layer.forward(x). */

const { PolygradError } = require('../library.js')
const { describe, tensorOf } = require('../base.js')
const { operation, call1 } = require('../call.js')
const { Tensor } = require('../tensor.js')
const { assign } = require('../writing.js')
const { dtypes } = require('../dtype.js')
const { list, named, within, number, integer, show } = require('../arguments.js')

const EMBEDDING = operation('embedding')
const WANTED = { requiresGrad: true }
const UNWANTED = { requiresGrad: false }

function uniform (shape, range) {
  return Tensor.uniform(shape, { low: -range, high: range, ...WANTED })
}

/** A number of units or channels. */
function units (value, what) {
  const n = Number(integer(value, what))
  if (n < 0) throw new RangeError(`${what}: ${show(value)}, expected 0 or more`)
  return n
}

function bound (fanIn) {
  return fanIn > 0 ? 1 / Math.sqrt(fanIn) : 0
}

/** y = x @ weight.T + bias, with weight of shape (outFeatures, inFeatures). */
class Linear {
  constructor (inFeatures, outFeatures, ...args) {
    const { bias } = named('Linear', args, { bias: true })
    const shape = [units(outFeatures, 'Linear: outFeatures'), units(inFeatures, 'Linear: inFeatures')]
    const range = bound(shape[1])
    this.weight = uniform(shape, range)
    this.bias = bias ? uniform([outFeatures], range) : null
  }

  /** Outputs of shape (…, outFeatures) of inputs of shape (…, inFeatures). */
  forward (x) {
    return tensorOf(x, 'Linear: x').linear(this.weight.T, this.bias)
  }
}

/** (x - mean) / sqrt(variance + eps) * weight + bias over the last axes. */
class LayerNorm {
  constructor (normalizedShape, ...args) {
    const { eps, elementwiseAffine } = named('LayerNorm', args, { eps: 1e-5, elementwiseAffine: true })
    this.normalizedShape = list(normalizedShape).map((n) => units(n, `${this.constructor.name}: normalizedShape`))
    this.eps = number(eps, 'LayerNorm: eps')
    this.weight = elementwiseAffine ? Tensor.ones(this.normalizedShape, WANTED) : null
    this.bias = elementwiseAffine ? Tensor.zeros(this.normalizedShape, WANTED) : null
  }

  /** x normalised, of the same shape. */
  forward (x) {
    const want = this.normalizedShape
    const have = describe(tensorOf(x, 'LayerNorm: x')).shape.slice(-want.length)
    if (have.length !== want.length || have.some((n, i) => n !== want[i])) {
      throw new PolygradError(`LayerNorm: x: shape [${x.shape}], expected […, ${want}]`)
    }
    return x.layernorm(want.map((_, i) => i - want.length), this.eps, this.weight, this.bias)
  }
}

/** LayerNorm over the channels of images (N, C, height, width). */
class LayerNorm2d extends LayerNorm {
  /** x normalised, of the same shape. */
  forward (x) {
    if (describe(tensorOf(x, 'LayerNorm2d: x')).shape.length !== 4) {
      throw new PolygradError(`LayerNorm2d: x: shape [${x.shape}], expected 4 dimensions`)
    }
    return super.forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
  }
}

/** x / sqrt(mean(x^2) + eps) * weight over the last axis (arXiv:1910.07467). */
class RMSNorm {
  constructor (dim, ...args) {
    const { eps, elementwiseAffine } = named('RMSNorm', args, { eps: 1e-6, elementwiseAffine: true })
    this.eps = number(eps, 'RMSNorm: eps')
    this.weight = elementwiseAffine ? Tensor.ones(units(dim, 'RMSNorm: dim'), WANTED) : null
  }

  /** x normalised, of the same shape. */
  forward (x) {
    tensorOf(x, 'RMSNorm: x')
    return x.rmsnorm(this.eps, this.weight)
  }
}

/** The channels of x, shape (N, C, …), normalised in groups; then weight and bias per channel. */
class GroupNorm {
  constructor (numGroups, numChannels, ...args) {
    const { eps, affine } = named('GroupNorm', args, { eps: 1e-5, affine: true })
    const name = this.constructor.name
    this.numGroups = integer(numGroups, `${name}: numGroups`)
    this.numChannels = units(numChannels, `${name}: numChannels`)
    this.eps = number(eps, `${name}: eps`)
    this.weight = affine ? Tensor.ones(this.numChannels, WANTED) : null
    this.bias = affine ? Tensor.zeros(this.numChannels, WANTED) : null
  }

  /** x normalised, of the same shape. */
  forward (x) {
    tensorOf(x, `${this.constructor.name}: x`)
    return x.groupnorm(this.numGroups, this.eps, this.weight, this.bias)
  }
}

/** The channels of x normalised one by one: GroupNorm with as many groups as channels. */
class InstanceNorm extends GroupNorm {
  constructor (numFeatures, ...args) {
    super(numFeatures, numFeatures, ...args)
  }
}

/**
 * The channels of x, shape (N, C, …), normalised over the batch while Tensor.training is set, and by
 * running statistics otherwise; then weight and bias per channel.
 */
class BatchNorm {
  constructor (numFeatures, ...args) {
    const { eps, affine, trackRunningStats, momentum } = named('BatchNorm', args,
      { eps: 1e-5, affine: true, trackRunningStats: true, momentum: 0.1 })
    this.eps = number(eps, 'BatchNorm: eps')
    this.momentum = number(momentum, 'BatchNorm: momentum')
    this.trackRunningStats = trackRunningStats
    units(numFeatures, 'BatchNorm: numFeatures')
    this.weight = affine ? Tensor.ones(numFeatures, WANTED) : null
    this.bias = affine ? Tensor.zeros(numFeatures, WANTED) : null
    this.numBatchesTracked = Tensor.zeros({ shape: [], dtype: 'int64', ...UNWANTED }).realize()
    this.runningMean = trackRunningStats ? Tensor.zeros(numFeatures, UNWANTED).realize() : null
    this.runningVar = trackRunningStats ? Tensor.ones(numFeatures, UNWANTED).realize() : null
  }

  /** x normalised, of the same shape. */
  forward (x) {
    tensorOf(x, 'BatchNorm: x')
    const training = Tensor.training || !this.trackRunningStats
    const [mean, variance] = training ? x.batchnormStats() : [this.runningMean, this.runningVar]
    if (Tensor.training && this.trackRunningStats) this.track(x, mean, variance)
    return x.batchnorm(this.weight, this.bias, mean, variance.add(this.eps).rsqrt())
  }

  /** Updates the running statistics by a batch's. */
  track (x, mean, variance) {
    const n = x.numel() / x.shape[1]
    const unbiased = n > 1 ? variance.mul(n / (n - 1)) : variance
    const towards = (running, now) => running.lerp(now.detach(), this.momentum)
    assign([this.runningMean, this.runningVar, this.numBatchesTracked],
      [towards(this.runningMean, mean), towards(this.runningVar, unbiased), this.numBatchesTracked.add(1)])
  }
}

/** A number for each of n spatial axes. */
function each (value, n, what) {
  return (Array.isArray(value) ? value : new Array(n).fill(value)).map((k) => units(k, what))
}

/** The channels of each group, of which numbers of channels can be made. */
function perGroup (name, groups, channels) {
  const n = Number(integer(groups, `${name}: groups`))
  for (const what in channels) {
    if (n >= 1 && units(channels[what], `${name}: ${what}`) % n === 0) continue
    throw new PolygradError(`${name}: groups: ${n}, expected a positive divisor of ${what}, ${channels[what]}`)
  }
  return Object.values(channels).map((count) => Number(count) / n)
}

const CONV = { stride: 1, padding: 0, dilation: 1, groups: 1, bias: true }

/** What convolutions of any number of spatial axes share. */
class Conv {
  constructor (name, n, inChannels, outChannels, kernelSize, args) {
    const { stride, padding, dilation, groups, bias } = named(name, args, CONV)
    const kernel = each(kernelSize, n, `${name}: kernelSize`)
    const [width] = perGroup(name, groups, { inChannels, outChannels })
    this.stride = stride
    this.dilation = dilation
    this.groups = groups
    this.padding = padding === 'same' ? same(name, kernel, each(dilation, n, `${name}: dilation`), stride) : padding
    const range = bound(width * kernel.reduce((a, b) => a * b, 1))
    this.weight = uniform([outChannels, width, ...kernel], range)
    this.bias = bias ? uniform([outChannels], range) : null
  }

  /** The convolution plus bias. */
  forward (x) {
    tensorOf(x, `${this.constructor.name}: x`)
    const { weight, bias, groups, stride, dilation, padding } = this
    return x.conv2d({ weight, bias, groups, stride, dilation, padding })
  }
}

/** Padding that keeps the size, two numbers an axis, the last axis first. */
function same (name, kernel, dilation, stride) {
  if (list(stride).some((s) => s !== 1)) throw new PolygradError(`${name}: padding: 'same' needs a stride of 1`)
  return kernel.map((k, i) => dilation[i] * (k - 1)).reverse().flatMap((p) => [Math.floor(p / 2), p - Math.floor(p / 2)])
}

/** The convolution of x, shape (N, in, length), with weight of shape (out, in/groups, kernelSize). */
class Conv1d extends Conv {
  constructor (inChannels, outChannels, kernelSize, ...args) {
    super('Conv1d', 1, inChannels, outChannels, kernelSize, args)
  }
}

/** The convolution of x, shape (N, in, height, width), with weight of shape (out, in/groups, …). */
class Conv2d extends Conv {
  constructor (inChannels, outChannels, kernelSize, ...args) {
    super('Conv2d', 2, inChannels, outChannels, kernelSize, args)
  }
}

/** The convolution of x, shape (N, in, depth, height, width), with weight of shape (out, in/groups, …). */
class Conv3d extends Conv {
  constructor (inChannels, outChannels, kernelSize, ...args) {
    super('Conv3d', 3, inChannels, outChannels, kernelSize, args)
  }
}

class ConvTranspose {
  constructor (name, n, inChannels, outChannels, kernelSize, args) {
    const { stride, padding, outputPadding, dilation, groups, bias } = named(name, args, { ...CONV, outputPadding: 0 })
    const kernel = each(kernelSize, n, `${name}: kernelSize`)
    const [, width] = perGroup(name, groups, { inChannels, outChannels })
    Object.assign(this, { stride, padding, outputPadding, dilation, groups })
    const range = bound(width * kernel.reduce((a, b) => a * b, 1))
    this.weight = uniform([inChannels, width, ...kernel], range)
    this.bias = bias ? uniform([outChannels], range) : null
  }

  /** The transposed convolution plus bias. */
  forward (x) {
    tensorOf(x, `${this.constructor.name}: x`)
    const { weight, bias, groups, stride, dilation, padding, outputPadding } = this
    return x.convTranspose2d({ weight, bias, groups, stride, dilation, padding, outputPadding })
  }
}

/** The transposed convolution of x, shape (N, in, length), with weight of shape (in, out/groups, kernelSize). */
class ConvTranspose1d extends ConvTranspose {
  constructor (inChannels, outChannels, kernelSize, ...args) {
    super('ConvTranspose1d', 1, inChannels, outChannels, kernelSize, args)
  }
}

/** The transposed convolution of x, shape (N, in, height, width), with weight of shape (in, out/groups, …). */
class ConvTranspose2d extends ConvTranspose {
  constructor (inChannels, outChannels, kernelSize, ...args) {
    super('ConvTranspose2d', 2, inChannels, outChannels, kernelSize, args)
  }
}

/** A table with a row for each of vocabSize tokens. */
class Embedding {
  constructor (vocabSize, embedSize) {
    this.vocabSize = units(vocabSize, 'Embedding: vocabSize')
    this.embedSize = units(embedSize, 'Embedding: embedSize')
    this.weight = Tensor.glorotUniform(vocabSize, embedSize, WANTED)
  }

  /** The rows of tokens idx, shape idx.shape + (embedSize). */
  forward (idx) {
    tensorOf(idx, 'Embedding: idx')
    if (!dtypes.isInt(idx.dtype)) throw new TypeError(`Embedding: idx: Expected integer dtype for index, got ${idx.dtype}`)
    return call1(EMBEDDING, this.weight, [idx])
  }
}

/** Elements set to 0 with probability p while Tensor.training is set. */
class Dropout {
  constructor (...args) {
    const { p } = named('Dropout', args, { p: 0.5 })
    this.p = within(p, 0, 1, 'Dropout: p')
  }

  /** x with some elements dropped and the others scaled by 1 / (1 - p). */
  forward (x) {
    tensorOf(x, 'Dropout: x')
    return x.dropout(this.p)
  }
}

/** Layers and functions one after another. */
class Sequential {
  constructor (...layers) {
    this.layers = layers.flat()
    for (const layer of this.layers) {
      if (typeof layer === 'function' || typeof layer?.forward === 'function') continue
      throw new TypeError(`Sequential: layers: ${show(layer)}, expected a function or an object with forward`)
    }
  }

  /** What the last layer makes of x. */
  forward (x) {
    return this.layers.reduce((y, layer) => typeof layer === 'function' ? layer(y) : layer.forward(y), x)
  }
}

module.exports = {
  Linear,
  LayerNorm,
  LayerNorm2d,
  RMSNorm,
  GroupNorm,
  InstanceNorm,
  BatchNorm,
  Conv1d,
  Conv2d,
  Conv3d,
  ConvTranspose1d,
  ConvTranspose2d,
  Embedding,
  Dropout,
  Sequential
}
