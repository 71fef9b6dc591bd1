'use strict'
/** Conversion of text to tokens and back, by the user's tokenizer. */

const { PolygradError } = require('./library.js')
const { small, show } = require('./arguments.js')

const CONTEXT = 8 // earlier tokens that may affect the text of new ones

/** Wraps a tokenizer: any object with encode and decode, such as one of @huggingface/tokenizers. */
class Tokenizer {
  constructor (fn, tokenizer) {
    if (typeof tokenizer?.encode !== 'function' || typeof tokenizer.decode !== 'function') {
      throw new TypeError(`${fn}: tokenizer: ${show(tokenizer)}, expected an object with encode and decode, as tokens is text`)
    }
    this._fn = fn
    this._tokenizer = tokenizer
  }

  /** The tokens of a text. */
  encode (text) {
    if (typeof text !== 'string') throw new TypeError(`${this._fn}: tokens: ${show(text)}, expected a text as the first one is`)
    const made = this._tokenizer.encode(text)
    const ids = made?.ids ?? made
    if (typeof ids?.length !== 'number') throw new TypeError(`${this._fn}: tokenizer: encode returns ${show(made)}, expected numbers`)
    if (ids.length === 0) throw new PolygradError(`${this._fn}: tokens: ${show(text)} has no tokens, expected at least 1`)
    return Array.from(ids, (id) => small(id, `${this._fn}: tokenizer: encode`))
  }

  /** The text of tokens, without special tokens. */
  decode (ids) {
    const text = this._tokenizer.decode(ids, { skip_special_tokens: true, skipSpecialTokens: true })
    if (typeof text !== 'string') throw new TypeError(`${this._fn}: tokenizer: decode returns ${show(text)}, expected a string`)
    return text
  }
}

/**
 * Incremental decoding of rows of tokens. A token may be a part of a character, and its text may depend on the tokens
 * before it: the last few tokens are decoded without and with the new one, and the difference is the new text.
 */
class Writer {
  constructor (tokenizer, rows) {
    this._tokenizer = tokenizer
    this._rows = rows.map((row) => ({ ids: row.slice(), first: Math.max(0, row.length - CONTEXT), written: row.length, ended: false }))
  }

  /** The new text of each row after one more token, '' while a character is incomplete; one of ends ends a row. */
  write (step, ends) {
    return this._rows.map((row, i) => {
      if (!(row.ended ||= ends.has(step[i]))) row.ids.push(step[i])
      return this._piece(row, false)
    })
  }

  /** The texts that were held back as incomplete. */
  rest () {
    return this._rows.map((row) => this._piece(row, true))
  }

  _piece (row, final) {
    const before = this._tokenizer.decode(row.ids.slice(row.first, row.written))
    const text = this._tokenizer.decode(row.ids.slice(row.first))
    if (text.length <= before.length || (text.endsWith('\ufffd') && !final)) return ''
    row.first = row.written
    row.written = row.ids.length
    return text.slice(before.length)
  }
}

module.exports = { Tokenizer, Writer }
