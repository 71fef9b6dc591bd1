'use strict'
/** Tensors as text: computed tensors show their values, large ones only those at the edges of each axis. */

const { inspect } = require('./host/node.js')
const { describe, count, tidy } = require('./base.js')
const { Exchange } = require('./exchange.js')
const { onMemory, elementAt, read } = require('./data.js')
const { valuesOf } = require('./variable.js')
const { types } = require('./dtype.js')
const { tracing } = require('./trace.js')

const THRESHOLD = 1000 // tensors of more elements are abbreviated:
const EDGE = 3 // so many elements at either end of each axis are shown
const NESTED = 10 // most elements of a tensor that is shown within another object
const WIDTH = 75
const DIGITS = 8

/** Tensors as text. Nothing is computed for it: a lazy tensor shows no values. */
class Display extends Exchange {
  toString () {
    return text(this, Infinity)
  }

  /** A tensor is no number: an operator of JavaScript on it is an error, not NaN. */
  [Symbol.toPrimitive] (hint) {
    if (hint !== 'string') throw new TypeError('a tensor is no number: use its methods (a.add(b) for a + b), or item()')
    return this.toString()
  }

  /** toString; within other objects only a small tensor shows its values. */
  [inspect.custom] (depth, options) {
    return text(this, depth < options.depth ? NESTED : Infinity)
  }
}

function text (tensor, most) {
  const name = tensor.constructor.name
  if (tensor.isDisposed) return `${name}(disposed)`
  const { shape, dtype } = describe(tensor)
  const facts = [`shape=[${shape}]`, `dtype=${dtype.name}`]
  if (tracing() || !tensor.isRealized) facts.unshift('lazy')
  else if (count(shape) <= most) facts.unshift(values(tensor, shape, dtype, name.length + 1))
  if (tensor.requiresGrad) facts.push('requiresGrad=true')
  return `${name}(${facts.join(', ')})`
}

/** The elements of a computed tensor as the text of nested lists: numbers are aligned, lines are indented. */
function values (tensor, shape, dtype, indent) {
  const sizes = valuesOf(shape)
  if (count(sizes) === 0) return '[]'
  const short = count(sizes) > THRESHOLD
  const data = short ? tensor.data : read(tensor)
  const strides = sizes.map((_, i) => count(sizes.slice(i + 1)))
  const places = sizes.map((n) => short && n > 2 * EDGE
    ? [...Array(EDGE).keys(), null, ...Array.from({ length: EDGE }, (_, i) => n - EDGE + i)]
    : [...Array(n).keys()])
  const found = []
  const find = (axis, at) => {
    if (axis === places.length) found.push(elementAt(data, at, dtype))
    else for (const i of places[axis]) if (i !== null) find(axis + 1, at + i * strides[axis])
  }
  find(0, 0)
  const texts = aligned(found, dtype)
  let next = 0
  const level = (axis) => {
    if (axis === places.length) return texts[next++]
    const items = places[axis].map((i) => i === null ? '...' : level(axis + 1))
    return `[${joined(items, places.length - axis - 1, indent + axis + 1)}]`
  }
  return level(0)
}

/** The items of a list: rows on lines of their own, numbers on as few lines as they need. */
function joined (items, depth, indent) {
  const margin = `\n${' '.repeat(indent)}`
  if (depth > 0) return items.join(`,${margin.padStart(margin.length + depth - 1, '\n')}`)
  let line = indent
  return items.map((item, i) => {
    const separator = i === 0 ? '' : line + item.length + 2 > WIDTH ? `,${margin}` : ', '
    line = separator.length > 2 ? indent + item.length : line + separator.length + item.length
    return separator + item
  }).join('')
}

/** Numbers as texts, padded to one width. */
function aligned (numbers, dtype) {
  if (dtype.isComplex) {
    const plane = dtype.size === 8 ? types.float32 : types.float64
    const [re, im] = [numbers.map((z) => z.re), numbers.map((z) => Math.abs(z.im))].map((part) => aligned(part, plane))
    return re.map((real, i) => `${real} ${numbers[i].im < 0 || Object.is(numbers[i].im, -0) ? '-' : '+'} ${im[i]}i`)
  }
  const texts = dtype.isFloat ? floats(dtype.isRaw ? decoded(numbers, dtype) : numbers, dtype) : numbers.map(String)
  const width = Math.max(0, ...texts.map((t) => t.length))
  return texts.map((t) => t.padStart(width))
}

/** Decodes the bit patterns of a floating type that JavaScript lacks (bfloat16, …). */
function decoded (bits, dtype) {
  return tidy(() => onMemory(dtype.Array.from(bits), dtype, [bits.length]).cast('float32').tolist())
}

function floats (numbers, dtype) {
  const sizes = numbers.filter((v) => Number.isFinite(v) && v !== 0).map(Math.abs)
  const round = dtype === types.float64 ? Number : Math.fround
  if (Math.max(...sizes) >= 1e8 || Math.min(...sizes) < 1e-4) return numbers.map((v) => shortest(v, round, 'toExponential'))
  const texts = numbers.map((v) => shortest(v, round, 'toFixed'))
  const fractions = texts.map((t) => t.includes('.') ? t.length - t.indexOf('.') : 0)
  const longest = Math.max(0, ...fractions)
  if (longest === 0) return texts
  return texts.map((t, i) => {
    if (!Number.isFinite(numbers[i])) return t
    return (fractions[i] === 0 ? `${t}.` : t).padEnd(t.length + longest - fractions[i])
  })
}

/** The shortest decimal text that rounds to the number in its type, with at most DIGITS digits after the point. */
function shortest (v, round, method) {
  if (!Number.isFinite(v)) return String(v)
  for (let digits = 0; digits < DIGITS; digits++) {
    const written = v[method](digits)
    if (round(Number(written)) === v) return written
  }
  return v[method](DIGITS)
}

module.exports = { Display }
