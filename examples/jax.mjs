// Function transformations in JavaScript, with the names of jax-js:
//
//     cd bindings/js && npm install && cd ../..
//     node examples/jax.mjs
//
// Four short programs: derivatives of a scalar function, a line fit, per-example gradients of a batch, and a
// network that classifies handwritten digits. Arrays that are used again need no .ref here, but may have it.

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import jax from '../bindings/js/lib/jax/index.js'
import optax from '../bindings/js/lib/optax/index.js'

const { grad, jit, nn, numpy: np, random, tree, valueAndGrad, vmap } = jax

// A derivative is a function, too: grad may be applied again and again.

const f = (x) => np.sin(x).mul(x)
const slope = grad(f)
const curvature = grad(slope)
console.log(`f(2) = ${f(np.array(2)).item().toFixed(4)}, f'(2) = ${slope(2).item().toFixed(4)}, f''(2) = ${curvature(2).item().toFixed(4)}`)

// A line through noisy points, by gradient descent with momentum. A step is compiled once.

const [noise, start, layers] = random.split(random.key(0), 3)
const x = np.linspace(-1, 1, 100)
const y = x.mul(3).add(0.5).add(random.normal(noise, [100]).mul(0.1))
const distance = (line, x, y) => np.square(line.slope.mul(x).add(line.offset).sub(y)).mean()

const descent = optax.sgd(0.1, { momentum: 0.9 })
const draw = jit((line, state) => {
  const [error, slopes] = valueAndGrad(distance)(line, x, y)
  const [updates, next] = descent.update(slopes, state, line)
  return [optax.applyUpdates(line, updates), next, error]
})
let line = { slope: np.array(0), offset: np.array(0) }
let state = descent.init(line)
let error
for (let i = 0; i < 100; i++) [line, state, error] = draw(line, state)
console.log(`line: ${line.slope.item().toFixed(2)} x + ${line.offset.item().toFixed(2)}, error ${error.item().toFixed(4)}`)

// vmap makes a function of one example a function of a batch: here the norm of the gradient of each point.

const lengthOfGradient = (x, y) => {
  const { slope, offset } = grad(distance)(line, x, y)
  return np.sqrt(np.square(slope).add(np.square(offset)))
}
const lengths = jit(vmap(lengthOfGradient))(x, y)
console.log(`the point that pulls most: ${np.argmax(lengths).item()}, with ${lengths.max().item().toFixed(2)}`)

// A network of two layers classifies digits of 8x8 pixels. Its parameters are a tree of arrays.

const rows = gunzipSync(readFileSync(new URL('data/digits.csv.gz', import.meta.url))).toString().trim().split('\n')
const table = np.array(rows.map((row) => row.split(',').map(Number)))
const order = random.permutation(start, rows.length)
const mixed = np.take(table, order, 0)
const [pixels, labels] = [mixed.slice([], [0, 64]).div(16), mixed.slice([], 64).astype(np.int32)]
const held = 360
const test = { x: pixels.slice([0, held]), y: labels.slice([0, held]) }
const train = { x: pixels.slice([held]), y: nn.oneHot(labels.slice([held]), 10) }

const layer = (key, inputs, outputs) => ({
  weight: random.normal(key, [inputs, outputs]).mul(Math.sqrt(2 / inputs)),
  bias: np.zeros([outputs])
})
const keys = random.split(layers, 2)
let network = { hidden: layer(keys.slice(0), 64, 128), out: layer(keys.slice(1), 128, 10) }

const apply = ({ weight, bias }, x) => np.matmul(x, weight).add(bias)
const predict = (network, x) => apply(network.out, nn.relu(apply(network.hidden, x)))
const loss = (network, x, y) => nn.logSoftmax(predict(network, x)).mul(y).sum(-1).mean().mul(-1)

const adam = optax.chain(optax.clipByGlobalNorm(1), optax.adamw(0.01, { weightDecay: 1e-3 }))
const step = jit((network, state) => {
  const [value, slopes] = valueAndGrad(loss)(network, train.x, train.y)
  const [updates, next] = adam.update(slopes, state, network)
  return [optax.applyUpdates(network, updates), next, value]
})
let learned = adam.init(network)
let value
for (let i = 0; i < 150; i++) [network, learned, value] = step(network, learned)
const right = np.argmax(predict(network, test.x), 1).equal(test.y).astype(np.float32).mean()
console.log(`${tree.leaves(network).reduce((n, leaf) => n + leaf.size, 0)} parameters, last loss ${value.item().toFixed(4)}`)
console.log(`test accuracy: ${right.item().toFixed(4)}`)
