'use strict'
/** Texts that a language model continues, token by token. */

const { lib, fail, PolygradError } = require('./library.js')
const { floatsAt } = require('./memory.js')
const { takeSeed } = require('./random.js')
const { named, small, number, integer, get, show } = require('./arguments.js')
const { Instance } = require('./instance.js')

const registry = new FinalizationRegistry((handle) => lib.poly_generator_free(handle))

/**
 * Rows of tokens that a causal language model continues. It keeps what the model has to know of the
 * tokens so far (keys and values): each further token costs one pass over the weights. Models of
 * loadHf can continue any number of rows; others, such as a GPT-2 from a bundle, as many as they
 * have, and see all tokens again for each new one.
 */
class Generator {
  /** @param {Instance} instance the model; rows 0: as many as it has */
  constructor (instance, rows = 0) {
    if (!(instance instanceof Instance)) throw new TypeError(`Generator: instance: ${show(instance)}, expected an Instance`)
    this._handle = lib.poly_generator_new(instance._alive(), small(rows, 'Generator: rows'))
    if (this._handle === 0) fail()
    registry.register(this, this._handle, this)
    this._instance = instance // lives as long
    this.rows = Number(lib.poly_generator_rows(this._handle))
    this.vocab = Number(lib.poly_generator_vocab(this._handle))
    this.room = Number(lib.poly_generator_room(this._handle))
  }

  _alive () {
    if (this._handle === 0) throw new PolygradError('the generator was disposed')
    return this._handle
  }

  /**
   * How tokens are drawn; without, the most likely one is taken. temperature divides the logits, 0
   * takes the most likely token; topK > 0 draws among the k most likely ones, topP < 1 among the most
   * likely ones whose probabilities first sum up to p. The same seed draws the same tokens everywhere.
   */
  sampling (...args) {
    const { temperature, topK, topP, seed } = named('sampling', args, { temperature: 1, topK: 0, topP: 1, seed: 0 })
    if (lib.poly_generator_sampling(this._alive(), number(temperature, 'sampling: temperature'), small(topK, 'sampling: topK'),
      number(topP, 'sampling: topP'), BigInt.asUintN(64, BigInt(integer(seed, 'sampling: seed')))) !== 0) fail()
    return this
  }

  /** Appends tokens to each row. Only the first rows may be of different lengths. */
  feed (tokens) {
    const rows = rowsOf('feed', tokens)
    const flat = Int32Array.from(rows.flat())
    const lengths = Int32Array.from(rows, (row) => row.length)
    if (lib.poly_generator_feed(this._alive(), flat, lengths, rows.length) !== 0) fail()
    return this
  }

  /** Draws the next token of each row, appends and returns it. */
  next () {
    const out = new Int32Array(this.rows)
    if (lib.poly_generator_next(this._alive(), out, this.rows) !== 0) fail()
    return out
  }

  /** A copy of the logits of the tokens that come next, row by row. */
  logits () {
    const n = new Int32Array(2)
    const address = lib.poly_generator_logits(this._alive(), n)
    if (address === null) fail()
    return floatsAt(address, get(n, 0)).slice()
  }

  /** Forgets all tokens; random numbers begin anew. */
  reset () {
    if (lib.poly_generator_reset(this._alive()) !== 0) fail()
    return this
  }

  /** Ends the generator and its memory. */
  dispose () {
    if (this._handle === 0) return
    lib.poly_generator_free(this._handle)
    registry.unregister(this)
    this._handle = 0
  }
}
Generator.prototype[Symbol.dispose] = Generator.prototype.dispose

/** Rows of numbers, from one row or several. */
function rowsOf (fn, tokens) {
  const isRow = (x) => Array.isArray(x) || (ArrayBuffer.isView(x) && !(x instanceof DataView))
  if (!isRow(tokens)) throw new TypeError(`${fn}: tokens: ${show(tokens)}, expected numbers or rows of numbers`)
  const rows = (isRow(tokens[0]) ? Array.from(tokens) : [tokens])
  return rows.map((row) => {
    if (!isRow(row) || row.length === 0) throw new PolygradError(`${fn}: tokens: ${show(row)}, expected a row of at least 1 token`)
    return Array.from(row, (t) => small(t, `${fn}: tokens`))
  })
}

/**
 * Token sequences, one a row, continued by up to maxNewTokens tokens; rows may be of different
 * lengths. temperature 0 always takes the most likely token; topK > 0 chooses among the k most likely
 * ones, topP < 1 among the most likely ones whose probabilities first sum up to p. A row ends at
 * eosTokenId (a number or several), and is filled with it while others go on. onToken gets the new
 * tokens of all rows each time; what is true from it ends the generation. A model with room for T tokens sees the
 * last T. Draws depend on seed, which follows from Tensor.manualSeed if it is not given.
 */
function generate (instance, tokens, ...args) {
  const { onToken, ...options } = named('generate', args, { ...DEFAULTS, onToken: undefined })
  if (onToken !== undefined && typeof onToken !== 'function') {
    throw new TypeError(`generate: onToken: ${show(onToken)}, expected a function`)
  }
  const rows = rowsOf('generate', tokens)
  for (const step of steps('generate', instance, rows, options)) {
    rows.forEach((row, i) => row.push(step[i]))
    if (onToken !== undefined && onToken(step)) break
  }
  return rows
}

/** generate one step after the other: an iterator over the new tokens (Int32Array, one a row). */
function generateSteps (instance, tokens, ...args) {
  return steps('generateSteps', instance, rowsOf('generateSteps', tokens), named('generateSteps', args, DEFAULTS))
}

const DEFAULTS = { maxNewTokens: undefined, temperature: 1, topK: 0, topP: 1, seed: undefined, eosTokenId: undefined }

/** The new tokens of rows. Arguments are checked at once. */
function steps (fn, instance, rows, { maxNewTokens, temperature, topK, topP, seed, eosTokenId }) {
  small(maxNewTokens, `${fn}: maxNewTokens`)
  if (!(maxNewTokens >= 0 && number(temperature, `${fn}: temperature`) >= 0 && small(topK, `${fn}: topK`) >= 0)) {
    throw new RangeError(`${fn}: maxNewTokens, temperature and topK: expected 0 or more`)
  }
  const ends = new Set([eosTokenId ?? []].flat().map((t) => small(t, `${fn}: eosTokenId`)))
  const generator = new Generator(instance, rows.length)
  try {
    generator.sampling({ temperature, topK, topP, seed: seed ?? BigInt.asIntN(64, takeSeed()) })
    generator.feed(rows)
  } catch (error) {
    generator.dispose()
    throw error
  }
  return drawn(generator, maxNewTokens, ends)
}

function * drawn (generator, count, ends) {
  try {
    let last = null
    for (let i = 0; i < count; i++) {
      const step = generator.next()
      const before = last
      if (before !== null) step.forEach((_, k) => { if (ends.has(before[k])) step[k] = before[k] })
      last = step
      yield step.slice()
      if (step.every((t) => ends.has(t))) return
    }
  } finally {
    generator.dispose()
  }
}

module.exports = { Generator, generate, generateSteps }
