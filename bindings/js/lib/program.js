'use strict'
/** Functions of tensors as compiled programs: what TinyJit and compileStep stand on. */

const { lib, koffi, fail, PolygradError } = require('./library.js')
const { CTX, GraphNode, roomFor, pin, handles, addresses, later, checkMemory } = require('./graph.js')
const { Base, apart } = require('./base.js')
const { Trace } = require('./trace.js')
const { recordSeeds, renew } = require('./random.js')
const { isOptions, put } = require('./arguments.js')

const registry = new FinalizationRegistry((handle) => lib.poly_step_destroy(handle))

/** What a function did while it was traced. */
class Traced {
  /** @param {() => unknown} fn the function; @param {string} who what traces it, for errors */
  constructor (fn, who) {
    const trace = new Trace(who)
    const nodes = new Map()
    /** The memory of the seeds of its random tensors. */
    this.seeds = recordSeeds(() => trace.run(() => apart(() => {
      /** What it returned. */
      this.result = fn()
      note(this.result, nodes)
    }, true)))
    this.nodes = nodes
    /** What it assigned: memory, and the node of its new value. */
    this.changes = trace.changes
    /** The memory that the function assigned. */
    this.written = new Set(trace.changes.map(([before]) => before))
    /** The tensors that stood for other values at its end. */
    this.assigned = trace.before
    /** The leaves that it made. */
    this.leaves = trace.leaves
  }

  /** What a tensor that the function returned stood for at its end. */
  node (tensor) {
    return this.nodes.get(tensor)
  }
}

/** Remembers the nodes of the tensors in a result: the trace puts tensors back. */
function note (value, nodes) {
  if (value instanceof Base) nodes.set(value, value._node)
  else if (Array.isArray(value) || isOptions(value)) for (const item of Object.values(value)) note(item, nodes)
}

/** Memory for the buffers of a run and values for its variables. */
class Bindings {
  constructor (nBuffers, nVariables) {
    this._records = new BigUint64Array(4 * nBuffers)
    this._values = new Int32Array(4 * nVariables)
    this._arrays = []
    this._nValues = 0
  }

  /** Lets a run use the memory of an array for a buffer, if it has that buffer. */
  add (buffer, array) {
    if (buffer === null || array.byteLength === 0) return
    // PolyBufferBinding: the node, the address, the number of bytes.
    this._records.set([BigInt(buffer.handle), koffi.address(array), BigInt(array.byteLength)], 4 * this._arrays.length)
    this._arrays.push(array)
  }

  /** Gives a variable a value. */
  bind (variable, value) {
    // PolyVarBinding: the node, the value.
    put(this._values, 2 * this._nValues, variable._node.handle)
    this._values[4 * this._nValues++ + 2] = value
  }

  /** The arguments of a call. */
  get args () {
    return [this._records, this._arrays.length, ...this.variables]
  }

  /** The variables as arguments of a call. */
  get variables () {
    return [this._values, this._nValues]
  }
}

/**
 * Values to compute and memory to change, compiled once. The values are written to arrays; where a run does
 * not say otherwise, always the same ones. Where inputs are given, only their memory, that of seeds and what is changed may
 * be another in each run: what depends on none of it is computed once.
 */
class Program {
  constructor (values, changes, seeds, inputs = null) {
    /** The number of values, whose nodes come first; then the memory and its new value of each change. */
    this.nValues = values.length
    // The program works on the memory of these nodes.
    this.nodes = [...values, ...changes.flat()]
    for (const node of this.nodes) node.users++
    this._seeds = seeds
    this.arrays = this.room().map(pin)
    const before = handles(changes.map(([node]) => node))
    const after = handles(changes.map(([, node]) => node))
    const asked = [CTX, handles(values), addresses(this.arrays), values.length, before, after, changes.length]
    if (inputs === null) {
      this._handle = lib.poly_compile_update(...asked)
    } else {
      const given = [...inputs, ...seeds.map(([, , seed]) => seed).filter((seed) => seed.handle !== 0)]
      this._handle = lib.poly_compile_update_pruned(...asked, handles(given), given.length)
    }
    if (this._handle === 0) fail()
    registry.register(this, this._handle, this)
  }

  /** New arrays for the values. */
  room () {
    return this.nodes.slice(0, this.nValues).map(roomFor)
  }

  _alive (fn) {
    if (this._handle === 0) throw new PolygradError(`${fn}: the step was disposed`)
    checkMemory(this.nodes)
    return this._handle
  }

  /** Gives the random tensors of the next run new seeds. */
  renew () {
    if (this._seeds.length > 0) renew(this._seeds)
  }

  /** Runs with the inputs given when the program was made. */
  run () {
    const handle = this._alive('run')
    this.renew()
    if (lib.poly_step_run(handle, null, 0) !== 0) fail()
  }

  /** run in another thread. */
  async runAsync () {
    // The job holds on to the program, which must not be collected while it runs.
    await later(lib.poly_step_run_async, [this._alive('runAsync'), null, 0, null, 0], this, () => this.renew())
  }

  /** Runs on other memory, with other values of variables; bound memory must stay alive. */
  runOn (bindings) {
    if (lib.poly_step_run_ex(this._alive('run'), ...bindings.args) !== 0) fail()
  }

  /** runOn in another thread; prepare is called when it is its turn. */
  async runOnAsync (bindings, prepare) {
    await later(lib.poly_step_run_async, [this._alive('run'), ...bindings.args], [this, bindings], prepare)
  }

  /** The buffer behind a node, null if the program does not use it. */
  bufferOf (node) {
    return this._buffer(lib.poly_step_buf_index(this._handle, node.handle))
  }

  /** The buffer that a value is written to, null if it is empty. */
  bufferOfValue (i) {
    return this._buffer(lib.poly_step_value_index(this._handle, i))
  }

  _buffer (index) {
    if (index < 0) return null
    const handle = lib.poly_step_buf_uop(this._handle, index)
    if (handle === 0) fail()
    const node = new GraphNode(handle, [], null, false)
    node.users = 1 // it lives as long as the program
    return node
  }

  /** The number of compiled kernels. */
  get nKernels () {
    return lib.poly_step_n_kernels(this._handle)
  }

  /** The number of intermediate buffers. */
  get nIntermediates () {
    return lib.poly_step_n_intermediates(this._handle)
  }

  /** Frees the program; it cannot run any more. */
  dispose () {
    if (this._handle === 0) return
    lib.poly_step_destroy(this._handle)
    registry.unregister(this)
    this._handle = 0
    for (const node of this.nodes) node.drop()
    this.nodes = []
  }
}

module.exports = { Traced, Program, Bindings }
