/** The adapter of polygrad, as it is built for pages. */

import { Device, Generator, SGD, Tensor, TinyJit, compileStep, loadHfBytes } from '/polygrad.js'
import { CONFIG, PROMPT, ROOM, safetensors } from './gpt2.js'

const o = {
  matmul: (a, b) => a.matmul(b),
  add: (a, b) => a.add(b),
  sub: (a, b) => a.sub(b),
  mul: (a, b) => a.mul(b),
  exp: (x) => x.exp(),
  tanh: (x) => x.tanh(),
  sin: (x) => x.sin(),
  gelu: (x) => x.gelu(),
  relu: (x) => x.relu(),
  sum: (x) => x.sum(),
  softmax: (x) => x.softmax(-1),
  layernorm: (x) => x.layernorm(),
  conv: (x, w) => x.conv2d(w, { padding: 1 }),
  sort: (x) => x.sort()[0],
  attention: (q, k, v) => q.scaledDotProductAttention(k, v),
  crossEntropy: (x, y) => x.logSoftmax(-1).mul(y).sum(-1).mean().neg()
}

let gpu // the GPUDevice of onGpu

const tensorOf = ({ values, shape }, options) => new Tensor(values, { shape, ...options }).realize()

export async function load () {}

export function prepare ({ program, train, parameters, rate }, inputs, device) {
  if (!train) {
    const tensors = inputs.map((input) => tensorOf(input, { device }))
    const run = new TinyJit((...args) => program(o, ...args))
    return { run: () => run(...tensors).dispose(), outputs: async () => [(await run(...tensors).toArrayAsync()).slice()], close: () => {} }
  }
  const tensors = inputs.map((input, i) => tensorOf(input, { device, requiresGrad: i >= parameters }))
  const weights = tensors.slice(parameters)
  const optimizer = new SGD(weights, { lr: rate })
  const step = compileStep(() => {
    optimizer.zeroGrad()
    const loss = program(o, ...tensors)
    loss.backward()
    optimizer.step()
    return loss
  })
  const outputs = async () => {
    step.run()
    return Promise.all(weights.map(async (weight) => (await weight.toArrayAsync()).slice()))
  }
  return { run: () => step.run(), outputs, close: () => {} }
}

/** The same adapter on a GPUDevice; a run resolves when the GPU has completed it. */
export const onGpu = {
  async load (device) {
    gpu = device
    await Device.init('webgpu', { device })
  },
  async prepare (found, inputs) {
    const one = prepare(found, inputs, 'webgpu')
    const run = () => {
      one.run()
      return gpu.queue.onSubmittedWorkDone()
    }
    return { ...one, run }
  }
}

export function addAndRead (values) {
  const [a, b] = [0, 1].map(() => tensorOf({ values, shape: [values.length] }))
  return () => Tensor.tidy(() => a.add(b).tolist())
}

export function gpt2 () {
  const model = new Generator(loadHfBytes(JSON.stringify(CONFIG), [safetensors()], { maxSeqLen: ROOM }))
  model.feed(PROMPT)
  return { next: () => model.next()[0], logits: () => model.logits() }
}
