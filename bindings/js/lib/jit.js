'use strict'
/** Functions of tensors that are compiled once and then run without being called again. */

const { constants: c, JitError } = require('./library.js')
const { Base } = require('./base.js')
const { Arguments, differenceOf } = require('./jit_arguments.js')
const { Compiled, tracing, expressed } = require('./trace.js')
const { Running } = require('./shown.js')
const { isOptions, named, show } = require('./arguments.js')
const { environment } = require('./host/node.js')

/** Whether functions are captured, by the environment variable JIT. */
function enabled () {
  const value = environment.JIT || '1'
  if (!['0', '1', '2'].includes(value)) throw new JitError(`JIT: got '${value}', expected one of 0, 1, 2`)
  return value !== '0'
}

class TinyJit extends Function {
  /** @param {Function} fn the function to compile; @param {object} [options] prune */
  constructor (fn, ...options) {
    const { prune } = named('TinyJit', options, { prune: false })
    if (typeof prune !== 'boolean') throw new TypeError(`TinyJit: prune: ${show(prune)}, expected true or false`)
    if (typeof fn !== 'function') throw new TypeError(`TinyJit: fn: ${show(fn)}, expected a function`)
    const jit = function (...args) {
      return jit._for(this)._call(this, args)
    }
    Object.setPrototypeOf(jit, new.target.prototype)
    Object.defineProperties(jit, {
      name: { value: fn.name },
      length: { value: fn.length },
      fn: { value: fn, enumerable: true },
      prune: { value: prune, enumerable: true },
      cnt: { value: 0, writable: true },
      captured: { value: null, writable: true },
      // The TinyJit of each object on which this is called as a method; reset() begins a new generation of them.
      _of: { value: new WeakMap() },
      _generation: { value: 0, writable: true }
    })
    return jit
  }

  reset () {
    /** The number of calls so far. */
    this.cnt = 0
    /** The CapturedJit, null before the second call. */
    this.captured = null
    this._generation++
  }

  async callAsync (...args) {
    return this._for(undefined)._callAsync(undefined, args)
  }

  /** The TinyJit for calls as a method of self: this one if it is a property of self itself, one per object if the class has it. */
  _for (self) {
    if ((typeof self !== 'object' && typeof self !== 'function') || self === null || self === globalThis) return this
    let known = this._of.get(self)
    if (known === undefined || known.generation !== this._generation) {
      const own = Object.values(self).includes(this)
      known = { jit: own ? this : new TinyJit(this.fn, { prune: this.prune }), generation: this._generation }
      this._of.set(self, known)
    }
    return known.jit
  }

  _call (self, args) {
    if (expressed()) return this.fn.apply(self, args)
    if (tracing()) throw new JitError('having TinyJit inside another TinyJit is not supported')
    let result
    if (this.captured !== null) {
      result = this.captured.run(args)
    } else if (this.cnt === 0 || !enabled()) {
      const tensors = this._plain(self, args)
      result = tensors.result
      if (tensors.found.length > 0) tensors.found[0].realize(...tensors.found.slice(1))
    } else {
      result = this._capture(self, args)
    }
    this.cnt++
    return result
  }

  async _callAsync (self, args) {
    if (tracing()) throw new JitError('having TinyJit inside another TinyJit is not supported')
    if (this.captured !== null) {
      const result = await this.captured.runAsync(args)
      this.cnt++
      return result
    }
    if (this.cnt++ > 0 && enabled()) return this._capture(self, args)
    const { result, found } = this._plain(self, args)
    if (found.length > 0) await found[0].realizeAsync(...found.slice(1))
    return result
  }

  /** Calls the function without a program: its result, and the tensors in it. */
  _plain (self, args) {
    new Arguments(args).checkOnce()
    const result = this.fn.apply(self, args)
    return { result, found: new Arguments([result]).tensors }
  }

  _capture (self, args) {
    const captured = new CapturedJit((...given) => this.fn.apply(self, given), args, this.prune)
    this.captured = captured
    const result = captured._first
    captured._first = null
    return result
  }
}

/** A captured function: its program, what its arguments must be like, and how its result is built. */
class CapturedJit extends Running {
  constructor (fn, args, prune) {
    super()
    const given = new Arguments(args)
    given.checkOnce()
    const { tensors } = given
    const variables = given.values()
    this._static = given.static

    // While the function is traced, its tensor arguments are placeholders without values.
    const made = []
    const trace = () => [formOf(fn(...args), new Map(tensors.map((tensor, i) => [tensor, i])), made), made]
    this._program = new Compiled('TinyJit', trace, tensors, prune ? c.POLY_TRACE_PRUNE : 0)
    // Results that existed before the call: the program returns these tensors themselves.
    this._same = this._program.same.map((same, i) => same === null ? null : made[i])
    // The result of the capturing call.
    this._first = this._fill(tensors, this._program.run('TinyJit', tensors, variables))
  }

  /** Runs the program on arguments like those it was captured with. */
  run (args) {
    const [tensors, variables] = this._check(args)
    return this._fill(tensors, this._program.run('TinyJit', tensors, variables))
  }

  async runAsync (args) {
    const [tensors, variables] = this._check(args)
    if (tensors.length > 0) await tensors[0].realizeAsync(...tensors.slice(1))
    return this._fill(tensors, await this._program.runAsync('TinyJit', tensors, variables))
  }

  /** The tensors and variable values in args; throws if the static arguments differ from the captured ones. The library checks tensors. */
  _check (args) {
    const given = new Arguments(args)
    const difference = differenceOf(given.static, this._static)
    if (difference !== null) throw new JitError(difference)
    given.checkOnce()
    return [given.tensors, given.values()]
  }

  _fill (tensors, made) {
    return filled(this._program.result, tensors, made.map((tensor, i) => this._same[i] ?? tensor))
  }
}

/**
 * How a result is rebuilt in each call: { given } is the number of an argument, { made } that of a computed tensor, which is appended to
 * made, { constant } null or undefined, and { items, keys } a container.
 */
function formOf (value, at, made) {
  if (value instanceof Base) return at.has(value) ? { given: at.get(value) } : { made: made.push(value) - 1 }
  if (value == null) return { constant: value }
  if (Array.isArray(value)) return { items: value.map((item) => formOf(item, at, made)), keys: null }
  if (isOptions(value)) return { items: Object.values(value).map((item) => formOf(item, at, made)), keys: Object.keys(value) }
  throw new JitError(`TinyJit: the function returns ${show(value)}, ` +
    'expected tensors: other values would be frozen as they were captured')
}

/** Rebuilds a result from its form. */
function filled (form, given, made) {
  if ('made' in form) return made[form.made]
  if ('given' in form) return given[form.given]
  if ('constant' in form) return form.constant
  const items = form.items.map((item) => filled(item, given, made))
  return form.keys === null ? items : Object.fromEntries(form.keys.map((key, i) => [key, items[i]]))
}

module.exports = { TinyJit, CapturedJit }
