'use strict'
/** polygrad/loaders: the tokens of CLIP: texts in small letters, between a first and a last token, in rows of CONTEXT. */

const { BpeEncoding } = require('./bpe.js')

const CONTEXT = 77
const MERGES = 49152 - 256 - 2
const END_OF_WORD = '_' // behind the digits of the last byte of a word
const [START, END] = ['<|startoftext|>', '<|endoftext|>']
const WORDS = /'(?:[sdmt]|re|ve|ll)|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+/gu

/** The characters that stand for bytes in the file of merges, in the order of their tokens. */
function characters () {
  const ranges = [[33, 126], [161, 172], [174, 255]].flatMap(([a, b]) => Array.from({ length: b - a + 1 }, (_, i) => a + i))
  const others = Array.from({ length: 256 }, (_, b) => b).filter((b) => !ranges.includes(b))
  return [...ranges.map((b) => [String.fromCharCode(b), b]), ...others.map((b, i) => [String.fromCharCode(256 + i), b])]
}

class ClipEncoding extends BpeEncoding {
  constructor (encoder, specialTokens, ranks) {
    super(encoder, specialTokens, WORDS)
    this._ranks = ranks
  }

  encode (text, allowedSpecial = this.specialTokens()) {
    return super.encode(text, allowedSpecial)
  }

  _beforeEncode (text) {
    return text.replace(/\s+/g, ' ').trim().toLowerCase()
  }

  _afterEncode (tokens) {
    const row = [this.specialTokensEncoder.get(START), ...tokens, this.specialTokensEncoder.get(END)]
    if (row.length > CONTEXT) row.splice(CONTEXT - 1, row.length, this.specialTokensEncoder.get(END))
    return [...row, ...Array(CONTEXT - row.length).fill(0)]
  }

  _beforeDecode (tokens) {
    const last = tokens.findLastIndex((token) => token !== 0)
    return tokens.slice(0, last + 1)
  }

  decodeBytes (tokens) {
    return new TextEncoder().encode(this.decode(tokens))
  }

  decode (tokens) {
    const decoder = new TextDecoder()
    let [text, bytes] = ['', []]
    const flush = () => {
      text += decoder.decode(Uint8Array.from(bytes))
      bytes = []
    }
    for (const token of this._beforeDecode(tokens)) {
      const special = this.specialTokensDecoder.get(token)
      const found = this.decoder.get(token)
      if (special === undefined && found === undefined) throw new RangeError(`decode: tokens: ${token} is no token of the encoding`)
      if (special !== undefined) {
        flush()
        text += special
        continue
      }
      for (const [digits] of found.matchAll(/[0-9a-f]{2}|_/g)) bytes.push(digits === END_OF_WORD ? 32 : Number.parseInt(digits, 16))
    }
    flush()
    return text
  }

  _pieces (word) {
    const pieces = super._pieces(word)
    pieces.push(pieces.pop() + END_OF_WORD)
    return pieces
  }

  _rank (first, second) {
    return this._ranks.get(`${first} ${second}`) ?? Infinity
  }
}

/** The encoding of a file of merges: a line of a version, then pairs of texts. */
function clipOf (bytes) {
  const lines = new TextDecoder().decode(bytes).split('\n').slice(1, MERGES + 1).filter((line) => line !== '')
  const known = new Map(characters().map(([c, b]) => [c, b.toString(16).padStart(2, '0')]))
  const digits = (text) => {
    const isEnd = text.endsWith('</w>')
    return Array.from(isEnd ? text.slice(0, -4) : text, (c) => known.get(c)).join('') + (isEnd ? END_OF_WORD : '')
  }
  const encoder = new Map()
  for (const hex of known.values()) encoder.set(hex, encoder.size)
  for (const hex of known.values()) encoder.set(hex + END_OF_WORD, encoder.size)
  const ranks = new Map()
  lines.forEach((line, i) => {
    const pair = line.split(' ').map(digits)
    if (pair.length !== 2) throw new TypeError(`getBpe: line ${i + 2} of the merges: "${line}", expected two texts`)
    ranks.set(pair.join(' '), i)
    encoder.set(pair.join(''), 512 + i)
  })
  const first = 512 + lines.length
  return new ClipEncoding(encoder, { [START]: first, [END]: first + 1 }, ranks)
}

module.exports = { characters, clipOf }
