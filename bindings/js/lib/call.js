'use strict'
/** Calls operations of the library by name, with arguments packed by the types that they have. */

const { lib, find, fail, PolygradError } = require('./library.js')
const { CTX, addressOf } = require('./handles.js')
const { Base, made, handleOf, operandOf, fits } = require('./base.js')
const { DType, toDType } = require('./dtype.js')
const { put, get, show, isOptions, named, integer } = require('./arguments.js')
const { Device } = require('./device.js')

/** The number of an operation. */
function operation (name) {
  const number = lib.poly_op(name)
  if (number < 0) fail()
  return number
}

// PolyCallKind.
const [NONE, BOOL, INT, UINT, FLOAT, TENSOR, SIZE, DTYPE] = Array(8).keys()
const CHARS = 9
const LIST = 10
const SLICE = 14
const ELLIPSIS = 15

/** A slice in an index expression. */
class Slice {
  constructor (bounds) {
    this.bounds = bounds
  }
}

/** '...' in an index expression. */
const REST = Symbol('...')

// By addresses, which koffi need not look up at each call.
const callAt = find('poly_array_call', 'int', ['uintptr_t', 'int', 'uintptr_t', 'int', 'uintptr_t', 'int'])
const binaryAt = find('poly_array_binary', 'uintptr_t', ['int', 'uintptr_t', 'uintptr_t'])
const numberAt = find('poly_array_binary_number', 'uintptr_t', ['int', 'uintptr_t', 'uintptr_t', 'int'])

// Arguments are PolyCallArg: kind, count, and eight bytes. Calls are synchronous: their arguments lie in one place.
const WORD = 16
let bytes, ints, floats, place
let at = 0 // arguments so far

function grow (arguments_) {
  const before = bytes
  bytes = new Uint8Array(WORD * arguments_)
  if (before !== undefined) bytes.set(before)
  ints = new Int32Array(bytes.buffer)
  floats = new Float64Array(bytes.buffer)
  place = addressOf(bytes)
}
grow(64)

/** Makes room for arguments. */
function need (n) {
  if (WORD * (at + n) > bytes.length) grow(2 * (at + n))
}

function add (kind, n, value) {
  need(1)
  ints[4 * at] = kind
  ints[4 * at + 1] = n
  put(ints, 2 * at + 1, value)
  at++
}

/** Adds an argument. */
function pack (value) {
  switch (typeof value) {
    case 'number':
      if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
        add(INT, 0, value)
        return
      }
      add(FLOAT, 0, 0)
      floats[2 * at - 1] = value
      return
    case 'boolean':
      add(BOOL, 0, value ? 1 : 0)
      return
    case 'bigint':
      if (BigInt.asUintN(64, value) !== value) fits(value, 'x')
      add(BigInt.asIntN(64, value) === value ? INT : UINT, 0, value)
      return
    case 'string': {
      const text = Buffer.from(value)
      const words = Math.ceil(text.length / WORD)
      add(CHARS, text.length, 0)
      need(words)
      bytes.set(text, WORD * at)
      at += words
      return
    }
  }
  if (value == null) add(NONE, 0, 0)
  else if (value instanceof Base) add(TENSOR, 0, handleOf(value))
  else if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    add(LIST, value.length, 0)
    for (const item of value) pack(item)
  } else if (value instanceof DType) add(DTYPE, 0, value.id)
  else if (value === REST) add(ELLIPSIS, 0, 0)
  else if (value instanceof Slice) {
    add(SLICE, 0, 0)
    for (const bound of value.bounds) pack(bound)
  } else if (value.symbolicSize !== undefined) add(SIZE, 0, -value.symbolicSize)
  else if (isOptions(value)) pack(Object.entries(value).flat())
  else throw new TypeError(`${show(value)}, expected a tensor, a number or a list`)
}

let out, outPlace, room

function makeRoom (results) {
  room = results
  out = new Int32Array(2 * results)
  outPlace = addressOf(out)
}
makeRoom(16)

/** Calls an operation; self is its operand, a list of them, or undefined for a new tensor. Returns the number of its results. */
function run (op, self, values) {
  at = 0
  if (self instanceof Base) add(TENSOR, 0, handleOf(self))
  else if (self !== undefined) pack(self)
  let n = values.length
  while (n > 0 && values[n - 1] == null) n--
  for (let i = 0; i < n; i++) pack(values[i])
  let results = callAt(CTX, op, place, at, outPlace, room)
  if (results > room) {
    makeRoom(results)
    results = callAt(CTX, op, place, at, outPlace, room)
  }
  if (results < 0) fail()
  return results
}

/** The result of an operation. */
function call1 (op, self, values) {
  run(op, self, values)
  return made(get(out, 0))
}

/** The results of an operation. */
function call (op, self, values) {
  const results = run(op, self, values)
  return Array.from({ length: results }, (_, i) => get(out, i)).map(made)
}

/** Combines a tensor and an operand, or (swapped) the operand and the tensor, by the library's number of a binary operation. */
function combine (op, self, other, swapped, what) {
  let handle
  switch (typeof other) {
    case 'number':
    case 'boolean':
    case 'bigint':
      at = 0
      pack(typeof other === 'bigint' ? fits(other, what) : other)
      handle = numberAt(op, handleOf(self), place, swapped)
      break
    default: {
      const second = other instanceof Base ? other : operandOf(other ?? nothing(other, what), self, what)
      handle = swapped === 0 ? binaryAt(op, handleOf(self), handleOf(second)) : binaryAt(op, handleOf(second), handleOf(self))
    }
  }
  return made(handle)
}

function nothing (value, what) {
  throw new TypeError(`${what}: ${show(value)}, expected a tensor or a number`)
}

/** The address of packed arguments, and how many there are; they serve one call. */
function packed (...values) {
  at = 0
  for (const value of values) pack(value)
  return [place, at]
}

/** The addresses of two arguments of a call: of a list's items, how many these are, and of a value. */
function packedItems (items, value) {
  at = 0
  for (const item of items) pack(item)
  const n = at
  pack(value)
  return [place, n, place + WORD * n]
}

/** A data type; null stands for the default. */
function typeOrNull (dtype) {
  return dtype == null ? null : toDType(dtype)
}

/** The sizes of a window; a number stands for two axes. */
function pair (size) {
  return typeof size === 'number' ? [size, size] : size
}

/** Sizes of which each is an integer. */
function sizesOf (sizes, what) {
  for (const size of sizes) if (size?.symbolicSize === undefined) integer(size, what)
  return sizes
}

/** A new tensor where it is to live, and that wants a gradient if that is said. */
function finish (tensor, { device, requiresGrad }) {
  if (device != null) Device.require(device)
  if (requiresGrad != null) tensor.requiresGrad = requiresGrad
  return tensor
}

/** The tensors of f(a, b) or f([a, b]). */
function operandsOf (args, what) {
  const tensors = args.flat()
  for (const t of tensors) if (!(t instanceof Base)) throw new TypeError(`${what}: ${show(t)}, expected tensors`)
  if (tensors.length === 0) throw new PolygradError(`${what}: no tensors`)
  return tensors
}

/** Calls an operation of a list of tensors: f(a, b, { name }), f([a, b], value) or f(a, b, value). */
function joined (fn, op, args, defaults) {
  const rest = args.slice()
  let values = defaults
  if (isOptions(rest.at(-1))) values = named(fn, [rest.pop()], defaults)
  else if (rest.length > 1 && !(rest.at(-1) instanceof Base) && !Array.isArray(rest.at(-1))) values = named(fn, [rest.pop()], defaults)
  return call(op, operandsOf(rest, `${fn}: tensors`), Object.values(values))
}

module.exports = {
  operation, call, call1, combine, packed, packedItems, typeOrNull, pair, sizesOf, finish, operandsOf, joined, Slice, REST
}
