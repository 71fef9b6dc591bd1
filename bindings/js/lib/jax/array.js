'use strict'
/** Arrays of polygrad/jax, and their reference counts. */

const { inspect } = require('../host/node.js')
const { describe, count, made, handleOf } = require('../base.js')
const { lib } = require('../library.js')
const { types } = require('../dtype.js')
const { read: elementsOf } = require('../data.js')
const { Tensor } = require('../tensor.js')
const { isOptions, show } = require('../arguments.js')
const { arrived } = require('../host/arrival.js')
const { expressed, tracing } = require('../trace.js')
const { nameOf } = require('./device.js')

const KINDS = ['shared', 'strict']

/** The most calls between an array and its last computed ancestors: deeper arrays are computed, so that graphs of loops stay bounded. */
const DEEPEST = 64

/** The greatest depth of the arrays that the call in progress has taken. */
let depth = 0

/** Whether calls consume their arguments: the ownership 'strict'. */
let strict = false

function setOwnership (kind) {
  if (!KINDS.includes(kind)) throw new RangeError(`setOwnership: kind: ${show(kind)}, expected one of ${KINDS.join(', ')}`)
  const before = strict ? 'strict' : 'shared'
  strict = kind === 'strict'
  return before
}

/** The abstract value of an array: shape, dtype and weak type. */
class ShapedArray {
  constructor (shape, dtype, weakType) {
    this.shape = shape
    this.dtype = dtype
    this.weakType = weakType
  }

  static fromAval ({ shape, dtype, weakType }) {
    return new ShapedArray(shape, dtype, weakType)
  }

  get ndim () {
    return this.shape.length
  }

  get size () {
    return count(this.shape)
  }

  scalar () {
    return new ShapedArray([], this.dtype, this.weakType)
  }

  equals (other) {
    return this.dtype === other.dtype && this.weakType === other.weakType && String(this.shape) === String(other.shape) &&
      this.shape.length === other.shape.length
  }

  toString () {
    return `${this.dtype}[${this.shape.join(',')}]`
  }
}

/** An array: a tensor with a reference count. numpy.js adds the methods that are functions of numpy. */
class JaxArray {
  /** Arrays are made by numpy.array and other functions. */
  constructor (tensor, weak = false, number = null) {
    if (!(tensor instanceof Tensor)) throw new TypeError(`Array: ${show(tensor)}: use numpy.array to make arrays of numbers`)
    this._tensor = tensor
    this._weak = weak
    /** The number that a weakly typed array was made of. */
    this._number = number
    this._count = 1
    /** The name of the device to which devicePut has moved it, or null. */
    this._device = null
    // The number of live arrays that share the tensor.
    tensor._arrays = (tensor._arrays ?? 0) + 1
    /** The abstract value (aval) of an array that was freed; null before. */
    this._was = null
    this._depth = depth + 1
    if (this._depth > DEEPEST) settle([this])
  }

  // What it is

  get aval () {
    if (this._was !== null) return this._was
    const { shape, dtype } = describe(this._tensor)
    return new ShapedArray(shape.slice(), dtype.name, this._weak)
  }

  get shape () {
    return this.aval.shape
  }

  get ndim () {
    return this.aval.shape.length
  }

  get size () {
    return this.aval.size
  }

  get dtype () {
    return this.aval.dtype
  }

  get weakType () {
    return this._weak
  }

  get device () {
    return this._device ?? nameOf(this._was === null ? this._tensor.device : null)
  }

  fullLower () {
    return this
  }

  toString () {
    return `Array:${this.aval}`
  }

  [inspect.custom] () {
    return this._tensor === null ? `${this} (disposed)` : `${this} ${inspect(this._tensor).replace(/^Tensor/, '')}`.trim()
  }

  // Reference counts

  get ref () {
    alive(this)
    this._count++
    return this
  }

  get refCount () {
    return this._count
  }

  dispose () {
    alive(this)
    if (--this._count === 0) free(this)
  }

  [Symbol.dispose] () {
    this.dispose()
  }

  // Its values

  /** The number of a scalar, for operators of JavaScript. */
  [Symbol.toPrimitive] (hint) {
    if (this.ndim > 0) {
      if (hint === 'string') return this.toString()
      throw new TypeError(`${this}: only scalars become numbers: use methods (a.add(b) for a + b), item() or js()`)
    }
    return this.item()
  }

  item () {
    return consuming(this, (t) => {
      if (t.numel() !== 1) throw new TypeError(`item: ${this}, expected an array of one element`)
      return t.item()
    })
  }

  js () {
    return consuming(this, (t) => t.tolist())
  }

  dataSync () {
    return consuming(this, dataOf)
  }

  async jsAsync () {
    return consumingAsync(this, (t) => t.tolist())
  }

  async data () {
    return consumingAsync(this, dataOf)
  }

  async blockUntilReady () {
    await alive(this)._tensor.realizeAsync()
    return this
  }

  gpuBufferSync () {
    if (this.device === 'webgpu') return alive(this)._tensor.gpuBuffer()
    throw new TypeError(`gpuBuffer: ${this} is on the device ${this.device}, expected one on webgpu`)
  }

  async gpuBuffer () {
    return this.gpuBufferSync()
  }
}

/** A second handle of a tensor, which stays valid when the arrays on that tensor are freed. */
const retained = (tensor) => made(lib.poly_array_retain(handleOf(tensor)))

/** Computes arrays, unless a function is being traced. */
function settle (arrays) {
  if (arrays.length === 0 || tracing() || expressed()) return
  const [first, ...others] = arrays.map((array) => array._tensor)
  first.realize(...others)
  for (const array of arrays) array._depth = 0
}

function free (array) {
  array._was = array.aval
  const tensor = array._tensor
  array._tensor = null
  if (--tensor._arrays === 0) tensor.dispose()
}

/** Returns an array; throws if it was freed. */
function alive (array) {
  if (array._count > 0) return array
  throw consumed(array)
}

function consumed (array) {
  return new ReferenceError(`Referenced tracer ${array.toString()} freed: use .ref before calls that consume an array that is used again`)
}

/** A copy of the elements as a typed array: bools as int32, types that JavaScript lacks as float32. */
function dataOf (tensor) {
  const { dtype } = describe(tensor)
  const data = dtype.isRaw ? tensor.toArray() : elementsOf(tensor)
  if (dtype === types.bool) return Int32Array.from(data)
  if (dtype === types.float16 && globalThis.Float16Array !== undefined) return globalThis.Float16Array.from(data)
  return data
}

// In strict mode a call takes one reference for each occurrence of an array as an argument, and frees arrays without references at its end.

/** The arrays that the call in progress has taken references from; null in shared mode and outside of calls. */
let taken = null

/** Takes an array as an argument of the call in progress, and returns it. */
function take (array) {
  alive(array)
  depth = Math.max(depth, array._depth)
  if (strict && taken !== null) {
    array._count--
    taken.push(array)
  }
  return array
}

/** The result of a call that returns its argument unchanged: in strict mode the same array with one more reference, else a new array. */
function again (array) {
  if (!strict) return new JaxArray(array._tensor, array._weak, array._number)
  array._count++
  return array
}

/** Runs the body of a call, which takes its arguments; then frees arrays without references. If the body throws, nothing is consumed. */
function call (body) {
  const [before, outer] = [taken, depth]
  const own = strict ? [] : null
  taken = own
  depth = 0
  try {
    return body()
  } catch (error) {
    own?.forEach((array) => array._count++)
    throw error
  } finally {
    taken = before
    depth = outer
    own?.forEach((array) => array._count === 0 && array._tensor !== null && free(array))
  }
}

/** Runs code of the user inside of a call: the calls that it makes take their own arguments. */
function apart (body) {
  const before = taken
  taken = null
  try {
    return body()
  } finally {
    taken = before
  }
}

/** The nesting depth of calls of functions that consumes has made. */
let nested = 0

/**
 * Wraps a function so that it consumes the arrays among its arguments in strict mode, although its body runs in shared mode and can use
 * them any number of times. Arguments that it returns keep a reference. The outermost such call computes its results together.
 */
function consumes (f) {
  if (typeof f !== 'function') throw new TypeError(`consumes: f: ${show(f)}, expected a function`)
  const arraysIn = (tree, found = []) => {
    if (tree instanceof JaxArray) found.push(tree)
    else if (Array.isArray(tree)) tree.forEach((item) => arraysIn(item, found))
    else if (isOptions(tree)) Object.values(tree).forEach((item) => arraysIn(item, found))
    return found
  }
  const fn = (...args) => {
    nested++
    let found
    try {
      found = owning(args)
    } finally {
      nested--
    }
    if (nested === 0) settle(arraysIn(found).filter((array) => array._tensor !== null))
    return found
  }
  const owning = (args) => {
    if (!strict) return f(...args)
    const given = arraysIn(args)
    for (const array of given) {
      if (given.filter((other) => other === array).length > alive(array)._count) throw consumed(array)
    }
    strict = false
    let result
    try {
      result = apart(() => f(...args))
    } finally {
      strict = true
    }
    const own = new Set(given)
    for (const array of arraysIn(result)) if (own.has(array)) array._count++
    for (const array of given) if (--array._count === 0) free(array)
    return result
  }
  return Object.defineProperty(fn, 'name', { value: f.name })
}

function consuming (array, read) {
  return call(() => read(take(array)._tensor))
}

async function consumingAsync (array, read) {
  const tensor = alive(array)._tensor
  if (strict) array._count--
  try {
    await tensor.realizeAsync()
    return read(await arrived(tensor))
  } finally {
    if (array._count === 0 && array._tensor !== null) free(array)
  }
}

module.exports = { Array: JaxArray, ShapedArray, setOwnership, again, alive, take, call, apart, consumes, retained }
