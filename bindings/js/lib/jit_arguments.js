'use strict'
/** The arguments of compiled functions: tensors, bound variables, and static values. */

const { JitError } = require('./library.js')
const { Base } = require('./base.js')
const { SymInt } = require('./variable.js')
const { isOptions, show } = require('./arguments.js')

/** The arguments of a call. */
class Arguments {
  constructor (args) {
    this.tensors = []
    this._sizes = []
    /** The arguments flattened: static values, the kinds of containers, and placeholders for tensors and sizes. */
    this.static = []
    for (const value of args) this._find(value)
  }

  _find (value) {
    if (value instanceof Base) {
      this.tensors.push(value)
      this.static.push({ kind: 'tensor' })
    } else if (value instanceof SymInt) {
      this._sizes.push(value)
      this.static.push({ kind: 'size', value: value.unbound })
    } else if (Array.isArray(value)) {
      this.static.push({ kind: `array of ${value.length}` })
      for (const item of value) this._find(item)
    } else if (isOptions(value)) {
      const keys = Object.keys(value).sort()
      this.static.push({ kind: `object of ${JSON.stringify(keys)}` })
      for (const key of keys) this._find(value[key])
    } else {
      this.static.push({ kind: 'other', value })
    }
  }

  /** Throws if a tensor is given twice: a program that writes one of its arguments could not tell which. */
  checkOnce () {
    if (new Set(this.tensors).size !== this.tensors.length) {
      throw new JitError('TinyJit: one tensor is given more than once')
    }
  }

  /** The variables in symbolic arguments, with their values. The library itself finds the variables in the shapes of tensors. */
  values () {
    const found = new Map()
    for (const size of this._sizes) {
      for (const [variable, value] of size.variables) {
        if (value === null) throw new JitError(`TinyJit: ${size} has no value: bind its variables`)
        const known = found.get(variable) ?? value
        if (known !== value) throw new JitError(`TinyJit: ${variable} is both ${known} and ${value}`)
        found.set(variable, value)
      }
    }
    return [...found]
  }
}

const same = (a, b) => a instanceof SymInt ? a.equals(b) : Object.is(a, b)

/** A message on how the static arguments of a call differ from the captured ones; null if they do not. */
function differenceOf (given, captured) {
  if (given.length !== captured.length || given.some((item, i) => item.kind !== captured[i].kind)) {
    return 'TinyJit: the arguments have another structure than those it was captured with'
  }
  const at = given.findIndex((item, i) => !same(item.value, captured[i].value))
  if (at < 0) return null
  const [is, was] = [given, captured].map((items) => items[at].value instanceof SymInt ? String(items[at].value) : show(items[at].value))
  return `TinyJit: an argument is ${is}, but the function was captured with ${was}: ` +
    'what changes from call to call must be a Tensor or a Variable'
}

module.exports = { Arguments, differenceOf }
