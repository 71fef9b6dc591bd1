'use strict'
/** polygrad/loaders: tokenizers, implemented by the library. */

const { lib, fail } = require('../library.js')
const { freeWith } = require('../handles.js')
const { taken } = require('../memory.js')
const { show, isOptions } = require('../arguments.js')
const { cachedFetch } = require('./cache.js')

const [SPECIAL, BYTES] = [1, 2] // flags of decoding
const utf8 = new TextEncoder()
const hexOf = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
const bytesOf = (hex) => Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16))

/** Throws the library's last error as an error of the class Kind. */
function refuse (Kind, who) {
  try {
    fail(who)
  } catch (error) {
    throw new Kind(error.message)
  }
}

/** Calls a function of the library that returns bytes, and writes their number to its last argument. */
function bytesBy (f, who, ...args) {
  const length = new BigInt64Array(1)
  const address = f(...args, length)
  return address === null ? refuse(RangeError, who) : taken(address, Number(length[0]))
}

const textOf = (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

/** Whether a value is an iterable or array-like object, which a string is not. */
const isSequence = (x) => typeof x === 'object' && x !== null && (Symbol.iterator in x || 'length' in x)

const MODES = ['all', 'none', 'refuse']

const isTextOrPair = (x) => typeof x === 'string' || (Array.isArray(x) && x.length === 2 && x.every((text) => typeof text === 'string'))

/** Token ids as an Int32Array; a number that does not fit is a RangeError. */
function idsOf (ids, who) {
  if (!isSequence(ids)) throw new TypeError(`${who}: tokens: ${show(ids)}, expected numbers of tokens`)
  return Int32Array.from(ids, (id) => {
    if (Number(id) !== (Number(id) | 0)) throw new RangeError(`${who}: tokens: ${show(id)} is no token of the tokenizer`)
    return Number(id)
  })
}

/** A tokenizer that is described by a file. */
class Tokenizer {
  /**
   * @param {object|string|Uint8Array} file a tokenizer.json, as text, bytes or parsed; or the bytes of a SentencePiece model, of a GGUF
   *   file, or of a list of ranks
   * @param {string} name what the file is, if its contents do not say it
   */
  constructor (file, name = '') {
    const given = isOptions(file) || Array.isArray(file) ? JSON.stringify(file) : file
    const bytes = typeof given === 'string' ? utf8.encode(given) : given
    if (!(bytes instanceof Uint8Array)) throw new TypeError(`Tokenizer: file: ${show(file)}, expected an object, a text or bytes`)
    if (typeof name !== 'string') throw new TypeError(`Tokenizer: name: ${show(name)}, expected a text`)
    this._handle = lib.poly_tokenizer_new(bytes, bytes.length, name)
    if (this._handle === 0) refuse(TypeError, 'Tokenizer')
    freeWith(this, lib.poly_tokenizer_free, this._handle)
  }

  /** A tokenizer of the text or bytes of a tokenizer.json. */
  static fromJSON (text) {
    if (typeof text !== 'string' && !(text instanceof Uint8Array)) {
      throw new TypeError(`Tokenizer.fromJSON: text: ${show(text)}, expected a text or bytes`)
    }
    return new Tokenizer(text)
  }

  get vocabSize () {
    return Number(lib.poly_tokenizer_size(this._handle))
  }

  get specialTokens () {
    return JSON.parse(textOf(bytesBy(lib.poly_tokenizer_special, 'specialTokens', this._handle)))
  }

  tokenToId (token) {
    if (typeof token !== 'string') throw new TypeError(`tokenToId: token: ${show(token)}, expected a text`)
    const bytes = utf8.encode(token)
    const id = Number(lib.poly_tokenizer_id(this._handle, bytes, bytes.length))
    return id < 0 ? undefined : id
  }

  idToToken (id) {
    const bytes = this._bytesOf(id)
    return bytes === null ? undefined : textOf(bytes)
  }

  /** The bytes of a token in the vocabulary, null if there is no such token. */
  _bytesOf (id) {
    if (!Number.isSafeInteger(id)) return null
    const length = new BigInt64Array(1)
    const address = lib.poly_tokenizer_token(this._handle, id, length)
    return address === null ? null : taken(address, Number(length[0]))
  }

  encode (text, options) {
    if (!isTextOrPair(text)) throw new TypeError(`encode: text: ${show(text)}, expected a text, or a pair of texts`)
    return this.encodeBatch([text], options)[0]
  }

  encodeBatch (texts, options = {}) {
    if (!isOptions(options)) throw new TypeError(`encode: options: ${show(options)}, expected an object`)
    const { addSpecialTokens = true, allowedSpecial = 'all', ...shape } = options
    if (!isSequence(texts)) throw new TypeError(`encodeBatch: texts: ${show(texts)}, expected texts`)
    if (typeof allowedSpecial === 'string' ? !MODES.includes(allowedSpecial) : !isSequence(allowedSpecial)) {
      throw new TypeError(`encode: allowedSpecial: ${show(allowedSpecial)}, expected "all", "none", "refuse" or texts`)
    }
    const given = Array.from(texts)
    const pairs = given.some((text) => Array.isArray(text))
    const wrong = given.find((text) => !isTextOrPair(text) || Array.isArray(text) !== pairs)
    if (wrong !== undefined || given.includes(undefined)) {
      throw new TypeError(`encodeBatch: texts: ${show(wrong)}, expected texts, or pairs of texts`)
    }
    const parts = given.flat().map((text) => utf8.encode(text))
    const lengths = BigInt64Array.from(parts, ({ length }) => BigInt(length))
    const all = new Uint8Array(parts.reduce((n, { length }) => n + length, 0))
    parts.reduce((at, part) => (all.set(part, at), at + part.length), 0)
    const counts = new BigInt64Array(given.length)
    const allowed = typeof allowedSpecial === 'string' ? allowedSpecial : [...allowedSpecial]
    const flags = (addSpecialTokens ? 1 : 0) + (pairs ? 2 : 0)
    const mode = JSON.stringify({ allowed, ...shape })
    const address = lib.poly_tokenizer_encode(this._handle, all, lengths, parts.length, flags, mode, counts)
    if (address === null) refuse(RangeError, 'encode')
    const ids = new Int32Array(taken(address, 4 * counts.reduce((n, m) => n + Number(m), 0)).buffer)
    let at = 0
    return Array.from(counts, (n) => Array.from(ids.subarray(at, at += Number(n))))
  }

  decode (ids, { skipSpecialTokens = true } = {}) {
    return textOf(this._decoded(ids, skipSpecialTokens ? 0 : SPECIAL))
  }

  decodeBytes (ids) {
    return this._decoded(ids, SPECIAL | BYTES)
  }

  _decoded (ids, flags) {
    const tokens = idsOf(ids, 'decode')
    return bytesBy(lib.poly_tokenizer_decode, 'decode', this._handle, tokens, tokens.length, flags)
  }

  stream (before = []) {
    return new TextStream(this, idsOf(before, 'stream'))
  }
}

/** Incremental decoding: each push returns the text of new tokens. */
class TextStream {
  constructor (tokenizer, before) {
    this._handle = lib.poly_text_stream_new(tokenizer._handle, before, before.length, 0)
    if (this._handle === 0) refuse(RangeError, 'stream')
    freeWith(this, lib.poly_text_stream_free, this._handle)
  }

  push (...ids) {
    const tokens = idsOf(ids, 'push')
    return textOf(bytesBy(lib.poly_text_stream_push, 'push', this._handle, tokens, tokens.length))
  }
}

/** Byte pair encoding by ranks: the pair with the lowest rank is merged first. Bytes are given in hexadecimal digits. */
class BpeEncoding {
  /**
   * @param {Map<string, number>} encoder tokens by their bytes in hexadecimal digits
   * @param {Record<string, number>} specialTokens tokens by their texts
   * @param {RegExp} regex matches the pieces into which texts are split before they are encoded
   */
  constructor (encoder, specialTokens, regex) {
    if (encoder instanceof Tokenizer) { // called by getBpe
      this._tokenizer = encoder
      this._allowed = specialTokens
      return
    }
    if (!(encoder instanceof Map)) throw new TypeError(`BpeEncoding: encoder: ${show(encoder)}, expected a Map`)
    if (!(regex instanceof RegExp)) throw new TypeError(`BpeEncoding: regex: ${show(regex)}, expected an expression`)
    const lines = Array.from(encoder, ([hex, token]) => `${globalThis.btoa(String.fromCharCode(...bytesOf(hex)))} ${token}\n`)
    const flags = (regex.ignoreCase ? 'i' : '') + (regex.dotAll ? 's' : '')
    const pattern = `(?${flags}:${regex.source})`
    this.regex = regex
    this._tokenizer = new Tokenizer(lines.join(''), JSON.stringify({ pattern, special: specialTokens }))
    this._allowed = []
  }

  get specialTokensEncoder () {
    return this._special ??= new Map(Object.entries(this._tokenizer.specialTokens))
  }

  get specialTokensDecoder () {
    return new Map(Array.from(this.specialTokensEncoder, ([text, token]) => [token, text]))
  }

  /** Bytes by token. The map is made on first use, by one call of the library per token. */
  get decoder () {
    if (this._decoder === undefined) {
      this._decoder = new Map()
      const special = this.specialTokensDecoder
      for (let id = 0; this._decoder.size + special.size < this._tokenizer.vocabSize; id++) {
        const bytes = special.has(id) ? null : this._tokenizer._bytesOf(id)
        if (bytes !== null) this._decoder.set(id, hexOf(bytes))
      }
    }
    return this._decoder
  }

  get encoder () {
    return this._encoder ??= new Map(Array.from(this.decoder, ([token, hex]) => [hex, token]))
  }

  specialTokens () {
    return new Set(this.specialTokensEncoder.keys())
  }

  encode (text, allowedSpecial = this._allowed) {
    return this._tokenizer.encode(text, { allowedSpecial })
  }

  encodeWithSpecialTokens (text) {
    return this.encode(text, 'all')
  }

  decodeBytes (tokens) {
    return this._tokenizer.decodeBytes(tokens)
  }

  decode (tokens) {
    return this._tokenizer.decode(tokens, { skipSpecialTokens: false })
  }
}

/** A unigram tokenizer of a SentencePiece model, which splits a text into its most likely pieces. */
class Unigram {
  constructor (tokenizer) {
    this._tokenizer = tokenizer
  }

  static fromBinary (data) {
    if (!(data instanceof Uint8Array)) throw new TypeError(`Unigram.fromBinary: data: ${show(data)}, expected bytes`)
    return new Unigram(new Tokenizer(data))
  }

  get bosToken () {
    return this._tokenizer.tokenToId('<s>') ?? -1
  }

  get eosToken () {
    return this._tokenizer.tokenToId('</s>') ?? -1
  }

  get unkToken () {
    return this._tokenizer.tokenToId('<unk>') ?? -1
  }

  get vocabSize () {
    return this._tokenizer.vocabSize
  }

  encode (text) {
    return this._tokenizer.encode(text)
  }

  decode (tokens) {
    return this._tokenizer.decode(tokens)
  }
}

/** The library maps names of vocabularies to URLs; a name with a slash is a model on the Hugging Face Hub. */
async function getBpe (name) {
  if (typeof name !== 'string') throw new TypeError(`getBpe: name: ${show(name)}, expected a text`)
  const url = textOf(bytesBy((length) => lib.poly_tokenizer_source(name, length), 'getBpe'))
  return new BpeEncoding(new Tokenizer(await cachedFetch(url), /[/:]/.test(name) ? '' : name), name === 'clip' ? 'all' : [])
}

async function loadSentencePiece (url) {
  return Unigram.fromBinary(await cachedFetch(url))
}

async function loadTokenizer (url) {
  return new Tokenizer(await cachedFetch(url))
}

const tokenizers = { BpeEncoding, Tokenizer, Unigram, getBpe, loadSentencePiece, loadTokenizer }

module.exports = { tokenizers }
