'use strict'
/** Training steps as one compiled program. */

const { lib, fail, PolygradError } = require('../library.js')
const { CTX, describe, pin, handles, addresses, count, later, checkMemory } = require('../graph.js')
const { Tensor } = require('../tensor.js')
const { Trace } = require('../trace.js')
const { recordSeeds, renew } = require('../random.js')
const { getStateDict } = require('./state.js')
const { show } = require('../arguments.js')

const registry = new FinalizationRegistry((handle) => lib.poly_step_destroy(handle))

/** A program that was traced from a function of tensors; see compileStep. */
class CompiledTrainingStep {
  constructor (results, changes, seeds) {
    this._seeds = seeds
    // The program works on the memory of these nodes.
    this._nodes = [...results, ...changes.flat()]
    for (const node of this._nodes) node.users++
    this._arrays = results.map((node) => {
      const { dtype, shape } = describe(node)
      return pin(new dtype.Array(count(shape)))
    })
    const before = handles(changes.map(([node]) => node))
    const after = handles(changes.map(([, node]) => node))
    this._handle = lib.poly_compile_update(CTX, handles(results), addresses(this._arrays), results.length, before, after, changes.length)
    if (this._handle === 0) fail()
    registry.register(this, this._handle, this)
  }

  /** Executes all kernels: forward, backward and the update. */
  run () {
    if (this._handle === 0) throw new PolygradError('run: the step was disposed')
    checkMemory(this._nodes)
    if (this._seeds.length > 0) renew(this._seeds)
    if (lib.poly_step_run(this._handle, null, 0) !== 0) fail()
  }

  /** run in another thread: the event loop goes on meanwhile. */
  async runAsync () {
    if (this._handle === 0) throw new PolygradError('runAsync: the step was disposed')
    checkMemory(this._nodes)
    // The job holds on to the step, which must not be collected while it runs.
    await later(lib.poly_step_run_async, [this._handle, null, 0, null, 0], this, () => renew(this._seeds))
  }

  /** The loss of the last run, computed before its update. */
  lossValue () {
    if (this._arrays.length === 0 || this._arrays[0].length !== 1) {
      throw new PolygradError('lossValue: the function does not return a tensor with one element')
    }
    return Number(this._arrays[0][0])
  }

  /** The memory of all results of the function, written by each run. */
  get outputs () {
    return this._arrays
  }

  /** The number of compiled kernels. */
  get nKernels () {
    return lib.poly_step_n_kernels(this._handle)
  }

  /** The number of intermediate buffers. */
  get nIntermediates () {
    return lib.poly_step_n_intermediates(this._handle)
  }

  /** Gives back what the step holds; it cannot run any more. */
  dispose () {
    if (this._handle === 0) return
    lib.poly_step_destroy(this._handle)
    registry.unregister(this)
    this._handle = 0
    for (const node of this._nodes) node.drop()
    this._nodes = []
  }
}
CompiledTrainingStep.prototype[Symbol.dispose] = CompiledTrainingStep.prototype.dispose

/**
 * Traces a training step and compiles it into one program.
 *
 * fn(...args) is called once. It may compute, call backward and step an optimizer, and returns the
 * loss, a list of tensors (the loss first) or nothing; it must not look at values. The tensors it
 * used are inputs of the program: change them in place (x.data.set(…)) and run() again. What it did
 * not find in tensors (numbers, the shape of things) stays as it was.
 */
function compileStep (fn, ...args) {
  if (typeof fn !== 'function') throw new TypeError(`compileStep: fn: ${show(fn)}, expected a function`)
  const inputs = Object.values(getStateDict(args))
  if (inputs.length > 0) inputs[0].realize(...inputs.slice(1))
  const trace = new Trace()
  let nodes
  const seeds = recordSeeds(() => trace.run(() => {
    const result = fn(...args) ?? []
    const tensors = Array.isArray(result) ? result : [result]
    for (const tensor of tensors) {
      if (!(tensor instanceof Tensor)) throw new TypeError(`compileStep: fn: returned ${show(tensor)}, expected tensors or nothing`)
    }
    nodes = tensors.map((t) => t._node)
  }))
  if (nodes.length === 0 && trace.changes.length === 0) {
    throw new PolygradError('compileStep: fn: returns nothing and changes nothing')
  }
  return new CompiledTrainingStep(nodes, trace.changes, seeds)
}

module.exports = { CompiledTrainingStep, compileStep }
