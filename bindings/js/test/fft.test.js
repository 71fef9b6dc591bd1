'use strict'
/** Fourier transforms, and there and back. */

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, fft } = require('..')

const near = (got, want) => got.forEach((value, i) => assert.ok(Math.abs(value - want[i]) < 1e-5, `${got}, expected ${want}`))

test('a transform of real numbers, and its inverse', () => {
  const z = fft.rfft(new Tensor([1, 2, 3, 4]))
  assert.strictEqual(z.dtype, 'complex64')
  assert.deepStrictEqual(z.tolist(), [{ re: 10, im: 0 }, { re: -2, im: 2 }, { re: -2, im: 0 }])
  near(fft.irfft(z).tolist(), [1, 2, 3, 4])
})

test('complex transforms of a length whose largest factor takes chirps', () => {
  const n = 67
  const x = Array.from({ length: n }, (_, i) => ({ re: Math.cos(i), im: Math.sin(2 * i) }))
  const z = fft.fft(new Tensor(x))
  const want = x.flatMap((_, k) => [0, 1].map((part) => x.reduce((sum, { re, im }, j) => {
    const angle = -2 * Math.PI * (j * k % n) / n
    return sum + (part === 0 ? re * Math.cos(angle) - im * Math.sin(angle) : re * Math.sin(angle) + im * Math.cos(angle))
  }, 0)))
  z.toArray().forEach((value, k) => assert.ok(Math.abs(value - want[k]) < 1e-4))
  near(fft.ifft(z).toArray(), x.flatMap(({ re, im }) => [re, im]))
})

test('options, frequencies and refusals', () => {
  near(fft.fft(new Tensor([1, 1, 1, 1]), { norm: 'ortho' }).real().tolist(), [2, 0, 0, 0])
  assert.deepStrictEqual(fft.fftfreq(4).tolist(), [0, 0.25, -0.5, -0.25])
  assert.strictEqual(fft.fftfreq(4, { dtype: 'float64' }).dtype, 'float64')
  assert.deepStrictEqual(fft.fftshift(fft.fftfreq(4)).tolist(), [-0.5, -0.25, 0, 0.25])
  assert.throws(() => fft.fft(new Tensor([1]), { n: 0 }), /fft\.fft: n: 0, expected 1 or more/)
  assert.throws(() => fft.rfft(new Tensor([{ re: 1, im: 1 }])), /fft\.rfft: a: is complex64, expected real numbers/)
})
