'use strict'
/** Variables: integers in shapes and indices that get their values when a program runs. */

const { lib, constants: c, fail, PolygradError } = require('./library.js')
const { CTX, ownNode, dropNode } = require('./handles.js')
const { setSizeReader } = require('./base.js')
const { get, small, string, show, integer } = require('./arguments.js')
const { inspect } = require('./host/node.js')

const TEXT = 4096
const NONE = -(2 ** 63)

// Three int64 that calls write: the bounds and the value of a size.
const written = new Int32Array(6)
const [low, high, result] = [written.subarray(0, 2), written.subarray(2, 4), written.subarray(4, 6)]

// SymInts by handle, so that equal sizes are one object.
const known = new Map()
const gone = new FinalizationRegistry((handle) => {
  if (known.get(handle)?.deref() === undefined) known.delete(handle)
})

/** A size as a number, if it is constant, or a SymInt. Takes over a reference to the handle. */
function ofHandle (handle) {
  if (handle === 0) fail()
  const same = known.get(handle)?.deref()
  if (same !== undefined) {
    lib.poly_uop_release(CTX, handle) // the reference that was taken over
    return same
  }
  const size = Object.create(SymInt.prototype)
  fill(size, handle)
  if (size.min === size.max) {
    dropNode(size, handle)
    return size.min
  }
  known.set(handle, new WeakRef(size))
  gone.register(size, handle)
  return size
}

function fill (size, handle) {
  ownNode(size, handle)
  const has = lib.poly_size_info(CTX, handle, low, high, result)
  if (has < 0) fail()
  Object.defineProperties(size, {
    _handle: { value: handle },
    _value: { value: has === 1 ? get(result, 0) : null },
    symbolicSize: { value: -handle },
    min: { value: get(low, 0), enumerable: true },
    max: { value: get(high, 0), enumerable: true }
  })
}

/** A number or a SymInt in the encoding of the library: a symbolic size is a negative handle. */
function sizeOf (value, what) {
  return value instanceof SymInt ? value.symbolicSize : integer(value, what)
}

function compute (op, a, b, what) {
  return ofHandle(lib.poly_size_op(CTX, op, sizeOf(a, what), sizeOf(b, what)))
}

class SymInt {
  constructor () {
    throw new TypeError('SymInt: sizes are made from a Variable')
  }

  get val () {
    if (this._value === null) throw new PolygradError(`val: ${this} has no value: bind its variables`)
    return this._value
  }

  get unbound () {
    return ofHandle(lib.poly_size_unbind(CTX, this._handle))
  }

  get variables () {
    const handle = this._handle
    const count = lib.poly_size_n_variables(CTX, handle)
    if (count < 0) fail()
    return new Map(Array.from({ length: count }, (_, i) => {
      const variable = lib.poly_size_variable(CTX, handle, i, result)
      const value = get(result, 0)
      return [ofHandle(variable), value === NONE ? null : value]
    }))
  }

  equals (other) {
    return other instanceof SymInt && other.symbolicSize === this.symbolicSize
  }

  neg () {
    return compute(c.POLY_SIZE_SUB, 0, this, 'neg')
  }

  /** A size is no number: an operator of JavaScript on it is an error, not NaN. */
  [Symbol.toPrimitive] (hint) {
    if (hint !== 'string') throw new TypeError(`${this} is no number: use its methods, or val`)
    return this.toString()
  }

  [inspect.custom] () {
    return `${this.constructor.name}(${this})`
  }

  /** The size as text: n*2+1, with values n=3. */
  toString () {
    const text = new Uint8Array(TEXT)
    const n = lib.poly_size_text(CTX, this._handle, text, TEXT)
    if (n < 0) fail()
    return new TextDecoder().decode(text.subarray(0, Math.min(n, TEXT - 1)))
  }
}

// Binary operations on sizes: floordiv rounds down, and its remainder, mod, has the sign of other.
const OPERATIONS = {
  add: c.POLY_SIZE_ADD,
  sub: c.POLY_SIZE_SUB,
  mul: c.POLY_SIZE_MUL,
  floordiv: c.POLY_SIZE_DIV,
  mod: c.POLY_SIZE_MOD,
  minimum: c.POLY_SIZE_MIN,
  maximum: c.POLY_SIZE_MAX
}
for (const [name, op] of Object.entries(OPERATIONS)) {
  SymInt.prototype[name] = function (other) { return compute(op, this, other, `${name}: other`) }
}

class Variable extends SymInt {
  /**
   * @param {string} name an identifier; the same name and bounds give the same variable
   * @param {number} min the least value
   * @param {number} max the greatest value
   */
  constructor (name, min, max) {
    string(name, 'Variable: name')
    if (!/^[A-Za-z_]\w*$/.test(name)) throw new PolygradError(`Variable: name: ${show(name)}, expected an identifier`)
    const variable = lib.poly_define_var(CTX, name, small(min, 'Variable: min'), small(max, 'Variable: max'))
    if (variable === 0) fail()
    const self = Object.create(new.target.prototype)
    const holder = {}
    ownNode(holder, variable)
    fill(self, lib.poly_size_op(CTX, c.POLY_SIZE_ADD, -variable, 0))
    Object.defineProperties(self, { name: { value: name, enumerable: true }, _variable: { value: variable }, _holder: { value: holder } })
    return self
  }

  bind (value) {
    const bound = lib.poly_bind_var(CTX, this._variable, integer(value, 'bind: value'))
    if (bound === 0) fail()
    try {
      return ofHandle(lib.poly_size_op(CTX, c.POLY_SIZE_ADD, -bound, 0))
    } finally {
      lib.poly_uop_release(CTX, bound)
    }
  }
}

/** A shape as numbers; its variables must be bound. */
function valuesOf (shape) {
  return shape.map((n) => n instanceof SymInt ? n.val : n)
}

setSizeReader((tensor, shape) => {
  const node = lib.poly_array_node(tensor._handle)
  try {
    shape.forEach((size, axis) => { if (size < 0) shape[axis] = ofHandle(lib.poly_size_of(CTX, node, axis)) })
  } finally {
    lib.poly_uop_release(CTX, node)
  }
})

module.exports = { SymInt, Variable, valuesOf, ofHandle }
