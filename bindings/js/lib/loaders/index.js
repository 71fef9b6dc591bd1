'use strict'
/** Files of models, as @jax-js/loaders reads them. index.d.ts tells what the names do. */

const { OPFS, opfs, cachedFetch } = require('./cache.js')
const { WeightMapper } = require('./mapper.js')
const { npy, npz } = require('./npz.js')
const { fromNested, parse, toNested } = require('./safetensors.js')
const { tokenizers } = require('./tokenizers.js')

const safetensors = { fromNested, parse, toNested }

module.exports = { OPFS, WeightMapper, cachedFetch, npy, npz, opfs, safetensors, tokenizers }
