'use strict'
/**
 * Seeds of random tensors.
 *
 * Each random tensor has a seed of its own: after manualSeed(s) the first one uses s, the next
 * s + 1, and so on. A seed is a leaf of the graph, so that programs which differ only in it are
 * compiled once.
 */

const { randomBytes } = require('node:crypto')
const { leaf } = require('./graph.js')
const { types } = require('./dtype.js')
const { integer } = require('./arguments.js')

let next = randomBytes(8).readBigUInt64LE()
let recorder = null

/** Makes the next random tensor use a seed; of a BigInt the lower 64 bits count. */
function manualSeed (seed = 0) {
  next = BigInt.asUintN(64, typeof seed === 'bigint' ? seed : BigInt(integer(seed, 'manualSeed: seed')))
}

/** The next seed, a BigInt. */
function takeSeed () {
  const seed = next
  next = BigInt.asUintN(64, next + 1n)
  return seed
}

function write (words) {
  const seed = takeSeed()
  words[0] = Number(seed & 0xffffffffn)
  words[1] = Number(seed >> 32n)
}

/** A leaf of two uint32, the low and the high word of the next seed. */
function nextSeed () {
  const words = new Uint32Array(2)
  write(words)
  if (recorder !== null) recorder.push(words)
  return leaf(words, types.uint32, [2])
}

/** Runs a function and returns the memory of the seeds that were handed out meanwhile. */
function recordSeeds (fn) {
  const outer = recorder
  const seeds = recorder = []
  try {
    fn()
  } finally {
    recorder = outer
  }
  return seeds
}

/** Writes the next seeds into the memory of seeds that were handed out. */
function renew (seeds) {
  seeds.forEach(write)
}

module.exports = { manualSeed, takeSeed, nextSeed, recordSeeds, renew }
