'use strict'
/** polygrad/loaders: tokens of byte pairs. */

const { show } = require('../arguments.js')

const hexOf = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
const bytesOf = (hex) => Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16))
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
const MOST_KNOWN = 100_000 // words whose tokens are remembered

/** Tokens of byte pairs by ranks: the pair of the lowest rank is merged first. Bytes are texts of hexadecimal digits. */
class BpeEncoding {
  /**
   * @param {Map<string, number>} encoder tokens by their bytes in hexadecimal digits
   * @param {Record<string, number>} specialTokens tokens by their texts
   * @param {RegExp} regex what texts are split into before they are encoded
   */
  constructor (encoder, specialTokens, regex) {
    if (!(encoder instanceof Map)) throw new TypeError(`BpeEncoding: encoder: ${show(encoder)}, expected a Map`)
    if (!(regex instanceof RegExp)) throw new TypeError(`BpeEncoding: regex: ${show(regex)}, expected an expression`)
    this.encoder = encoder
    this.specialTokensEncoder = new Map(Object.entries(specialTokens))
    this.decoder = new Map(Array.from(encoder, ([bytes, token]) => [token, bytes]))
    this.specialTokensDecoder = new Map(Array.from(this.specialTokensEncoder, ([text, token]) => [token, text]))
    this.regex = regex.global ? regex : new RegExp(regex.source, `${regex.flags}g`)
    const names = [...this.specialTokensEncoder.keys()].sort((a, b) => b.length - a.length)
    this.specialRegex = new RegExp(names.length === 0 ? '(?!)' : names.map(escaped).join('|'), 'gu')
    this._known = new Map()
  }

  specialTokens () {
    return new Set(this.specialTokensEncoder.keys())
  }

  encode (text, allowedSpecial = new Set()) {
    if (typeof text !== 'string') throw new TypeError(`encode: text: ${show(text)}, expected a text`)
    const given = this._beforeEncode(text)
    const tokens = []
    let at = 0
    const ordinary = (end) => {
      for (const [word] of given.slice(at, end).matchAll(this.regex)) tokens.push(...this._word(word))
    }
    for (const found of given.matchAll(this.specialRegex)) {
      if (!allowedSpecial.has(found[0])) continue
      ordinary(found.index)
      tokens.push(this.specialTokensEncoder.get(found[0]))
      at = found.index + found[0].length
    }
    ordinary(given.length)
    return this._afterEncode(tokens)
  }

  encodeWithSpecialTokens (text) {
    return this.encode(text, this.specialTokens())
  }

  decodeBytes (tokens) {
    const parts = this._beforeDecode(tokens).map((token) => {
      const special = this.specialTokensDecoder.get(token)
      const bytes = this.decoder.get(token)
      if (special === undefined && bytes === undefined) throw new RangeError(`decode: tokens: ${show(token)} is no token of the encoding`)
      return bytes === undefined ? new TextEncoder().encode(special) : bytesOf(bytes)
    })
    const out = new Uint8Array(parts.reduce((n, part) => n + part.length, 0))
    let at = 0
    for (const part of parts) {
      out.set(part, at)
      at += part.length
    }
    return out
  }

  decode (tokens) {
    return new TextDecoder().decode(this.decodeBytes(tokens))
  }

  _beforeEncode (text) {
    return text
  }

  _afterEncode (tokens) {
    return tokens
  }

  _beforeDecode (tokens) {
    return tokens
  }

  /** The bytes of a word, one by one, before they are merged. */
  _pieces (word) {
    return Array.from(new TextEncoder().encode(word), (b) => b.toString(16).padStart(2, '0'))
  }

  _word (word) {
    const known = this._known.get(word)
    if (known !== undefined) return known
    const pieces = this._pieces(word)
    const whole = this.encoder.get(pieces.join(''))
    const tokens = whole === undefined ? this._merged(pieces) : [whole]
    if (this._known.size < MOST_KNOWN) this._known.set(word, tokens)
    return tokens
  }

  /** The rank of a pair, Infinity if it is not merged. */
  _rank (first, second) {
    return this.encoder.get(first + second) ?? Infinity
  }

  /** Merges pairs, the lowest rank first. */
  _merged (pieces) {
    const parts = pieces.slice()
    const rankAt = (i) => i + 1 < parts.length ? this._rank(parts[i], parts[i + 1]) : Infinity
    const ranks = parts.map((_, i) => rankAt(i))
    for (;;) {
      let best = 0
      for (let i = 1; i < ranks.length; i++) if (ranks[i] < ranks[best]) best = i
      if (!(ranks[best] < Infinity)) break
      parts.splice(best, 2, parts[best] + parts[best + 1])
      ranks.splice(best, 1)
      ranks[best] = rankAt(best)
      if (best > 0) ranks[best - 1] = rankAt(best - 1)
    }
    return parts.map((part) => {
      const token = this.encoder.get(part)
      if (token === undefined) throw new RangeError(`encode: the bytes ${part} are no token of the encoding`)
      return token
    })
  }
}

module.exports = { BpeEncoding, bytesOf, hexOf }
