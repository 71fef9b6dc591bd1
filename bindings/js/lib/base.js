'use strict'
/** The base class of tensors, and helpers that all groups of tensor methods use. */

const { lib, engine, find, fail, PolygradError } = require('./library.js')
const { CTX, bury, own } = require('./handles.js')
const { byId } = require('./dtype.js')
const { MAX_DIMS, isComplex, get, show } = require('./arguments.js')

// Tensors that were made since a tidy began; null outside of one.
let scope = null

const GONE = 'the tensor was disposed'

/** Marks a call of the Tensor constructor whose first argument is a handle, not data. */
const HANDLE = Symbol('handle')

/** A variable of the library, by its handle. */
class Base {
  /** @param {number} handle */
  constructor (handle) {
    this._handle = handle
    // Shape and type, cached on first use.
    this._known = null
    // The typed array through which the user sees the elements, if it was asked for.
    this._memory = null
    this._grad = null
    // What requiresGrad was set to.
    this._wants = null
    // The list of tensors whose handles are released together with this one (see handles.js); null in a tidy.
    this._group = null
    if (scope === null) own(this)
    else scope.push(this)
  }

  dispose () {
    if (this._handle === 0) return
    bury(this._handle)
    this._handle = 0
    this._known = null
    this._memory = null
    if (this._grad !== null) this._grad.dispose()
  }

  get isDisposed () {
    return this._handle === 0
  }
}

if (!Symbol.dispose) Object.defineProperty(Symbol, 'dispose', { value: Symbol('Symbol.dispose') })
Base.prototype[Symbol.dispose] = Base.prototype.dispose

// tensor.js sets this to the class Tensor: it imports this file, so this file cannot import it.
const registered = { Tensor: Base }

/** Makes a tensor of a handle of the library; throws the library's last error if the handle is NULL. */
function made (handle) {
  if (handle === 0) fail()
  return new registered.Tensor(handle, HANDLE)
}

/** Makes a tensor of a handle whose shape and type are known. */
function madeOf (handle, shape, dtype) {
  const tensor = made(handle)
  tensor._known = { shape, dtype }
  return tensor
}

// Replaces the symbolic sizes of a shape by SymInts; set by variable.js, which imports this module.
let readSize = null

function setSizeReader (read) {
  readSize = read
}

const describeAt = find('poly_array_describe', 'int', ['uintptr_t', 'uintptr_t', 'int', 'uintptr_t'])
const described = engine.block(8 * (MAX_DIMS + 1)) // sizes, and the number of the type

/** The shape and the type of a tensor: { shape, dtype }. */
function describe (tensor) {
  if (tensor._known !== null) return tensor._known
  const n = describeAt(handleOf(tensor), described.address, MAX_DIMS, described.address + 8 * MAX_DIMS)
  if (n < 0) fail()
  const { ints } = described
  const shape = new Array(n)
  let symbolic = false
  for (let i = 0; i < n; i++) {
    shape[i] = get(ints, i)
    symbolic ||= shape[i] < 0
  }
  const dtype = byId[ints[2 * MAX_DIMS]]
  if (symbolic) readSize(tensor, shape)
  tensor._known = { shape, dtype }
  return tensor._known
}

/** The number of elements of a shape; a symbolic size counts as its upper bound. */
function count (shape) {
  let n = 1
  for (let i = 0; i < shape.length; i++) n *= typeof shape[i] === 'number' ? shape[i] : shape[i].max
  return n
}

/** The handle of a tensor; throws if the tensor was disposed. */
function handleOf (tensor) {
  if (tensor._handle === 0) throw new PolygradError(GONE)
  return tensor._handle
}

/** An argument that must be a tensor. */
function tensorOf (value, what) {
  if (!(value instanceof Base)) throw new TypeError(`${what}: ${show(value)}, expected a tensor`)
  if (value._handle === 0) throw new PolygradError(`${what}: ${GONE}`)
  return value
}

/** Tensors in a list or another iterable, each once. */
function tensorsOf (values, what) {
  if (values instanceof Base || typeof values?.[Symbol.iterator] !== 'function') {
    throw new TypeError(`${what}: ${values instanceof Base ? 'a tensor' : show(values)}, expected a list of tensors`)
  }
  const given = [...new Set(values)]
  for (const value of given) if (!(value instanceof Base)) throw new TypeError(`${what}: ${show(value)}, expected tensors`)
  return given
}

/** A BigInt that C can take as int64_t. */
function fits (value, what) {
  if (BigInt.asIntN(64, value) === value) return value
  throw new RangeError(`${what}: ${value} is out of range, expected 64 bits`)
}

/** An operand as a tensor, a number or null. A list becomes a tensor, of the type of the tensor like if typed is true. */
function operandOf (value, like, what, typed = false) {
  if (typeof value !== 'object' || value === null || value instanceof Base || isComplex(value)) return value
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return registered.Tensor.from(value, typed ? { dtype: like.dtype } : undefined)
  if (value.symbolicSize !== undefined) return registered.Tensor.from(value)
  throw new TypeError(`${what}: ${show(value)}, expected a tensor or a number`)
}

/** Finds the tensors in a value: itself, or in arrays, maps and objects. */
function tensorsIn (value, found = new Set(), seen = new Set()) {
  if (value instanceof Base) {
    found.add(value)
  } else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !seen.has(value)) {
    seen.add(value)
    const items = value instanceof Map || value instanceof Set || Array.isArray(value) ? value.values() : Object.values(value)
    for (const item of items) if (typeof item === 'object') tensorsIn(item, found, seen)
  }
  return found
}

/** Runs a function and disposes of the tensors that it made, except those in its result and those that require a gradient themselves. */
function tidy (fn) {
  if (typeof fn !== 'function') throw new TypeError(`tidy: fn: ${show(fn)}, expected a function`)
  const outer = scope
  const mine = scope = []
  let kept = new Set()
  try {
    const result = fn()
    if (typeof result?.then === 'function') throw new TypeError('tidy: fn: returned a promise, expected a function that is not async')
    kept = tensorsIn(result)
    return result
  } finally {
    scope = outer
    for (const tensor of mine) {
      if (tensor._group !== null || tensor._handle === 0) continue // it was kept, or disposed
      if (tensor._wants === true) own(tensor)
      else if (!kept.has(tensor)) tensor.dispose()
      else if (outer !== null) outer.push(tensor)
      else own(tensor)
    }
  }
}

/** Lets a tensor outlive the tidy in which it was made. */
function keep (tensor) {
  if (tensor._group === null && tensor._handle !== 0) own(tensor)
  return tensor
}

/** Makes a tensor of a node that depends on no other tensor, and releases the node; throws the library's last error for NULL. */
function ofNode (node) {
  if (node === 0) fail()
  try {
    return made(lib.poly_array_of(CTX, node, null, 0))
  } finally {
    lib.poly_uop_release(CTX, node)
  }
}

module.exports = {
  HANDLE, Base, registered, made, madeOf, setSizeReader, describe, count, handleOf, tensorOf, tensorsOf, fits, operandOf, tidy,
  keep, ofNode
}
