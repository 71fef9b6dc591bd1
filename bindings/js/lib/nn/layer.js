'use strict'
/** The base class of layers, and Sequential. */

const { tensorOf } = require('../base.js')
const { operationOf, call } = require('../call.js')
const { named, show } = require('../arguments.js')

/** Describes how a layer is made: by an operation, from settings with defaults; the first `parameters` of its weights are trained. */
function made (name, settings, weights, parameters = weights.length) {
  return { make: operationOf(name, Object.entries(settings)), settings, weights, parameters }
}

/** A layer: an object with weights and settings. The static _made of its class describes how they are made. */
class Layer {
  get _ofPackage () { return true }

  constructor (...args) {
    const { make, settings, weights, parameters } = new.target._made
    const values = named(make.title, args, settings)
    const tensors = make.all(undefined, Object.values(values))
    const names = tensors.length > weights.length ? sequenceWeights(values) : weights
    names.forEach((key, i) => {
      const tensor = this[key] = tensors[i]
      if (tensor === null) return
      tensor.requiresGrad = names !== weights || i < parameters
      if (!tensor.requiresGrad) tensor.realize()
    })
    for (const key in values) if (!names.includes(key)) this[key] = values[key]
  }
}

/** Checks that an input of a layer is a tensor. */
function need (layer, x, name = 'x') {
  return tensorOf(x, `${layer.constructor.name}: ${name}`)
}

/** The names of the weights of a recurrent layer, in their order. */
function sequenceWeights ({ bidirectional, bias, numLayers }) {
  const ways = bidirectional ? ['', 'Reverse'] : ['']
  const parts = ['weightIh', 'weightHh', ...(bias ? ['biasIh', 'biasHh'] : [])]
  return Array.from({ length: numLayers }, (_, k) => ways.flatMap((way) => parts.map((part) => `${part}L${k}${way}`))).flat()
}

class Sequential {
  constructor (...layers) {
    this.layers = layers.flat()
    for (const layer of this.layers) {
      if (typeof layer === 'function' || typeof layer?.forward === 'function') continue
      throw new TypeError(`Sequential: layers: ${show(layer)}, expected a function or an object with forward`)
    }
  }

  forward (x) {
    return this.layers.reduce((y, layer) => typeof layer === 'function' ? layer(y) : layer.forward(y), x)
  }
}

module.exports = { Layer, Sequential, made, need, call, sequenceWeights }
