'use strict'
/** Tracing of functions of trees: finds the tensors among arguments and results. */

const { PolygradError } = require('../library.js')
const { Base, describe } = require('../base.js')
const { Tensor } = require('../tensor.js')
const { integer, named, show, string } = require('../arguments.js')
const { Leaf, Structure, flatten, spread } = require('./trees.js')
const { Expr } = require('./expr.js')

function needFunction (who, f) {
  if (typeof f !== 'function') throw new TypeError(`${who}: f: ${show(f)}, expected a function`)
}

/** Checks that a value is an array, which has one tree for each argument. */
function needTrees (who, name, value) {
  if (!Array.isArray(value)) throw new TypeError(`${who}: ${name}: ${show(value)}, expected an array with one tree for each argument`)
}

const NO_NUMBERS = new Set()
const isArray = (value) => ArrayBuffer.isView(value) && !(value instanceof DataView)
const isNumber = (value) => typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'

/** Whether a leaf is a tensor or becomes one. */
const isOperand = (value) => value instanceof Base || isArray(value) || isNumber(value)

/** A traced function: the expression of the tensors among its arguments, and the structures of arguments and result. */
class Traced {
  /**
   * Traces f. by and fixed are sets of argument positions: numbers become tensors in the arguments by (null: in all), typed arrays
   * everywhere; the arguments fixed are not touched. inAxes are those of vmap, axis is the name and size of the batch axis.
   */
  constructor (who, f, args, { by = null, fixed = NO_NUMBERS, inAxes, axis } = {}) {
    this.who = who
    needFunction(who, f)
    const leaves = []
    const places = []
    /** The tensors, and their paths in the arguments, for errors. */
    this.tensors = []
    this.names = []
    /** For each argument its structure, and the indices of its tensors in this.tensors. */
    this.structures = []
    this.of = []
    const wheres = []
    args.forEach((arg, k) => {
      const [found, structure] = fixed.has(k) ? [[arg], new Leaf()] : flatten(arg, `${who}: args[${k}]`)
      this.structures.push(structure)
      const own = []
      const paths = [...structure.paths(`args[${k}]`)]
      found.forEach((leaf, i) => {
        const isTensor = !fixed.has(k) && (leaf instanceof Base || isArray(leaf) || (isNumber(leaf) && (by?.has(k) ?? true)))
        if (isTensor) {
          own.push(this.tensors.length)
          this.tensors.push(tensorOf(leaf, `${who}: ${paths[i]}`))
          this.names.push(paths[i])
          places.push(leaves.length)
        }
        leaves.push(leaf)
      })
      wheres.push(...paths)
      this.of.push(own)
    })
    let axes = null
    if (inAxes !== undefined) {
      const given = spread(inAxes, new Structure(null, this.structures), `${who}: inAxes`)
      const all = given.map((at, i) => axisOf(who, at, leaves[i], wheres[i]))
      axes = places.map((place) => all[place])
    }
    this.axes = axes
    this.expr = Expr.trace(who, this.tensors, axes, (stand) => {
      const now = leaves.slice()
      places.forEach((place, i) => { now[place] = stand[i] })
      const rest = now.values()
      const [results, structure] = flatten(f(...this.structures.map((s) => s.take(rest))), `${who}: the function returns`)
      this.out = structure
      this.results = results.map((result) => this._result(result))
      return this.results
    }, this.names, axis)
  }

  _result (value) {
    if (isOperand(value)) return tensorOf(value, `${this.who}: the function returns`)
    throw new TypeError(`${this.who}: the function returns ${show(value)}, expected tensors`)
  }

  /** The indices of the tensors of an argument to differentiate by; throws unless all its leaves are of floating types. */
  floats (arg) {
    for (const k of this.of[arg]) {
      const { dtype } = describe(this.tensors[k])
      if (dtype.isDifferentiable) continue
      throw new TypeError(`${this.who}: ${this.names[k]} is ${dtype.name}, expected a floating type to differentiate by`)
    }
    if (this.of[arg].length === this.structures[arg].size) return this.of[arg]
    throw new TypeError(
      `${this.who}: args[${arg}] has other leaves than tensors and numbers, expected those only to differentiate by`)
  }

  /** The indices of all tensors of floating types. */
  allFloats () {
    return [...this.tensors.keys()].filter((k) => describe(this.tensors[k]).dtype.isDifferentiable)
  }

  /** Checks that the arguments with these numbers have no leaves but tensors. */
  whole (numbers) {
    const other = numbers.find((k) => this.of[k].length !== this.structures[k].size)
    if (other === undefined) return
    throw new TypeError(`${this.who}: args[${other}] has other leaves than tensors and numbers, expected those only`)
  }

  /** Applies an expression that was derived from this one to the tensors, and releases both. */
  last (expr) {
    this.expr.dispose()
    return expr.applyOnce(this.tensors)
  }

  /** Builds the trees of some arguments from a flat list of their leaves. */
  byArgument (numbers, found) {
    const rest = found.values()
    return numbers.map((i) => this.structures[i].take(rest))
  }
}

/** A leaf as a tensor. */
function tensorOf (leaf, what) {
  if (!(leaf instanceof Base)) return new Tensor(leaf)
  if (leaf.isDisposed) throw new PolygradError(`${what}: the tensor was disposed`)
  return leaf
}

/** The batch axis of a leaf, counted from the front. */
function axisOf (who, axis, leaf, name) {
  if (axis === null) return null
  if (!Number.isInteger(axis)) throw new TypeError(`${who}: inAxes: ${show(axis)}, expected integers and null`)
  if (!(leaf instanceof Base) && !isArray(leaf)) {
    throw new TypeError(`${who}: ${name} is ${show(leaf)}, expected a tensor with an axis ${axis} of the batch, or null in inAxes`)
  }
  const shape = leaf instanceof Base ? describe(leaf).shape : [leaf.length]
  const n = shape.length
  if (axis >= -n && axis < n) return axis < 0 ? axis + n : axis
  throw new RangeError(`${who}: ${name} has shape [${shape}], which has no axis ${axis} of the batch`)
}

/** The positions in argnums (a number or an array), checked and counted from the front; there are count arguments. */
function numbersOf (who, argnums, count, name = 'argnums') {
  const numbers = Array.isArray(argnums) ? argnums : [argnums]
  return numbers.map((n) => {
    if (!Number.isInteger(n)) throw new TypeError(`${who}: ${name}: ${show(n)}, expected an argument's number or an array of numbers`)
    if (n < -count || n >= count) throw new RangeError(`${who}: ${name}: ${n}, expected 0 to ${count - 1}`)
    return n < 0 ? n + count : n
  })
}

/** A tangent or a cotangent as a tensor, checked to have the type and shape of the tensor like. */
function fit (who, value, like, name) {
  const { shape, dtype } = describe(like)
  const tensor = value instanceof Base ? value : new Tensor(value, { dtype: dtype.name })
  const found = describe(tensorOf(tensor, `${who}: ${name}`))
  if (found.dtype === dtype && String(found.shape) === String(shape)) return tensor
  throw new PolygradError(`${who}: ${name} is ${found.dtype.name} of shape [${found.shape}], ` +
    `expected ${dtype.name} of shape [${shape}]`)
}

function vmap (f, ...options) {
  needFunction('vmap', f)
  const { inAxes, outAxes, axisSize, axisName } = named('vmap', options, { inAxes: 0, outAxes: 0, axisSize: null, axisName: null })
  if (axisSize !== null && integer(axisSize, 'vmap: axisSize') < 0) throw new RangeError(`vmap: axisSize: ${axisSize}, expected 0 or more`)
  const axis = axisName === null ? undefined : { name: string(axisName, 'vmap: axisName'), size: axisSize }
  return (...args) => {
    const t = new Traced('vmap', f, args, { by: new Set(), inAxes, axis })
    return t.out.build(t.last(t.expr.batch(axisSize, t.axes, spread(outAxes, t.out, 'vmap: outAxes'))))
  }
}

module.exports = { Traced, fit, isNumber, isOperand, needFunction, needTrees, numbersOf, tensorOf, vmap }
