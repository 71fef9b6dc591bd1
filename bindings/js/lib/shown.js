'use strict'
/** How objects other than tensors are shown by inspect. */

const { lib, fail } = require('./library.js')
const { inspect } = require('./host/node.js')
const { tracing } = require('./trace.js')

/** An object that shows its properties, the getters that its class names, and no internals. */
class Shown {
  [inspect.custom] (depth, options) {
    const { name, _getters } = this.constructor
    if (depth < 0) return `[${name}]`
    if ((this._program ?? this)._handle === 0) return `${name}(disposed)`
    const more = tracing() ? [] : _getters // values are not available while a function is traced
    const entries = [...Object.entries(this).filter(([key]) => !key.startsWith('_')), ...more.map((key) => [key, this[key]])]
    return `${name} ${inspect(Object.fromEntries(entries), { ...options, depth })}`
  }

  static _getters = []
}

/** The base of objects with a compiled function, _program. */
class Running extends Shown {
  static _getters = ['nKernels', 'nIntermediates']

  get nKernels () {
    return this._info(1)
  }

  get nIntermediates () {
    return this._info(2)
  }

  _info (i) {
    const numbers = [0, 0, 0].map(() => new Int32Array(1))
    if (lib.poly_function_info(this._program.handle, ...numbers) !== 0) fail()
    return numbers[i][0]
  }
}

module.exports = { Shown, Running }
