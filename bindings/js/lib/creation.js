'use strict'
/** Ways to make tensors. All of them are lazy. */

const { lib, constants: c } = require('./library.js')
const { CTX, describe } = require('./graph.js')
const { made, fits } = require('./base.js')
const { SymInt } = require('./variable.js')
const { Hashing } = require('./hashing.js')
const { named, shaped, list, integer, number, within, shape: shapeOf, show } = require('./arguments.js')
const { toDType, types } = require('./dtype.js')
const { Device } = require('./device.js')
const seeds = require('./random.js')

/** The options of every tensor that is made: its type, where it lives, whether it wants a gradient. */
const OPTIONS = { dtype: null, device: null, requiresGrad: null }

function finish (tensor, { device, requiresGrad }) {
  if (device !== null) Device.require(device)
  if (requiresGrad !== null) tensor.requiresGrad = requiresGrad
  return tensor
}

function floatId (dtype) {
  return dtype === null ? types.float32.id : toDType(dtype).id
}

/** A tensor of a shape filled with a value. */
function filled (fn, shape, value, dtype) {
  const sizes = shapeOf(shape, `${fn}: shape`)
  let type = dtype === null ? null : toDType(dtype)
  let handle
  switch (typeof value) {
    case 'number':
      type ??= types.float32
      // An integer type takes an integer as it is, all bits of it.
      handle = type.isInt && Number.isSafeInteger(value)
        ? lib.poly_full_int_by_id(CTX, type.id, sizes, shape.length, value)
        : lib.poly_full_by_id(CTX, type.id, sizes, shape.length, value)
      break
    case 'boolean':
      handle = lib.poly_full_int_by_id(CTX, (type ?? types.bool).id, sizes, shape.length, value ? 1 : 0)
      break
    case 'bigint':
      type ??= types.int64
      handle = lib.poly_full_int_by_id(CTX, type.id, sizes, shape.length, type === types.uint64 && BigInt.asUintN(64, value) === value
        ? BigInt.asIntN(64, value)
        : fits(value, `${fn}: value`))
      break
    default:
      throw new TypeError(`${fn}: value: ${show(value)}, expected a number`)
  }
  return made(handle, [])
}

/** Functions that make tensors. */
class Creation extends Hashing {
  /** A tensor filled with a value: float32 for numbers, bool for booleans, int64 for bigints. */
  static full (...args) {
    const options = named('full', args, { shape: undefined, fillValue: undefined, ...OPTIONS })
    return finish(filled('full', list(options.shape), options.fillValue, options.dtype), options)
  }

  /** A tensor of zeros. */
  static zeros (...args) {
    const options = shaped('zeros', args, { shape: null, ...OPTIONS })
    return finish(filled('zeros', options.shape, 0, options.dtype), options)
  }

  /** A tensor of ones. */
  static ones (...args) {
    const options = shaped('ones', args, { shape: null, ...OPTIONS })
    return finish(filled('ones', options.shape, 1, options.dtype), options)
  }

  /** A tensor with unspecified contents. */
  static empty (...args) {
    const options = shaped('empty', args, { shape: null, ...OPTIONS })
    return finish(filled('empty', options.shape, 0, options.dtype), options)
  }

  /** A tensor of the shape and type of this one, filled with a value. */
  fullLike (...args) {
    const options = named('fullLike', args, { fillValue: undefined, ...OPTIONS })
    const { shape, dtype } = describe(this._node)
    return finish(filled('fullLike', shape, options.fillValue, options.dtype ?? dtype.name), options)
  }

  /** Zeros of the shape and type of this tensor. */
  zerosLike (...args) {
    const options = named('zerosLike', args, OPTIONS)
    const { shape, dtype } = describe(this._node)
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
    const options = named('onesLike', args, OPTIONS)
    const { shape, dtype } = describe(this._node)
    return finish(filled('onesLike', shape, 1, options.dtype ?? dtype.name), options)
  }

  /**
   * start, start + step, … before stop: arange(stop, start?, step?). start is 0 and step 1 if they are
   * not given. Integers give int32, other numbers float32.
   */
  static arange (...args) {
    const options = named('arange', args, { stop: undefined, start: 0, step: 1, ...OPTIONS })
    const values = [options.start, options.stop, options.step]
    if (values.some((v) => v instanceof SymInt)) {
      const sizes = ['start', 'stop', 'step'].map((name, i) => integer(values[i], `arange: ${name}`))
      return finish(made(lib.poly_arange_size(CTX, toDType(options.dtype ?? 'int32').id, ...sizes), []), options)
    }
    const dtype = options.dtype ?? (values.every(Number.isInteger) ? 'int32' : 'float32')
    ;['start', 'stop', 'step'].forEach((name, i) => number(values[i], `arange: ${name}`))
    return finish(made(lib.poly_arange_by_id(CTX, toDType(dtype).id, ...values), []), options)
  }

  /** steps values from start to stop, both included. */
  static linspace (...args) {
    const options = named('linspace', args, { start: undefined, stop: undefined, steps: undefined, ...OPTIONS })
    return finish(made(lib.poly_linspace_by_id(CTX, floatId(options.dtype), number(options.start, 'linspace: start'),
      number(options.stop, 'linspace: stop'), integer(options.steps, 'linspace: steps')), []), options)
  }

  /** The identity matrix, n rows and m (n, if it is not given) columns. */
  static eye (...args) {
    const options = named('eye', args, { n: undefined, m: null, ...OPTIONS })
    return finish(made(lib.poly_eye_by_id(CTX, floatId(options.dtype), integer(options.n, 'eye: n'),
      integer(options.m ?? options.n, 'eye: m')), []), options)
  }

  // Random numbers

  /** Makes the random tensors that follow repeatable. */
  static manualSeed (...args) {
    seeds.manualSeed(named('manualSeed', args, { seed: 0 }).seed)
  }

  /** Numbers that are uniform in [0, 1). */
  static rand (...args) {
    const options = shaped('rand', args, { shape: null, ...OPTIONS })
    return random('rand', 'poly_rand_seeded', sizeOf(options.dtype), [], options)
  }

  /** Numbers of the standard normal distribution; integers are rounded to zero. */
  static randn (...args) {
    const options = shaped('randn', args, { shape: null, ...OPTIONS })
    return random('randn', 'poly_randn_seeded', 8, [], options)
  }

  /** Integers in [low, high): randint(low, high, shape) or randint(...shape, { low, high }). */
  static randint (...args) {
    const defaults = { shape: null, low: 0, high: 10, ...OPTIONS }
    const options = args.length >= 3 && Array.isArray(args[2])
      ? { ...named('randint', args.slice(3), defaults), low: args[0], high: args[1], shape: args[2] }
      : shaped('randint', args, defaults)
    const between = [integer(options.low, 'randint: low'), integer(options.high, 'randint: high')]
    return random('randint', 'poly_randint_seeded', rangeSize(...between), between, { ...options, dtype: options.dtype ?? 'int32' })
  }

  /** Numbers that are uniform in [low, high); an integer type takes whole bounds and draws integers. */
  static uniform (...args) {
    const options = shaped('uniform', args, { shape: null, low: 0, high: 1, ...OPTIONS })
    const between = [number(options.low, 'uniform: low'), number(options.high, 'uniform: high')]
    const isInt = options.dtype !== null && toDType(options.dtype).isInt
    return random('uniform', 'poly_uniform_seeded', isInt ? rangeSize(...between) : Math.max(4, sizeOf(options.dtype)), between, options)
  }

  /** Numbers of the normal distribution with a mean and a deviation. */
  static normal (...args) {
    const options = shaped('normal', args, { shape: null, mean: 0, std: 1, ...OPTIONS })
    return random('normal', 'poly_normal_seeded', 8, [number(options.mean, 'normal: mean'), number(options.std, 'normal: std')], options)
  }

  /** Numbers uniform in ±1/sqrt(number of elements). */
  static scaledUniform (...args) {
    return initial('scaledUniform', c.POLY_INIT_SCALED_UNIFORM, args)
  }

  /** Numbers by Glorot and Bengio's rule for weights of shape (out, in, …). */
  static glorotUniform (...args) {
    return initial('glorotUniform', c.POLY_INIT_GLOROT_UNIFORM, args)
  }

  /** Uniform numbers by He's rule for weights of shape (out, in, …); a is the slope of a leaky relu. */
  static kaimingUniform (...args) {
    return initial('kaimingUniform', c.POLY_INIT_KAIMING_UNIFORM, args)
  }

  /** Normal numbers by He's rule for weights of shape (out, in, …). */
  static kaimingNormal (...args) {
    return initial('kaimingNormal', c.POLY_INIT_KAIMING_NORMAL, args)
  }

  /** The numbers 0 to n-1 in random order. */
  static randperm (...args) {
    const options = named('randperm', args, { n: undefined, ...OPTIONS })
    const n = integer(options.n, 'randperm: n')
    const seed = seeds.nextSeed(seeds.wordsOf([n]))
    return finish(made(lib.poly_randperm_seeded(CTX, toDType(options.dtype ?? 'int32').id, n, seed.handle), [seed]), options)
  }

  /** Places drawn by weights along the last axis. */
  multinomial (...args) {
    const { numSamples, replacement } = named('multinomial', args, { numSamples: 1, replacement: false })
    const n = integer(numSamples, 'multinomial: numSamples')
    const { shape } = describe(this._node)
    const seed = seeds.nextSeed(seeds.wordsOf(replacement || Number(n) === 1 ? [...shape.slice(0, -1), n] : shape))
    return made(lib.poly_multinomial(CTX, this._node.handle, n, replacement ? 1 : 0, seed.handle), [this._node, seed])
  }

  /** rand of the shape and type of this tensor. */
  randLike (options = {}) {
    return this.constructor.rand(this.shape, { dtype: this.dtype, ...options })
  }

  /** randn of the shape and type of this tensor. */
  randnLike (options = {}) {
    return this.constructor.randn(this.shape, { dtype: this.dtype, ...options })
  }

  /** Elements set to 0 with probability p and the others scaled, if Tensor.training. */
  dropout (...args) {
    const { p } = named('dropout', args, { p: 0.5 })
    within(p, 0, 1, 'dropout: p')
    if (!this.constructor.training || p === 0) return this
    const seed = seeds.nextSeed(seeds.wordsOf(describe(this._node).shape))
    return made(lib.poly_dropout(CTX, this._node.handle, p, seed.handle), [this._node, seed])
  }
}

/** The number of bytes of an element. */
function sizeOf (dtype) {
  return toDType(dtype ?? 'float32').Array.BYTES_PER_ELEMENT
}

/** The bytes of randomness that an integer in a range takes. */
function rangeSize (low, high) {
  return Number(high) - Number(low) <= 2 ** 23 ? 4 : 8
}

/** A random tensor whose elements take a number of bytes of randomness each. */
function random (fn, name, each, between, options) {
  const { shape } = options
  const seed = seeds.nextSeed(seeds.wordsOf(shape, each))
  const handle = lib[name](CTX, floatId(options.dtype), shapeOf(shape, `${fn}: shape`), shape.length, ...between, seed.handle)
  return finish(made(handle, [seed]), options)
}

function initial (fn, scheme, args) {
  const options = shaped(fn, args, { shape: null, a: 0.01, ...OPTIONS })
  const each = scheme === c.POLY_INIT_KAIMING_NORMAL ? 8 : Math.max(4, sizeOf(options.dtype))
  const seed = seeds.nextSeed(seeds.wordsOf(options.shape, each))
  const handle = lib.poly_init_seeded(CTX, scheme, floatId(options.dtype), shapeOf(options.shape, `${fn}: shape`),
    options.shape.length, number(options.a, `${fn}: a`), seed.handle)
  return finish(made(handle, [seed]), options)
}

module.exports = { Creation, CREATION: OPTIONS, finish }
