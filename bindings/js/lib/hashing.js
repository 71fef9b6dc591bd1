'use strict'
/** Tensor methods that hash bytes. */

const { byNodes } = require('./base.js')
const { Indexing } = require('./indexing.js')
const { named, small, choice, show } = require('./arguments.js')

// Bytes a block and the bits behind the message, as FIPS 202 has them.
const SPONGES = {
  sha3_224: [144, 6],
  sha3_256: [136, 6],
  sha3_384: [104, 6],
  sha3_512: [72, 6],
  shake_128: [168, 31],
  shake_256: [136, 31]
}

/** Hashes of the memory of elements. */
class Hashing extends Indexing {
  /**
   * The hash of the bytes of the last axis, uint8. cfg is sha3_224, sha3_256 (the default), sha3_384, sha3_512,
   * shake_128, shake_256 or [rate, suffix]; the last axis holds (200 - rate) / 2 bytes.
   */
  keccak (...args) {
    const { cfg } = named('keccak', args, { cfg: 'sha3_256' })
    const pair = typeof cfg === 'string' ? choice(SPONGES, cfg, 'keccak: cfg') : cfg
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new TypeError(`keccak: cfg: ${show(cfg)}, expected ${Object.keys(SPONGES).join(', ')} or two numbers`)
    }
    const [rate, suffix] = [small(pair[0], 'keccak: rate'), small(pair[1], 'keccak: suffix')]
    return byNodes('poly_keccak', 1, this, rate, suffix)[0]
  }

  /** 16 bytes, uint8, that depend on all bytes of the tensor: a tree of SHAKE128 over blocks of 4096 bytes. */
  hash () {
    return byNodes('poly_hash', 1, this)[0]
  }
}

module.exports = { Hashing }
