'use strict'
/** Training steps as one compiled program. */

const { constants: c, JitError, PolygradError } = require('../library.js')
const { Tensor } = require('../tensor.js')
const { Compiled } = require('../trace.js')
const { Running } = require('../shown.js')
const { getStateDict } = require('./state.js')
const { show } = require('../arguments.js')

class CompiledTrainingStep extends Running {
  constructor (program) {
    super()
    this._program = program
  }

  run () {
    this._program.rerun()
  }

  runAsync () {
    return this._program.rerunAsync()
  }

  get _loss () {
    const [loss] = this._program.same
    if (loss?.numel() !== 1) throw new PolygradError('lossValue: the function does not return a tensor with one element')
    return loss
  }

  lossValue () {
    return Number(this._loss.item())
  }

  async lossValueAsync () {
    return Number(await this._loss.itemAsync())
  }

  get outputs () {
    return this._program.same.map((result) => result.data)
  }

  /** Frees the step; it cannot run any more. */
  dispose () {
    this._program.dispose()
  }

  [Symbol.dispose] () {
    this.dispose()
  }
}

function compileStep (fn, ...args) {
  if (typeof fn !== 'function') throw new TypeError(`compileStep: fn: ${show(fn)}, expected a function`)
  const inputs = Object.values(getStateDict(args))
  if (inputs.length > 0) inputs[0].realize(...inputs.slice(1))
  const trace = () => {
    const result = fn(...args)
    const tensors = [result ?? []].flat()
    for (const tensor of tensors) {
      if (!(tensor instanceof Tensor)) throw new TypeError(`compileStep: fn: returned ${show(tensor)}, expected tensors or nothing`)
    }
    return [null, tensors]
  }
  try {
    return new CompiledTrainingStep(new Compiled('compileStep', trace, [], c.POLY_TRACE_FIXED))
  } catch (error) {
    // The JitError of an empty capture, in terms of compileStep.
    const nothing = error instanceof JitError && /computes nothing/.test(error.message)
    if (nothing) throw new PolygradError('compileStep: fn: returns nothing and changes nothing')
    throw error
  }
}

module.exports = { CompiledTrainingStep, compileStep }
