/** TensorFlow.js on its WebAssembly backend. Convolutions support NHWC only there, so images are transposed before and after. */

import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm'

const C = Math.sqrt(2 / Math.PI)
const o = {
  matmul: (a, b) => tf.matMul(a, b),
  add: tf.add,
  sub: tf.sub,
  mul: tf.mul,
  exp: tf.exp,
  tanh: tf.tanh,
  sin: tf.sin,
  gelu: (x) => tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(tf.mul(tf.add(x, tf.mul(tf.mul(tf.mul(x, x), x), 0.044715)), C)), 1)),
  relu: tf.relu,
  sum: (x) => tf.sum(x),
  softmax: (x) => tf.softmax(x),
  layernorm: (x) => {
    const { mean, variance } = tf.moments(x, -1, true)
    return tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5)))
  },
  conv: (x, w) => tf.conv2d(x, w, 1, 'same'),
  sort: (x) => tf.reverse(tf.topk(x, x.size).values),
  attention: (q, k, v) => tf.matMul(tf.softmax(tf.mul(tf.matMul(q, k, false, true), q.shape.at(-1) ** -0.5)), v),
  crossEntropy: (x, y) => tf.neg(tf.mean(tf.sum(tf.mul(tf.logSoftmax(x), y), -1)))
}

const tensorOf = ({ values, shape }) => tf.tensor(values, shape)

export async function load (threads, places = '/tfjs/') {
  setWasmPaths(places)
  setThreadsCount(threads)
  await tf.setBackend('wasm')
}

export function prepare ({ program, train, parameters, rate, images }, inputs) {
  let tensors = inputs.map(tensorOf)
  const close = () => tf.dispose(tensors)
  if (images) {
    const [x, w] = tensors
    tensors = [tf.transpose(x, [0, 2, 3, 1]), tf.transpose(w, [2, 3, 1, 0])]
    tf.dispose([x, w])
  }
  if (!train) {
    const compute = () => tf.tidy(() => program(o, ...tensors))
    const outputs = async () => [await (images ? tf.transpose(compute(), [0, 3, 1, 2]) : compute()).data()]
    return { run: () => compute().dispose(), outputs, close }
  }
  const data = tensors.slice(0, parameters)
  const gradients = tf.grads((...weights) => program(o, ...data, ...weights))
  const run = () => {
    const weights = tensors.slice(parameters)
    const stepped = tf.tidy(() => gradients(weights).map((slope, i) => tf.sub(weights[i], tf.mul(slope, rate))))
    tf.dispose(weights)
    tensors = [...data, ...stepped]
  }
  const outputs = async () => {
    run()
    return Promise.all(tensors.slice(parameters).map((tensor) => tensor.data()))
  }
  return { run, outputs, close }
}

export function addAndRead (values) {
  const [a, b] = [0, 1].map(() => tf.tensor(values))
  return () => tf.tidy(() => tf.add(a, b).arraySync())
}
