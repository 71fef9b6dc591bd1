'use strict'
/** Ways to make tensors. All of them are lazy. */

const { lib, fail } = require('./library.js')
const { CTX } = require('./handles.js')
const { describe, fits, byNodes } = require('./base.js')
const { operation, call1, sizesOf, finish } = require('./call.js')
const { SymInt } = require('./variable.js')
const { CREATION } = require('./methods.js')
const { Hashing } = require('./hashing.js')
const { named, shaped, list, integer, number, show } = require('./arguments.js')
const { toDType, types } = require('./dtype.js')

const FULL = operation('full')
const ARANGE = operation('arange')

/** A tensor of a shape filled with a value. */
function filled (fn, shape, value, dtype) {
  let type = dtype === null ? null : toDType(dtype)
  switch (typeof value) {
    case 'number':
      type ??= types.float32
      break
    case 'boolean':
      type ??= types.bool
      break
    case 'bigint':
      type ??= types.int64
      if (type !== types.uint64 || BigInt.asUintN(64, value) !== value) fits(value, `${fn}: value`)
      break
    default:
      throw new TypeError(`${fn}: value: ${show(value)}, expected a number`)
  }
  return call1(FULL, undefined, [sizesOf(shape, `${fn}: shape`), value, type])
}

/** Functions that make tensors. */
class Creation extends Hashing {
  /** A tensor filled with a value: float32 for numbers, bool for booleans, int64 for bigints. */
  static full (...args) {
    const options = named('full', args, { shape: undefined, fillValue: undefined, ...CREATION })
    return finish(filled('full', list(options.shape), options.fillValue, options.dtype), options)
  }

  /** A tensor with unspecified contents. */
  static empty (...args) {
    const options = shaped('empty', args, { shape: null, ...CREATION })
    return finish(filled('empty', options.shape, 0, options.dtype), options)
  }

  /** A tensor of the shape and type of this one, filled with a value. */
  fullLike (...args) {
    const options = named('fullLike', args, { fillValue: undefined, ...CREATION })
    const { shape, dtype } = describe(this)
    return finish(filled('fullLike', shape, options.fillValue, options.dtype ?? dtype.name), options)
  }

  /** Zeros of the shape and type of this tensor. */
  zerosLike (...args) {
    const options = named('zerosLike', args, CREATION)
    const { shape, dtype } = describe(this)
    return finish(filled('zerosLike', shape, 0, options.dtype ?? dtype.name), options)
  }

  /** A tensor of the shape and type of this one, whose contents do not matter. */
  emptyLike (...args) {
    return this.zerosLike(...args)
  }

  /** A tensor of the shape and type of this one, filled with a number that the type holds. */
  constLike (b) {
    return this.fullLike(b)
  }

  /** Ones of the shape and type of this tensor. */
  onesLike (...args) {
    const options = named('onesLike', args, CREATION)
    const { shape, dtype } = describe(this)
    return finish(filled('onesLike', shape, 1, options.dtype ?? dtype.name), options)
  }

  /**
   * start, start + step, … before stop: arange(stop, start?, step?). start is 0 and step 1 if they are
   * not given. Integers give int32, other numbers float32.
   */
  static arange (...args) {
    const options = named('arange', args, { stop: undefined, start: 0, step: 1, ...CREATION })
    const values = ['start', 'stop', 'step'].map((name) => {
      return options[name] instanceof SymInt ? options[name] : number(options[name], `arange: ${name}`)
    })
    const symbolic = values.some((v) => v instanceof SymInt)
    const dtype = toDType(options.dtype ?? (symbolic || values.every(Number.isInteger) ? 'int32' : 'float32'))
    const tensor = symbolic
      ? byNodes('poly_arange_size', 1, dtype.id, ...values.map((v) => integer(v, 'arange: start')))[0]
      : call1(ARANGE, undefined, [...values, dtype])
    return finish(tensor, options)
  }

  // Random numbers

  /** Begins the random stream again: equal seeds give equal numbers in every language. */
  static manualSeed (...args) {
    const { seed } = named('manualSeed', args, { seed: 0 })
    const bits = BigInt.asUintN(64, typeof seed === 'bigint' ? seed : BigInt(integer(seed, 'manualSeed: seed')))
    if (lib.poly_seed(CTX, bits) !== 0) fail()
  }

  /** Integers in [low, high): randint(low, high, shape) or randint(...shape, { low, high }). */
  static randint (...args) {
    const [low, high, shape, ...rest] = args
    return super.randint(...(Array.isArray(shape) ? [shape, { low, high, ...rest[0] }] : args))
  }

  /** rand of the shape and type of this tensor. */
  randLike (options = {}) {
    return this.constructor.rand(this.shape, { dtype: this.dtype, ...options })
  }

  /** randn of the shape and type of this tensor. */
  randnLike (options = {}) {
    return this.constructor.randn(this.shape, { dtype: this.dtype, ...options })
  }
}

module.exports = { Creation, CREATION }
