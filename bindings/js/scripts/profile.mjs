/**
 * Which functions of the library a page needs to train:
 *
 *     node scripts/profile.mjs MODULE OUT [FLAG]
 *
 * runs tests on a module that "wasmlink -profile" wrote, and adds its bits, one for each function that was called, to those in a file.
 * What no test calls is the deferred part of the module in a page. FLAG is one of V8's.
 */

import fs from 'node:fs'
import { createRequire } from 'node:module'
import { after } from 'node:test'
import { setFlagsFromString } from 'node:v8'

const CALLED = ['memory', 'tensor', 'ops', 'views', 'indexing', 'display', 'random', 'gradients', 'nn', 'training', 'jit']
const ELEMENTWISE = [
  'exp', 'exp2', 'log', 'log2', 'sqrt', 'rsqrt', 'reciprocal', 'neg', 'abs', 'square', 'sin', 'cos', 'tan', 'tanh',
  'sigmoid', 'relu', 'gelu', 'silu', 'elu', 'softplus', 'leakyRelu', 'hardtanh', 'softmax', 'logSoftmax', 'logsumexp',
  'sum', 'mean', 'prod', 'max', 'min', 'std', 'var', 'cumsum', 'transpose', 'flatten', 'contiguous'
]
const FUNCTIONS = 32_768 // at most: the bits lie in the first 4 KiB of the memory

const [, , module, out, flag] = process.argv
if (out === undefined) {
  console.error('usage: node scripts/profile.mjs MODULE OUT [FLAG]')
  process.exit(2)
}
if (flag !== undefined) setFlagsFromString(flag)
Object.assign(process.env, { POLYGRAD_ENGINE: 'wasm', POLYGRAD_WASM: module, POLY_THREADS: '2' })
const require = createRequire(import.meta.url)
const { Tensor } = require('..')
const x = Tensor.rand(2, 3).add(0.5) // tests give seeds
x.requiresGrad = true
for (const name of ELEMENTWISE) x[name]().sum().backward()
x.grad.tolist()
for (const name of CALLED) require(`../test/${name}.test.js`)
after(() => {
  const { engine } = require('../lib/library.js')
  const before = fs.existsSync(out) ? fs.readFileSync(out) : []
  fs.writeFileSync(out, engine.view(Uint8Array, 0, FUNCTIONS / 8).map((bits, i) => bits | before[i]))
})
