'use strict'
/** Tensor methods that work element by element. */

const { lib, constants: c } = require('./library.js')
const { CTX } = require('./graph.js')
const { Base, made, view, nodeOf, handleOf, present, operand, isWhole, fits, tidy } = require('./base.js')
const { named, number, choice } = require('./arguments.js')
const { toDType } = require('./dtype.js')

const { poly_binary, poly_binary_float, poly_binary_int, poly_binary_bool } = lib

const REVERSE = { reverse: false }
const ROUNDING = { floor: c.POLY_FLOORDIV, trunc: c.POLY_TRUNCDIV }

/** Arithmetic, comparisons, functions and activations. */
class Elementwise extends Base {
  /** Combines the tensor and an operand, or (swapped) the operand and the tensor. */
  _with (op, other, swapped, what) {
    const node = this._node
    switch (typeof other) {
      case 'number':
        return made(isWhole(other)
          ? poly_binary_int(CTX, op, node.handle, other, swapped)
          : poly_binary_float(CTX, op, node.handle, other, swapped), [node])
      case 'boolean':
        return made(poly_binary_bool(CTX, op, node.handle, other ? 1 : 0, swapped), [node])
      case 'bigint':
        return made(poly_binary_int(CTX, op, node.handle, fits(other, what), swapped), [node])
    }
    const second = operand(other, this, what)
    return made(swapped
      ? poly_binary(CTX, op, second.handle, node.handle)
      : poly_binary(CTX, op, node.handle, second.handle), [node, second])
  }

  // Arithmetic

  /** self / x; roundingMode 'floor' or 'trunc' rounds the quotient. */
  div (x, ...args) {
    const { reverse, roundingMode } = named('div', args, { reverse: false, roundingMode: null })
    const op = roundingMode === null ? c.POLY_DIV : choice(ROUNDING, roundingMode, 'div: roundingMode')
    return this._with(op, x, reverse ? 1 : 0, 'div: x')
  }

  /** self + (end - self) * weight. */
  lerp (end, weight) {
    const to = nodeOf(end, 'lerp: end')
    const by = operand(weight, this, 'lerp: weight')
    return made(lib.poly_lerp(CTX, this._node.handle, to.handle, by.handle), [this._node, to, by])
  }

  // Choices

  /** x where self is true, y elsewhere. */
  where (x, y) {
    const like = x instanceof Base ? x : y instanceof Base ? y : this.constructor.from(x)
    const first = operand(x, like, 'where: x')
    const second = operand(y, like, 'where: y')
    return made(lib.poly_where_op(CTX, this._node.handle, first.handle, second.handle), [this._node, first, second])
  }

  /** self with value where mask is true. */
  maskedFill (mask, ...args) {
    const { value } = named('maskedFill', args, { value: 0 })
    const where = nodeOf(mask, 'maskedFill: mask')
    const fill = operand(value, this, 'maskedFill: value')
    return made(lib.poly_where_op(CTX, where.handle, fill.handle, this._node.handle), [where, fill, this._node])
  }

  /** self with values below min and above max, numbers or tensors, replaced by these. */
  clamp (...args) {
    const { min, max } = named('clamp', args, { min: null, max: null })
    if (min === null && max === null) throw new TypeError('clamp: min and max are both missing')
    const node = this._node
    if ([min, max].some((end) => end instanceof Base || typeof end === 'bigint')) {
      const low = min === null ? null : operand(min, this, 'clamp: min')
      const high = max === null ? null : operand(max, this, 'clamp: max')
      return made(lib.poly_clip(CTX, node.handle, handleOf(low), handleOf(high)), present(node, low, high))
    }
    const low = min === null ? -Infinity : number(min, 'clamp: min')
    const high = max === null ? Infinity : number(max, 'clamp: max')
    return made(lib.poly_clamp(CTX, node.handle, low, high), [node])
  }

  /** clamp(min, max). */
  clip (...args) {
    return this.clamp(...args)
  }

  /** Where self and other differ by at most atol + rtol * |other|. */
  isclose (other, ...args) {
    return closeness(this, 'isclose', other, args)
  }

  /** Whether isclose holds everywhere; computed at once. */
  allclose (other, ...args) {
    return tidy(() => closeness(this, 'allclose', other, args).item())
  }

  // Types

  /** The tensor in another data type. */
  cast (...args) {
    const { dtype } = named('cast', args, { dtype: null })
    return made(lib.poly_cast_by_id(CTX, this._node.handle, toDType(dtype).id), [this._node])
  }

  /** The same bits read as another data type. */
  bitcast (...args) {
    const { dtype } = named('bitcast', args, { dtype: null })
    return view(lib.poly_bitcast_by_id(CTX, this._node.handle, toDType(dtype).id), this._node)
  }
}

function closeness (self, fn, other, args) {
  const { rtol, atol, equalNan } = named(fn, args, { rtol: 1e-5, atol: 1e-8, equalNan: false })
  const second = operand(other, self, `${fn}: other`)
  return made(lib[`poly_${fn}`](CTX, self._node.handle, second.handle, number(rtol, `${fn}: rtol`),
    number(atol, `${fn}: atol`), equalNan ? 1 : 0), [self._node, second])
}

function define (name, value) {
  Object.defineProperty(value, 'name', { value: name })
  Object.defineProperty(Elementwise.prototype, name, { value, writable: true, configurable: true })
}

// Methods of two operands by the library's number of the operation; { reverse: true } swaps them.
const BINARY = {
  add: c.POLY_ADD,
  sub: c.POLY_SUB,
  mul: c.POLY_MUL,
  floordiv: c.POLY_FLOORDIV,
  idiv: c.POLY_TRUNCDIV,
  mod: c.POLY_MOD,
  fmod: c.POLY_TRUNCMOD,
  pow: c.POLY_POW,
  maximum: c.POLY_MAXIMUM,
  minimum: c.POLY_MINIMUM,
  lt: c.POLY_LT,
  le: c.POLY_LE,
  gt: c.POLY_GT,
  ge: c.POLY_GE,
  eq: c.POLY_EQ,
  ne: c.POLY_NE,
  bitwiseAnd: c.POLY_AND,
  bitwiseOr: c.POLY_OR,
  bitwiseXor: c.POLY_XOR,
  lshift: c.POLY_SHL,
  rshift: c.POLY_SHR,
  logaddexp: c.POLY_LOGADDEXP,
  copysign: c.POLY_COPYSIGN,
  atan2: c.POLY_ATAN2,
  hypot: c.POLY_HYPOT
}
for (const [name, op] of Object.entries(BINARY)) {
  const what = `${name}: x`
  define(name, function (x, ...args) {
    const swapped = args.length > 0 && named(name, args, REVERSE).reverse ? 1 : 0
    return this._with(op, x, swapped, what)
  })
}

// Methods without arguments by the function of the library.
const UNARY = {
  exp: 'poly_exp',
  exp2: 'poly_exp2',
  expm1: 'poly_expm1',
  log: 'poly_log',
  log2: 'poly_log2',
  log10: 'poly_log10',
  log1p: 'poly_log1p',
  sqrt: 'poly_sqrt',
  rsqrt: 'poly_rsqrt',
  reciprocal: 'poly_reciprocal',
  square: 'poly_square',
  neg: 'poly_neg',
  abs: 'poly_abs',
  sign: 'poly_sign',
  sin: 'poly_sin',
  cos: 'poly_cos',
  tan: 'poly_tan',
  asin: 'poly_asin',
  acos: 'poly_acos',
  atan: 'poly_atan',
  sinh: 'poly_sinh',
  cosh: 'poly_cosh',
  tanh: 'poly_tanh_act',
  asinh: 'poly_asinh',
  acosh: 'poly_acosh',
  atanh: 'poly_atanh',
  ceil: 'poly_ceil',
  floor: 'poly_floor',
  trunc: 'poly_trunc',
  round: 'poly_round_f',
  isnan: 'poly_isnan',
  isinf: 'poly_isinf',
  isfinite: 'poly_isfinite',
  logicalNot: 'poly_logical_not',
  bitwiseNot: 'poly_bitwise_not',
  erf: 'poly_erf',
  erfc: 'poly_erfc',
  erfinv: 'poly_erfinv',
  ndtri: 'poly_ndtri',
  lgamma: 'poly_lgamma',
  digamma: 'poly_digamma',
  relu: 'poly_relu',
  relu6: 'poly_relu6',
  sigmoid: 'poly_sigmoid',
  logsigmoid: 'poly_logsigmoid',
  gelu: 'poly_gelu',
  quickGelu: 'poly_quick_gelu',
  silu: 'poly_silu',
  swish: 'poly_silu',
  mish: 'poly_mish',
  hardswish: 'poly_hardswish',
  softsign: 'poly_softsign',
  contiguous: 'poly_contiguous',
  contiguousBackward: 'poly_contiguous_backward'
}
for (const [name, fn] of Object.entries(UNARY)) {
  let call = null // found when it is first used
  define(name, function () {
    call ??= lib[fn]
    const node = this._node
    return made(call(CTX, node.handle), [node])
  })
}

// Methods whose arguments are numbers: the function of the library and their defaults in its order.
const NUMERIC = {
  leakyRelu: ['poly_leaky_relu', { negSlope: 0.01 }],
  elu: ['poly_elu', { alpha: 1 }],
  celu: ['poly_celu', { alpha: 1 }],
  selu: ['poly_selu', { alpha: 1.67326, gamma: 1.0507 }],
  softplus: ['poly_softplus', { beta: 1 }],
  hardsigmoid: ['poly_hardsigmoid_by', { alpha: 1 / 6, beta: 0.5 }],
  hardtanh: ['poly_hardtanh', { minVal: -1, maxVal: 1 }]
}
for (const [name, [fn, defaults]] of Object.entries(NUMERIC)) {
  define(name, function (...args) {
    const values = named(name, args, defaults)
    const numbers = Object.keys(defaults).map((key) => number(values[key], `${name}: ${key}`))
    return made(lib[fn](CTX, this._node.handle, ...numbers), [this._node])
  })
}

// Casts that have a name of their own.
const CASTS = {
  float: 'float32', double: 'float64', half: 'float16', bfloat16: 'bfloat16', short: 'int16', int: 'int32', long: 'int64', bool: 'bool'
}
for (const [name, dtype] of Object.entries(CASTS)) {
  define(name, function () {
    return this.cast(dtype)
  })
}

module.exports = { Elementwise }
