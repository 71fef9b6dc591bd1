// The assert shim of pages agrees with Node's assert on all pairs of values.

import test from 'node:test'
import assert from 'node:assert'
import ours from './page/assert.mjs'

class Point { constructor (x) { this.x = x } }
const ring = (item) => { const list = [item]; list.push(list); return list }
const VALUES = () => [
  0, -0, 1, NaN, '0', '', 1n, true, false, null, undefined, Symbol.iterator,
  [], [0], [-0], [NaN], [undefined], [[1], [2]], [1, 2], [, 1], ring(1), ring(2),
  {}, { x: 1 }, { x: 1, y: undefined }, { x: [1] }, { [Symbol.iterator]: 1 }, Object.create(null), new Point(1), new Point(2),
  Float32Array.of(0), Float32Array.of(-0), Float32Array.of(NaN), Float64Array.of(0), Uint8Array.of(0), new Uint8Array(2),
  BigInt64Array.of(0n),
  Uint8Array.of(1).buffer, Uint8Array.of(2).buffer, new DataView(Uint8Array.of(1).buffer),
  new Map(), new Map([[1, 2]]), new Map([[1, 3]]), new Map([['a', { b: 1 }]]),
  new Set([1]), new Set([2]), new Set([{ a: 1 }]), new Set([{ a: 2 }]),
  new Date(0), new Date(1), /a/, /a/g, new Error('a'), new Error('b'), new TypeError('a'), Object(1), Object(2), Object('a')
]
const says = (fn) => {
  try {
    fn()
    return true
  } catch {
    return false
  }
}

test('equality', () => {
  for (const [i, a] of VALUES().entries()) {
    for (const [j, b] of VALUES().entries()) {
      for (const name of ['deepStrictEqual', 'notDeepStrictEqual', 'strictEqual', 'notStrictEqual']) {
        assert.strictEqual(says(() => ours[name](a, b)), says(() => assert[name](a, b)), `${name} of values ${i} and ${j}`)
      }
    }
  }
})

test('errors', async () => {
  const expected = [undefined, Error, TypeError, /^TypeError: b/, /x/, (e) => e.message === 'bad', (e) => e instanceof RangeError,
    { message: 'bad' }, { message: /x/ }, { name: 'TypeError', message: 'bad' }]
  const thrown = [new TypeError('bad'), new Error('bad'), new RangeError('x'), null]
  for (const want of expected) {
    for (const error of thrown) {
      const fn = () => { if (error !== null) throw error }
      const rejecting = async () => fn()
      assert.strictEqual(says(() => ours.throws(fn, want)), says(() => assert.throws(fn, want)), `${error}, ${want}`)
      const both = await Promise.allSettled([ours.rejects(rejecting(), want), assert.rejects(rejecting(), want)])
      assert.strictEqual(both[0].status, both[1].status, `${error}, ${want}`)
    }
  }
  for (const value of [0, 1, '', 'a', null, {}]) assert.strictEqual(says(() => ours(value)), says(() => assert(value)))
  assert.ok(!says(() => ours.match('abc', /d/)) && says(() => ours.match('abc', /b/)) && says(() => ours.doesNotMatch('abc', /d/)))
})
