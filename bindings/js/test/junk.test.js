'use strict'
// Whatever a method is called with, it returns or throws an Error that says something; nothing crashes.

const test = require('node:test')
const assert = require('node:assert')
const polygrad = require('..')
const { Tensor, Instance } = polygrad

const gone = new Tensor([1]).add(1)
gone.dispose()
// No size among them is one that a machine could have the memory for, and then would be slow with.
const JUNK = [
  undefined, null, true, 0, -1, 2, 1.5, NaN, Infinity, 2 ** 36, 2 ** 53, -(2 ** 63), 3n, 2n ** 70n, '', 'x', 'sum', 'constructor',
  Symbol('s'), [], [1], [[1, 2]], [null], ['x'], [0, -1], {}, { toString: 1 }, { axis: 9 }, { dtype: 'x' }, { shape: null }, () => 3,
  new Date(), new DataView(new ArrayBuffer(4)), new Float32Array(3), new BigInt64Array(2),
  new Tensor([[1, 2], [3, 4]]), new Tensor(Int32Array.of(0, 1)), new Tensor([]), new Tensor(true), gone, new Map(), Object.create(null)
]

// What JavaScript and koffi say of values that nobody has checked.
const OF_THE_ENGINE = new RegExp('^(Cannot (read|set|convert|mix|assign)|Unexpected|Invalid (array|typed)|The ".*" arg)|' +
  'is not (a function|iterable)|call stack|how to serialize|internal error')

// Names that only the library has: of functions of C, of arguments that nobody gave a name to, of plain objects.
const OF_THE_LIBRARY = /poly_|\barguments: |\b_handle\b|\ba (Object|[AEIOaeio]\w+)\b/

// A generator of the same numbers on each run.
let state = 1
function draw (n) {
  state = (state * 48271) % 2147483647
  return state % n
}

/** The names of everything in a class that can be called. */
function methods (top, end) {
  const names = new Set()
  for (let at = top; at !== end; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === 'function' && !['constructor', 'prototype'].includes(name) && !name.startsWith('_')) names.add(name)
    }
  }
  return [...names]
}

async function attempt (call, what) {
  try {
    await call()
  } catch (error) {
    assert.ok(error instanceof Error && error.message.length > 0, `${what}: ${String(error)}`)
    assert.doesNotMatch(error.message, OF_THE_ENGINE, what)
    assert.doesNotMatch(error.message, OF_THE_LIBRARY, what)
  }
}

async function throwAt (make, names, rounds) {
  for (const name of names) {
    for (let i = 0; i < rounds; i++) {
      const args = Array.from({ length: draw(5) }, () => JUNK[draw(JUNK.length)])
      const object = make()
      await attempt(() => object[name](...args), name)
    }
  }
}

test('methods of Tensor', async () => {
  const names = methods(Tensor.prototype, Object.prototype).filter((n) => n !== 'dispose')
  assert.ok(names.length > 150)
  const kinds = [
    () => new Tensor([[1, 2], [3, 4]]), () => new Tensor(Int32Array.of(1, 2, 3)), () => new Tensor(1), () => Tensor.ones(1, 1, 2, 2)
  ]
  await throwAt(() => kinds[draw(kinds.length)](), names, 40)
})

test('functions of Tensor and of the package', async () => {
  await throwAt(() => Tensor, methods(Tensor, Function.prototype).filter((n) => n !== 'train'), 60)
  const ofPackage = ['getStateDict', 'getParameters', 'loadStateDict', 'compileStep', 'loadHf', 'loadHfBytes', 'generate', 'generateSteps',
    'generateAsync', 'clipGradNorm', 'clipGradValue', 'safeLoad', 'ggufLoad', 'torchLoad', 'ggmlDataToTensor']
  await throwAt(() => polygrad, ofPackage, 60)
  await throwAt(() => polygrad.safetensors, ['decode', 'encode'], 60)
  await throwAt(() => polygrad.Device, ['canonicalize', 'require', 'number'], 30)
  await throwAt(() => polygrad.random, Object.keys(polygrad.random), 60)
  await throwAt(() => polygrad.func, Object.keys(polygrad.func), 60)
  await throwAt(() => Instance, ['mlp', 'tabm', 'nam', 'fromIr', 'fromBundle'], 60)
})

test('methods of Instance', async () => {
  const net = Instance.mlp({ layers: [2, 1], loss: 'mse' })
  await throwAt(() => net, methods(Instance.prototype, Object.prototype).filter((n) => n !== 'dispose'), 60)
  assert.strictEqual(net.forward({ x: [[1, 2]] }).output.length, 1)
})

test('constructors', async () => {
  for (const [name, Class] of Object.entries(polygrad)) {
    if (!/^[A-Z]/.test(name) || typeof Class !== 'function' || Class.prototype instanceof Error) continue
    for (let i = 0; i < 60; i++) {
      await attempt(() => new Class(...Array.from({ length: draw(5) }, () => JUNK[draw(JUNK.length)])), name)
    }
  }
})

test('the library works as before', () => {
  assert.deepStrictEqual(new Tensor([1, 2]).add(1).tolist(), [2, 3])
  assert.strictEqual(Tensor.training, false)
})
