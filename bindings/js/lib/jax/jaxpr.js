'use strict'
/** Expressions as jax-js writes them: { lambda a:float32[3] . let b:float32[3] = sin a in ( b ) }. */

const COMPARES = { cmplt: 'less', cmpne: 'not_equal', cmpeq: 'equal' }
const REDUCES = { add: 'Add', mul: 'Mul', max: 'Max' }
const NAMES = { permute: 'transpose', expand: 'broadcast', detach: 'stop_gradient' }
/** Operations of operands that fit together without being reshaped. */
const ELEMENTWISE = new Set(('add mul max min idiv mod where cmplt cmpne cmpeq and or xor shl shr pow neg not exp log exp2 log2 sin sqrt ' +
  'reciprocal trunc floor ceil logistic tanh').split(' '))

/** What a cosine is the sine of, less its angle. */
const HALF_PI = '1.5707963705062866'

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
    const [, list] = /\[(.*)\]$/.exec(this.type)
    return list === '' ? [] : list.split(',')
  }
}

/** A number. */
class Lit {
  constructor (value) {
    this.value = value
  }

  toString () {
    return String(this.value)
  }
}

/** A statement: one result of an operation. */
class JaxprEqn {
  constructor (primitive, inputs, params, outBinders) {
    Object.assign(this, { primitive, inputs, params, outBinders })
  }

  /** The lines of the statement; parameters stand one below the other. */
  lines () {
    const [out] = this.outBinders
    const head = `${out}:${out.type} = ${this.primitive} `
    const params = Object.entries(this.params).map(([key, value]) => `${key}=${value}`)
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

/** An expression with the arrays that it stands on, which are its first parameters. */
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

/** The statements of an expression's text, by the names of their results. */
function parsed (text) {
  const [, consts, parameters, body, outs] = /^\{ lambda ?(.*?) ?; ?(.*?)\. let\n([^]*?)  in \((.*)\) \}$/.exec(text.trim())
  const binders = `${consts} ${parameters}`.trim().split(/ +/).filter((item) => item !== '').map((item) => item.split(':'))
  const statements = body.split('\n').filter((line) => line.trim() !== '').map((line) => {
    const [, name, type, op, , arg, , inputs] = /^ *(\w+):(\S+) = ([^\s[]+)((?:\[(.*?)\])?)( ?)(.*)$/.exec(line)
    return { name, type, op, arg, inputs: inputs.split(' ').filter((item) => item !== '') }
  })
  return { binders, statements, outs: outs.split(/,? +/).filter((item) => item !== '') }
}

const number = (text) => text === 'inf' ? Infinity : text === '-inf' ? -Infinity : text === 'true' ? 1 : text === 'false' ? 0 : Number(text)
const isNumber = (text) => /^(-?inf|nan|true|false|-?\d.*)$/.test(text)

/** The text of an expression of func as the expression that jax-js would print. */
function jaxprOf (text) {
  const { binders, statements, outs } = parsed(text)
  const by = new Map(statements.map((s) => [s.name, s]))
  const types = new Map([...binders, ...statements.map((s) => [s.name, s.type])])
  /** What stands for a name: another name or a number. */
  const stand = new Map()
  const resolved = (name) => {
    let at = name
    while (stand.has(at)) at = stand.get(at)
    return at
  }
  const sizes = (name) => /\[(.*)\]$/.exec(types.get(name) ?? '[]')[1].split(',').filter((n) => n !== '')
  const large = (list) => list.filter((n) => n !== '1')
  /** Whether a statement only adds, takes away or moves axes of size 1. */
  const movesOnes = ({ name, op, arg, inputs: [from] }) => {
    const before = sizes(from)
    if (op === 'permute') {
      const moved = arg.split(',').map(Number).filter((axis) => before[axis] !== '1')
      return moved.every((axis, i) => i === 0 || axis > moved[i - 1])
    }
    return op === 'reshape' && by.get(from)?.op !== 'reduce_axis' && String(large(before)) === String(large(sizes(name)))
  }
  /** An operand before it was broadcast: what has its sizes but for ones in front. */
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
  /** Names of what is read by other operations than of elements. */
  const whole = new Set([...outs, ...statements.filter(({ op }) => !ELEMENTWISE.has(op)).flatMap(({ inputs }) => inputs)])
  const rewritten = []
  for (const s of statements) {
    let inputs = s.inputs.map(resolved)
    if (ELEMENTWISE.has(s.op)) {
      const narrow = s.inputs.map((name) => unbroadcast(name, sizes(s.name)))
      // Functions of what is broadcast are computed before.
      if (inputs.length > 1) inputs = narrow
      else if (!whole.has(s.name) && narrow[0] !== inputs[0]) {
        inputs = narrow
        types.set(s.name, s.type = s.type.replace(/\[.*/, /\[.*/.exec(types.get(inputs[0]))[0]))
      }
    }
    rewritten.push({ ...s, inputs, isBroadcast: inputs.some((name, i) => name !== resolved(s.inputs[i])) })
  }
  simplify(rewritten, types, stand)
  return built(binders, rewritten, outs.map(resolved), types)
}

/** Patterns of several statements that are one, or of one that is several. */
function simplify (list, types, stand) {
  const by = new Map(list.map((s) => [s.name, s]))
  const drop = new Set()
  const once = (name) => list.reduce((n, s) => drop.has(s.name) ? n : n + s.inputs.filter((input) => input === name).length, 0) === 1
  for (const s of list) {
    s.inputs = s.inputs.map((name) => {
      let at = name
      while (stand.has(at)) at = stand.get(at)
      return at
    })
    const from = by.get(s.inputs[0])
    if (s.op === 'reshape' && from?.op === 'dot' && /^\w+\[[1,]*\]$/.test(from.type) && once(from.name)) {
      Object.assign(s, { op: 'dot', arg: undefined, inputs: from.inputs })
      drop.add(from.name)
    } else if (s.op === 'reshape' && from?.op === 'reduce_axis' && once(from.name)) {
      // The axes that a reduction leaves as ones go at once.
      Object.assign(s, { op: 'reduce_axis', arg: from.arg, inputs: from.inputs })
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
    } else if (s.op === 'contiguous') {
      stand.set(s.name, s.inputs[0])
      drop.add(s.name)
    }
  }
  for (let i = list.length - 1; i >= 0; i--) {
    const { name, type, op, inputs } = list[i]
    if (drop.has(name)) list.splice(i, 1)
    if (op === 'logistic') {
      const [negative, power, sum] = ['negative', 'power', 'sum'].map((part) => `${name} ${part}`)
      list.splice(i, 1, { name: negative, type, op: 'neg', inputs }, { name: power, type, op: 'exp', inputs: [negative] },
        { name: sum, type, op: 'add', inputs: [power, '1'] }, { name, type, op: 'reciprocal', inputs: [sum] })
    } else if (op === 'log(1+e^-|x|)') {
      const [negative, least, power, sum] = ['negative', 'least', 'power', 'sum'].map((part) => `${name} ${part}`)
      list.splice(i, 1, { name: negative, type, op: 'neg', inputs }, { name: least, type, op: 'min', inputs: [...inputs, negative] },
        { name: power, type, op: 'exp', inputs: [least] }, { name: sum, type, op: 'add', inputs: [power, '1'] },
        { name, type, op: 'log', inputs: [sum] })
    }
  }
  keptAxes(list)
}

/** The arrays and the axis of a sum of arrays that are padded to stand one behind the other; null if it is another sum. */
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

/** Reductions that leave axes as ones are followed by a reshape. */
function keptAxes (list) {
  for (let i = list.length - 1; i >= 0; i--) {
    const { name, type, op, arg } = list[i]
    const [, dtype, sizes] = /^(\w+)\[(.*)\]$/.exec(type)
    const [, axes] = op === 'reduce_axis' ? /\((.*)\)$/.exec(arg) : [, '']
    const [gone, kept] = [axes.split(',').filter((axis) => axis !== '').map(Number), sizes.split(',')]
    if (op !== 'reduce_axis' || gone.some((axis) => kept[axis] !== '1')) continue
    list[i].name = `${name} reduced`
    list[i].type = `${dtype}[${kept.filter((_, axis) => !gone.includes(axis))}]`
    list.splice(i + 1, 0, { name, type, op: 'reshape', arg: sizes, inputs: [list[i].name] })
  }
}

const isLast = (arg, type) => Number(/\((\d+)\)/.exec(arg)[1]) === type.split(',').length - 1

/** The parameters of a statement as jax-js names them. */
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
      const from = /\[(.*)\]$/.exec(types.get(inputs[0]) ?? '[]')[1].split(',')
      const to = /\[(.*)\]$/.exec(type)[1].split(',')
      return { shape: arg, axis: to.flatMap((n, i) => n === from[i] ? [] : [i]).join(',') }
    }
    case 'cmplt': case 'cmpne': case 'cmpeq': return { op: COMPARES[op] }
    case 'sort': case 'argsort': return {}
    default: return arg === undefined || arg === '' ? {} : { arg }
  }
}

const nameOf = ({ op }) => op === 'reduce_axis' ? 'reduce' : COMPARES[op] !== undefined ? 'compare' : NAMES[op] ?? op

/** The expression without statements that nobody needs. */
function built (binders, statements, outs, types) {
  const needed = new Set(outs)
  for (const s of [...statements].reverse()) if (needed.has(s.name)) s.inputs.forEach((name) => needed.add(name))
  const vars = new Map()
  const atom = (name) => isNumber(name) && !vars.has(name) ? new Lit(number(name)) : vars.get(name)
  const bind = (name, type) => {
    vars.set(name, new Var(vars.size, type))
    return vars.get(name)
  }
  const inBinders = binders.map(([name, type]) => bind(name, type))
  const eqns = statements.filter((s) => needed.has(s.name)).map((s) => {
    const inputs = s.inputs.map(atom)
    return new JaxprEqn(nameOf(s), inputs, paramsOf(s, types), [bind(s.name, s.type)])
  })
  return new Jaxpr(inBinders, eqns, outs.map(atom))
}

module.exports = { ClosedJaxpr, Jaxpr, jaxprOf }
