'use strict'
/** Control flow: loops and branches are nodes of the graph and run in the library. control.d.ts documents them. */

const { PolygradError } = require('../library.js')
const { Base, describe } = require('../base.js')
const { types } = require('../dtype.js')
const { Tensor } = require('../tensor.js')
const { integer, named, show } = require('../arguments.js')
const { flatten } = require('./trees.js')
const { Expr } = require('./expr.js')
const { isNumber, isOperand, tensorOf, vmap } = require('./traced.js')

function needFunction (who, name, f) {
  if (typeof f !== 'function') throw new TypeError(`${who}: ${name}: ${show(f)}, expected a function`)
}

/** A leaf of a tree as a tensor. A number gets the type dtype if that can hold it. */
function leafOf (who, name, leaf, dtype) {
  if (!isOperand(leaf)) throw new TypeError(`${who}: ${name} is ${show(leaf)}, expected a tensor or a number`)
  if (isNumber(leaf) && dtype !== undefined && holds(dtype, leaf)) return new Tensor(leaf, { dtype: dtype.name })
  return tensorOf(leaf, `${who}: ${name}`)
}

/** Whether a number can take a type: floating types take all numbers, integer types the integers in their range. */
function holds (dtype, value) {
  if (typeof value === 'boolean' || dtype.isFloat) return true
  return dtype.isInt && (typeof value === 'bigint' || Number.isInteger(value)) && value >= dtype.min && value <= dtype.max
}

const described = (x) => {
  const { shape, dtype } = describe(x)
  return `${dtype.name} of shape [${shape}]`
}

/** A tree flattened to tensors, with the path of each for errors. */
class Tree {
  constructor (who, name, tree) {
    const [leaves, structure] = flatten(tree, `${who}: ${name}`)
    this.leaves = leaves
    this.structure = structure
    this.names = [...structure.paths(name)]
    this.tensors = leaves.map((leaf, i) => leafOf(who, this.names[i], leaf))
  }

  build (tensors) {
    return this.structure.build(tensors)
  }
}

/** Thrown when numbers of a carry have other types after a step: the step is then traced again with these types. */
class OtherTypes {
  constructor (types_) {
    this.types = types_
  }
}

/** The initial carry of a loop. */
class Carry extends Tree {
  /** The numbers whose type has changed from floating to integer, which may happen only once. */
  _integers = new Set()

  /** The tensors of the carry after a step, checked to have the types and shapes of those before it. */
  next (who, step, result, given) {
    const [found, structure] = flatten(result, `${who}: ${step}`)
    if (!structure.equals(this.structure)) {
      throw new TypeError(`${who}: ${step} returns a carry ${structure}, expected ${this.structure} as it is before`)
    }
    const other = new Map()
    const out = found.map((leaf, i) => {
      const before = describe(given[i])
      const after = leafOf(who, this.names[i], leaf, before.dtype)
      const now = describe(after)
      if (String(now.shape) === String(before.shape)) {
        if (now.dtype === before.dtype) return after
        if (this._takes(i, before.dtype, now.dtype)) {
          other.set(i, now.dtype)
          return after
        }
      }
      throw new TypeError(`${who}: ${this.names[i]} is ${described(given[i])}, and ${described(after)} after ${step}: ` +
        'expected the same type and shape')
    })
    if (other.size > 0) throw new OtherTypes(other)
    return out
  }

  /** Whether the type of a number in the initial carry may change from before to after. */
  _takes (i, before, after) {
    if (!isNumber(this.leaves[i]) || !holds(after, this.leaves[i]) || before === types.bool || after === types.bool) return false
    if (before.isFloat === after.isFloat) return after.Array.BYTES_PER_ELEMENT > before.Array.BYTES_PER_ELEMENT
    if (after.isFloat || this._integers.has(i)) return after.isFloat
    this._integers.add(i)
    return true
  }

  /** Traces a step as a function of the carry and of one element of each tensor in more, until the types of the carry are stable. */
  trace (who, call, more = [], names = []) {
    const axes = [...this.tensors.map(() => null), ...more.map(() => 0)]
    for (;;) {
      try {
        return Expr.trace(who, [...this.tensors, ...more], axes, call, [...this.names, ...names])
      } catch (error) {
        if (!(error instanceof OtherTypes)) throw error
        for (const [i, dtype] of error.types) this.tensors[i] = new Tensor(this.leaves[i], { dtype: dtype.name })
      }
    }
  }
}

/** The number of steps: the common size of the first axes of sequences, or length. */
function lengthOf (who, sequences, length) {
  let [steps, of] = [length, 'length']
  if (steps !== null && integer(steps, `${who}: length`) < 0) throw new RangeError(`${who}: length: ${length}, expected 0 or more`)
  sequences.tensors.forEach((x, i) => {
    const { shape } = describe(x)
    const name = sequences.names[i]
    if (shape.length === 0) throw new PolygradError(`${who}: ${name} is a scalar, expected an axis to go along`)
    if (steps === null) [steps, of] = [shape[0], name]
    else if (shape[0] !== steps) throw new PolygradError(`${who}: ${name} has shape [${shape}], expected ${steps} steps as ${of} has`)
  })
  if (steps === null) throw new PolygradError(`${who}: length: null, expected a number as xs has no tensors`)
  return Number(steps)
}

function scan (f, init, xs, ...options) {
  const { length, reverse, unroll } = named('scan', options, { length: null, reverse: false, unroll: 1 })
  if (typeof reverse !== 'boolean') throw new TypeError(`scan: reverse: ${show(reverse)}, expected true or false`)
  if (typeof unroll !== 'boolean' && !(Number.isInteger(unroll) && unroll >= 0)) {
    throw new TypeError(`scan: unroll: ${show(unroll)}, expected a number of steps or a boolean`)
  }
  return scanOf('scan', f, init, xs, length, reverse)
}

function scanOf (who, f, init, xs, length = null, reverse = false) {
  needFunction(who, 'f', f)
  const carry = new Carry(who, 'init', init)
  let sequences = new Tree(who, 'xs', xs)
  const steps = lengthOf(who, sequences, length)
  const n = carry.tensors.length
  let elements = (given) => sequences.build(given)
  if (n === 0 && sequences.tensors.length === 0) {
    // No operand tells the steps apart: zeros of that length give the number of steps.
    sequences = new Tree(who, 'xs', Tensor.zeros(steps))
    elements = () => xs
  }
  let kept
  const expr = carry.trace(who, (given) => {
    const result = f(carry.build(given.slice(0, n)), elements(given.slice(n)))
    if (!Array.isArray(result) || result.length !== 2) {
      throw new TypeError(`${who}: f returns ${show(result)}, expected an array of the carry and what is kept`)
    }
    const after = carry.next(who, 'a step', result[0], given)
    kept = new Tree(who, 'what f keeps', result[1])
    return [...after, ...kept.tensors]
  }, sequences.tensors, sequences.names)
  const out = givenBack(expr, () => expr.scan(n, steps, reverse, [...carry.tensors, ...sequences.tensors]))
  return [carry.build(out.slice(0, n)), kept.build(out.slice(n))]
}

/** Calls a function, then releases the expression. */
function givenBack (expr, call) {
  try {
    return call()
  } finally {
    expr.dispose()
  }
}

function whileLoop (condFun, bodyFun, initVal) {
  return whileOf('whileLoop', condFun, bodyFun, initVal)
}

function whileOf (who, condFun, bodyFun, initVal) {
  needFunction(who, 'condFun', condFun)
  needFunction(who, 'bodyFun', bodyFun)
  const carry = new Carry(who, 'initVal', initVal)
  if (carry.tensors.length === 0) throw new TypeError(`${who}: initVal: ${show(initVal)}, expected a tensor in the tree`)
  const expr = carry.trace(who, (given) => {
    const found = condFun(carry.build(given))
    const on = typeof found === 'boolean' ? new Tensor(found) : found
    if (!(on instanceof Base) || describe(on).dtype !== types.bool || describe(on).shape.length > 0) {
      throw new TypeError(`${who}: condFun returns ${on instanceof Base ? described(on) : show(on)}, expected a bool of shape []`)
    }
    return [...carry.next(who, 'bodyFun', bodyFun(carry.build(given)), given), on]
  })
  return carry.build(givenBack(expr, () => expr.loop(carry.tensors)))
}

function foriLoop (lower, upper, bodyFun, initVal) {
  const who = 'foriLoop'
  needFunction(who, 'bodyFun', bodyFun)
  for (const [name, bound] of Object.entries({ lower, upper })) {
    const isTensor = bound instanceof Base
    if (isTensor ? describe(bound).shape.length === 0 && describe(bound).dtype.isInt : Number.isSafeInteger(bound)) continue
    throw new TypeError(`${who}: ${name} is ${isTensor ? described(bound) : show(bound)}, expected an integer of shape []`)
  }
  const known = [lower, upper].find((bound) => bound instanceof Base)
  if (known === undefined) {
    const numbers = Tensor.arange(Math.max(lower, upper), { start: lower, dtype: 'int32' })
    return scanOf(who, (value, i) => [bodyFun(i, value), null], initVal, numbers)[0]
  }
  const { dtype } = known
  const [start, end] = [lower, upper].map((bound) => bound instanceof Base ? bound.cast(dtype) : new Tensor(bound, { dtype }))
  return whileOf(who, ([i]) => i.lt(end), ([i, value]) => [i.add(1), bodyFun(i, value)], [start, initVal])[1]
}

function map (f, xs, ...options) {
  const who = 'map'
  needFunction(who, 'f', f)
  const { batchSize } = named(who, options, { batchSize: null })
  if (batchSize === null) return scanOf(who, (_, x) => [null, f(x)], null, xs)[1]
  if (!Number.isInteger(batchSize) || batchSize < 1) throw new RangeError(`${who}: batchSize: ${show(batchSize)}, expected 1 or more`)
  const tree = new Tree(who, 'xs', xs)
  const n = lengthOf(who, tree, null)
  const whole = n - n % batchSize
  const many = vmap(f)
  const parts = []
  let structure
  const add = (result) => {
    const [leaves, found] = flatten(result, `${who}: f`)
    structure = found
    parts.push(leaves)
  }
  if (whole > 0) {
    const rows = tree.tensors.map((x) => part(x, 0, 0, whole).reshape([whole / batchSize, batchSize, ...x.shape.slice(1)]))
    add(scanOf(who, (_, x) => [null, many(x)], null, tree.build(rows))[1])
    parts[0] = parts[0].map((y) => y.reshape([whole, ...y.shape.slice(2)]))
  }
  if (whole < n || n === 0) add(many(tree.build(tree.tensors.map((x) => part(x, 0, whole, n)))))
  return structure.build(parts[0].map((y, i) => parts.length === 1 ? y : y.cat(parts[1][i])))
}

function cond (pred, trueFun, falseFun, ...operands) {
  const chosen = leafOf('cond', 'pred', pred)
  if (describe(chosen).shape.length > 0) throw new TypeError(`cond: pred is ${described(chosen)}, expected a bool of shape []`)
  return chosenOf('cond', (chosen.dtype === 'bool' ? chosen : chosen.ne(0)).cast('int32'), { falseFun, trueFun }, operands)
}

function choose (index, branches, ...operands) {
  const chosen = Number.isSafeInteger(index) ? new Tensor(index, { dtype: 'int32' }) : leafOf('switch', 'index', index)
  if (describe(chosen).shape.length > 0 || !describe(chosen).dtype.isInt) {
    throw new TypeError(`switch: index is ${described(chosen)}, expected an integer of shape []`)
  }
  if (!Array.isArray(branches) || branches.length === 0) {
    throw new TypeError(`switch: branches: ${show(branches)}, expected an array of functions`)
  }
  return chosenOf('switch', chosen, Object.fromEntries(branches.map((f, i) => [`branches[${i}]`, f])), operands)
}

function chosenOf (who, index, branches, operands) {
  const names = Object.keys(branches)
  for (const name of names) needFunction(who, name, branches[name])
  const tree = new Tree(who, 'operands', operands)
  let structures
  const inputs = [index, ...tree.tensors]
  const expr = Expr.trace(who, inputs, null, (given) => {
    const found = names.map((name) => flatten(branches[name](...tree.build(given.slice(1))), `${who}: ${name}`))
    structures = found.map(([, structure]) => structure)
    return alike(who, names, found.map(([leaves]) => leaves), structures)
  }, ['the index', ...tree.names])
  return structures[0].build(givenBack(expr, () => expr.switch(names.length, inputs)))
}

/** The results of all branches, checked to have equal types and shapes; a number takes the type of a tensor in another branch. */
function alike (who, names, found, structures) {
  const other = structures.findIndex((structure) => !structure.equals(structures[0]))
  if (other > 0) throw new PolygradError(`${who}: ${names[other]} returns a tree ${structures[other]}, and ${names[0]} ${structures[0]}`)
  const paths = [...structures[0].paths('')].map((path) => path === '' ? '' : ` at ${path}`)
  const columns = paths.map((path, i) => {
    const leaves = found.map((branch) => branch[i])
    const typed = leaves.find((leaf) => leaf instanceof Base)
    const dtype = typed === undefined ? undefined : describe(typed).dtype
    const same = leaves.map((leaf, k) => leafOf(who, `what ${names[k]} returns${path}`, leaf, dtype))
    const want = described(same[0])
    same.forEach((x, k) => {
      if (described(x) !== want) throw new PolygradError(`${who}: ${names[k]} returns ${described(x)}${path}, and ${names[0]} ${want}`)
    })
    return same
  })
  return names.flatMap((_, k) => columns.map((column) => column[k]))
}

/** A slice of a tensor along an axis. */
const part = (x, axis, start, end) => x.shrink(x.shape.map((_, i) => i === axis ? [start, end] : null))

function associativeScan (fn, elems, ...options) {
  const who = 'associativeScan'
  needFunction(who, 'fn', fn)
  const { reverse, axis } = named(who, options, { reverse: false, axis: 0 })
  if (typeof reverse !== 'boolean') throw new TypeError(`${who}: reverse: ${show(reverse)}, expected true or false`)
  integer(axis, `${who}: axis`)
  const tree = new Tree(who, 'elems', elems)
  if (tree.tensors.length === 0) throw new TypeError(`${who}: elems: ${show(elems)}, expected a tensor in the tree`)
  let n
  const axes = tree.tensors.map((x, i) => {
    const { shape } = describe(x)
    const what = `${who}: ${tree.names[i]} has shape [${shape}]`
    if (axis < -shape.length || axis >= shape.length) throw new RangeError(`${what}, which has no axis ${axis}`)
    const at = axis < 0 ? axis + shape.length : axis
    n ??= shape[at]
    if (shape[at] !== n) throw new PolygradError(`${what}, expected ${n} elements along axis ${axis} as ${tree.names[0]} has`)
    return at
  })
  const combine = (given) => {
    const [a, b] = [given.slice(0, axes.length), given.slice(axes.length)]
    const [leaves, structure] = flatten(fn(tree.build(a), tree.build(b)), `${who}: fn`)
    if (!structure.equals(tree.structure)) {
      throw new PolygradError(`${who}: fn returns a tree ${structure}, expected ${tree.structure} as elems`)
    }
    return leaves.map((leaf, i) => {
      const x = leafOf(who, 'what fn returns', leaf)
      if (described(x) === described(a[i])) return x
      throw new PolygradError(`${who}: ${tree.names[i]} is ${described(a[i])}, and ${described(x)} of fn: expected the same type and shape`)
    })
  }
  // The scanned axis becomes the first one, and fn sees an axis of size 1 in its place.
  const xs = tree.tensors.map((x, i) => {
    const moved = x.unsqueeze(axes[i])
    return moved.permute([axes[i] + 1, ...moved.shape.keys()].filter((k, at) => at === 0 || k !== axes[i] + 1))
  })
  const expr = Expr.trace(who, [...xs, ...xs], [...xs, ...xs].map(() => 0), combine, [...tree.names, ...tree.names])
  return tree.build(expr.associativeScan(reverse, xs).map((x, i) => {
    const order = [...x.shape.keys()].slice(1)
    order.splice(axes[i] + 1, 0, 0)
    return x.permute(order).squeeze({ dim: axes[i] })
  }))
}

function select (pred, onTrue, onFalse) {
  const which = leafOf('select', 'pred', pred)
  const yes = leafOf('select', 'onTrue', onTrue)
  const no = leafOf('select', 'onFalse', onFalse, describe(yes).dtype)
  if (described(yes) !== described(no)) {
    throw new PolygradError(`select: onTrue is ${described(yes)}, onFalse ${described(no)}: expected the same`)
  }
  const { shape, dtype } = describe(which)
  if (dtype !== types.bool || (shape.length > 0 && String(shape) !== String(yes.shape))) {
    throw new TypeError(`select: pred is ${described(which)}, expected bool of shape [${yes.shape}] or []`)
  }
  return which.where(yes, no)
}

module.exports = { associativeScan, cond, foriLoop, map, scan, select, whileLoop, switch: choose }
