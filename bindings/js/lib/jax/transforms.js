'use strict'
/** polygrad/jax: transformations of functions of arrays. index.d.ts tells what they do. */

const { Base, count, describe } = require('../base.js')
const { types } = require('../dtype.js')
const { Tensor } = require('../tensor.js')
const { isOptions, show } = require('../arguments.js')
const { expressed, tracing } = require('../trace.js')
const func = require('../func/index.js')
const { Array: JaxArray, alive, call, take, apart, retained } = require('./array.js')
const { numpy } = require('./numpy.js')
const { constant, isNumber, lowered: operand, renamed, wrapped } = require('./call.js')
const { deviceOf, move } = require('./device.js')
const { flatten, unflatten } = require('./tree.js')
const { ClosedJaxpr, jaxprOf, state } = require('./jaxpr.js')
const { traced } = require('./debug.js')

/** Maps the leaves of a tree. Everything except lists and plain objects is a leaf. */
function mapped (tree, f) {
  if (tree instanceof JaxArray) return f(tree)
  if (Array.isArray(tree)) return tree.map((item) => mapped(item, f))
  if (isOptions(tree)) {
    // f is called in the order of sorted keys, as in func; the result keeps the object's own order.
    const keys = Object.keys(tree)
    const items = new Map(keys.slice().sort().map((key) => [key, mapped(tree[key], f)]))
    return Object.fromEntries(keys.map((key) => [key, items.get(key)]))
  }
  return f(tree)
}

const isWeakLeaf = (leaf) => leaf instanceof JaxArray ? leaf._weak : typeof leaf === 'number'

function leavesOf (tree) {
  const found = []
  mapped(tree, (leaf) => found.push(leaf))
  return found
}

/** [trees of arguments with tensors in place of arrays, a flag for each leaf: whether it is weakly typed]. */
function lowered (args) {
  const weak = []
  const trees = mapped(args, (leaf) => {
    weak.push(isWeakLeaf(leaf))
    return leaf instanceof JaxArray ? take(leaf)._tensor : leaf
  })
  return [trees, weak]
}

/** A flag for each leaf of a result: whether it is weakly typed. It is known once the function was traced. */
class Weak {
  constructor () {
    this.flags = []
  }

  /** Turns a function of arrays into one of tensors, which records the flags of its results. */
  traced (f, weak) {
    return (...trees) => {
      let i = 0
      const args = mapped(trees, (leaf) => {
        const isWeak = weak[i++] ?? false
        return leaf instanceof Base ? new JaxArray(leaf, isWeak && describe(leaf).dtype.isFloat) : leaf
      })
      const out = apart(() => f(...args))
      this.flags = []
      return mapped(out, (leaf) => {
        this.flags.push(isWeakLeaf(leaf))
        return leaf instanceof JaxArray ? alive(leaf)._tensor : leaf
      })
    }
  }

  /** Wraps the tensors of a result as arrays, weakly typed as flags say. */
  arrays (tree, flags = this.flags) {
    let i = 0
    return mapped(tree, (leaf) => {
      const isWeak = flags[i++] ?? false
      return leaf instanceof Base ? new JaxArray(leaf, isWeak && describe(leaf).dtype.isFloat) : leaf
    })
  }
}

function needFunction (who, f) {
  if (typeof f !== 'function') throw new TypeError(`${who}: f: ${show(f)}, expected a function`)
}

/** Calls a function of func; PolygradErrors about trees and types become TypeErrors. */
function typed (who, body) {
  try {
    return body()
  } catch (error) {
    throw renamed(error, who)
  }
}

/** Applies a transformation of func to a function of arrays; result wraps what the transformed function returns. */
function transformed (who, f, transform, result = (weak, found) => weak.arrays(found)) {
  needFunction(who, f)
  return (...args) => call(() => {
    const [trees, flags] = lowered(args)
    const weak = new Weak()
    return result(weak, typed(who, () => transform(weak.traced(f, flags))(...trees)), flags, args)
  })
}

const isFlag = (who, hasAux) => {
  if (typeof hasAux !== 'boolean') throw new TypeError(`${who}: hasAux: ${show(hasAux)}, expected true or false`)
}

/** Gradients as arrays, each weakly typed if its argument is. */
function gradients (found, argnums, args) {
  const of = (n) => leavesOf(args.at(n)).map(isWeakLeaf)
  return new Weak().arrays(found, Array.isArray(argnums) ? argnums.flatMap(of) : of(argnums ?? 0))
}

function grad (f, { argnums, hasAux = false, holomorphic = false } = {}) {
  isFlag('grad', hasAux)
  return transformed('grad', f, (g) => func.grad(g, { argnums: argnums ?? 0, hasAux, holomorphic }), (weak, found, _, args) => {
    if (!hasAux) return gradients(found, argnums, args)
    return [gradients(found[0], argnums, args), weak.arrays(found)[1]]
  })
}

function valueAndGrad (f, { argnums, hasAux = false, holomorphic = false } = {}) {
  isFlag('valueAndGrad', hasAux)
  return transformed('valueAndGrad', f, (g) => func.valueAndGrad(g, { argnums: argnums ?? 0, hasAux, holomorphic }),
    (weak, [value, grads], _, args) => [weak.arrays(value), gradients(grads, argnums, args)])
}

const needTrees = (who, name, trees) => {
  if (!Array.isArray(trees)) throw new TypeError(`${who}: ${name}: ${show(trees)}, expected an array with one tree for each argument`)
}

/** Adds the dispose method that jax-js's functions have; calling it is optional, since a garbage-collected function frees what it holds. */
const owned = (f, dispose = () => {}) => Object.assign(f, { dispose })

/** A function of arrays that is returned to the user, from one of trees of tensors: a pullback or a differential. */
const later = (who, f, dispose) => owned(
  (...args) => call(() => wrapped(typed(who, () => f(...lowered(args)[0])), false)), dispose)

function jvp (f, primals, tangents, { hasAux = false } = {}) {
  needFunction('jvp', f)
  needTrees('jvp', 'primals', primals)
  needTrees('jvp', 'tangents', tangents)
  isFlag('jvp', hasAux)
  return call(() => {
    const [trees, flags] = lowered(primals)
    const [directions, given] = lowered(tangents)
    const weak = new Weak()
    const found = typed('jvp', () => func.jvp(weak.traced(f, flags), trees, directions, { hasAux }))
    // A tangent of the result is weakly typed if the value is and all given tangents are.
    const own = weak.flags.slice(0, leavesOf(found[0]).length)
    return weak.arrays(found, [...own, ...own.map((flag) => flag && given.every(Boolean)), ...weak.flags.slice(own.length)])
  })
}

function linearized (who, f, primals, hasAux) {
  needFunction(who, f)
  needTrees(who, 'primals', primals)
  isFlag(who, hasAux)
  return call(() => {
    const [trees, flags] = lowered(primals)
    const weak = new Weak()
    const kept = []
    const own = mapped(trees, (leaf) => {
      if (!(leaf instanceof Base)) return leaf
      kept.push(retained(leaf))
      return kept.at(-1)
    })
    const [value, change, ...aux] = typed(who, () => func[who](weak.traced(f, flags), own, { hasAux }))
    // The derivative needs the value, also after the user has freed its array: the array gets a handle of its own.
    const result = mapped(value, retained)
    return [weak.arrays(result), later(who, change, () => kept.forEach((tensor) => tensor.dispose())), ...wrapped(aux, false)]
  })
}

const linearize = (f, primals, { hasAux = false } = {}) => linearized('linearize', f, primals, hasAux)
const vjp = (f, primals, { hasAux = false } = {}) => linearized('vjp', f, primals, hasAux)

function vmap (f, inAxes = 0, outAxes = 0) {
  return transformed('vmap', f, (g) => func.vmap(g, { inAxes, outAxes }))
}

const jacobian = (who) => {
  const unweak = (_, found) => wrapped(found, false)
  return { [who]: (f, options = {}) => transformed(who, f, (g) => func[who](g, options), unweak) }[who]
}

const jacfwd = jacobian('jacfwd')
const jacrev = jacobian('jacrev')
const hessian = jacobian('hessian')

function jit (f, { staticArgnums = [] } = {}) {
  needFunction('jit', f)
  const name = f.name || 'closure'
  const weak = new Weak()
  /** The weak-type flags of results, by program. */
  const known = new WeakMap()
  // The weak-type flags of the arguments are a static argument, so that different flags get different programs.
  const compiled = func.jit((kind, ...trees) => traced(name, () => weak.traced(f, [...kind].map((flag) => flag === '1'))(...trees)), {
    staticArgnums: [0, ...staticArgnums.map((n) => n < 0 ? n : n + 1)]
  })
  const ran = compiled[Symbol.for('polygrad.ran')]
  const run = (...args) => call(() => {
    const fixed = staticArgnums.map((n) => n < 0 ? n + args.length : n)
    const [trees, flags] = lowered(fixed.length === 0 ? args : args.map((arg, i) => fixed.includes(i) ? null : arg))
    const kind = flags.map((flag) => flag ? '1' : '0').join('')
    if (state.printing?.depth === expressed() && fixed.length === 0) return printedCall(name, f, [trees, flags])
    const given = fixed.length === 0 ? trees : trees.map((tree, i) => fixed.includes(i) ? args[i] : tree)
    // Inside of another traced function no program is run.
    if (expressed() || tracing()) return weak.arrays(typed('jit', () => compiled(kind, ...given)))
    const [program, found] = typed('jit', () => ran([kind, ...given]))
    if (!known.has(program)) known.set(program, weak.flags)
    return weak.arrays(found, known.get(program))
  })
  Object.defineProperty(run, 'name', { value: name })
  return owned(run, () => compiled.clearCache())
}

/** The Jaxpr of a function, the structure of its result, and the weak-type flags of the leaves. */
function printed (f, [trees, flags]) {
  const before = state.printing
  const calls = []
  state.printing = { calls, depth: expressed() + 1 }
  const weak = new Weak()
  let treedef
  const express = weak.traced((...given) => {
    const [leaves, structure] = flatten(f(...given))
    treedef = structure
    // The inputs and results of calls of compiled functions are appended to the results.
    return [...leaves.map(standing), ...calls.flatMap(({ inputs, stand }) => [...inputs, ...stand])]
  }, flags)
  try {
    const text = typed('makeJaxpr', () => func.makeJaxpr(express)(...trees))
    return { jaxpr: jaxprOf(text, treedef.size, calls), treedef, flags: weak.flags }
  } finally {
    state.printing = before
  }
}

/** Wraps a tensor or a number in a new array, which holds it until the expression is complete. */
const standing = (leaf) => leaf instanceof Base
  ? new JaxArray(leaf)
  : isNumber(leaf) ? new JaxArray(constant(leaf), typeof leaf === 'number') : leaf

/** Records a call of a compiled function in the expression being printed. Its results are fresh arrays that serve as placeholders. */
function printedCall (name, f, args) {
  const { jaxpr, treedef, flags } = printed(f, args)
  const tensors = jaxpr.outs.map(({ type = 'float32[]' }) => {
    const [dtype, ...sizes] = type.match(/\w+/g)
    const shape = sizes.map(Number)
    return new Tensor(new Float32Array(count(shape) * types[dtype].parts), { dtype, shape })
  })
  state.printing.calls.push({ name, jaxpr, inputs: leavesOf(args[0]).map(standing), stand: tensors.map(standing) })
  return unflatten(treedef, tensors.map((tensor, i) => new JaxArray(tensor, flags[i])))
}

function makeJaxpr (f) {
  needFunction('makeJaxpr', f)
  return (...args) => call(() => {
    // Only the shapes and types of the arguments matter: they are not consumed.
    const { jaxpr, treedef } = printed(f, apart(() => lowered(args)))
    return { jaxpr: new ClosedJaxpr(jaxpr, []), treedef }
  })
}

async function blockUntilReady (x) {
  await Promise.all(flatten(x)[0].filter((leaf) => leaf instanceof JaxArray).map((leaf) => leaf.blockUntilReady()))
  return x
}

async function devicePut (x, device) {
  const place = deviceOf(device)
  return mapped(x, (leaf) => {
    const made = leaf instanceof JaxArray ? alive(leaf) : isNumber(leaf) ? numpy.array(leaf) : undefined
    if (made === undefined) throw new TypeError(`devicePut: x: ${show(leaf)}, expected arrays and numbers`)
    if (device === undefined || made._device === place) return made
    const moved = call(() => new JaxArray(move(take(made)._tensor.clone(), place), made._weak, made._number))
    moved._device = place
    return moved
  })
}

/** Wraps a transformation that JAX has and jax-js lacks. */
function lifted (who, f) {
  return { [who]: (...args) => call(() => wrapped(typed(who, () => f(...args.map(operand))), false)) }[who]
}

const returning = (who, f) => ({ [who]: (g, ...options) => later(who, f(operand(g), ...options.map(operand))) })[who]

module.exports = {
  grad, valueAndGrad, jvp, linearize, vjp, vmap, jacfwd, jacrev, hessian, jit, makeJaxpr, blockUntilReady, devicePut,
  checkpoint: returning('checkpoint', func.checkpoint),
  hvp: lifted('hvp', func.hvp),
  evalShape: lifted('evalShape', func.evalShape)
}
