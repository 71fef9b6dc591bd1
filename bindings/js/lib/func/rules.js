'use strict'
/** Functions with custom differentiation or batching rules: customJvp, customVjp, customVmap, checkpoint. */

const { PolygradError } = require('../library.js')
const { describe } = require('../base.js')
const { choice, named, show } = require('../arguments.js')
const { flatten, leavesLike } = require('./trees.js')
const { Expr } = require('./expr.js')
const { Traced, fit, needFunction, numbersOf } = require('./traced.js')
const { map } = require('./control.js')

const POLICIES = { nothingSaveable: 'nothing_saveable', dotsSaveable: 'dots_saveable', everythingSaveable: 'everything_saveable' }

function checkpoint (f, ...options) {
  const who = 'checkpoint'
  needFunction(who, f)
  const { policy, staticArgnums } = named(who, options, { policy: 'nothingSaveable', staticArgnums: [] })
  const stored = choice(POLICIES, policy, `${who}: policy`)
  return (...args) => {
    const fixed = new Set(numbersOf(who, staticArgnums, args.length, 'staticArgnums'))
    const t = new Traced(who, f, args, { fixed })
    return t.out.build(givenBack([t.expr], () => t.expr.checkpoint(stored, t.tensors)))
  }
}

/** Calls a function, then releases the expressions. */
function givenBack (exprs, call) {
  try {
    return call()
  } finally {
    for (const expr of exprs) expr.dispose()
  }
}

// The rule of a function may call the function, whose rule is then traced inside of it, so that higher derivatives use the rule, too. At
// this nesting depth the plain function is called instead.
const DEEPEST = 3

/**
 * A function with a rule, which is defined later. Calls go to call(traced, fixed, numbers): traced(fn) traces a function for the arguments,
 * fixed are the arguments in nondiffArgnums, and numbers are the positions of the others.
 */
function ruled (who, f, options, call) {
  needFunction(who, f)
  const { nondiffArgnums } = named(who, options, { nondiffArgnums: [] })
  let depth = 0
  return (...args) => {
    if (depth === DEEPEST) return f(...args)
    depth++
    try {
      const fixed = new Set(numbersOf(who, nondiffArgnums, args.length, 'nondiffArgnums'))
      const numbers = [...args.keys()].filter((k) => !fixed.has(k))
      const traced = (fn) => {
        const t = new Traced(who, fn, args, { fixed })
        t.whole(numbers)
        return t
      }
      return call(traced, args.filter((_, k) => fixed.has(k)), numbers)
    } finally {
      depth--
    }
  }
}

const isPair = (value) => Array.isArray(value) && value.length === 2
const isFloat = (tensor) => describe(tensor).dtype.isDifferentiable

function customJvp (f, ...options) {
  const who = 'customJvp'
  let rule = null
  const called = ruled(who, f, options, (traced, fixed, numbers) => {
    if (rule === null) throw new PolygradError(`${who}: no rule is stated: see defjvp`)
    const t = traced(f)
    const by = t.allFloats()
    const count = t.tensors.length
    const tangent = (stand) => {
      const primals = stand.slice(0, count)
      const changes = primals.map((x) => x.zerosLike())
      by.forEach((k, i) => { changes[k] = stand[count + i] })
      const found = rule(...fixed, t.byArgument(numbers, primals), t.byArgument(numbers, changes))
      if (!isPair(found)) throw new TypeError(`${who}: the rule returns ${show(found)}, expected an array of the result and its tangent`)
      const leaves = leavesLike(found[1], t.out, `${who}: the tangent`, 'the result')
      const names = [...t.out.paths('the tangent of the result')]
      return t.results.flatMap((like, i) => isFloat(like) ? [fit(who, leaves[i], like, names[i])] : [])
    }
    const inputs = [...t.tensors, ...by.map((k) => t.tensors[k])]
    const expr = Expr.trace(who, inputs, null, tangent, t.names)
    return t.out.build(givenBack([t.expr, expr], () => t.expr.customJvp(expr, t.tensors)))
  })
  called.defjvp = (given) => {
    needFunction(`${who}.defjvp`, given)
    rule = given
    return called
  }
  called.defjvps = (...rules) => called.defjvp((...given) => {
    const [primals, tangents] = given.slice(-2)
    const result = called(...given.slice(0, -2), ...primals)
    const parts = rules.flatMap((part, i) => part == null ? [] : [part(tangents[i], result, ...primals)])
    return [result, parts.reduce((a, b) => a.add(b))]
  })
  return called
}

function customVjp (f, ...options) {
  const who = 'customVjp'
  let rules = null
  const called = ruled(who, f, options, (traced, fixed, numbers) => {
    if (rules === null) throw new PolygradError(`${who}: no rules are stated: see defvjp`)
    const [fwd, bwd] = rules
    const t = traced(f)
    const forward = traced((...given) => {
      const found = fwd(...given)
      if (!isPair(found)) throw new TypeError(`${who}: fwd returns ${show(found)}, expected an array of a result and residuals`)
      leavesLike(found[0], t.out, `${who}: the result of fwd`, 'that of the function')
      return found
    })
    const found = forward.expr.apply(forward.tensors)
    const outs = found.slice(0, t.out.size)
    const residuals = found.slice(t.out.size)
    const backward = (stand) => {
      const stored = forward.out.children[1].build(stand.slice(0, residuals.length))
      const grads = bwd(...fixed, stored, t.out.build(stand.slice(residuals.length)))
      if (!Array.isArray(grads) || grads.length !== numbers.length) {
        throw new TypeError(`${who}: bwd returns ${show(grads)}, expected an array of ${numbers.length} gradients, one for each argument`)
      }
      const leaves = grads.flatMap((grad, i) => gradientsOf(grad, t.structures[numbers[i]], `${who}: gradient ${i}`))
      return t.allFloats().map((k) => {
        return leaves[k] == null ? t.tensors[k].zerosLike() : fit(who, leaves[k], t.tensors[k], `the gradient of ${t.names[k]}`)
      })
    }
    const expr = Expr.trace(who, [...residuals, ...outs], null, backward, t.names)
    return t.out.build(givenBack([t.expr, forward.expr, expr], () => t.expr.customVjp(forward.expr, expr, t.tensors)))
  })
  called.defvjp = (fwd, bwd) => {
    needFunction(`${who}.defvjp: fwd`, fwd)
    needFunction(`${who}.defvjp: bwd`, bwd)
    rules = [fwd, bwd]
    return called
  }
  return called
}

function customVmap (f) {
  const who = 'customVmap'
  let rule = null
  const called = ruled(who, f, [], (traced, _, numbers) => {
    if (rule === null) throw new PolygradError(`${who}: no rule is stated: see defVmap`)
    const t = traced(f)
    const compute = (size, flags, stand) => {
      const found = rule(size, t.byArgument(numbers, flags), ...t.byArgument(numbers, stand))
      if (!isPair(found)) throw new TypeError(`${who}: the rule returns ${show(found)}, expected the result and whether it is batched`)
      const results = leavesLike(found[0], t.out, `${who}: the result of the rule`, 'that of the function').map((r) => t._result(r))
      const batched = leavesLike(found[1], t.out, `${who}: what is batched`, 'the result')
      if (batched.every((flag) => typeof flag === 'boolean')) return { results, batched }
      throw new TypeError(`${who}: what is batched: ${show(found[1])}, expected booleans`)
    }
    return t.out.build(givenBack([t.expr], () => t.expr.customVmap({ compute, names: t.names }, t.tensors)))
  })
  called.defVmap = (given) => {
    needFunction(`${who}.defVmap`, given)
    rule = given
    return called
  }
  return called
}

function sequentialVmap (f) {
  const called = customVmap(f)
  return called.defVmap((size, inBatched, ...args) => {
    const [leaves, structure] = flatten(args, 'sequentialVmap')
    const [flags] = flatten(inBatched, 'sequentialVmap')
    const result = map((moving) => {
      const rest = moving.values()
      return called(...structure.build(leaves.map((leaf, i) => flags[i] ? rest.next().value : leaf)))
    }, leaves.filter((_, i) => flags[i]))
    const [results, like] = flatten(result, 'sequentialVmap')
    return [result, like.build(results.map(() => true))]
  })
}

/** The leaves of a gradient; a null or undefined subtree gives null for each of its leaves. */
function gradientsOf (tree, structure, what) {
  if (tree == null) return Array(structure.size).fill(null)
  const [leaves, found] = flatten(tree, what)
  if (found.equals(structure)) return leaves
  const keys = structure.keys ?? [...structure.children.keys()]
  if (found.kind !== structure.kind || found.children.length !== keys.length || keys.length === 0) {
    throw new PolygradError(`${what}: a tree ${found}, expected ${structure}`)
  }
  return structure.children.flatMap((child, i) => gradientsOf(tree[keys[i]], child, what + structure.place(i)))
}

module.exports = { checkpoint, customJvp, customVjp, customVmap, sequentialVmap }
