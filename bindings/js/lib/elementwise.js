'use strict'
/** Tensor methods that work element by element. */

const { lib, constants: c } = require('./library.js')
const { CTX } = require('./graph.js')
const { Base, wrap, made, operand, isWhole, fits, tidy } = require('./base.js')
const { named } = require('./arguments.js')
const { Methods } = require('./methods.js')

const { poly_binary, poly_binary_float, poly_binary_int, poly_binary_bool } = lib

const REVERSE = { reverse: false }

/** Arithmetic, comparisons, functions and activations. */
class Elementwise extends Methods {
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

  /** x where self is true, y elsewhere. */
  where (x, y) {
    const like = x instanceof Base ? x : y instanceof Base ? y : this.constructor.from(x)
    const first = operand(x, like, 'where: x')
    const second = operand(y, like, 'where: y')
    return made(lib.poly_where_op(CTX, this._node.handle, first.handle, second.handle), [this._node, first, second])
  }

  /** clamp(min, max). */
  clip (...args) {
    return this.clamp(...args)
  }

  /** Whether isclose holds everywhere; computed at once. */
  allclose (other, ...args) {
    return tidy(() => this.isclose(wrap(operand(other, this, 'allclose: other')), ...args).all().item())
  }
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
  ne: c.POLY_NE
}
for (const [name, op] of Object.entries(BINARY)) {
  const what = `${name}: x`
  define(name, function (x, ...args) {
    const swapped = args.length > 0 && named(name, args, REVERSE).reverse ? 1 : 0
    return this._with(op, x, swapped, what)
  })
}

module.exports = { Elementwise }
