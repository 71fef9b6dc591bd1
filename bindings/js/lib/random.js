'use strict'
/**
 * Seeds of random tensors.
 *
 * Random tensors take their words from a stream, whose numbers are tinygrad's. The seed of a tensor,
 * three words, says where in the stream its words begin. It is a leaf of the graph, so that programs
 * which differ only in it are compiled once. The library has a stream for the process
 * (poly_random_take); here each worker has its own, so that its numbers depend on nobody else.
 */

const { randomBytes } = require('node:crypto')
const { leaf } = require('./graph.js')
const { types } = require('./dtype.js')
const { integer } = require('./arguments.js')

const STREAM = 0x14b81119 // the end of SHA-256 of four zero bytes
const WORDS_OF_KEY = 2 ** 32
const GOLDEN = 0x9e3779b9

let begun = randomBytes(8).readBigUInt64LE()
let taken = 0
let recorder = null

/** Begins the stream again; of a BigInt the lower 64 bits count. */
function manualSeed (seed = 0) {
  begun = BigInt.asUintN(64, typeof seed === 'bigint' ? seed : BigInt(integer(seed, 'manualSeed: seed')))
  taken = 0
}

/** Writes the seed of a tensor that takes a number of words, which nobody else gets. */
function take (seed, count) {
  const rest = WORDS_OF_KEY - taken % WORDS_OF_KEY
  if (count > rest) taken += rest
  seed[0] = STREAM ^ Number(begun >> 32n) ^ Math.imul(taken / WORDS_OF_KEY, GOLDEN)
  seed[1] = Number(begun & 0xffffffffn)
  seed[2] = taken % WORDS_OF_KEY
  taken += count
}

/** A seed of the library's other generators, a BigInt of 64 bits. */
function takeSeed () {
  taken += 2
  return BigInt.asUintN(64, begun + BigInt(taken) * 0x9e3779b97f4a7c15n)
}

/**
 * The words of numbers of a shape that take 4, 8 or fewer bytes each. An axis of symbolic size takes those of the
 * largest; sizes that are refused later take none.
 */
function wordsOf (shape, each = 4) {
  let bytes = each
  for (const size of shape) {
    const n = typeof size === 'bigint' ? Number(size) : typeof size === 'number' ? size : size?.max
    if (!(n >= 0)) return 0
    bytes *= n
  }
  return Math.min(Math.ceil(bytes / 4), WORDS_OF_KEY)
}

/** The seed of a tensor that takes a number of words: a leaf of three uint32. */
function nextSeed (count) {
  const words = new Uint32Array(3)
  take(words, count)
  const seed = leaf(words, types.uint32, [3])
  if (recorder !== null) recorder.push([words, count, seed])
  return seed
}

/** Runs a function and returns the seeds that were handed out meanwhile: their memory, how many words they take, and their leaves. */
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
  for (const [words, count] of seeds) take(words, count)
}

module.exports = { manualSeed, takeSeed, nextSeed, wordsOf, recordSeeds, renew }
