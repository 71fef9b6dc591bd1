'use strict'
// Every public method of Tensor is an operation of the table that all languages share, or stands here.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { Tensor } = require('..')

const TABLE = path.join(__dirname, '..', '..', '..', 'tests', 'ops.json')

// Methods that are no operation with a value of its own; other tests are about them.
const NOT_OPERATIONS = {
  'what a tensor is': 'device dtype elementSize isDisposed isFloatingPoint isRealized length nbytes ndim numel shape size toString',
  values: 'data from item itemAsync realize realizeAsync toArray toArrayAsync toJSON tolist tolistAsync',
  memory: 'assign assignAsync cpu cuda dispose empty emptyLike fromBlob fromUrl keep replace tidy to to_',
  'names of others': 'constLike padTo sequential short shrinkTo',
  slow: 'hash',
  'of another type than the operand': 'complex',
  'buffers of WebGPU, in tests of browsers': 'fromGpuBuffer fromImage gpuBuffer',
  gradients: 'backward backwardAsync grad gradient requiresGrad requiresGrad_',
  modes: 'manualSeed noGrad train training',
  'two operations of the table in one call': 'stdMean varMean',
  'another name of binaryCrossentropy': 'binaryCrossEntropy'
}

const camel = (name) => name.replace(/_$/, '').replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase())
const reached = new Set(JSON.parse(fs.readFileSync(TABLE, 'utf8')).map((c) => camel(c.op)))
const others = Object.values(NOT_OPERATIONS).flatMap((names) => names.split(' '))

/** The public names of the class and of its instances. */
function methods () {
  const names = new Set()
  for (const [end, start] of [[Object.prototype, Tensor.prototype], [Function.prototype, Tensor]]) {
    for (let at = start; at !== end; at = Object.getPrototypeOf(at)) Object.getOwnPropertyNames(at).forEach((n) => names.add(n))
  }
  for (const name of ['constructor', 'prototype', 'name']) names.delete(name)
  return [...names].filter((name) => !name.startsWith('_'))
}

// A property of an instance, which no prototype has, would be missed.
const fields = () => Object.getOwnPropertyNames(new Tensor([1])).filter((name) => !name.startsWith('_'))

test('every method is in the table, or is no operation', () => {
  const known = new Set([...reached, ...others])
  assert.deepStrictEqual([...methods(), ...fields()].filter((name) => !known.has(name)), [])
})

test('what is said to be no operation is a method, and not in the table', () => {
  const all = new Set([...methods(), ...fields()])
  assert.deepStrictEqual(others.filter((name) => !all.has(name)), [])
  assert.deepStrictEqual(others.filter((name) => reached.has(name)), [])
})

test('every operation of the table is a method', () => {
  const all = new Set(methods())
  assert.deepStrictEqual([...reached].filter((name) => !all.has(name)), [])
})
