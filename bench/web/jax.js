/** jax-js on its CPU backend. A function consumes the references to its arguments, so every further use of an array takes a new one. */

import { blockUntilReady, defaultDevice, getWebGPUDevice, grad, init, jit, lax, nn, numpy as np } from '@jax-js/jax'

const o = {
  matmul: (a, b) => np.matmul(a.ref, b.ref),
  add: (a, b) => a.ref.add(b.ref),
  sub: (a, b) => a.ref.sub(b.ref),
  mul: (a, b) => a.ref.mul(b.ref),
  exp: (x) => np.exp(x.ref),
  tanh: (x) => np.tanh(x.ref),
  sin: (x) => np.sin(x.ref),
  gelu: (x) => nn.gelu(x.ref),
  relu: (x) => nn.relu(x.ref),
  sum: (x) => np.sum(x.ref),
  softmax: (x) => nn.softmax(x.ref, -1),
  layernorm: (x) => nn.standardize(x.ref, -1),
  conv: (x, w) => lax.convGeneralDilated(x.ref, w.ref, [1, 1], 'SAME'),
  sort: (x) => np.sort(x.ref),
  attention: (q, k, v) => {
    const rows = [q, k, v].map((x) => np.transpose(x.ref, [0, 2, 1, 3]))
    return np.transpose(nn.dotProductAttention(...rows), [0, 2, 1, 3])
  },
  crossEntropy: (x, y) => np.mean(np.sum(nn.logSoftmax(x.ref, -1).mul(y.ref), -1)).neg()
}

const arrayOf = ({ values, shape }) => np.array(values).reshape(shape)

export async function load () {
  await init('wasm')
  defaultDevice('wasm')
}

/** Selects the WebGPU backend, and returns its GPUDevice. */
export async function loadGpu () {
  await init('webgpu')
  defaultDevice('webgpu')
  return getWebGPUDevice()
}

export function prepare ({ program, train, parameters, rate }, inputs) {
  let arrays = inputs.map(arrayOf)
  const used = () => arrays.map((array) => array.ref)
  const close = () => arrays.forEach((array) => array.dispose())
  if (!train) {
    const compiled = jit((...args) => program(o, ...args))
    const run = async () => (await blockUntilReady(compiled(...used()))).dispose()
    return { run, outputs: async () => [await compiled(...used()).data()], close }
  }
  const data = arrays.slice(0, parameters)
  const gradients = grad((weights, ...rest) => program(o, ...rest, ...weights))
  const step = jit((weights, ...rest) => {
    const slopes = gradients(weights.map((weight) => weight.ref), ...rest)
    return weights.map((weight, i) => weight.sub(slopes[i].mul(rate)))
  })
  const run = async () => {
    const weights = await blockUntilReady(step(arrays.slice(parameters), ...data.map((array) => array.ref)))
    arrays = [...data, ...weights]
  }
  const outputs = async () => {
    await run()
    return Promise.all(arrays.slice(parameters).map((array) => array.ref.data()))
  }
  return { run, outputs, close }
}

export function addAndRead (values) {
  const [a, b] = [0, 1].map(() => np.array(values))
  return () => a.ref.add(b.ref).js()
}
