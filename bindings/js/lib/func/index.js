'use strict'
/**
 * Transformations of functions: gradients, Jacobians, tangents and batches, in any order and depth. index.d.ts documents them. The library
 * transforms the graphs; this module converts trees of arguments and results to lists of tensors and back.
 */

const { constants: c, PolygradError } = require('../library.js')
const { Base, handleOf } = require('../base.js')
const { named, record, show } = require('../arguments.js')
const { getStateDict } = require('../nn/state.js')
const { Leaf, flatten, leavesLike } = require('./trees.js')
const { Traced, fit, needFunction, needTrees, numbersOf, tensorOf, vmap } = require('./traced.js')
const { checkpoint, customJvp, customVjp, customVmap, sequentialVmap } = require('./rules.js')
const { jit, makeJaxpr } = require('./jit.js')

function treeMap (f, tree, ...rest) {
  needFunction('treeMap', f)
  const [leaves, structure] = flatten(tree, 'treeMap: tree')
  const others = rest.map((other, i) => leavesLike(other, structure, `treeMap: rest[${i}]`, 'tree'))
  return structure.build(leaves.map((leaf, i) => f(leaf, ...others.map((items) => items[i]))))
}

const one = (trees, argnums) => Array.isArray(argnums) ? trees : trees[0]

/** Checks the result of a loss function: the loss, or with hasAux a pair of the loss and auxiliary output. */
function checkLoss (who, result, hasAux) {
  if (hasAux && !(Array.isArray(result) && result.length === 2)) {
    throw new TypeError(`${who}: hasAux: the function returns ${show(result)}, expected an array of a loss and more`)
  }
  const loss = hasAux ? result[0] : result
  const [, structure] = flatten(loss, `${who}: the function returns`)
  if (!(structure instanceof Leaf)) throw new TypeError(`${who}: the function returns ${show(loss)}, expected a loss: one scalar`)
  return hasAux ? result : [result]
}

const BY = { argnums: 0, hasAux: false, holomorphic: false }

/** The options of a function by name. */
function optionsOf (who, options, defaults) {
  const given = named(who, options, defaults)
  for (const name of ['hasAux', 'holomorphic']) {
    const flag = given[name] ?? false
    if (typeof flag !== 'boolean') throw new TypeError(`${who}: ${name}: ${show(flag)}, expected true or false`)
  }
  return given
}

/** valueAndGrad; who is the function that errors name. */
function withGradients (who, f, { argnums, hasAux, holomorphic }) {
  needFunction(who, f)
  return (...args) => {
    const numbers = numbersOf(who, argnums, args.length)
    const t = new Traced(who, (...given) => checkLoss(who, f(...given), hasAux), args, { by: new Set(numbers) })
    const flat = numbers.flatMap((i) => t.floats(i))
    const found = t.last(t.expr.derive(holomorphic ? c.POLY_DERIVE_HOLOMORPHIC_GRAD : c.POLY_DERIVE_GRAD, flat))
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

/** A linearized function: traced with respect to all its arguments, and its value. */
class Linear {
  constructor (who, f, primals, options) {
    needFunction(who, f)
    needTrees(who, 'primals', primals)
    this.hasAux = optionsOf(who, options, { hasAux: false }).hasAux
    this.t = new Traced(who, this.hasAux ? detachedAux(who, f) : f, primals)
    this.by = this.t.allFloats()
    /** All outputs: the tensors of the value, then those of the auxiliary output. */
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

/** A function that returns [value, aux], with aux detached. */
function detachedAux (who, f) {
  return (...args) => {
    const result = f(...args)
    if (Array.isArray(result) && result.length === 2) return [result[0], stopGradient(result[1])]
    throw new TypeError(`${who}: hasAux: the function returns ${show(result)}, expected an array of a value and more`)
  }
}

/** The differential of a linearized function: maps an array of tangents to the tangent of the value. */
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
  return pulled('vjp', c.POLY_DERIVE_VJP, f, primals, options)
}

function pulled (who, derivative, f, primals, options) {
  const linear = new Linear(who, f, primals, options)
  const { t, by, found, structure } = linear
  const expr = linear.derive(derivative)
  const names = [...structure.paths('the cotangent')]
  const pullback = (cotangent) => {
    const given = leavesLike(cotangent, structure, `${who}: the cotangent`, 'the result')
    const tensors = given.map((value, i) => fit(who, value, found[i], names[i]))
    // The auxiliary output is detached, so its cotangents do not matter: its own values are passed.
    const grads = expr.apply([...t.tensors, ...tensors, ...found.slice(structure.size)])
    const all = Array(t.tensors.length).fill(null)
    by.forEach((k, i) => { all[k] = grads[i] })
    return t.byArgument([...t.structures.keys()], all)
  }
  return [linear.value, pullback, ...linear.aux]
}

function linearTranspose (f, primals) {
  return pulled('linearTranspose', c.POLY_DERIVE_TRANSPOSE, f, primals, [])[1]
}

/** The derivatives of holomorphic functions. */
const HOLOMORPHIC = {
  [c.POLY_DERIVE_JACFWD]: c.POLY_DERIVE_HOLOMORPHIC_JACFWD, [c.POLY_DERIVE_JACREV]: c.POLY_DERIVE_HOLOMORPHIC_JACREV,
}

function jacobian (who, derivative, f, options) {
  needFunction(who, f)
  const { argnums, hasAux, holomorphic } = optionsOf(who, options, BY)
  const called = hasAux ? detachedAux(who, f) : f
  return (...args) => {
    const numbers = numbersOf(who, argnums, args.length)
    const t = new Traced(who, called, args, { by: new Set(numbers) })
    const flat = numbers.flatMap((i) => t.floats(i))
    const structure = hasAux ? t.out.children[0] : t.out
    const outputs = [...Array(t.out.size).keys()]
    const aux = hasAux ? [t.out.children[1].build(t.expr.select(outputs.slice(structure.size)).applyOnce(t.tensors))] : []
    const value = hasAux ? t.expr.select(outputs.slice(0, structure.size)) : t.expr
    const found = t.last(value.derive(holomorphic ? HOLOMORPHIC[derivative] : derivative, flat))
    if (hasAux) value.dispose()
    const rows = outputs.slice(0, structure.size).map((i) => found.slice(i * flat.length, (i + 1) * flat.length))
    const made = structure.build(rows.map((row) => one(t.byArgument(numbers, row), argnums)))
    return hasAux ? [made, ...aux] : made
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
  return jacobian('hessian', c.POLY_DERIVE_JACFWD, jacobian('hessian', c.POLY_DERIVE_JACREV, f, options), options)
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
  checkpoint, customJvp, customVjp, customVmap, evalShape, functionalCall, grad, hessian, hvp, jacfwd, jacrev, jit, jvp, linearTranspose,
  linearize, makeJaxpr, sequentialVmap, stopGradient, treeMap, valueAndGrad, vjp, vmap
}
