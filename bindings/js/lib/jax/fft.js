'use strict'
/**
 * polygrad/jax: numpy.fft, on pairs of real and imaginary parts. A transform is a product with the matrix of the smallest factors of its
 * length, twiddles and a shorter transform; prime factors above MATRIX are convolutions of lengths that are powers of 2.
 */

const { describe } = require('../base.js')
const { Tensor } = require('../tensor.js')
const { show } = require('../arguments.js')
const N = require('../numpy.js')
const { Array: JaxArray, call } = require('./array.js')
const { arrayLike, tensorOf, wrapped } = require('./call.js')

const MATRIX = 64 // the longest transform that is one product

const shapeOf = (x) => describe(x).shape
const floating = (x) => describe(x).dtype.isFloat ? x : x.cast('float32')

/** Tables of cosines and sines by their lengths, computed in double precision. */
const tables = new Map()
const MOST_TABLES = 64

/** Real and imaginary parts of e^(sign * 2 pi i f(j, k) / n) for rows j and columns k. */
function waves (n, rows, columns, sign, dtype, f, key) {
  const name = `${key} ${n} ${rows} ${columns} ${sign} ${dtype}`
  const known = tables.get(name)
  if (known !== undefined) return known
  const [real, imag] = [new Float64Array(rows * columns), new Float64Array(rows * columns)]
  for (let j = 0; j < rows; j++) {
    for (let k = 0; k < columns; k++) {
      const angle = 2 * Math.PI * (f(j, k) % n) / n
      real[j * columns + k] = Math.cos(angle)
      imag[j * columns + k] = sign * Math.sin(angle)
    }
  }
  const made = [real, imag].map((x) => new Tensor(x, { dtype }).reshape([rows, columns]))
  if (tables.size === MOST_TABLES) tables.delete(tables.keys().next().value)
  tables.set(name, made)
  return made
}

const times = ([a, b], [c, d]) => [a.mul(c).sub(b.mul(d)), a.mul(d).add(b.mul(c))]
const both = (pair, f) => pair.map(f)

/** A factor of a length that is at most MATRIX: the largest one, 1 if there is none. */
function factorOf (n) {
  for (let f = Math.min(MATRIX, n - 1); f > 1; f--) if (n % f === 0) return f
  return 1
}

/** The transform along the last axis, without a factor. */
function transform (pair, sign) {
  const n = shapeOf(pair[0]).at(-1)
  const dtype = describe(pair[0]).dtype.name
  if (n <= 1) return pair
  const factor = n <= MATRIX ? n : factorOf(n)
  if (factor === 1) return convolved(pair, n, sign, dtype)
  if (factor === n) return product(pair, waves(n, n, n, sign, dtype, (j, k) => j * k, 'matrix'))
  // x[a + factor b] with a as rows: transforms along b, twiddles, transforms along a.
  const rest = n / factor
  const lead = shapeOf(pair[0]).slice(0, -1)
  const rows = both(pair, (x) => x.reshape([...lead, rest, factor]).transpose(-1, -2))
  const inner = transform(rows, sign)
  const turned = times(inner, waves(n, factor, rest, sign, dtype, (a, k) => a * k, 'twiddles'))
  const outer = transform(both(turned, (x) => x.transpose(-1, -2)), sign)
  return both(outer, (x) => x.transpose(-1, -2).reshape([...lead, n]))
}

/** The product of complex rows and a complex matrix. */
function product ([a, b], [c, d]) {
  return [a.matmul(c).sub(b.matmul(d)), a.matmul(d).add(b.matmul(c))]
}

/** Bluestein's transform: a convolution with a chirp, whose length is a power of 2. */
function convolved (pair, n, sign, dtype) {
  const length = 2 ** Math.ceil(Math.log2(2 * n - 1))
  const chirp = (direction) => waves(2 * n, 1, n, direction, dtype, (_, k) => (k * k) % (2 * n), 'chirp').map((x) => x.reshape([n]))
  const lead = shapeOf(pair[0]).slice(0, -1)
  const pad = (x, amount) => x.pad([...shapeOf(x).slice(1).map(() => [0, 0]), [0, amount]])
  const given = both(times(pair, chirp(sign)), (x) => pad(x, length - n))
  const kernel = both(chirp(-sign), (x) => Tensor.cat([pad(x, length - 2 * n + 1), x.getitem('1:').flip(0)]))
  const found = transform(times(transform(given, -1), transform(kernel, -1)), 1)
  const cut = both(found, (x) => x.shrink([...lead.map((size) => [0, size]), [0, n]]).div(length))
  return times(cut, chirp(sign))
}

const axisOf = (axis, ndim, who) => {
  if (!Number.isInteger(axis) || axis < -ndim || axis >= ndim) {
    throw new RangeError(`${who}: axis: ${show(axis)}, expected ${-ndim} to ${ndim - 1}`)
  }
  return axis < 0 ? axis + ndim : axis
}

/** A transform along an axis; the inverse one is divided by the length. */
function along (who, pair, axis, sign) {
  const at = axisOf(axis, shapeOf(pair[0]).length, who)
  const n = shapeOf(pair[0])[at]
  if (n === 0) throw new RangeError(`${who}: axis ${axis} has no elements, expected one or more`)
  const out = transform(both(pair, (x) => N.moveaxis(x, at, -1)), sign)
  return both(out, (x) => N.moveaxis(sign > 0 ? x.div(n) : x, -1, at))
}

const zeros = (x) => [x, x.zerosLike()]
const part = (x, axis, start, stop) => x.shrink(shapeOf(x).map((n, i) => i === axis ? [start, stop] : [0, n]))

/** The first half of the spectrum of real numbers. */
function half (who, x, axis) {
  const at = axisOf(axis, shapeOf(x).length, who)
  const n = shapeOf(x)[at]
  return both(along(who, zeros(x), at, -1), (y) => part(y, at, 0, Math.floor(n / 2) + 1))
}

/** The whole spectrum, of an even length, of its first half. */
function mirrored (who, pair, axis) {
  const at = axisOf(axis, shapeOf(pair[0]).length, who)
  const m = shapeOf(pair[0])[at]
  if (m < 2) throw new RangeError(`${who}: axis ${axis} has ${m} elements, expected 2 or more`)
  const back = both(pair, (x) => N.flip(part(x, at, 1, m - 1), at))
  // The ends are real: what their imaginary parts say counts for nothing.
  const ends = pair[1].mul(new Tensor(Float64Array.from({ length: m }, (_, i) => i === 0 || i === m - 1 ? 0 : 1),
    { dtype: describe(pair[1]).dtype.name }).reshape(shapeOf(pair[1]).map((_, i) => i === at ? m : 1)))
  return [N.concat([pair[0], back[0]], at), N.concat([ends, back[1].neg()], at)]
}

/** The parts of a pair of arrays. */
function pairOf (a, who) {
  if (a === null || typeof a !== 'object' || !('real' in a) || !('imag' in a)) {
    throw new TypeError(`${who}: a: ${show(a)}, expected { real, imag }, two arrays of one shape`)
  }
  const parts = ['real', 'imag'].map((name) => floating(tensorOf(arrayLike(a[name], `${who}: a.${name}`))))
  if (String(shapeOf(parts[0])) === String(shapeOf(parts[1]))) return parts
  throw new TypeError(`${who}: a: shapes [${shapeOf(parts[0])}] and [${shapeOf(parts[1])}], expected two of one shape`)
}

const realOf = (a, who) => floating(tensorOf(arrayLike(a, `${who}: a`)))
const asPair = ([real, imag]) => wrapped({ real, imag }, false)
const asArray = (x) => wrapped(x, false)

/** The axes of a transform: all of them for null. */
const axesOf = (axes, x) => axes ?? [...shapeOf(x).keys()]

/** Functions of pairs by what they do with their parts. */
const complex = (who, f, rest) => (a, axes = rest) => call(() => asPair(f(who, pairOf(a, who), axes)))
const one = (sign) => (who, pair, axis) => along(who, pair, axis, sign)
const many = (sign) => (who, pair, axes) => axesOf(axes, pair[0]).reduce((p, axis) => along(who, p, axis, sign), pair)

function realMany (who, x, axes) {
  const all = axesOf(axes, x)
  return all.slice(0, -1).reduce((p, axis) => along(who, p, axis, -1), half(who, x, all.at(-1)))
}

function inverseMany (who, pair, axes) {
  const all = axesOf(axes, pair[0])
  const found = all.slice(0, -1).reduce((p, axis) => along(who, p, axis, 1), pair)
  return along(who, mirrored(who, found, all.at(-1)), all.at(-1), 1)[0]
}

const fromReal = (who, f, rest) => (a, axes = rest) => call(() => asPair(f(who, realOf(a, who), axes)))
const toReal = (who, f, rest) => (a, axes = rest) => call(() => asArray(f(who, pairOf(a, who), axes)))

const frequencies = (who, length, at) => (n, d = 1) => {
  if (!Number.isInteger(n) || n < 1) throw new RangeError(`${who}: n: ${show(n)}, expected an integer of 1 or more`)
  return new JaxArray(new Tensor(Float32Array.from({ length: length(n) }, (_, i) => at(i, n) / (n * d))))
}

const shifted = (who, amount) => (a, axes = null) => call(() => {
  const x = tensorOf(arrayLike(a, `${who}: a`))
  const all = [axesOf(axes, x)].flat()
  return asArray(N.roll(x, all.map((axis) => amount(shapeOf(x).at(axis))), all))
})

const fft = Object.freeze({
  fft: complex('fft', one(-1), -1),
  ifft: complex('ifft', one(1), -1),
  fft2: complex('fft2', many(-1), [-2, -1]),
  ifft2: complex('ifft2', many(1), [-2, -1]),
  fftn: complex('fftn', many(-1), null),
  ifftn: complex('ifftn', many(1), null),
  rfft: fromReal('rfft', half, -1),
  rfft2: fromReal('rfft2', realMany, [-2, -1]),
  rfftn: fromReal('rfftn', realMany, null),
  irfft: toReal('irfft', (who, pair, axis) => along(who, mirrored(who, pair, axis), axis, 1)[0], -1),
  irfft2: toReal('irfft2', inverseMany, [-2, -1]),
  irfftn: toReal('irfftn', inverseMany, null),
  hfft: toReal('hfft', (who, [real, imag], axis) => along(who, mirrored(who, [real, imag.neg()], axis), axis, 1)[0]
    .mul(2 * (shapeOf(real).at(axis) - 1)), -1),
  ihfft: fromReal('ihfft', (who, x, axis) => {
    const [real, imag] = half(who, x, axis)
    const n = shapeOf(x).at(axis)
    return [real.div(n), imag.neg().div(n)]
  }, -1),
  fftfreq: frequencies('fftfreq', (n) => n, (i, n) => i < Math.ceil(n / 2) ? i : i - n),
  rfftfreq: frequencies('rfftfreq', (n) => Math.floor(n / 2) + 1, (i) => i),
  fftshift: shifted('fftshift', (n) => Math.floor(n / 2)),
  ifftshift: shifted('ifftshift', (n) => -Math.floor(n / 2))
})

module.exports = { fft }
