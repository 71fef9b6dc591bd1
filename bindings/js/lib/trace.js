'use strict'
/** Functions of tensors as compiled programs: the base of TinyJit and compileStep. */

const { lib, engine, fail, JitError, PolygradError } = require('./library.js')
const { CTX, freeWith, freed, prepare, handlesOf, inTurn } = require('./handles.js')
const { made, handleOf } = require('./base.js')
const { get, put } = require('./arguments.js')

let running = null

/** Whether a function is being traced. */
function tracing () {
  return running !== null
}

let expressions = 0

/** Runs a function that is traced; a stack overflow becomes a JitError about endless recursion. */
function ending (who, fn) {
  try {
    return fn()
  } catch (error) {
    if (!/call stack|recursion/.test(error?.message)) throw error
    throw new JitError(`${who}: the function calls itself without an end: what depends on a tensor ends nothing while it is traced; ` +
      'use lax.whileLoop, lax.foriLoop or lax.scan')
  }
}

/** Runs a function that is traced to an expression: see func. */
function expressing (who, fn) {
  expressions++
  try {
    return ending(who, fn)
  } finally {
    expressions--
  }
}

/** How deeply the functions that are being traced to expressions are nested. */
function expressed () {
  return expressions
}

/** A compiled function of tensors. It runs on the device of its arguments and of the tensors that it uses. */
class Compiled {
  /**
   * Traces a function, which returns anything and the tensors among its results.
   *
   * @param {string} who the function that traces it, for errors
   * @param {() => [unknown, Base[]]} fn the function
   * @param {Base[]} args tensors that have no values while it runs
   * @param {number} flags PolyTraceFlags
   */
  constructor (who, fn, args, flags) {
    if (running !== null) throw new JitError(`${who} inside of ${running}`)
    const n = args.length
    args.forEach(handleOf)
    const given = new Int32Array(2 * n)
    prepare()
    if (lib.poly_trace_begin(CTX, who, handlesOf(args), n, given) !== 0) failed(who)
    running = who
    const before = args.map((tensor) => tensor._handle)
    args.forEach((tensor, i) => { tensor._handle = get(given, i) })
    let ended = false
    try {
      const [result, tensors] = ending(who, fn)
      /** What the function returned. */
      this.result = result
      this.nResults = tensors.length
      const results = handlesOf(tensors)
      ended = true
      this._handle = lib.poly_trace_end(CTX, results, tensors.length, flags)
      if (this._handle === 0) failed(who)
    } finally {
      if (!ended) lib.poly_trace_abandon(CTX)
      running = null
      args.forEach((tensor, i) => { tensor._handle = before[i] })
      lib.poly_array_release_n(given, n)
    }
    freeWith(this, lib.poly_function_release, this._handle)
    const same = Array.from({ length: this.nResults }, (_, i) => lib.poly_function_result(this._handle, i))
    /** The results that are the same in each run, null for others. */
    this.same = same.map((handle) => handle === 0 ? null : made(handle).keep())
  }

  /** The handle of the program. */
  get handle () {
    if (this._handle === 0) throw new PolygradError('run: the step was disposed')
    return this._handle
  }

  _call (args, variables, memory = {}) {
    const values = variables.length > 0 ? new Int32Array(4 * variables.length) : memory.values ??= new Int32Array(0)
    variables.forEach(([variable, value], i) => {
      // PolyVarBinding: the node, the value.
      put(values, 2 * i, variable._handle)
      values[4 * i + 2] = value
    })
    const out = memory.out ??= new Int32Array(2 * this.nResults)
    const given = handlesOf(args, memory.given ??= new Int32Array(2 * args.length))
    return [this.handle, given, args.length, values, variables.length, out, this.nResults]
  }

  /** Runs on arguments, with values of variables, and returns the tensors of its results. */
  run (who, args, variables) {
    // Calls are synchronous, so all of them reuse one set of arrays.
    const call = this._call(args, variables, this._memory ??= {})
    prepare()
    if (lib.poly_function_run(...call) < 0) failed(who)
    return resultsOf(call)
  }

  runAsync (who, args, variables) {
    const call = this._call(args, variables)
    return inTurn([this, args], async () => {
      // The library keeps error texts per thread: a call that failed is repeated here to get its text.
      if (await engine.async(lib.poly_function_run, call) < 0 && lib.poly_function_run(...call) < 0) failed(who)
      return resultsOf(call)
    })
  }

  /** Runs a program of no arguments, whose results are always the same tensors. */
  rerun () {
    if (lib.poly_function_rerun(this.handle) !== 0) fail()
  }

  /** rerun in another thread. */
  async rerunAsync () {
    const { handle } = this
    await inTurn(this, async () => {
      if (await engine.async(lib.poly_function_rerun, [handle]) !== 0) this.rerun()
    }, 'training')
  }

  /** Frees the program; it cannot run any more. */
  dispose () {
    if (this._handle === 0) return
    lib.poly_function_release(this._handle)
    freed(this)
    this._handle = 0
  }
}

function resultsOf ([,,,,, out, n]) {
  return Array.from({ length: n }, (_, i) => made(get(out, i)))
}

/** Throws the library's last error as a JitError of the function who. */
function failed (who) {
  try {
    fail(who)
  } catch ({ message }) {
    throw new JitError(message.replace(/: (?:args|results): /, ': '))
  }
}

module.exports = { Compiled, tracing, expressing, expressed }
