'use strict'
/** Functional updates of elements, as JAX's x.at[...] has them. */

const { count, describe } = require('../base.js')
const { types } = require('../dtype.js')
const { Tensor } = require('../tensor.js')
const { show } = require('../arguments.js')
const { Array: JaxArray, take, call } = require('./array.js')
const { arrayLike, renamed, tensorOf } = require('./call.js')

/** For each update [its scatter form: a flat array x, places in it and values v; its elementwise form, which a boolean mask selects]. */
const FORMS = {
  set: [(x, places, v) => x.scatter(0, places, v), (x, v) => v],
  add: [(x, places, v) => x.scatterReduce(0, places, v, 'sum'), (x, v) => x.add(v)],
  subtract: [(x, places, v) => x.scatterReduce(0, places, v.neg(), 'sum'), (x, v) => x.sub(v)],
  multiply: [(x, places, v) => x.scatterReduce(0, places, v, 'prod'), (x, v) => x.mul(v)],
  divide: [(x, places, v) => x.scatterReduce(0, places, v.reciprocal(), 'prod'), (x, v) => x.div(v)],
  min: [(x, places, v) => x.scatterReduce(0, places, v, 'amin'), (x, v) => x.minimum(v)],
  max: [(x, places, v) => x.scatterReduce(0, places, v, 'amax'), (x, v) => x.maximum(v)],
  power: [(x, places, v) => x.scatter(0, places, x.gather(0, places).pow(v)), (x, v) => x.pow(v)]
}

/** The elements of an array at an index; the methods return a new array with these elements updated. */
class At {
  /** indexOf converts an item of an index, as slice takes it, to one for tensors. */
  constructor (array, index, indexOf) {
    this._array = array
    this._index = index
    this._indexOf = indexOf
  }

  get () {
    return this._array.slice(...this._index)
  }

  /** A new array in which f is applied to the elements. */
  apply (f) {
    if (typeof f !== 'function') throw new TypeError(`at().apply: f: ${show(f)}, expected a function of an array`)
    const found = this._array.ref.at(...this._index.map((item) => item instanceof JaxArray ? item.ref : item)).get()
    return this.set(f(found))
  }

  _changed (name, values) {
    return call(() => {
      const x = take(this._array)._tensor
      const { shape, dtype } = describe(x)
      if (name === 'divide' && !dtype.isFloat) throw new TypeError(`at().divide: ${this._array}, expected a floating type`)
      const index = this._index.map(this._indexOf)
      const v = tensorOf(arrayLike(values, `at().${name}: values`)).cast(dtype.name)
      const [scattered, elementwise] = FORMS[name]
      try {
        if (index.length === 1 && index[0]?.dtype === types.bool) {
          let mask = index[0]
          while (mask.shape.length < shape.length) mask = mask.unsqueeze(-1)
          return new JaxArray(mask.where(elementwise(x, v), x), this._array._weak)
        }
        const places = Tensor.arange(count(shape)).reshape(...shape).getitem(...index)
        const flat = scattered(x.reshape(-1), places.reshape(-1), v.expand(places.shape).reshape(-1))
        return new JaxArray(flat.reshape(...shape), this._array._weak)
      } catch (error) {
        throw renamed(error, `at().${name}`)
      }
    })
  }
}

for (const name of Object.keys(FORMS)) {
  At.prototype[name] = function (values) {
    return this._changed(name, values)
  }
}
At.prototype.mul = At.prototype.multiply

module.exports = { At }
