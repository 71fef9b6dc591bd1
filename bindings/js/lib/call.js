'use strict'
/** Calls operations of the library by name. Arguments are packed as tagged values: their JavaScript types choose the tags. */

const { lib, engine, find, fail, camel, PolygradError } = require('./library.js')
const { CTX } = require('./handles.js')
const { Base, made, handleOf, operandOf, fits } = require('./base.js')
const { DType, toDType } = require('./dtype.js')
const { put, get, show, isComplex, isOptions, named, namedOf, ordered } = require('./arguments.js')
const { Device } = require('./device.js')
const { utf8 } = require('./host/node.js')

const numbers = new Map()

/** The number of an operation. */
function operation (name) {
  const known = numbers.get(name)
  if (known !== undefined) return known
  const number = lib.poly_op(name)
  if (number < 0) fail()
  numbers.set(name, number)
  return number
}

// PolyCallKind.
const [NONE, BOOL, INT, UINT, FLOAT, TENSOR, SIZE, DTYPE] = Array(8).keys()
const CHARS = 9
const LIST = 10
const SLICE = 14
const ELLIPSIS = 15
const COMPLEX = 17

/** A slice in an index expression. */
class Slice {
  constructor (bounds) {
    this.bounds = bounds
  }
}

/** '...' in an index expression. */
const REST = Symbol('...')

// These take plain addresses, so a call need not look up the address of a typed array.
const callAt = find('poly_array_call', 'int', ['uintptr_t', 'int', 'uintptr_t', 'int', 'uintptr_t', 'int'])
const binaryAt = find('poly_array_binary', 'uintptr_t', ['int', 'uintptr_t', 'uintptr_t'])
const numberAt = find('poly_array_binary_number', 'uintptr_t', ['int', 'uintptr_t', 'uintptr_t', 'int'])

// Arguments are PolyCallArg: kind, count, and eight bytes. Calls are synchronous, so all of them pack into one block.
const WORD = 16
let block
let room = 0
let at = 0 // number of PolyCallArgs packed so far

function grow (arguments_) {
  const before = block
  room = arguments_
  block = engine.block(WORD * room)
  if (before !== undefined) block.bytes.set(before.bytes)
  before?.free()
}
grow(64)

/** Appends a PolyCallArg: a whole argument, or the header of one that spans several. */
function add (kind, n, value) {
  if (at === room) grow(2 * room)
  const { ints } = block
  ints[4 * at] = kind
  ints[4 * at + 1] = n
  if (typeof value === 'number' && value === (value | 0)) {
    ints[4 * at + 2] = value
    ints[4 * at + 3] = value >> 31
  } else {
    put(ints, 2 * at + 1, value)
  }
  at++
}

// The operation and the parameter whose argument is packed, for errors.
let packing = null
let parameter = 0

function whose () {
  return packing === null ? '' : `${packing.title}: ${packing.params[parameter]}: `
}

/** Appends an argument; its JavaScript type chooses the kind. */
function pack (value) {
  switch (typeof value) {
    case 'number':
      if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
        add(INT, 0, value)
      } else {
        add(FLOAT, 0, 0)
        block.floats[2 * at - 1] = value
      }
      return
    case 'boolean':
      add(BOOL, 0, value ? 1 : 0)
      return
    case 'bigint':
      if (BigInt.asUintN(64, value) !== value) fits(value, whose().slice(0, -2))
      add(BigInt.asIntN(64, value) === value ? INT : UINT, 0, value)
      return
    case 'string': {
      const text = utf8(value)
      add(CHARS, text.length, 0)
      const from = WORD * at
      at += Math.ceil(text.length / WORD)
      if (at > room) grow(2 * at)
      block.bytes.set(text, from)
      return
    }
  }
  if (value == null) add(NONE, 0, 0)
  else if (value instanceof Base) add(TENSOR, 0, handleOf(value))
  else if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) packList(value)
  else if (value instanceof DType) add(DTYPE, 0, value.id)
  else if (value === REST) add(ELLIPSIS, 0, 0)
  else if (isComplex(value)) {
    add(COMPLEX, 0, 0)
    add(NONE, 0, 0)
    block.floats.set([value.re, value.im], 2 * at - 2)
  } else if (value instanceof Slice) {
    add(SLICE, 0, 0)
    for (const bound of value.bounds) pack(bound)
  } else if (value.symbolicSize !== undefined) add(SIZE, 0, -value.symbolicSize)
  else throw new TypeError(`${whose()}${show(value)}, expected a tensor, a number or a list`)
}

function packList (items) {
  add(LIST, items.length, 0)
  for (let i = 0; i < items.length; i++) pack(items[i])
}

let outRoom = 16
let out = engine.block(8 * outRoom)

/** Calls an operation with the arguments that were packed; returns the number of its results. */
function execute (number) {
  let results = callAt(CTX, number, block.address, at, out.address, outRoom)
  if (results > outRoom) {
    out.free()
    outRoom = results
    out = engine.block(8 * outRoom)
    results = callAt(CTX, number, block.address, at, out.address, outRoom)
  }
  if (results < 0) fail()
  return results
}

function result () {
  const { ints } = out
  return made((ints[0] >>> 0) + ints[1] * 4294967296)
}

function allResults (n) {
  return Array.from({ length: n }, (_, i) => get(out.ints, i)).map((handle) => handle === 0 ? null : made(handle))
}

/** Packs self, then values. self is an operand, a list of operands, or undefined for an operation that makes a new tensor. */
function begin (self, values) {
  at = 0
  packing = null
  if (self !== undefined) pack(self)
  for (let i = 0; i < values.length; i++) pack(values[i])
}

/** The result of an operation, by its number and packed values. */
function call1 (number, self, values) {
  begin(self, values)
  execute(number)
  return result()
}

/** The results of an operation as tensors; a result that is absent (NULL) is null. */
function call (number, self, values) {
  begin(self, values)
  return allResults(execute(number))
}

// Conversions of arguments, by the kind of the parameter.
const CONVERTED = {
  b: (value) => Boolean(value),
  d: toDType,
  k: (value) => typeof value === 'number' ? [value, value] : value // a kernel's size: a number stands for two axes
}

/**
 * An operation as methods call it: by position, by name, or both. The library has the defaults and checks the arguments.
 */
class Operation {
  /**
   * @param {string} name the name in the library
   * @param {string} params names of parameters, each with a kind if its arguments are converted: b and k as above, d a data type,
   *   t a tensor, s a tensor of the type of this one; the first begins with ... if its elements may be given one by one
   */
  constructor (name, params = '') {
    this.number = operation(name)
    this.title = camel(name)
    this.variadic = params.startsWith('...')
    const words = params.replace('...', '').split(' ').filter(Boolean).map((word) => word.split(':'))
    this.params = words.map(([param]) => param)
    this.kinds = words.map(([, kind]) => kind ?? '')
  }

  /** The result for arguments of a method. */
  one (self, args) {
    this._begin(self, args)
    execute(this.number)
    return result()
  }

  /** The results for arguments of a method. */
  all (self, args) {
    this._begin(self, args)
    return allResults(execute(this.number))
  }

  /** one, for an operation that makes a new tensor: the options device and requiresGrad are applied to the result. */
  make (self, args) {
    if (!isOptions(args.at(-1))) return this.one(self, args)
    const { device, requiresGrad, ...rest } = args.pop()
    return finish(this.one(self, [...args, rest]), { device, requiresGrad })
  }

  /** one, for an operation on a list of tensors: f(a, b, { name }), f([a, b], value) or f(a, b, value). */
  join (args) {
    return this.joinAll(args)[0]
  }

  joinAll (args) {
    const i = args.findIndex((arg) => !(arg instanceof Base) && !Array.isArray(arg))
    const tensors = (i < 0 ? args : args.slice(0, i)).flat()
    const what = `${this.title}: tensors`
    for (const t of tensors) if (!(t instanceof Base)) throw new TypeError(`${what}: ${show(t)}, expected tensors`)
    if (tensors.length === 0 && i >= 0) throw new TypeError(`${what}: ${show(args[i])}, expected tensors`)
    if (tensors.length === 0) throw new PolygradError(`${what}: no tensors`)
    return this.all(tensors, i < 0 ? [] : args.slice(i))
  }

  _begin (self, given) {
    const args = this._values(given)
    const { kinds } = this
    const n = args.length
    for (let i = 0; i < n; i++) {
      const value = args[i]
      if (value == null || kinds[i] === '') continue
      if (kinds[i] in CONVERTED) args[i] = CONVERTED[kinds[i]](value, this.title)
      else if (typeof value === 'object' && !(value instanceof Base)) {
        args[i] = operandOf(value, self, `${this.title}: ${this.params[i]}`, kinds[i] === 's')
      }
    }
    at = 0
    packing = this
    if (self !== undefined) pack(self)
    for (parameter = 0; parameter < n; parameter++) pack(args[parameter])
  }

  /** Packs arguments and returns [address, count]. The next packing overwrites them. */
  packed (args) {
    this._begin(undefined, args)
    return [block.address, at]
  }

  /** Arguments in the order of the parameters. */
  _values (args) {
    const last = namedOf(args)
    let first = last === null ? args : args.slice(0, -1)
    if (this.variadic && first.length > 0) {
      const alone = first.length === 1 && (Array.isArray(first[0]) || ArrayBuffer.isView(first[0]))
      first = alone ? first : [first]
    }
    return ordered(this.title, this.params, first, last)
  }
}

const known = new Map()

/** The cached Operation of a name; params are those of its constructor. */
function functionOf (name, params) {
  let found = known.get(name)
  if (found === undefined) known.set(name, found = new Operation(name, params))
  return found
}

/** The operation whose parameters are the entries of settings; a boolean default makes a parameter of kind b. */
function operationOf (name, settings) {
  return known.get(name) ??
    functionOf(name, settings.map(([key, value]) => typeof value === 'boolean' ? `${key}:b` : key).join(' '))
}

/** Applies a binary operation, by its number in the library, to self and other, or to other and self if swapped. */
function combine (number, self, other, swapped, what) {
  const kind = typeof other
  if (kind === 'object' && other !== null && !isComplex(other)) {
    const second = other instanceof Base ? other : operandOf(other, self, what)
    return made(swapped ? binaryAt(number, handleOf(second), handleOf(self)) : binaryAt(number, handleOf(self), handleOf(second)))
  }
  if (other === null || (kind !== 'number' && kind !== 'boolean' && kind !== 'bigint' && kind !== 'object')) {
    throw new TypeError(`${what}: ${show(other)}, expected a tensor or a number`)
  }
  at = 0
  pack(kind === 'bigint' ? fits(other, what) : other)
  return made(numberAt(number, handleOf(self), block.address, swapped ? 1 : 0))
}

/** Whether the other operand of a binary method comes first: the named argument reverse among args, the ones after that operand. */
function isReversed (title, args) {
  return args.length > 0 && named(title, args, { reverse: false }).reverse
}

/** Packs values and returns [address, count]. The next packing overwrites them. */
function packed (...values) {
  begin(undefined, values)
  return [block.address, at]
}

/** Packs a list of items and one value: [address of the items, their count, address of the value]. */
function packedItems (items, value) {
  begin(undefined, items)
  const n = at
  pack(value)
  return [block.address, n, block.address + WORD * n]
}

/** Applies the options device and requiresGrad to a new tensor, where they are given. */
function finish (tensor, { device, requiresGrad }) {
  if (device != null) Device.move(handleOf(tensor), device)
  if (requiresGrad != null) tensor.requiresGrad = requiresGrad
  return tensor
}

module.exports = {
  operation, Operation, functionOf, operationOf, call, call1, combine, isReversed, packed, packedItems, finish, Slice, REST
}
