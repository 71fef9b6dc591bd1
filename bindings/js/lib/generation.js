'use strict'
/** Text generation: a language model continues rows of tokens, one token per row and step. */

const { lib, fail, PolygradError } = require('./library.js')
const { floatsAt } = require('./memory.js')
const { tidy } = require('./base.js')
const { Tensor } = require('./tensor.js')
const { named, small, number, integer, get, show } = require('./arguments.js')
const { freeWith, freed } = require('./handles.js')
const { Shown } = require('./shown.js')
const { Instance } = require('./instance.js')
const { Tokenizer, Writer } = require('./text.js')

/** A 64-bit seed (BigInt), drawn from the random stream of tensors. */
function takeSeed () {
  const [low, high] = tidy(() => Tensor.rand(2, { dtype: 'float32' }).bitcast('uint32').tolist())
  return BigInt.asIntN(64, BigInt(low) << 32n | BigInt(high))
}

function needInstance (fn, instance) {
  if (!(instance instanceof Instance)) throw new TypeError(`${fn}: instance: ${show(instance)}, expected an Instance`)
}

class Generator extends Shown {
  /** @param {Instance} instance the model; rows 0: as many as it has */
  constructor (instance, rows = 0) {
    needInstance('Generator', instance)
    super()
    this._handle = lib.poly_generator_new(instance._alive(), small(rows, 'Generator: rows'))
    if (this._handle === 0) fail()
    freeWith(this, lib.poly_generator_free, this._handle)
    this._instance = instance // must outlive the generator
    this.rows = Number(lib.poly_generator_rows(this._handle))
    this.vocab = Number(lib.poly_generator_vocab(this._handle))
    this.room = Number(lib.poly_generator_room(this._handle))
    // Whether all rows have ended.
    this._over = false
  }

  _alive () {
    if (this._handle === 0) throw new PolygradError('the generator was disposed')
    return this._handle
  }

  sampling (...args) {
    this._sample('sampling', named('sampling', args, { temperature: 1, topK: 0, topP: 1, seed: 0 }))
    return this
  }

  _sample (fn, { temperature, topK, topP, seed }) {
    const bits = BigInt.asUintN(64, typeof seed === 'bigint' ? seed : BigInt(integer(seed, `${fn}: seed`)))
    if (lib.poly_generator_sampling(this._alive(), number(temperature, `${fn}: temperature`), small(topK, `${fn}: topK`),
      number(topP, `${fn}: topP`), bits) !== 0) fail(fn)
  }

  feed (tokens) {
    const rows = rowsOf('feed', tokens)
    const flat = Int32Array.from(rows.flat())
    const lengths = Int32Array.from(rows, (row) => row.length)
    if (lib.poly_generator_feed(this._alive(), flat, lengths, rows.length) !== 0) fail()
    return this
  }

  next () {
    const out = new Int32Array(this.rows)
    const status = lib.poly_generator_next(this._alive(), out, this.rows)
    if (status < 0) fail()
    this._over = status === 1
    return out
  }

  async nextAsync () {
    const out = new Int32Array(this.rows)
    const status = await this._instance._later({ fn: lib.poly_generator_next, args: [this._alive(), out, this.rows], done: (code) => code })
    this._over = status === 1
    return out
  }

  logits () {
    const n = new Int32Array(2)
    const address = lib.poly_generator_logits(this._alive(), n)
    if (address === null) fail()
    return floatsAt(address, get(n, 0)).slice()
  }

  reset () {
    if (lib.poly_generator_reset(this._alive()) !== 0) fail()
    return this
  }

  /** Frees the generator. */
  dispose () {
    if (this._handle === 0) return
    lib.poly_generator_free(this._handle)
    freed(this)
    this._handle = 0
  }

  [Symbol.dispose] () {
    this.dispose()
  }
}

const isRow = (x) => Array.isArray(x) || (ArrayBuffer.isView(x) && !(x instanceof DataView))

/** A list of rows of tokens; a single row becomes a list of one. */
function rowsOf (fn, tokens) {
  if (!isRow(tokens)) throw new TypeError(`${fn}: tokens: ${show(tokens)}, expected numbers or rows of numbers`)
  const rows = (isRow(tokens[0]) ? Array.from(tokens) : [tokens])
  return rows.map((row) => {
    if (!isRow(row) || row.length === 0) throw new PolygradError(`${fn}: tokens: ${show(row)}, expected a row of at least 1 token`)
    return Array.from(row, (t) => small(t, `${fn}: tokens`))
  })
}

function generate (instance, tokens, ...args) {
  const { onToken, ...options } = optionsOf('generate', args, true)
  const run = new Run('generate', instance, tokens, options)
  for (const piece of run.steps()) {
    const end = onToken?.(piece)
    if (typeof end?.then === 'function') throw new TypeError('generate: onToken: returned a promise, expected a function that is not async')
    if (end) break
  }
  return run.whole()
}

async function generateAsync (instance, tokens, ...args) {
  const { onToken, ...options } = optionsOf('generateAsync', args, true)
  const run = new Run('generateAsync', instance, tokens, options)
  for await (const piece of run.stream()) if (await onToken?.(piece)) break
  return run.whole()
}

function generateSteps (instance, tokens, ...args) {
  return new Run('generateSteps', instance, tokens, optionsOf('generateSteps', args, false)).steps()
}

function generateStream (instance, tokens, ...args) {
  return new Run('generateStream', instance, tokens, optionsOf('generateStream', args, false)).stream()
}

const DEFAULTS = {
  maxNewTokens: undefined, temperature: 1, topK: 0, topP: 1, seed: undefined, eosTokenId: undefined, tokenizer: undefined
}

function optionsOf (fn, args, called) {
  const options = named(fn, args, called ? { ...DEFAULTS, onToken: undefined } : DEFAULTS)
  if (options.onToken !== undefined && typeof options.onToken !== 'function') {
    throw new TypeError(`${fn}: onToken: ${show(options.onToken)}, expected a function`)
  }
  return options
}

/** A generation in progress. The constructor checks the arguments, before the first step. */
class Run {
  constructor (fn, instance, tokens, { maxNewTokens, temperature, topK, topP, seed, eosTokenId, tokenizer }) {
    this._count = small(maxNewTokens, `${fn}: maxNewTokens`)
    const settings = { maxNewTokens: this._count, temperature: number(temperature, `${fn}: temperature`), topK: small(topK, `${fn}: topK`) }
    for (const [name, value] of Object.entries(settings)) {
      if (!(value >= 0)) throw new RangeError(`${fn}: ${name}: ${value}, expected 0 or more`)
    }
    this._alone = typeof tokens === 'string'
    this._texts = this._alone ? [tokens] : typeof tokens?.[0] === 'string' ? Array.from(tokens) : null
    if (this._texts === null) {
      this._rows = rowsOf(fn, tokens)
      this._alone = !isRow(tokens[0])
      this._writer = null
    } else {
      const words = new Tokenizer(fn, tokenizer)
      this._rows = this._texts.map((text) => words.encode(text))
      this._writer = new Writer(words, this._rows)
      eosTokenId ??= instance?.eosTokenIds
    }
    this._ends = new Set([eosTokenId ?? []].flat().map((t) => small(t, `${fn}: eosTokenId`)))
    needInstance(fn, instance)
    this._generator = new Generator(instance, this._rows.length)
    try {
      this._generator._sample(fn, { temperature, topK, topP, seed: seed ?? takeSeed() })
      this._generator.feed(this._rows)
      const ends = Int32Array.from(this._ends)
      if (lib.poly_generator_ends(this._generator._handle, ends, ends.length) !== 0) fail(fn)
    } catch (error) {
      this._generator.dispose()
      throw error
    }
  }

  * steps () {
    try {
      for (let i = 0; i < this._count && !this._generator._over; i++) yield this._take(this._generator.next())
      yield * this._rest()
    } finally {
      this._generator.dispose()
    }
  }

  async * stream () {
    try {
      for (let i = 0; i < this._count && !this._generator._over; i++) yield this._take(await this._generator.nextAsync())
      yield * this._rest()
    } finally {
      this._generator.dispose()
    }
  }

  /** Appends a new token to each row; returns the piece to yield: the tokens, or their text if the prompts are texts. */
  _take (step) {
    this._rows.forEach((row, k) => row.push(step[k]))
    return this._writer === null ? step.slice() : this._pieces(this._writer.write(step, this._ends))
  }

  _pieces (pieces) {
    this._texts = this._texts.map((text, k) => text + pieces[k])
    return this._alone ? pieces[0] : pieces
  }

  * _rest () {
    const rest = this._writer?.rest() ?? []
    if (rest.some((piece) => piece !== '')) yield this._pieces(rest)
  }

  /** The prompts with their continuations. */
  whole () {
    if (this._writer === null) return this._alone ? this._rows[0] : this._rows
    this._pieces(this._writer.rest()) // text held back when onToken ended the generation early
    return this._alone ? this._texts[0] : this._texts
  }
}

module.exports = { Generator, generate, generateAsync, generateSteps, generateStream }
