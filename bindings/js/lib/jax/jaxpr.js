'use strict'
/** Expressions as jax-js writes them: { lambda a:float32[3] . let b:float32[3] = sin a in ( b ) }. */

const COMPARES = { cmplt: 'less', cmpne: 'not_equal', cmpeq: 'equal' }
const REDUCES = { add: 'Add', mul: 'Mul', max: 'Max', min: 'Min' }
const NAMES = { permute: 'transpose', expand: 'broadcast', detach: 'stop_gradient' }
/** Elementwise operations: their operands broadcast implicitly. */
const ELEMENTWISE = new Set(('add mul max min idiv mod where cmplt cmpne cmpeq and or xor shl shr pow neg not exp log exp2 log2 sin sqrt ' +
  'reciprocal trunc floor ceil logistic tanh').split(' '))

/** Operations that are printed as a chain: each step takes the last step's result, and a second operand, null for the chain's input. */
const LONGER = {
  logistic: [['neg'], ['exp'], ['add', '1'], ['reciprocal']],
  'log(1+e^-|x|)': [['neg'], ['min', null], ['exp'], ['add', '1'], ['log']]
}

/** The graph has cos x as sin(HALF_PI - x). */
const HALF_PI = '1.5707963705062866'

const dimsOf = (type) => /\[(.*)\]$/.exec(type)[1].split(',').filter((n) => n !== '')

/** A variable: its number and its type. */
class Var {
  constructor (id, type) {
    this.id = id
    this.type = type
  }

  toString () {
    let [text, n] = ['', this.id]
    do {
      text = String.fromCharCode(97 + n % 26) + text
      n = Math.floor(n / 26) - 1
    } while (n >= 0)
    return text
  }

  get shape () {
    return dimsOf(this.type)
  }
}

/** A statement: one result of an operation. */
class JaxprEqn {
  constructor (primitive, inputs, params, outBinders) {
    Object.assign(this, { primitive, inputs, params, outBinders })
  }

  /** The lines of the statement, one parameter per line. */
  lines () {
    const head = `${this.outBinders.map((out) => out.id === null ? '_' : `${out}:${out.type}`).join(' ')} = ${this.primitive} `
    const params = Object.entries(this.params).flatMap(([key, value]) => `${key}=${value}`.split('\n'))
    const inputs = this.inputs.join(' ')
    if (params.length === 0) return [`${head}${inputs}`]
    return params.map((param, i) => `${i === 0 ? `${head}[ ` : ' '.repeat(head.length + 2)}${param}${
      i === params.length - 1 ? ` ] ${inputs}` : ''}`)
  }

  toString () {
    return this.lines().join('\n')
  }
}

class Jaxpr {
  constructor (inBinders, eqns, outs) {
    Object.assign(this, { inBinders, eqns, outs })
  }

  toString () {
    const head = `{ lambda ${this.inBinders.map((v) => `${v}:${v.type}`).join(', ')} .`
    const out = `( ${this.outs.join(', ')} ) }`
    if (this.eqns.length === 0) return `${head}\n  ${out}`
    const lines = this.eqns.flatMap((eqn) => eqn.lines())
    return [head, ...lines.map((line, i) => `${i === 0 ? '  let ' : '      '}${line}`), `  in ${out}`].join('\n')
  }
}

/** An expression with its constant arrays, which are bound to its first parameters. */
class ClosedJaxpr {
  constructor (jaxpr, consts) {
    this.jaxpr = jaxpr
    this.consts = consts
  }

  mapJaxpr (f) {
    return new ClosedJaxpr(f(this.jaxpr), this.consts)
  }

  toString () {
    return this.jaxpr.toString()
  }

  dispose () {
    for (const array of this.consts) array.dispose()
  }
}

/** Parses the text of an expression: { binders, statements, outs }. */
function parsed (text) {
  const [, consts, parameters, body, outs] = /^\{ lambda ?(.*?) ?; ?(.*?)\. let\n([^]*?)  in \((.*)\) \}$/.exec(text.trim())
  const binders = `${consts} ${parameters}`.trim().split(/ +/).filter((item) => item !== '').map((item) => item.split(':'))
  // The bodies of loops are not printed.
  const lines = body.replace(/ \{\n {6}lambda[^]*?\n {4}\}/g, '').split('\n').filter((line) => line.trim() !== '')
  const statements = lines.map((line) => {
    const [, name, type = 'loop[]', op, arg, inputs] = /^ *(\w+)(?::(\S+))? = ([^\s[]+)(?:\[(.*?)\])? ?(.*)$/.exec(line)
    return { name, type, op, arg, inputs: inputs.split(' ').filter((item) => item !== '') }
  })
  const nConsts = consts.split(/ +/).filter((item) => item !== '').length
  return shaped({ binders, statements, outs: outs.split(/,? +/).filter((item) => item !== '') }, nConsts)
}

/** Constants are one-dimensional memory in the graph: one that is only reshaped gets the type of the reshape, which is dropped. */
function shaped ({ binders, statements, outs }, nConsts) {
  const used = statements.flatMap(({ inputs }) => inputs).concat(outs)
  for (const binder of binders.slice(0, nConsts)) {
    const s = statements.find(({ op, inputs }) => op === 'reshape' && inputs[0] === binder[0])
    if (s === undefined || used.filter((name) => name === binder[0]).length > 1) continue
    binder.splice(0, 2, s.name, s.type)
    statements.splice(statements.indexOf(s), 1)
  }
  return { binders, statements, outs }
}

const number = (text) => text === 'inf' ? Infinity : text === '-inf' ? -Infinity : text === 'true' ? 1 : text === 'false' ? 0 : Number(text)
const isLiteral = (text, value) => isNumber(text) && number(text) === value
const isNumber = (text) => /^(-?inf|nan|true|false|-?\d.*)$/.test(text)

/**
 * Inserts the calls of compiled functions as statements of op jit: their inputs and results are the outputs of the expression behind the
 * first size ones. Statements are sorted so that each comes after the statements of its inputs.
 */
function withCalls ({ binders, statements, outs }, size, calls) {
  const by = new Map(statements.map((s) => [s.name, s]))
  const own = outs.slice(size)
  for (const { name, jaxpr, inputs, stand } of calls) {
    const taken = own.splice(0, inputs.length)
    const names = own.splice(0, stand.length)
    const outputs = names.map((out) => ({ name: out, type: binders.find((b) => b[0] === out)[1] }))
    const call = { ...outputs[0], op: 'jit', inputs: taken, outputs, params: { name, jaxpr, numConsts: 0 } }
    for (const out of names) by.set(out, call)
  }
  const found = new Set()
  const put = (s) => {
    if (s === undefined || found.has(s)) return
    s.inputs.forEach((name) => put(by.get(name)))
    found.add(s)
  }
  ;[...statements, ...outs.slice(0, size).map((name) => by.get(name))].forEach(put)
  return { binders: binders.filter(([name]) => by.get(name)?.op !== 'jit'), statements: [...found], outs: outs.slice(0, size) }
}

/** The shape to which shapes broadcast. */
function joint (shapes) {
  const ndim = Math.max(...shapes.map((shape) => shape.length))
  return Array.from({ length: ndim }, (_, i) => shapes.map((shape) => shape[i - ndim + shape.length] ?? '1').find((n) => n !== '1') ?? '1')
}

/** Converts the text of an expression of func, with size results and calls of compiled functions, to the Jaxpr that jax-js would print. */
function jaxprOf (text, size, calls) {
  const { binders, statements, outs } = withCalls(parsed(text), size, calls)
  const by = new Map(statements.map((s) => [s.name, s]))
  const types = new Map([...binders, ...statements.flatMap((s) => s.outputs ?? [s]).map((s) => [s.name, s.type])])
  /** Replacements of names: by another name or a number. */
  const stand = new Map()
  const resolved = (name) => {
    let at = name
    while (stand.has(at)) at = stand.get(at)
    return at
  }
  const sizes = (name) => dimsOf(types.get(name) ?? '[]')
  const large = (list) => list.filter((n) => n !== '1')
  /** Whether a statement only adds, removes or moves axes of size 1. */
  const movesOnes = ({ name, op, arg, inputs: [from] }) => {
    const before = sizes(from)
    if (op === 'permute') {
      const moved = arg.split(',').map(Number).filter((axis) => before[axis] !== '1')
      return moved.every((axis, i) => i === 0 || axis > moved[i - 1])
    }
    return op === 'reshape' && by.get(from)?.op !== 'reduce_axis' && String(large(before)) === String(large(sizes(name)))
  }
  /** The operand from which an operand was broadcast, if its shape broadcasts to shape implicitly (leading ones are dropped). */
  const unbroadcast = (name, shape) => {
    const whole = resolved(name)
    const top = by.get(whole)?.op === 'expand' ? resolved(by.get(whole).inputs[0]) : whole
    const own = sizes(top)
    let best = top
    for (let at = top; by.has(at) && movesOnes(by.get(at));) {
      at = resolved(by.get(at).inputs[0])
      const found = sizes(at)
      if (String(own) === String([...Array(Math.max(0, own.length - found.length)).fill('1'), ...found])) best = at
    }
    return fits(best, shape) ? best : whole
  }
  const fits = (name, shape) => {
    const own = sizes(name)
    return own.every((n, i) => n === '1' || n === shape[shape.length - own.length + i])
  }
  /** Names that something other than an elementwise operation reads. */
  const whole = new Set([...outs, ...statements.filter(({ op }) => !ELEMENTWISE.has(op)).flatMap(({ inputs }) => inputs)])
  const rewritten = []
  for (const s of statements) {
    let inputs = s.inputs.map(resolved)
    if (ELEMENTWISE.has(s.op)) {
      const narrow = s.inputs.map((name) => unbroadcast(name, sizes(s.name)))
      const [own, given] = [narrow, inputs].map((names) => String(joint(names.map(sizes))))
      const isSummed = s.op === 'mul' && statements.some(({ op, inputs: [of] }) => op === 'reduce_axis' && of === s.name)
      const isDot = isSummed && String(large(own.split(','))) === String(large(sizes(s.name)))
      const isLess = own !== String(sizes(s.name)) && !isDot
      // Elementwise operations move before the broadcast of their operands, unless the result is needed at full size.
      if (!isLess || !whole.has(s.name) || given !== String(sizes(s.name))) {
        inputs = narrow
        if (isLess) types.set(s.name, s.type = s.type.replace(/\[.*/, `[${own}]`))
      }
    }
    rewritten.push({ ...s, inputs, isBroadcast: inputs.some((name, i) => name !== resolved(s.inputs[i])) })
  }
  const list = needed(rewritten, outs.map(resolved))
  simplify(list, types, stand)
  return built(binders, list, outs.map(resolved), types)
}

/** Peephole rewriting: several statements become one, or one becomes several, as jax-js prints them. */
function simplify (list, types, stand) {
  const by = new Map(list.map((s) => [s.name, s]))
  const drop = new Set()
  const once = (name) => list.reduce((n, s) => drop.has(s.name) ? n : n + s.inputs.filter((input) => input === name).length, 0) === 1
  for (const s of [...list]) {
    s.inputs = s.inputs.map((name) => {
      let at = name
      while (stand.has(at)) at = stand.get(at)
      return at
    })
    const from = by.get(s.inputs[0])
    const same = unit(s, types)
    if (same !== undefined) {
      stand.set(s.name, same)
      drop.add(s.name)
    } else if (s.op === 'reshape' && from?.op === 'dot' && /^\w+\[[1,]*\]$/.test(from.type) && once(from.name)) {
      Object.assign(s, { op: 'dot', arg: undefined, inputs: from.inputs })
      drop.add(from.name)
    } else if (s.op === 'reshape' && from?.op === 'reduce_axis' && !from.isReduced && once(from.name) && s.arg === without(from)) {
      // A reshape that drops the axes of size 1 of a reduction is merged into the reduction.
      Object.assign(s, { op: 'reduce_axis', arg: from.arg, inputs: from.inputs, isReduced: true })
      drop.add(from.name)
      const product = by.get(s.inputs[0])
      const isProduct = product?.op === 'mul' && product.isBroadcast && product.type.split(',').length > 2
      if (isProduct && /^add\((\d+)\)$/.test(s.arg) && isLast(s.arg, types.get(product.name)) && once(product.name)) {
        Object.assign(s, { op: 'dot', arg: undefined, inputs: product.inputs })
        drop.add(product.name)
      }
    } else if (s.op === 'gather' && by.get(s.inputs[1])?.op === 'argsort' && by.get(s.inputs[1]).inputs[0] === s.inputs[0]) {
      Object.assign(s, { op: 'sort', arg: by.get(s.inputs[1]).arg, inputs: [s.inputs[0]] })
    } else if (s.op === 'sin' && from?.op === 'add' && from.inputs[0] === HALF_PI && by.get(from.inputs[1])?.op === 'neg') {
      Object.assign(s, { op: 'cos', inputs: by.get(from.inputs[1]).inputs })
    } else if (s.op === 'add' && s.arg === 'disjoint') {
      const joined = concatenated(s, by, types)
      if (joined !== null) Object.assign(s, { op: 'concatenate', ...joined })
    } else if (s.op === 'product') {
      Object.assign(s, { op: 'reduce_axis', arg: `mul(${s.arg})`, isReduced: true })
    }
    if (!drop.has(s.name)) PATTERNS.some((pattern) => pattern(s, by, { types, stand, drop, once, list }))
  }
  for (let i = list.length - 1; i >= 0; i--) {
    const { name, type, op, inputs } = list[i]
    if (drop.has(name)) list.splice(i, 1)
    if (LONGER[op] === undefined) continue
    const steps = LONGER[op].map(([own, ...rest], k) => {
      const before = k === 0 ? inputs[0] : `${name} ${k - 1}`
      const out = k === LONGER[op].length - 1 ? name : `${name} ${k}`
      return { name: out, type, op: own, inputs: [before, ...rest.map((x) => x ?? inputs[0])] }
    })
    list.splice(i, 1, ...steps)
  }
  keptAxes(list)
}

/** The operand of a statement that is an identity: x * 1, x + 0 or contiguous; undefined otherwise. */
function unit ({ op, inputs, type, arg }, types) {
  if (op === 'contiguous') return inputs[0]
  if (!['mul', 'add'].includes(op) || arg !== undefined && arg !== '') return undefined
  return inputs.find((name, i) => isLiteral(inputs[1 - i], op === 'mul' ? 1 : 0) && types.get(name) === type)
}

/** Rewritings of a statement and the statements of its inputs to what jax-js prints; a truthy result means that one was applied. */
const PATTERNS = [
  // -max(-x) is min(x), also with not in place of the negations.
  (s, by, { drop, once }) => {
    const top = by.get(s.inputs[0])
    const inner = by.get(top?.inputs[0])
    const is = ['neg', 'not'].includes(s.op) && top?.op === 'reduce_axis' && /^max/.test(top.arg) && inner?.op === s.op
    if (!is || !once(top.name) || !once(inner.name)) return false
    Object.assign(s, { ...top, name: s.name, type: s.type, arg: top.arg.replace('max', 'min'), inputs: inner.inputs })
    return drop.add(top.name).add(inner.name)
  },
  // abs(x).
  (s, by, { once }) => {
    const [less, x, other] = s.inputs.map((name, i) => i === 1 ? name : by.get(name))
    const [zero, negative] = [by.get(other?.inputs[0]), by.get(other?.inputs[2])]
    const is = s.op === 'where' && less?.op === 'cmplt' && isLiteral(less.inputs[0], 0) && less.inputs[1] === x && other?.op === 'where' &&
      zero?.op === 'cmpeq' && negative?.op === 'neg' && negative.inputs[0] === x
    if (!is || !once(less.name) || !once(other.name)) return false
    less.inputs.reverse()
    Object.assign(other, { op: 'mul', inputs: [x, '-1'] })
    return Object.assign(s, { inputs: [less.name, other.name, x] })
  },
  // where(isfinite(x), x, 0) becomes x: jax-js has no such guard.
  (s, by, { stand }) => {
    const [less, x] = [by.get(s.inputs[0]), s.inputs[1]]
    if (s.op !== 'where' || !isLiteral(s.inputs[2], 0) || less?.op !== 'cmplt' || less.inputs[1] !== 'inf') return false
    const size = by.get(less.inputs[0])
    if (size?.op !== 'where' || size.inputs[2] !== x) return false
    return stand.set(s.name, x)
  },
  // max(x, 0) + log(1 + exp(-|x|)), which does not overflow, is log(1 + exp(x)).
  (s, by, { once }) => {
    const [top, rest] = s.inputs.map((name) => by.get(name))
    const is = s.op === 'add' && top?.op === 'max' && isLiteral(top.inputs[1], 0) && rest?.op === 'log(1+e^-|x|)'
    if (!is || !once(top.name) || !once(rest.name)) return false
    Object.assign(top, { op: 'exp', inputs: [top.inputs[0]] })
    Object.assign(rest, { op: 'add', inputs: [top.name, '1'] })
    return Object.assign(s, { op: 'log', inputs: [rest.name] })
  },
  // x - trunc(x / n) * n, the remainder by a number.
  (s, by) => {
    const chain = [s]
    for (let i = 0; i < 5; i++) chain.push(by.get(chain[i]?.inputs[i === 0 ? 1 : 0]))
    if (chain.map((at) => at?.op).join(' ') !== 'add neg mul detach trunc mul' || chain[5].inputs[0] !== s.inputs[0]) return false
    return isNumber(chain[2].inputs[1]) && Object.assign(s, { op: 'mod', inputs: [s.inputs[0], chain[2].inputs[1]] })
  },
  // take without the where that maps negative indices, which count from the end.
  (s, by) => {
    const index = by.get(s.inputs[1])
    if (s.op !== 'take' || index?.op !== 'where' || !/^\d+$/.test(s.arg)) return false
    s.params = { axis: s.arg, outDim: s.arg, uniqueIndices: false }
    return Object.assign(s, { op: 'gather', inputs: [s.inputs[0], index.inputs[2]] })
  },
  // The right operand of a product is transposed before axes of size 1 are inserted, not after.
  (s, by, { list, once, types }) => {
    const [left, turned] = s.inputs.map((name) => by.get(name))
    const given = by.get(turned?.inputs[0])
    if (s.op !== 'dot' || turned?.op !== 'permute' || given?.op !== 'reshape' || !once(turned.name) || !once(given.name)) return false
    const type = types.get(given.inputs[0])
    const dims = dimsOf(type)
    const order = [...dims.keys()]
    if (dims.length < 2 || String(dims.filter((n) => n !== '1')) !== String(dimsOf(given.type).filter((n) => n !== '1'))) return false
    for (const swapped of [order, dims]) swapped.push(...swapped.splice(-2).reverse())
    Object.assign(given, { op: 'permute', arg: String(order), type: type.replace(/\[.*/, `[${dims}]`) })
    Object.assign(turned, { op: 'reshape', arg: String(dimsOf(turned.type)) })
    types.set(given.name, given.type)
    if (left?.op === 'reshape' && once(left.name)) {
      list.splice(list.indexOf(left), 1)
      list.splice(list.indexOf(given) + 1, 0, left)
    }
    return true
  },
  // A reshape that inserts axes of size 1 is merged into the broadcast of these axes.
  (s, by, { drop, once, types }) => {
    const ones = by.get(s.inputs[0])
    if (s.op !== 'expand' || ones?.op !== 'reshape' || !once(ones.name)) return false
    const [own, dims] = [dimsOf(types.get(ones.inputs[0])), dimsOf(ones.type)]
    const axes = dimsOf(s.type).flatMap((n, i) => n === dims[i] ? [] : [i])
    if (String(dims.filter((_, i) => !axes.includes(i))) !== String(own)) return false
    Object.assign(s, { params: { shape: s.arg, axis: String(axes) }, inputs: ones.inputs })
    return drop.add(ones.name)
  }
]

/** { inputs, arg: axis } of a sum of disjointly padded arrays, which is a concatenation; null for any other sum. */
function concatenated (sum, by, types) {
  const partsOf = (s) => s?.op === 'add' && s.arg === 'disjoint' ? s.inputs.flatMap((name) => partsOf(by.get(name))) : [s]
  const parts = partsOf(sum)
  if (parts.some((s) => s?.op !== 'pad' || !types.has(s.inputs[0]))) return null
  const widths = parts.map(({ arg }) => arg.split(', ').map((pair) => pair.split(':').map(Number)))
  const axes = new Set(widths.flatMap((pairs) => pairs.flatMap(([lo, hi], axis) => lo + hi > 0 ? [axis] : [])))
  if (axes.size !== 1) return null
  const [axis] = axes
  const total = Number(/\[(.*)\]$/.exec(sum.type)[1].split(',')[axis])
  let end = 0
  for (const pairs of widths) {
    const [lo, hi] = pairs[axis]
    if (lo !== end) return null
    end = total - hi
  }
  return end === total ? { arg: String(axis), inputs: parts.map(({ inputs }) => inputs[0]) } : null
}

/** Writes a reduction that keeps its axes with size 1 as a reduction that drops them, followed by a reshape. */
function keptAxes (list) {
  for (let i = list.length - 1; i >= 0; i--) {
    const { name, type, op, arg, isReduced } = list[i]
    const kept = dimsOf(type)
    if (op !== 'reduce_axis' || isReduced || axesOf(arg).some((axis) => kept[axis] !== '1')) continue
    list[i].name = `${name} reduced`
    list[i].type = `${type.split('[')[0]}[${without(list[i])}]`
    list.splice(i + 1, 0, { name, type, op: 'reshape', arg: String(kept), inputs: [list[i].name] })
  }
}

/** The axes of a reduction, and the shape of its result without them. */
const axesOf = (arg) => /\((.*)\)$/.exec(arg)[1].split(',').filter((axis) => axis !== '').map(Number)
const without = ({ type, arg }) => String(dimsOf(type).filter((_, axis) => !axesOf(arg).includes(axis)))

const isLast = (arg, type) => Number(/\((\d+)\)/.exec(arg)[1]) === type.split(',').length - 1

/** The parameters of a statement under jax-js's names. */
function paramsOf ({ op, arg, type, inputs }, types) {
  switch (op) {
    case 'reduce_axis': {
      const [, kind, axes] = /^(\w+)\((.*)\)$/.exec(arg)
      return { op: REDUCES[kind] ?? kind, axis: axes }
    }
    case 'reshape': return { shape: arg }
    case 'permute': return { perm: arg }
    case 'concatenate': return { axis: arg }
    case 'cast': case 'bitcast': return { dtype: arg }
    case 'shrink': return { slice: arg.replace(/:/g, ',').replace(/ /g, '') }
    case 'pad': return { width: arg.replace(/:/g, ',').replace(/ /g, '') }
    case 'flip': return { axis: arg.split(',').flatMap((flag, i) => flag === 'true' ? [i] : []).join(',') }
    case 'expand': {
      const [from, to] = [types.get(inputs[0]) ?? '[]', type].map(dimsOf)
      return { shape: arg, axis: to.flatMap((n, i) => n === from[i] ? [] : [i]).join(',') }
    }
    case 'cmplt': case 'cmpne': case 'cmpeq': return { op: COMPARES[op] }
    case 'sort': case 'argsort': return {}
    default: return arg === undefined || arg === '' ? {} : { arg }
  }
}

const nameOf = ({ op }) => op === 'reduce_axis' ? 'reduce' : COMPARES[op] !== undefined ? 'compare' : NAMES[op] ?? op

/** The statements on which the results depend. */
function needed (statements, outs) {
  const names = new Set(outs)
  return statements.reverse().filter((s) => {
    const isNeeded = (s.outputs ?? [s]).some(({ name }) => names.has(name))
    if (isNeeded) s.inputs.forEach((name) => names.add(name))
    return isNeeded
  }).reverse()
}

function built (binders, statements, outs, types) {
  const list = needed(statements, outs)
  const used = new Set([...outs, ...list.flatMap(({ inputs }) => inputs)])
  const vars = new Map()
  const atom = (name) => isNumber(name) && !vars.has(name) ? number(name) : vars.get(name)
  const bind = (name, type) => {
    vars.set(name, new Var(vars.size, type))
    return vars.get(name)
  }
  const inBinders = binders.map(([name, type]) => bind(name, type))
  const eqns = list.map((s) => {
    const inputs = s.inputs.map(atom)
    const out = (s.outputs ?? [s]).map(({ name, type }) => used.has(name) ? bind(name, type) : new Var(null, type))
    return new JaxprEqn(nameOf(s), inputs, s.params ?? paramsOf(s, types), out)
  })
  return new Jaxpr(inBinders, eqns, outs.map(atom))
}

/** printing is null, or { depth: the tracing depth of the function being printed, calls: the calls of compiled functions in it }. */
const state = { printing: null }

module.exports = { ClosedJaxpr, Jaxpr, jaxprOf, state }
