'use strict'
/** Fourier transforms of planes, and there and back. */

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, fft } = require('..')

const near = (got, want) => got.forEach((value, i) => assert.ok(Math.abs(value - want[i]) < 1e-5, `${got}, expected ${want}`))

test('a transform of real numbers, and its inverse', () => {
  const [real, imag] = fft.rfft(new Tensor([1, 2, 3, 4]))
  near(real.tolist(), [10, -2, -2])
  near(imag.tolist(), [0, 2, 0])
  near(fft.irfft(real, imag).tolist(), [1, 2, 3, 4])
})

test('complex transforms of a length whose largest factor takes chirps', () => {
  const n = 67
  const x = Array.from({ length: n }, (_, i) => [Math.cos(i), Math.sin(2 * i)])
  const [real, imag] = fft.fft(new Tensor(x.map(([a]) => a)), new Tensor(x.map(([, b]) => b)))
  const want = [0, 1].map((part) => x.map((_, k) => x.reduce((sum, [a, b], j) => {
    const angle = -2 * Math.PI * (j * k % n) / n
    return sum + (part === 0 ? a * Math.cos(angle) - b * Math.sin(angle) : a * Math.sin(angle) + b * Math.cos(angle))
  }, 0)))
  for (const [got, expected] of [[real, want[0]], [imag, want[1]]]) {
    got.tolist().forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-4))
  }
  near(fft.ifft(real, imag)[0].tolist(), x.map(([a]) => a))
})

test('options, frequencies and refusals', () => {
  const [real] = fft.fft(new Tensor([1, 1, 1, 1]), { norm: 'ortho' })
  near(real.tolist(), [2, 0, 0, 0])
  assert.deepStrictEqual(fft.fftfreq(4).tolist(), [0, 0.25, -0.5, -0.25])
  assert.deepStrictEqual(fft.fftshift(fft.fftfreq(4)).tolist(), [-0.5, -0.25, 0, 0.25])
  assert.throws(() => fft.fft(new Tensor([1]), { n: 0 }), /fft\.fft: n: 0, expected 1 or more/)
})
