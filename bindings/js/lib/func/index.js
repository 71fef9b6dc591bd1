'use strict'
/**
 * Functions of functions: gradients, Jacobians, tangents and batches, in any order and depth. index.d.ts tells what they do. The library
 * transforms the graphs; here are the trees of arguments and results.
 */

const { constants: c, PolygradError } = require('../library.js')
const { Base, handleOf, describe } = require('../base.js')
const { Tensor } = require('../tensor.js')
const { named, integer, record, show } = require('../arguments.js')
const { getStateDict } = require('../nn/state.js')
const { Leaf, Structure, flatten, leavesLike, spread } = require('./trees.js')
const { Expr } = require('./expr.js')

function treeMap (f, tree, ...rest) {
  needFunction('treeMap', f)
  const [leaves, structure] = flatten(tree, 'treeMap: tree')
  const others = rest.map((other, i) => leavesLike(other, structure, `treeMap: rest[${i}]`, 'tree'))
  return structure.build(leaves.map((leaf, i) => f(leaf, ...others.map((items) => items[i]))))
}

function needFunction (who, f) {
  if (typeof f !== 'function') throw new TypeError(`${who}: f: ${show(f)}, expected a function`)
}

/** A list of trees, one for each argument. */
function needTrees (who, name, value) {
  if (!Array.isArray(value)) throw new TypeError(`${who}: ${name}: ${show(value)}, expected an array with one tree for each argument`)
}

const isArray = (value) => ArrayBuffer.isView(value) && !(value instanceof DataView)
const isNumber = (value) => typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'

/** A function of the tensors among some arguments, as an expression. */
class Traced {
  /** Traces f. Numbers in the arguments by, null for all, become tensors, as do all typed arrays; inAxes are those of vmap. */
  constructor (who, f, args, { by = null, inAxes } = {}) {
    this.who = who
    needFunction(who, f)
    const leaves = []
    const places = []
    /** The tensors, and where each is, for errors. */
    this.tensors = []
    this.names = []
    /** The structures of the arguments, and the numbers of the tensors of each among all. */
    this.structures = []
    this.of = []
    const wheres = []
    args.forEach((arg, k) => {
      const [found, structure] = flatten(arg, `${who}: args[${k}]`)
      this.structures.push(structure)
      const own = []
      const paths = [...structure.paths(`args[${k}]`)]
      found.forEach((leaf, i) => {
        const isTensor = leaf instanceof Base || isArray(leaf) || (isNumber(leaf) && (by?.has(k) ?? true))
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
      const all = given.map((axis, i) => axisOf(who, axis, leaves[i], wheres[i]))
      axes = places.map((place) => all[place])
    }
    this.axes = axes
    this.expr = Expr.trace(who, this.tensors, axes, (stand) => {
      const now = leaves.slice()
      places.forEach((place, i) => { now[place] = stand[i] })
      const rest = now.values()
      const [results, structure] = flatten(f(...this.structures.map((s) => s.take(rest))), `${who}: the function returns`)
      this.out = structure
      return results.map((result) => this._result(result))
    }, this.names)
  }

  _result (value) {
    if (value instanceof Base || isArray(value) || isNumber(value)) return tensorOf(value, `${this.who}: the function returns`)
    throw new TypeError(`${this.who}: the function returns ${show(value)}, expected tensors`)
  }

  /** The numbers of the tensors of an argument, which are of floating types. */
  floats (arg) {
    for (const k of this.of[arg]) {
      const { dtype } = describe(this.tensors[k])
      if (dtype.isFloat) continue
      throw new TypeError(`${this.who}: ${this.names[k]} is ${dtype.name}, expected a floating type to differentiate by`)
    }
    if (this.of[arg].length === this.structures[arg].size) return this.of[arg]
    throw new TypeError(
      `${this.who}: args[${arg}] has other leaves than tensors and numbers, expected those only to differentiate by`)
  }

  /** The numbers of all tensors of floating types. */
  allFloats () {
    return [...this.tensors.keys()].filter((k) => describe(this.tensors[k]).dtype.isFloat)
  }

  /** The outputs for the tensors of an expression made of this one; both are given back. */
  last (expr) {
    this.expr.dispose()
    return expr.applyOnce(this.tensors)
  }

  /** Trees of some arguments, of tensors in their order. */
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

/** The axis of the batch in a leaf, counted from the front. */
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

/** The numbers of arguments, of which there are count. */
function numbersOf (who, argnums, count) {
  const numbers = Array.isArray(argnums) ? argnums : [argnums]
  return numbers.map((n) => {
    if (!Number.isInteger(n)) throw new TypeError(`${who}: argnums: ${show(n)}, expected an argument's number or an array of numbers`)
    if (n < -count || n >= count) throw new RangeError(`${who}: argnums: ${n}, expected 0 to ${count - 1}`)
    return n < 0 ? n + count : n
  })
}

const one = (trees, argnums) => Array.isArray(argnums) ? trees : trees[0]

/** What a loss returns: the loss, and with hasAux what comes with it. */
function checkLoss (who, result, hasAux) {
  if (hasAux && !(Array.isArray(result) && result.length === 2)) {
    throw new TypeError(`${who}: hasAux: the function returns ${show(result)}, expected an array of a loss and more`)
  }
  const loss = hasAux ? result[0] : result
  const [, structure] = flatten(loss, `${who}: the function returns`)
  if (!(structure instanceof Leaf)) throw new TypeError(`${who}: the function returns ${show(loss)}, expected a loss: one scalar`)
  return hasAux ? result : [result]
}

const BY = { argnums: 0, hasAux: false }

/** The options of a function by name. */
function optionsOf (who, options, defaults) {
  const given = named(who, options, defaults)
  const { hasAux = false } = given
  if (typeof hasAux !== 'boolean') throw new TypeError(`${who}: hasAux: ${show(hasAux)}, expected true or false`)
  return given
}

/** valueAndGrad, for a function of a name. */
function withGradients (who, f, { argnums, hasAux }) {
  needFunction(who, f)
  return (...args) => {
    const numbers = numbersOf(who, argnums, args.length)
    const t = new Traced(who, (...given) => checkLoss(who, f(...given), hasAux), args, { by: new Set(numbers) })
    const flat = numbers.flatMap((i) => t.floats(i))
    const found = t.last(t.expr.derive(c.POLY_DERIVE_GRAD, flat))
    const grads = t.byArgument(numbers, found.slice(0, flat.length))
    const result = t.out.build(found.slice(flat.length))
    return [hasAux ? result : result[0], one(grads, argnums)]
  }
}

function valueAndGrad (f, ...options) {
  return withGradients('valueAndGrad', f, optionsOf('valueAndGrad', options, BY))
}

function grad (f, ...options) {
  const by = optionsOf('grad', options, BY)
  const both = withGradients('grad', f, by)
  return (...args) => {
    const [value, grads] = both(...args)
    return by.hasAux ? [grads, value[1]] : grads
  }
}

/** A function that is linearised: traced by all its arguments, with its value. */
class Linear {
  constructor (who, f, primals, options) {
    needFunction(who, f)
    needTrees(who, 'primals', primals)
    this.hasAux = optionsOf(who, options, { hasAux: false }).hasAux
    this.t = new Traced(who, this.hasAux ? detachedAux(who, f) : f, primals)
    this.by = this.t.allFloats()
    /** All outputs: those of the value, then those of what comes with it. */
    this.found = this.t.expr.apply(this.t.tensors)
    const tree = this.t.out.build(this.found)
    this.structure = this.hasAux ? this.t.out.children[0] : this.t.out
    this.value = this.hasAux ? tree[0] : tree
    this.aux = this.hasAux ? [tree[1]] : []
  }

  /** The derivative as an expression. */
  derive (derivative) {
    const expr = this.t.expr.derive(derivative, this.by)
    this.t.expr.dispose()
    return expr
  }
}

/** A function whose results beside the value are constants. */
function detachedAux (who, f) {
  return (...args) => {
    const result = f(...args)
    if (Array.isArray(result) && result.length === 2) return [result[0], stopGradient(result[1])]
    throw new TypeError(`${who}: hasAux: the function returns ${show(result)}, expected an array of a value and more`)
  }
}

/** A tangent or a cotangent as a tensor like another one. */
function fit (who, value, like, name) {
  const { shape, dtype } = describe(like)
  const tensor = value instanceof Base ? value : new Tensor(value, { dtype: dtype.name })
  const found = describe(tensorOf(tensor, `${who}: ${name}`))
  if (found.dtype === dtype && String(found.shape) === String(shape)) return tensor
  throw new PolygradError(`${who}: ${name} is ${found.dtype.name} of shape [${found.shape}], ` +
    `expected ${dtype.name} of shape [${shape}]`)
}

/** The change of a linearised function, as a function of an array of tangents. */
function changeOf (who, linear) {
  const { t, by, structure } = linear
  const expr = linear.derive(c.POLY_DERIVE_JVP)
  return (tangents) => {
    const count = t.structures.length
    if (tangents.length !== count) throw new PolygradError(`${who}: ${tangents.length} tangents, expected ${count} as primals`)
    const given = tangents.flatMap((tree, i) => leavesLike(tree, t.structures[i], `${who}: tangents[${i}]`, `primals[${i}]`))
    const tensors = by.map((k) => fit(who, given[k], t.tensors[k], `the tangent of ${t.names[k]}`))
    return structure.build(expr.apply([...t.tensors, ...tensors]).slice(t.out.size, t.out.size + structure.size))
  }
}

function linearize (f, primals, ...options) {
  const linear = new Linear('linearize', f, primals, options)
  const change = changeOf('linearize', linear)
  return [linear.value, (...tangents) => change(tangents), ...linear.aux]
}

function jvp (f, primals, tangents, ...options) {
  return tangentOf('jvp', f, primals, tangents, options)
}

function tangentOf (who, f, primals, tangents, options) {
  needTrees(who, 'tangents', tangents)
  const linear = new Linear(who, f, primals, options)
  return [linear.value, changeOf(who, linear)(tangents), ...linear.aux]
}

function vjp (f, primals, ...options) {
  const linear = new Linear('vjp', f, primals, options)
  const { t, by, found, structure } = linear
  const expr = linear.derive(c.POLY_DERIVE_VJP)
  const names = [...structure.paths('the cotangent')]
  const pullback = (cotangent) => {
    const given = leavesLike(cotangent, structure, 'vjp: the cotangent', 'the result')
    const tensors = given.map((value, i) => fit('vjp', value, found[i], names[i]))
    // What comes with the value is detached, so it may be its own cotangent.
    const grads = expr.apply([...t.tensors, ...tensors, ...found.slice(structure.size)])
    const all = Array(t.tensors.length).fill(null)
    by.forEach((k, i) => { all[k] = grads[i] })
    return t.byArgument([...t.structures.keys()], all)
  }
  return [linear.value, pullback, ...linear.aux]
}

function linearTranspose (f, primals) {
  return vjp(f, primals)[1]
}

function vmap (f, ...options) {
  needFunction('vmap', f)
  const { inAxes, outAxes, axisSize } = named('vmap', options, { inAxes: 0, outAxes: 0, axisSize: null })
  if (axisSize !== null && integer(axisSize, 'vmap: axisSize') < 0) throw new RangeError(`vmap: axisSize: ${axisSize}, expected 0 or more`)
  return (...args) => {
    const t = new Traced('vmap', f, args, { by: new Set(), inAxes })
    return t.out.build(t.last(t.expr.batch(axisSize, t.axes, spread(outAxes, t.out, 'vmap: outAxes'))))
  }
}

function jacobian (who, derivative, f, options) {
  needFunction(who, f)
  const { argnums } = named(who, options, { argnums: 0 })
  return (...args) => {
    const numbers = numbersOf(who, argnums, args.length)
    const t = new Traced(who, f, args, { by: new Set(numbers) })
    const flat = numbers.flatMap((i) => t.floats(i))
    const found = t.last(t.expr.derive(derivative, flat))
    const rows = Array.from({ length: t.out.size }, (_, i) => found.slice(i * flat.length, (i + 1) * flat.length))
    return t.out.build(rows.map((row) => one(t.byArgument(numbers, row), argnums)))
  }
}

function jacfwd (f, ...options) {
  return jacobian('jacfwd', c.POLY_DERIVE_JACFWD, f, options)
}

function jacrev (f, ...options) {
  return jacobian('jacrev', c.POLY_DERIVE_JACREV, f, options)
}

function hessian (f, ...options) {
  needFunction('hessian', f)
  return jacfwd(jacobian('hessian', c.POLY_DERIVE_JACREV, f, options), ...options)
}

function hvp (f, primals, vectors) {
  needTrees('hvp', 'primals', primals)
  return tangentOf('hvp', withGradientsOnly('hvp', f, [...primals.keys()]), primals, vectors, [])[1]
}

function withGradientsOnly (who, f, argnums) {
  const both = withGradients(who, f, { argnums, hasAux: false })
  return (...args) => both(...args)[1]
}

function stopGradient (tree) {
  const [leaves, structure] = flatten(tree, 'stopGradient: tree')
  return structure.build(leaves.map((leaf) => leaf instanceof Base ? leaf.detach() : leaf))
}

function evalShape (f, ...args) {
  const { out, expr } = new Traced('evalShape', f, args)
  expr.dispose()
  return out.build(expr.results)
}

function functionalCall (module, parameters, ...args) {
  if (typeof module?.forward !== 'function') {
    throw new TypeError(`functionalCall: module: ${show(module)}, expected a layer: an object with a method forward`)
  }
  const own = getStateDict(module)
  record(parameters, 'functionalCall: parameters')
  const [names, tensors] = [Object.keys(parameters), Object.values(parameters)]
  names.forEach((name, i) => {
    const what = 'functionalCall: parameters'
    if (!Object.hasOwn(own, name)) throw new PolygradError(`${what}: ${show(name)}, expected names of ${Object.keys(own).join(', ')}`)
    if (!(tensors[i] instanceof Base)) throw new TypeError(`${what}.${name}: ${show(tensors[i])}, expected a tensor`)
    tensorOf(tensors[i], `${what}.${name}`)
  })
  const before = names.map((name) => [own[name], own[name]._handle, own[name]._known])
  try {
    before.forEach(([tensor], i) => {
      tensor._handle = handleOf(tensors[i])
      tensor._known = null
    })
    return module.forward(...args)
  } finally {
    for (const [tensor, handle, known] of before) Object.assign(tensor, { _handle: handle, _known: known })
  }
}

module.exports = {
  evalShape, functionalCall, grad, hessian, hvp, jacfwd, jacrev, jvp, linearTranspose, linearize, stopGradient, treeMap, valueAndGrad,
  vjp, vmap
}
