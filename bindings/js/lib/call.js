'use strict'
/** Calls operations of the library by name, with arguments packed by the types that they have. */

const { lib, koffi, find, fail } = require('./library.js')
const { CTX, pin } = require('./graph.js')
const { Base, made, view } = require('./base.js')
const { DType, toDType } = require('./dtype.js')
const { put, get, show, isOptions } = require('./arguments.js')

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

// By addresses, which koffi need not look up at each call.
const callAt = find('poly_call', 'int', ['uintptr_t', 'int', 'uintptr_t', 'int', 'uintptr_t', 'int'])

// Arguments are PolyCallArg: kind, count, and eight bytes. Calls are synchronous: their arguments lie in one place.
const WORD = 16
let bytes, ints, floats, place
let at = 0 // arguments so far
let nodes = [] // of the tensors among them

function grow (arguments_) {
  const before = bytes
  bytes = pin(new Uint8Array(WORD * arguments_))
  if (before !== undefined) bytes.set(before)
  ints = new Int32Array(bytes.buffer)
  floats = new Float64Array(bytes.buffer)
  place = koffi.address(bytes)
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
      if (BigInt.asIntN(64, value) !== value && BigInt.asUintN(64, value) !== value) {
        throw new RangeError(`${value} is out of range, expected 64 bits`)
      }
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
  else if (value instanceof Base) {
    nodes.push(value._node)
    add(TENSOR, 0, value._node.handle)
  } else if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    add(LIST, value.length, 0)
    for (const item of value) pack(item)
  } else if (value instanceof DType) add(DTYPE, 0, value.id)
  else if (value.symbolicSize !== undefined) add(SIZE, 0, value._node.handle)
  else if (isOptions(value)) pack(Object.entries(value).flat())
  else throw new TypeError(`${show(value)}, expected a tensor, a number or a list`)
}

let out, outPlace, room

function makeRoom (results) {
  room = results
  out = pin(new Int32Array(2 * results))
  outPlace = koffi.address(out)
}
makeRoom(16)

/** Calls an operation of a tensor; returns the handles of its results, and the nodes that they are made of. */
function run (op, self, values) {
  if (self instanceof Base) {
    ints[0] = TENSOR
    ints[1] = 0
    put(ints, 1, self._node.handle)
    at = 1
    nodes = [self._node]
  } else {
    at = 0
    nodes = []
    pack(self)
  }
  let n = values.length
  while (n > 0 && values[n - 1] == null) n--
  for (let i = 0; i < n; i++) pack(values[i])
  let count = callAt(CTX, op, place, at, outPlace, room)
  if (count > room) {
    makeRoom(count)
    count = callAt(CTX, op, place, at, outPlace, room)
  }
  if (count < 0) fail()
  return count
}

/** The result of an operation. */
function call1 (op, self, values) {
  run(op, self, values)
  return made(get(out, 0), nodes)
}

/** The results of an operation. */
function call (op, self, values) {
  const count = run(op, self, values)
  const from = nodes
  return Array.from({ length: count }, (_, i) => get(out, i)).map((handle) => made(handle, from))
}

/** The result of an operation that shows elements of its operand. */
function view1 (op, self, values) {
  run(op, self, values)
  return view(get(out, 0), self._node)
}

/** The results of an operation that shows elements of its operand. */
function views (op, self, values) {
  const count = run(op, self, values)
  return Array.from({ length: count }, (_, i) => get(out, i)).map((handle) => view(handle, self._node))
}

/** A data type; null stands for the default. */
function typeOrNull (dtype) {
  return dtype == null ? null : toDType(dtype)
}

/** The sizes of a window; a number stands for two axes. */
function pair (size) {
  return typeof size === 'number' ? [size, size] : size
}

module.exports = { operation, call, call1, view1, views, typeOrNull, pair }
