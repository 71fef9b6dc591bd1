'use strict'
/** Expressions: functions of tensors as graphs of the library. */

const { lib, taken, JitError, PolygradError } = require('../library.js')
const { CTX, freeWith, freed, prepare, handlesOf } = require('../handles.js')
const { handleOf, made } = require('../base.js')
const { get, string } = require('../arguments.js')
const { expressing } = require('../trace.js')

const NONE = -1

// JavaScript's names of functions that messages of the library name.
const OWN = { JVP: 'jvp', Scan: 'scan', ForLoop: 'foriLoop' }

/** Throws the last error of the library as an error of the function who; names[i] replaces "argument i". */
function failed (who, names = []) {
  const text = lib.poly_last_error()
    .replace(/^poly_\w+: (?:(?:f|args|results|length|size|x|axis): )?/, '')
    .replace(/\bargument (\d+)\b/g, (whole, i) => names[i] ?? whole)
    .replace(/\b(in|out)_axes\b/g, '$1Axes')
    .replace(/\b(?:JVP|Scan|ForLoop)\b/g, (word) => OWN[word])
  throw new (/\btrace/.test(text) ? JitError : PolygradError)(`${who}: ${text}`)
}

/** A stack with one map for each function that is being traced: the batching rules that it has used, by number (see Expr.customVmap). */
const used = []
let numbers = 0

const axesOf = (values) => Int32Array.from(values, (value) => value ?? NONE)

/** A collective operation along the named axis of a batch. */
function along (who, operation, axis, x) {
  const name = string(axis, `${who}: axisName`)
  const handle = lib.poly_expr_along(handleOf(x), operation, name)
  if (handle === 0) failed(who)
  return made(handle)
}

/** A function of tensors as a graph, which can be transformed and applied. */
class Expr {
  constructor (who, names, handle) {
    if (handle === 0) failed(who, names)
    this.who = who
    this.names = names
    this._handle = handle
    freeWith(this, lib.poly_expr_release, handle)
    const outputs = new Int32Array(1)
    if (lib.poly_expr_info(handle, null, outputs) !== 0) failed(who)
    this.outputs = outputs[0]
  }

  /**
   * Traces a function: calls it on placeholders for tensors, whose shapes lack the batch axes.
   *
   * @param {(number | null)[] | null} axes the batch axis of each tensor
   * @param {(given: Base[]) => Base[]} call the function
   * @param {string[]} names where the tensors are, for errors
   * @param {{ name: string, size: number | null }} [axis] the name of the batch axis, and its size, null to take it from the tensors
   */
  static trace (who, tensors, axes, call, names, axis) {
    const n = tensors.length
    const given = new Int32Array(2 * n)
    const handles = handlesOf(tensors)
    prepare()
    if (lib.poly_expr_begin(CTX, who, handles, n, axes === null ? null : axesOf(axes), given) !== 0) failed(who, names)
    if (axis !== undefined && lib.poly_expr_axis(CTX, axis.name, axis.size ?? NONE) !== 0) {
      try {
        failed(who, names)
      } finally {
        lib.poly_expr_abandon(CTX)
      }
    }
    return Expr._called(who, given, n, call, names)
  }

  /** Completes a trace that has begun: calls the function on n placeholders, whose handles are in given. */
  static _called (who, given, n, call, names) {
    const rules = new Map()
    used.push(rules)
    let results, found
    try {
      results = expressing(who, () => call(Array.from({ length: n }, (_, i) => made(get(given, i)))))
      found = handlesOf(results)
    } catch (error) {
      lib.poly_expr_abandon(CTX)
      throw error
    } finally {
      used.pop()
      rules.forEach((rule, number) => used.at(-1)?.set(number, rule))
    }
    const expr = new Expr(who, names, lib.poly_expr_end(CTX, found, results.length))
    expr.results = results.map(({ shape, dtype }) => ({ shape, dtype }))
    expr.rules = rules
    return expr
  }

  /** Transforms the function, and repeats that with more batching rules until none is missing. */
  _transformed (transform, ...how) {
    const transformed = () => {
      const expr = new Expr(this.who, this.names, transform(this._handle, ...how))
      expr.rules = this.rules
      return expr
    }
    let expr = transformed()
    while (this.rules?.size > 0 && this._addRule()) {
      while (this._addRule());
      expr.dispose()
      expr = transformed()
    }
    return expr
  }

  /** Traces the next batching rule that is missing, and adds it to the expression; false if none is missing. */
  _addRule () {
    const who = 'customVmap'
    const room = Math.max(...Array.from(this.rules.values(), (rule) => rule.names.length))
    const [number, size, flags, given] = [new BigInt64Array(1), new BigInt64Array(1), new Int32Array(room), new Int32Array(2 * room)]
    prepare()
    const n = lib.poly_expr_begin_rule(this._handle, who, number, size, flags, given, room)
    if (n < 0) failed(who)
    if (n === 0) return false
    const rule = this.rules.get(Number(number[0]))
    let batched
    const expr = Expr._called(who, given, n, (stand) => {
      const found = rule.compute(Number(size[0]), Array.from(flags.subarray(0, n), (flag) => flag !== 0), stand)
      batched = Int32Array.from(found.batched, Number)
      return found.results
    }, rule.names)
    expr.rules.forEach((value, key) => this.rules.set(key, value))
    try {
      if (lib.poly_expr_add_rule(this._handle, expr._handle, batched, batched.length) !== 0) failed(who)
    } finally {
      expr.dispose()
    }
    return true
  }

  /** A derivative with respect to some inputs: see PolyDerivative in polygrad.h. */
  derive (derivative, of) {
    const by = Int32Array.from(of)
    return this._transformed(lib.poly_expr_derive, derivative, by, by.length)
  }

  /** The function mapped over a batch; size is null to take it from the inputs. */
  batch (size, inAxes, outAxes) {
    const ends = outAxes.map((axis, i) => {
      const { length } = this.results[i].shape
      if (axis === null) return axis
      if (!Number.isInteger(axis)) throw new TypeError(`${this.who}: outAxes: ${String(axis)}, expected integers and null`)
      if (axis >= -length - 1 && axis <= length) return axis < 0 ? axis + length + 1 : axis
      throw new RangeError(`${this.who}: outAxes: ${axis}, expected ${-length - 1} to ${length}`)
    })
    const [starts, n] = [axesOf(inAxes), inAxes.length]
    return this._transformed(lib.poly_expr_batch, size ?? NONE, starts, n, axesOf(ends), ends.length)
  }

  /** Applies the function to tensors, which must have the types and shapes of its inputs. */
  apply (tensors) {
    return this._run(lib.poly_expr_apply, [], tensors)
  }

  /** The final carry of a loop over sequences, and the stacked outputs of its steps. */
  scan (carried, length, reverse, tensors) {
    return this._run(lib.poly_expr_scan, [carried, length, Number(reverse)], tensors)
  }

  /** The prefix scan of sequences with this expression as the associative operator. */
  associativeScan (reverse, tensors) {
    return this._run(lib.poly_expr_associative_scan, [Number(reverse)], tensors)
  }

  /** The final carry of a loop that runs while the last output is true. */
  loop (tensors) {
    return this._run(lib.poly_expr_while, [], tensors)
  }

  /** The outputs of one branch; the first tensor is its number. */
  switch (branches, tensors) {
    return this._run(lib.poly_expr_switch, [branches], tensors)
  }

  /** The expression with some of the outputs only. */
  select (outputs) {
    return new Expr(this.who, this.names, lib.poly_expr_select(this._handle, Int32Array.from(outputs), outputs.length))
  }

  /** The outputs; derivatives recompute intermediate values instead of storing them, as policy says. */
  checkpoint (policy, tensors) {
    return this._run(lib.poly_expr_checkpoint, [policy], tensors)
  }

  /** The outputs; their tangents are computed by another expression. */
  customJvp (tangent, tensors) {
    return this._run(lib.poly_expr_custom_jvp, [tangent._handle], tensors)
  }

  /** The outputs; their gradients are computed by the expressions forward and backward. */
  customVjp (forward, backward, tensors) {
    return this._run(lib.poly_expr_custom_vjp, [forward._handle, backward._handle], tensors)
  }

  /**
   * The outputs; for a batch a rule computes them. rule.compute(size, flags, tensors) gets the batch size, which tensors are batched, and
   * the tensors, and returns { results, batched }; rule.names are the paths of the tensors, for errors.
   */
  customVmap (rule, tensors) {
    const number = numbers++
    used.at(-1)?.set(number, rule) // outside of a trace nothing can batch it
    return this._run(lib.poly_expr_custom_vmap, [number], tensors)
  }

  toString () {
    return taken(lib.poly_expr_text(this._handle))
  }

  _run (run, how, tensors) {
    const out = new Int32Array(2 * this.outputs)
    const given = handlesOf(tensors)
    prepare()
    const n = run(this._handle, ...how, given, tensors.length, out, this.outputs)
    if (n < 0) failed(this.who, this.names)
    return Array.from({ length: n }, (_, i) => made(get(out, i)))
  }

  /** apply, then releases the expression. */
  applyOnce (tensors) {
    try {
      return this.apply(tensors)
    } finally {
      this.dispose()
    }
  }

  dispose () {
    if (this._handle === 0) return
    lib.poly_expr_release(this._handle)
    freed(this)
    this._handle = 0
  }
}

module.exports = { Expr, along }
