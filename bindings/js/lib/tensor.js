'use strict'
/** The Tensor. */

const { lib } = require('./library.js')
const { CTX } = require('./handles.js')
const { HANDLE, Base, registered, describe, count, tensorOf, ofNode, handleOf, made } = require('./base.js')
const { SymInt } = require('./variable.js')
const { Writing } = require('./writing.js')
const { MAX_DIMS, named, list, show } = require('./arguments.js')
const { Device } = require('./device.js')
const { tensorFrom } = require('./data.js')
const { finish } = require('./call.js')
const { toDType } = require('./dtype.js')

const OPTIONS = { dtype: null, device: null, requiresGrad: null, shape: null }

/**
 * An array that is computed when its value is needed.
 *
 * data is a number, a boolean, a bigint, a nested list of them or of tensors, a typed array or
 * another tensor; { re, im } is a complex number. A typed array is used in place: the tensor and the array share memory. Numbers
 * become float32, booleans bool, bigints int64 and complex numbers complex64 if no dtype is given; typed arrays keep their type.
 * For a complex dtype, a Float32Array or Float64Array has the real and imaginary parts interleaved.
 */
class Tensor extends Writing {
  /**
   * @param {unknown} data the numbers
   * @param {object} [options] dtype, shape, device, requiresGrad
   */
  constructor (data, options) {
    if (options === HANDLE) {
      super(data)
      return
    }
    const { dtype, device, requiresGrad, shape } = named('Tensor', options === undefined ? [] : [options], OPTIONS)
    const tensor = madeFrom(data, dtype === null ? null : toDType(dtype, 'Tensor'), shape === null ? null : list(shape), requiresGrad)
    finish(tensor, { device, requiresGrad })
    return new.target === Tensor ? tensor : Object.setPrototypeOf(tensor, new.target.prototype)
  }

  static from (data, options) {
    return new Tensor(data, options)
  }

  // What it is

  get shape () {
    return describe(this).shape.slice()
  }

  get ndim () {
    return describe(this).shape.length
  }

  get dtype () {
    return describe(this).dtype.name
  }

  get device () {
    return Device.name(lib.poly_array_device(handleOf(this)))
  }

  numel () {
    const { shape } = describe(this)
    const symbolic = shape.filter((n) => n instanceof SymInt)
    if (symbolic.length === 0) return count(shape)
    return symbolic.reduce((n, size) => size.mul(n), count(shape.filter((n) => !(n instanceof SymInt))))
  }

  elementSize () {
    return describe(this).dtype.size
  }

  nbytes () {
    return this.numel() * this.elementSize()
  }

  isFloatingPoint () {
    return describe(this).dtype.isFloat
  }

  get length () {
    const { shape } = describe(this)
    if (shape.length === 0) throw new TypeError('length: the tensor has no axes')
    return shape[0]
  }

  * [Symbol.iterator] () {
    for (let i = 0; i < this.length; i++) yield this.getitem(i)
  }

  // Devices

  to (device) {
    const name = Device.require(device)
    return name === this.device ? this : made(lib.poly_array_to(handleOf(this), Device.number(name)))
  }

  to_ (device) {
    return finish(this, { device: device ?? Device.default })
  }

  sequential (functions) {
    if (!Array.isArray(functions) || functions.some((fn) => typeof fn !== 'function')) {
      throw new TypeError(`sequential: functions: ${show(functions)}, expected a list of functions`)
    }
    return functions.reduce((x, fn) => fn(x), this)
  }

  cpu () {
    return this.to('cpu')
  }

  cuda () {
    return this.to('cuda')
  }

  // Modes

  static get training () {
    return lib.poly_training(CTX, -1) === 1
  }

  static set training (on) {
    lib.poly_training(CTX, on ? 1 : 0)
  }

  /** Runs a function, which may be async, with Tensor.training set to mode: dropout and batch norms read it. */
  static train (fn, mode = true) {
    const block = [mode]
    const begin = () => {
      if (blocks.length === 0) blocks.push([Tensor.training])
      blocks.push(block)
      Tensor.training = mode
    }
    return during('train', fn, begin, () => { // functions that run at the same time end in any order
      blocks = blocks.filter((other) => other !== block)
      Tensor.training = blocks.at(-1)[0]
      if (blocks.length === 1) blocks = []
    })
  }

  /** Runs a function in which results do not require gradients; it may be async. */
  static noGrad (fn) {
    return during('noGrad', fn, () => lib.poly_no_grad(CTX, 1), () => lib.poly_no_grad(CTX, 0))
  }
}

/** The modes of the calls of train in progress, preceded by the mode from before the first of them. */
let blocks = []

/** Calls begin, the function and end; if the function returns a promise, end is called when that is settled. */
function during (name, fn, begin, end) {
  if (typeof fn !== 'function') throw new TypeError(`${name}: fn: ${show(fn)}, expected a function`)
  begin()
  let result
  try {
    result = fn()
  } catch (error) {
    end()
    throw error
  }
  if (typeof result?.then === 'function') return Promise.resolve(result).finally(end)
  end()
  return result
}

registered.Tensor = Tensor

function madeFrom (data, dtype, shape, requiresGrad) {
  let tensor = null
  if (data instanceof Base) tensor = tensorOf(data, 'Tensor: data')
  else if (data instanceof SymInt) tensor = ofNode(lib.poly_size_tensor(CTX, data.symbolicSize))
  else if (hasTensors(data)) tensor = Tensor.stack(data.map((t) => t instanceof Base ? t : new Tensor(t)))
  if (tensor === null) return tensorFrom(data, dtype, shape)
  if (dtype !== null) tensor = tensor.cast(dtype.name)
  if (shape !== null) tensor = tensor.reshape(shape)
  return requiresGrad === false ? tensor.detach() : tensor.clone()
}

function hasTensors (data, depth = 0) {
  if (!Array.isArray(data) || depth > MAX_DIMS) return false
  return data.some((item) => item instanceof Base || hasTensors(item, depth + 1))
}

module.exports = { Tensor }
