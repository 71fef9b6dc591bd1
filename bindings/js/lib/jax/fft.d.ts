/** Discrete Fourier transforms; complex arrays are pairs of real arrays. */

import type { Array } from './index.js'

/** Real and imaginary parts, two arrays of one shape. */
export type ComplexPair = { real: Array, imag: Array }

/** The discrete Fourier transform along an axis, of any length. */
export function fft(a: ComplexPair, axis?: number): ComplexPair

/** The transform along two axes. */
export function fft2(a: ComplexPair, axes?: number[]): ComplexPair

/** The frequencies of the elements of fft, for samples d apart. */
export function fftfreq(n: number, d?: number): Array

/** The transform along several axes, all unless given. */
export function fftn(a: ComplexPair, axes?: number[] | null): ComplexPair

/** Moves frequency 0 to the middle. */
export function fftshift(a: Array, axes?: number | number[] | null): Array

/** The transform of a Hermitian signal, of which one half is given: real numbers. */
export function hfft(a: ComplexPair, axis?: number): Array

/** The inverse of fft. */
export function ifft(a: ComplexPair, axis?: number): ComplexPair

/** The inverse of fft2. */
export function ifft2(a: ComplexPair, axes?: number[]): ComplexPair

/** The inverse of fftn. */
export function ifftn(a: ComplexPair, axes?: number[] | null): ComplexPair

/** The inverse of fftshift. */
export function ifftshift(a: Array, axes?: number | number[] | null): Array

/** The inverse of hfft. */
export function ihfft(a: Array, axis?: number): ComplexPair

/** The inverse of rfft; the result has even length. */
export function irfft(a: ComplexPair, axis?: number): Array

/** The inverse of rfft2. */
export function irfft2(a: ComplexPair, axes?: number[]): Array

/** The inverse of rfftn. */
export function irfftn(a: ComplexPair, axes?: number[] | null): Array

/** The transform of real numbers: the nonnegative frequencies. */
export function rfft(a: Array, axis?: number): ComplexPair

/** The transform of real numbers along two axes. */
export function rfft2(a: Array, axes?: number[]): ComplexPair

/** The frequencies of the elements of rfft. */
export function rfftfreq(n: number, d?: number): Array

/** The transform of real numbers along several axes. */
export function rfftn(a: Array, axes?: number[] | null): ComplexPair
