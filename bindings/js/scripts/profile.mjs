/**
 * Which functions of the library a page needs to train:
 *
 *     node scripts/profile.mjs MODULE OUT THREADS FLAG
 *
 * runs programs and tests on a module that "wasmlink -profile" wrote, and adds its bits, one for each function that was called, to
 * those in a file.
 * What they do not call is in deferred parts of the module in a page. FLAG is one of V8's.
 */

import fs from 'node:fs'
import { createRequire } from 'node:module'
import { after } from 'node:test'
import { setFlagsFromString } from 'node:v8'

const CALLED = ['memory', 'tensor', 'views', 'indexing', 'display', 'random', 'gradients', 'nn', 'training', 'jit']
const ELEMENTWISE = [
  'exp', 'exp2', 'log', 'log2', 'sqrt', 'rsqrt', 'reciprocal', 'neg', 'abs', 'square', 'sin', 'cos', 'tan', 'tanh',
  'sigmoid', 'relu', 'gelu', 'silu', 'elu', 'softplus', 'leakyRelu', 'hardtanh', 'softmax', 'logSoftmax', 'logsumexp',
  'sum', 'mean', 'prod', 'max', 'min', 'std', 'var', 'cumsum', 'transpose', 'flatten', 'contiguous'
]
const FUNCTIONS = 32_768 // at most: the bits lie in the first 4 KiB of the memory

const [, , module, out, threads, flag] = process.argv
if (flag === undefined) {
  console.error('usage: node scripts/profile.mjs MODULE OUT THREADS FLAG')
  process.exit(2)
}
setFlagsFromString(flag)
Object.assign(process.env, { POLYGRAD_ENGINE: 'wasm', POLYGRAD_WASM: module, POLY_THREADS: threads })
if (threads === '1') process.env.GOGC = '2' // the collector runs often, and does all that it can do
const require = createRequire(import.meta.url)
const {
  AdamW, BatchNorm, Conv2d, Dropout, Embedding, LayerNorm, Linear, MultiHeadAttention, SGD, Sequential, Tensor, TinyJit, compileStep,
  getParameters
} = require('..')
const { engine, lib } = require('../lib/library.js')
const { handleOf } = require('../lib/base.js')

// Tests are of few elements, and of numbers with a seed.
const elements = Tensor.rand(2, 3).add(0.5)
elements.requiresGrad = true
for (const name of ELEMENTWISE) elements[name]().sum().backward()
elements.grad.tolist()
lib.poly_array_fetch(handleOf(elements)) // what reads that are awaited begin with in pages

/** Several reads that are awaited at once: their jobs wait for each other's locks. */
async function readTogether (tensors) {
  for (let k = 0; k < 8; k++) {
    const results = tensors.map((tensor) => tensor.mul(2))
    const arrays = results.map((result) => result.toArrayAsync())
    for (const tensor of [...results, ...tensors]) lib.poly_array_fetch(handleOf(tensor))
    await Promise.all(arrays)
  }
}

/** Trains a model of a usual size in compiled steps and by calls, and uses it. */
async function train (layers, Optimizer, input, classes) {
  const model = new Sequential(...layers)
  const optimizer = new Optimizer(getParameters(model), { lr: 1e-3 })
  const y = Tensor.randint(input.shape[0], { high: classes }).realize()
  const step = () => {
    optimizer.zeroGrad()
    const loss = model.forward(input).crossEntropy(y)
    loss.backward()
    optimizer.step()
    return loss
  }
  const compiled = compileStep(step)
  for (let k = 0; k < 3; k++) compiled.run()
  compiled.lossValue()
  await readTogether(getParameters(model))
  Tensor.train(() => step().item())
  const jit = new TinyJit((x) => model.forward(x).softmax().realize())
  for (let k = 0; k < 3; k++) jit(input).toArray()
  model.forward(input).argmax(1).eq(y).float().mean().item()
}

/** A multilayer perceptron; activation is the name of a method. */
function perceptron (activation, ...widths) {
  return widths.slice(1).flatMap((width, i) => [new Linear(widths[i], width), (x) => x[activation]()]).slice(0, -1)
}

const ACTIVATIONS = ['relu', 'gelu', 'tanh', 'silu', 'sigmoid']
// Rows and widths whose kernels take functions that those of other sizes do not.
const SIZES = {
  1: ['64x32', '64x128', '64x200', '100x32', '100x200', '784x128'],
  5: ['64x32', '64x128', '100x32', '100x128', '784x32'],
  10: ['784x128'],
  32: ['64x32', '100x200', '784x32'],
  128: ['100x32']
}
let turn = 0
for (const [rows, sizes] of Object.entries(SIZES)) {
  for (const [width, hidden] of sizes.map((size) => size.split('x').map(Number))) {
    const layers = perceptron(turn % 2 ? 'relu' : ACTIVATIONS[turn % ACTIVATIONS.length], width, hidden, 10)
    await train(layers, turn++ % 3 ? AdamW : SGD, Tensor.rand(Number(rows), width).realize(), 10)
  }
}
const LARGE = [[64, AdamW, 'relu'], [128, SGD, 'relu'], [128, AdamW, 'gelu'], [256, AdamW, 'relu'], [256, AdamW, 'tanh']]
for (const [rows, Optimizer, activation] of LARGE) {
  await train(perceptron(activation, 784, 512, 256, 10), Optimizer, Tensor.rand(rows, 784).realize(), 10)
}
await train(perceptron('gelu', 8, 16, 3), AdamW, Tensor.rand(5, 8).realize(), 3)
for (const size of [28, 31]) {
  const layers = [
    new Conv2d(1, 8, 3), new BatchNorm(8), (x) => x.relu().maxPool2d(),
    new Conv2d(8, 16, 3, { padding: 1 }), (x) => x.relu().avgPool2d().flatten(1), new Dropout(0.1)
  ]
  const [, features] = new Sequential(...layers).forward(Tensor.rand(1, 1, size, size)).shape
  await train([...layers, new Linear(features, 10)], SGD, Tensor.rand(32, 1, size, size).realize(), 10)
}
for (const [length, width] of [[64, 64], [37, 48]]) {
  const attention = new MultiHeadAttention(width, 4)
  const layers = [
    new Embedding(100, width), (x) => x.add(attention.forward(x)), new LayerNorm(width),
    new Linear(width, 4 * width), (x) => x.gelu(), new Linear(4 * width, 100), (x) => x.mean(1)
  ]
  await train(layers, AdamW, Tensor.randint(4, length, { high: 100 }).realize(), 100)
}
for (const n of [100, 300, 512]) {
  const [a, b] = [Tensor.rand(n, n), Tensor.rand(n, n)]
  const c = a.matmul(b)
  const products = [c, a.matmul(b.transpose()), a.transpose().matmul(b), c.add(1).relu(), c.sum()]
  const others = [a.softmax(1), a.sum(0), a.sum(1), a.max(), a.sin().mul(b).exp(), a.transpose().contiguous(), a.cumsum(1)]
  for (const v of [...products, ...others]) v.realize()
}

function save () {
  const before = fs.existsSync(out) ? fs.readFileSync(out) : []
  fs.writeFileSync(out, engine.view(Uint8Array, 0, FUNCTIONS / 8).map((bits, i) => bits | before[i]))
}

if (threads === '1') {
  for (const name of CALLED) require(`../test/${name}.test.js`)
  after(save)
} else save() // tests call the same functions again
