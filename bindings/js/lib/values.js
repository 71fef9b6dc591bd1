'use strict'
/** Realizing tensors, and reading their values. */

const { lib, engine, find, fail, PolygradError } = require('./library.js')
const { CTX, prepare, memoryOf, handlesOf, inTurn } = require('./handles.js')
const { made, describe, count, handleOf, tensorOf, tidy, keep } = require('./base.js')
const { valuesOf } = require('./variable.js')
const { Display } = require('./display.js')
const { arrived } = require('./host/arrival.js')
const { elementAt, nested, read, readAt } = require('./data.js')
const { put } = require('./arguments.js')

const realizeAt = find('poly_array_realize', 'int', ['uintptr_t', 'int'])
const isComputedAt = find('poly_array_is_computed', 'int', ['uintptr_t'])
const one = engine.block(16) // a handle, or an element

/** Computing tensors and reading them. */
class Values extends Display {
  /** Whether the values of the tensor, or of the tensor that it is a view of, are computed. */
  get isRealized () {
    const is = isComputedAt(handleOf(this))
    if (is < 0) fail()
    return is === 1
  }

  realize (...others) {
    prepare()
    let status
    if (others.length === 0) {
      put(one.ints, 0, handleOf(this))
      status = realizeAt(one.address, 1)
    } else {
      status = lib.poly_array_realize(handlesOf(checked([this, ...others])), others.length + 1)
    }
    if (status !== 0) fail()
    return this
  }

  async realizeAsync (...others) {
    await realizeInTurn([this, ...others], 'values')
    return this
  }

  get data () {
    const { shape, dtype } = describe(this)
    const n = count(shape)
    if (n === 0 || this.device === 'WEBGPU' || shape.some((size) => typeof size !== 'number')) return read(this)
    prepare()
    this._memory = memoryOf(handleOf(this), shape, dtype, n, this._memory)
    return this._memory ?? read(this)
  }

  toArray () {
    return describe(this).dtype.isRaw ? tidy(() => read(this.cast('float32'))) : this.data
  }

  item () {
    if (this.numel() !== 1) throw new PolygradError(`item: the tensor has shape [${this.shape}], expected one element`)
    const { dtype } = describe(this)
    if (dtype.isRaw) return tidy(() => this.cast('float32').item())
    prepare()
    if (readAt(this._handle, one.address, dtype.size) !== 0) fail()
    const { buffer, byteOffset } = one.bytes
    return elementAt(new dtype.Array(buffer, byteOffset, dtype.parts), 0, dtype)
  }

  tolist () {
    const { shape, dtype } = describe(this)
    if (dtype.isRaw) return tidy(() => this.cast('float32').tolist())
    return nested(read(this), valuesOf(shape), dtype)
  }

  toJSON () {
    return this.tolist()
  }

  /** The tensor without its history, as a view: no gradient flows through it. */
  detach () {
    const tensor = made(lib.poly_array_detach(handleOf(this)))
    tensor._wants = false
    return tensor
  }

  clone () {
    return made(lib.poly_array_clone(handleOf(this)))
  }

  keep () {
    return keep(this)
  }

  static tidy (fn) {
    return tidy(fn)
  }
}

// toArrayAsync, itemAsync and tolistAsync: realize the tensor in another thread, then read it.
for (const name of ['toArray', 'item', 'tolist']) {
  Values.prototype[`${name}Async`] = async function () {
    await this.realizeAsync()
    return (await arrived(this))[name]()
  }
}

/** Computes tensors in another thread. */
async function realizeInTurn (given, kind) {
  // The tensors may be disposed meanwhile.
  const tensors = tidy(() => checked(given).map((tensor) => made(lib.poly_array_retain(tensor._handle)).keep()))
  try {
    await inTurn(tensors, () => lib.poly_array_realize_async(CTX, handlesOf(tensors), tensors.length), kind)
  } finally {
    for (const tensor of tensors) tensor.dispose()
  }
}

function checked (tensors) {
  for (const tensor of tensors) tensorOf(tensor, 'realize')
  return tensors
}

module.exports = { Values, realizeInTurn }
