'use strict'
/** polygrad/jax: numpy.fft, on pairs of real and imaginary parts. */

const F = require('../fft.js')
const { show } = require('../arguments.js')
const { Array: JaxArray, call } = require('./array.js')
const { arrayLike, define, floating, kept, shapeOf, tensorOf, wrapped } = require('./call.js')

/** The parts of a pair { real, imag } of arrays, as floating tensors of one shape. */
function pairOf (a, who) {
  if (a === null || typeof a !== 'object' || !('real' in a) || !('imag' in a)) {
    throw new TypeError(`${who}: a: ${show(a)}, expected { real, imag }, two arrays of one shape`)
  }
  const parts = ['real', 'imag'].map((name) => floating(tensorOf(arrayLike(a[name], `${who}: a.${name}`))))
  if (String(shapeOf(parts[0])) === String(shapeOf(parts[1]))) return parts
  throw new TypeError(`${who}: a: shapes [${shapeOf(parts[0])}] and [${shapeOf(parts[1])}], expected two of one shape`)
}

const realOf = (a, who) => floating(tensorOf(arrayLike(a, `${who}: a`)))
const joined = ([real, imag]) => real.complex(imag)
const asPair = (z) => wrapped({ real: z.real(), imag: z.imag() }, false)
const asArray = (x) => wrapped(x, false)

/** Transforms of pairs or of real arrays, along one axis or, by names that end in 2 or n, along several. */
const options = (name, axes) => /[2n]$/.test(name) ? { axes } : { axis: axes }
const complex = (name, rest) => (a, axes = rest) => call(() => asPair(F[name](joined(pairOf(a, name)), options(name, axes))))
const fromReal = (name, rest) => (a, axes = rest) => call(() => asPair(F[name](realOf(a, name), options(name, axes))))
const toReal = (name, rest) => (a, axes = rest) => call(() => asArray(F[name](joined(pairOf(a, name)), options(name, axes))))
const frequencies = (name) => (n, d = 1) => call(() => new JaxArray(F[name](n, d)))
const shifted = (name) => define(`${name}(a:x, axes?)`, (a, axes) => {
  const moved = axes == null ? shapeOf(a) : [axes].flat().map((axis) => shapeOf(a).at(axis))
  return kept(a, moved.every((n) => n <= 1), F[name](a, axes ?? null))
})

const fft = Object.freeze({
  fft: complex('fft', -1),
  ifft: complex('ifft', -1),
  fft2: complex('fft2', [-2, -1]),
  ifft2: complex('ifft2', [-2, -1]),
  fftn: complex('fftn', null),
  ifftn: complex('ifftn', null),
  rfft: fromReal('rfft', -1),
  rfft2: fromReal('rfft2', [-2, -1]),
  rfftn: fromReal('rfftn', null),
  irfft: toReal('irfft', -1),
  irfft2: toReal('irfft2', [-2, -1]),
  irfftn: toReal('irfftn', null),
  hfft: toReal('hfft', -1),
  ihfft: fromReal('ihfft', -1),
  fftfreq: frequencies('fftfreq'),
  rfftfreq: frequencies('rfftfreq'),
  fftshift: shifted('fftshift'),
  ifftshift: shifted('ifftshift')
})

module.exports = { fft }
