'use strict'
/** polygrad/loaders: SentencePiece's unigram models. */

const { show } = require('../arguments.js')

const SPACE = '\u2581' // stands for a space in pieces
const [NORMAL, UNKNOWN, , USER, , BYTE] = [1, 2, 3, 4, 5, 6]
const UNIGRAM = 1
const PENALTY = 10 // below the lowest score, for characters that no piece has

/** The fields of a message of Protocol Buffers: [number, value], numbers or bytes. */
function * fieldsOf (bytes, what) {
  let at = 0
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const need = (n) => {
    if (at + n > bytes.length) throw new TypeError(`Unigram.fromBinary: data: ${what} ends within a field`)
  }
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      need(1)
      const byte = bytes[at++]
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return Number(BigInt.asIntN(64, value))
      if (shift > 63n) throw new TypeError(`Unigram.fromBinary: data: ${what} has a number of more than 64 bits`)
    }
  }
  while (at < bytes.length) {
    const key = varint()
    const [number, kind] = [Math.floor(key / 8), key % 8]
    if (kind === 0) yield [number, varint()]
    else if (kind === 5) {
      need(4)
      yield [number, view.getFloat32(at, true)]
      at += 4
    } else if (kind === 1) {
      need(8)
      at += 8
    } else if (kind === 2) {
      const length = varint()
      if (length < 0) need(Infinity)
      need(length)
      yield [number, bytes.subarray(at, at + length)]
      at += length
    } else throw new TypeError(`Unigram.fromBinary: data: ${what} has a field of kind ${kind}, expected a message of Protocol Buffers`)
  }
}

const textOf = (bytes) => new TextDecoder().decode(bytes)

/** The pieces and the settings of a model. */
function modelOf (bytes) {
  const pieces = []
  const settings = { type: UNIGRAM, unk: 0, bos: 1, eos: 2, addDummyPrefix: true, removeExtraWhitespaces: true, normalizer: '' }
  for (const [number, value] of fieldsOf(bytes, 'the model')) {
    if (number === 1) {
      const piece = { piece: '', score: 0, type: NORMAL }
      for (const [key, own] of fieldsOf(value, 'a piece')) {
        if (key === 1) piece.piece = textOf(own)
        else if (key === 2) piece.score = own
        else if (key === 3) piece.type = own
      }
      pieces.push(piece)
    } else if (number === 2) {
      const names = { 3: 'type', 40: 'unk', 41: 'bos', 42: 'eos' }
      for (const [key, own] of fieldsOf(value, 'the trainer')) if (names[key] !== undefined) settings[names[key]] = own
    } else if (number === 3) {
      for (const [key, own] of fieldsOf(value, 'the normalizer')) {
        if (key === 1) settings.normalizer = textOf(own)
        else if (key === 3) settings.addDummyPrefix = own !== 0
        else if (key === 4) settings.removeExtraWhitespaces = own !== 0
      }
    }
  }
  return { pieces, settings }
}

/** The most likely pieces of texts. */
class Unigram {
  /** @param {object} model pieces and settings, as fromBinary reads them */
  constructor (model) {
    const { pieces, settings } = model
    if (settings.type !== UNIGRAM) throw new TypeError(`Unigram: the model is of type ${settings.type}, expected ${UNIGRAM}, unigram`)
    if (pieces.length === 0) throw new TypeError('Unigram: the model has no pieces')
    this._pieces = pieces
    this._settings = settings
    this._ids = new Map()
    this._bytes = new Map()
    let lowest = 0
    pieces.forEach(({ piece, score, type }, id) => {
      if (type === NORMAL || type === USER) {
        this._ids.set(piece, id)
        lowest = Math.min(lowest, score)
      } else if (type === BYTE) this._bytes.set(Number(piece.slice(1, -1)), id)
    })
    this._longest = Math.max(0, ...Array.from(this._ids.keys(), (piece) => piece.length))
    this._unknownScore = lowest - PENALTY
  }

  static fromBinary (data) {
    if (!(data instanceof Uint8Array)) throw new TypeError(`Unigram.fromBinary: data: ${show(data)}, expected bytes`)
    return new Unigram(modelOf(data))
  }

  get bosToken () {
    return this._settings.bos
  }

  get eosToken () {
    return this._settings.eos
  }

  get unkToken () {
    return this._settings.unk
  }

  get vocabSize () {
    return this._pieces.length
  }

  /** A text with the forms of characters and the spaces that pieces have. */
  _normalized (text) {
    const { normalizer, removeExtraWhitespaces, addDummyPrefix } = this._settings
    let out = normalizer === 'identity' ? text : text.normalize('NFKC').replace(/[\t\n\v\f\r]/g, ' ').replace(/\p{Cc}/gu, '')
    if (normalizer.endsWith('_cf')) out = out.toLowerCase()
    if (removeExtraWhitespaces) out = out.replace(/ +/g, ' ').replace(/^ | $/g, '')
    if (addDummyPrefix && out !== '') out = ` ${out}`
    return out.replaceAll(' ', SPACE)
  }

  encode (text) {
    if (typeof text !== 'string') throw new TypeError(`encode: text: ${show(text)}, expected a text`)
    return this.tokensOf(this._normalized(text))
  }

  /** The tokens of a text that is normalised. */
  tokensOf (given) {
    const n = given.length
    /** The best score of the text up to each place, and the last piece of it. */
    const best = new Float64Array(n + 1).fill(-Infinity)
    const from = Array(n + 1)
    best[0] = 0
    const reach = (start, end, id, score) => {
      if (best[start] + score <= best[end]) return
      best[end] = best[start] + score
      from[end] = [start, id]
    }
    for (let at = 0; at < n; at++) {
      if (best[at] === -Infinity) continue // within a character
      for (let end = at + 1; end <= Math.min(n, at + this._longest); end++) {
        const id = this._ids.get(given.slice(at, end))
        if (id === undefined) continue
        const { score, type } = this._pieces[id]
        reach(at, end, id, type === USER ? 0.1 * (end - at) : score)
      }
      const width = given.codePointAt(at) > 0xffff ? 2 : 1
      if (!this._ids.has(given.slice(at, at + width))) reach(at, at + width, null, this._unknownScore)
    }
    const tokens = []
    for (let end = n; end > 0;) {
      const [start, id] = from[end]
      if (id !== null) tokens.push([id])
      else tokens.push(this._unknown(given.slice(start, end), tokens))
      end = start
    }
    return tokens.reverse().flat()
  }

  /** The tokens of characters that no piece has: their bytes, or one for all that follow each other. */
  _unknown (text, after) {
    if (this._bytes.size > 0) return Array.from(new TextEncoder().encode(text), (byte) => this._bytes.get(byte))
    const next = after.at(-1)
    return next !== undefined && (next.length === 0 || next[0] === this.unkToken) ? [] : [this.unkToken]
  }

  decode (tokens) {
    let bytes = []
    let text = ''
    const flush = () => {
      text += textOf(Uint8Array.from(bytes))
      bytes = []
    }
    for (const token of tokens) {
      const found = this._pieces[token]
      if (found === undefined) throw new RangeError(`decode: tokens: ${show(token)}, expected 0 to ${this._pieces.length - 1}`)
      if (found.type === BYTE) {
        bytes.push(Number(found.piece.slice(1, -1)))
        continue
      }
      flush()
      if (found.type === UNKNOWN) text += ' \u2047 '
      else if (found.type === NORMAL || found.type === USER) text += found.piece
    }
    flush()
    const spaced = text.replaceAll(SPACE, ' ')
    return this._settings.addDummyPrefix ? spaced.replace(/^ /, '') : spaced
  }
}

/** The model of pieces and their scores, of which one stands for unknown characters. */
function piecesOf (vocabulary, unknown, hasBytes) {
  const isPiece = (entry) => Array.isArray(entry) && typeof entry[0] === 'string' && typeof entry[1] === 'number'
  if (!Array.isArray(vocabulary) || !vocabulary.every(isPiece)) {
    throw new TypeError(`vocab: ${show(vocabulary)}, expected a list of pieces and scores`)
  }
  const typeOf = (piece, id) => id === unknown ? UNKNOWN : hasBytes && /^<0x[0-9A-F]{2}>$/.test(piece) ? BYTE : NORMAL
  const pieces = vocabulary.map(([piece, score], id) => ({ piece, score, type: typeOf(piece, id) }))
  const none = { addDummyPrefix: false, removeExtraWhitespaces: false, normalizer: 'identity' }
  return { pieces, settings: { type: UNIGRAM, unk: unknown, bos: -1, eos: -1, ...none } }
}

module.exports = { Unigram, piecesOf }
