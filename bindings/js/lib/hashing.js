'use strict'
/** Tensor methods that hash bytes. */

const { lib } = require('./library.js')
const { CTX } = require('./graph.js')
const { made } = require('./base.js')
const { Linalg } = require('./linalg.js')
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
class Hashing extends Linalg {
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
    return made(lib.poly_keccak(CTX, this._node.handle, rate, suffix), [this._node])
  }

  /** 16 bytes, uint8, that depend on all bytes of the tensor: a tree of SHAKE128 over blocks of 4096 bytes. */
  hash () {
    return made(lib.poly_hash(CTX, this._node.handle), [this._node])
  }
}

module.exports = { Hashing }
