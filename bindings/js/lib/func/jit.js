'use strict'
/** Functions that are compiled once for each kind (types, shapes, structure, static values) of arguments. */

const { PolygradError } = require('../library.js')
const { Base, describe } = require('../base.js')
const { named, show } = require('../arguments.js')
const { Tensor } = require('../tensor.js')
const { Compiled, expressed, tracing } = require('../trace.js')
const { Running } = require('../shown.js')
const { flatten } = require('./trees.js')
const { Traced, isOperand, needFunction, numbersOf, tensorOf } = require('./traced.js')

/** The type and the shape of a tensor as text, cached in its description. */
const kindOf = (tensor) => {
  const known = describe(tensor)
  known.kind ??= `${known.dtype.name}[${known.shape.map((size) => typeof size === 'number' ? size : size.unbound)}]`
  return known.kind
}

/** The arguments of a call: tensors, and the key by which its program is found (kinds of tensors, structure, static values). */
class Call {
  /** Arguments whose numbers are in fixed are static as a whole. */
  constructor (args, fixed) {
    this.args = args
    this.fixed = fixed
    const [leaves, structure] = flatten(args, 'jit: args')
    this.structure = structure
    const isFixed = fixed.size === 0 ? [] : structure.children.flatMap((child, k) => Array(child.size).fill(fixed.has(k)))
    const path = (i) => [...structure.paths('args')][i]
    this.tensors = []
    /** For each leaf the index of its tensor, -1 if it is static. */
    this.places = []
    /** The static leaves. */
    this.values = []
    const at = new Map()
    const kinds = leaves.map((leaf, i) => {
      if (isFixed[i] || !isOperand(leaf)) {
        this.values.push(leaf)
        this.places.push(-1)
        return 'static'
      }
      const known = at.has(leaf) && leaf instanceof Base
      const place = known ? at.get(leaf) : this.tensors.push(leaf instanceof Base ? leaf : tensorOf(leaf, `jit: ${path(i)}`)) - 1
      at.set(leaf, place)
      this.places.push(place)
      return known ? place : kindOf(this.tensors[place])
    })
    this.leaves = leaves
    /** Calls of one kind have equal texts; calls with equal texts may still differ in static values. */
    this.text = `${structure}: ${kinds.join(' ')}`
  }

  /** Whether a program for the other call fits this one. */
  like (other) {
    return this.text === other.text && this.structure.equals(other.structure) &&
      this.values.every((value, i) => Object.is(value, other.values[i]))
  }

  /** Calls a function on the arguments, with numbers and typed arrays replaced by their tensors. */
  call (f) {
    const given = this.structure.build(this.places.map((place, i) => place < 0 ? this.leaves[i] : this.tensors[place]))
    return f(...this.args.map((arg, k) => this.fixed.has(k) ? arg : given[k]))
  }
}

/** A function that is compiled for one kind of arguments. */
class Program extends Running {
  constructor (f, call, donated) {
    super()
    /** The kind of its arguments, for Call.like: it does not keep the arguments alive. */
    this.of = { text: call.text, structure: call.structure, values: call.values }
    const at = new Map(call.tensors.map((tensor, i) => [tensor, i]))
    const free = [...new Set(flatten(donated.map((k) => call.args[k]), 'jit: args')[0])].filter((leaf) => at.has(leaf))
    this._program = new Compiled('jit', () => {
      const [leaves, structure] = flatten(call.call(f), 'jit: the function returns')
      this._out = structure
      const kept = []
      const writes = []
      // Each result is an argument (also a donated one that is overwritten), or a new tensor.
      const form = leaves.map((leaf) => {
        if (!isOperand(leaf)) throw new TypeError(`jit: the function returns ${show(leaf)}, expected tensors`)
        if (at.has(leaf)) return { given: at.get(leaf) }
        const tensor = tensorOf(leaf, 'jit: the function returns')
        const k = free.findIndex((other) => kindOf(other) === kindOf(tensor))
        if (k < 0) return { made: kept.push(tensor) - 1 }
        const [target] = free.splice(k, 1)
        writes.push([target, tensor])
        return { given: at.get(target) }
      })
      for (const [target, tensor] of writes) target.assign(tensor)
      // A program needs a result of its own, also if all results are arguments.
      if (kept.length === 0) kept.push(new Tensor(0))
      return [form, kept]
    }, call.tensors, 0)
  }

  run ({ tensors }) {
    const { result, same } = this._program
    const made = this._program.run('jit', tensors, [])
    // Results have the same shapes and types in every run, unless a shape has variables: these descriptions are reused.
    this._known ??= made.map(describe).map((known) => known.shape.every((size) => typeof size === 'number') ? known : null)
    made.forEach((tensor, i) => { tensor._known ??= this._known[i] })
    return this._out.build(result.map(({ given, made: k }) => given !== undefined ? tensors[given] : same[k] ?? made[k]))
  }
}

function jit (f, ...options) {
  needFunction('jit', f)
  const { staticArgnums, donateArgnums } = named('jit', options, { staticArgnums: [], donateArgnums: [] })
  /** Lists of programs by the text of their calls. */
  let programs = new Map()
  let [hits, misses] = [0, 0]
  const inRange = (argnums, count, name) => {
    const numbers = Array.isArray(argnums) ? argnums : [argnums]
    return numbersOf('jit', numbers.filter((n) => !Number.isInteger(n) || (n >= -count && n < count)), count, name)
  }
  const callOf = (args) => new Call(args, new Set(inRange(staticArgnums, args.length, 'staticArgnums')))
  const found = (call) => programs.get(call.text)?.find((program) => call.like(program.of))
  const compiled = (call) => {
    const known = found(call)
    if (known !== undefined) return known
    misses++
    const program = new Program(f, call, inRange(donateArgnums, call.args.length, 'donateArgnums'))
    programs.set(call.text, [...programs.get(call.text) ?? [], program])
    return program
  }
  /** A cache of the last call, if its arguments were only distinct tensors and strings: their kinds, and its program. */
  let before = null
  const isBefore = (args) => before?.kinds.length === args.length && args.every((arg, i) => arg instanceof Base
    ? before.isTensor[i] && kindOf(arg) === before.kinds[i] && args.indexOf(arg) === i
    : !before.isTensor[i] && arg === before.kinds[i])
  /** [the program for arguments, its result for them]. */
  const ran = (args) => {
    const call = isBefore(args) ? { tensors: args.filter((arg, i) => before.isTensor[i]) } : callOf(args)
    const known = call.text === undefined ? before.program : found(call)
    if (known !== undefined) hits++
    const program = known ?? compiled(call)
    if (call.text !== undefined) {
      const isTensor = args.map((arg) => arg instanceof Base)
      // If a tensor is a static argument, the counts differ, and the call is not cached.
      const plain = args.every((x, i) => isTensor[i] || typeof x === 'string') && call.tensors.length === isTensor.filter(Boolean).length
      before = plain ? { program, isTensor, kinds: args.map((arg, i) => isTensor[i] ? kindOf(arg) : arg) } : null
    }
    return [program, program.run(call)]
  }
  const run = (...args) => expressed() || tracing() ? f(...args) : ran(args)[1]
  // polygrad/jax needs the program, to keep data of its own for each.
  Object.defineProperty(run, Symbol.for('polygrad.ran'), { value: ran })
  return Object.assign(run, {
    lower: (...args) => {
      const call = callOf(args)
      return { asText: () => textOf('jit', f, args, call.fixed), compile: () => compiledFor(compiled(call), callOf) }
    },
    cacheInfo: () => ({ hits, misses, size: sizeOf(programs) }),
    cacheSize: () => sizeOf(programs),
    clearCache: () => {
      programs = new Map()
      before = null
      hits = misses = 0
    }
  })
}

const sizeOf = (programs) => [...programs.values()].reduce((n, list) => n + list.length, 0)

/** The function that runs a program. */
function compiledFor (program, callOf) {
  const run = (...args) => {
    const now = callOf(args)
    if (now.like(program.of)) return program.run(now)
    throw new PolygradError(`jit: compiled for ${program.of.text}, called with ${now.text}: ` +
      'call the function of jit, which compiles it for each kind of arguments')
  }
  return Object.defineProperty(run, 'nKernels', { get: () => program.nKernels, enumerable: true })
}

/** The text of the expression of a function. */
function textOf (who, f, args, fixed) {
  const { expr } = new Traced(who, f, args, { fixed })
  const text = String(expr)
  expr.dispose()
  return text
}

function makeJaxpr (f, ...options) {
  needFunction('makeJaxpr', f)
  const { staticArgnums } = named('makeJaxpr', options, { staticArgnums: [] })
  return (...args) => textOf('makeJaxpr', f, args, new Set(numbersOf('makeJaxpr', staticArgnums, args.length, 'staticArgnums')))
}

module.exports = { jit, makeJaxpr }
