/**
 * The page of the benchmark on WebGPU, for a machine with a GPU, too: it times the same programs by polygrad, jax-js and TensorFlow.js on
 * their devices webgpu, by turns, and counts what a run asks of the GPU.
 */

/* global GPUComputePassEncoder, GPUDevice, GPUQueue */

import { CASES, RATE, distance, inputsOf } from './cases.js'

const NAMES = [
  'matmul 512', 'matmul 1024', 'softmax 4096x1024', 'gelu of 1e6', 'sum of 1e6', 'MLP forward, batch 128', 'MLP training step, batch 128'
]
const LONG = /1024$|4096/ // they take long on a processor
const TURNS = 5
const TURN = 100 // milliseconds
const LIMITS = ['maxBufferSize', 'maxStorageBufferBindingSize', 'maxStorageBuffersPerShaderStage']

const counts = {}
for (const [type, name] of [[GPUComputePassEncoder, 'dispatchWorkgroups'], [GPUQueue, 'submit'], [GPUDevice, 'createBindGroup']]) {
  const { [name]: method } = type.prototype
  counts[name] = 0
  type.prototype[name] = function (...args) {
    counts[name]++
    return method.apply(this, args)
  }
}

const LOADERS = {
  async polygrad () {
    const adapter = await globalThis.navigator.gpu.requestAdapter({ powerPreference: 'high-performance' })
    const device = await adapter.requestDevice({ requiredLimits: Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]])) })
    const library = await import('./polygrad.js')
    await library.loadGpu(device)
    return { library, device, info: adapter.info }
  },
  async 'jax-js' () {
    const library = await import('./jax.js')
    return { library, device: await library.loadGpu() }
  },
  async tfjs () {
    const library = await import('./tfjs.js')
    const { gpu } = await import('./tfjs_gpu.js')
    return { library, device: await gpu() }
  }
}

/** One case: for each library the least mean time of a turn, the time of the first run, and counts of one run. */
async function measure (found, loaded) {
  const inputs = inputsOf(found)
  const prepared = {}
  const results = {}
  let expected = null
  for (const [name, { library, device }] of Object.entries(loaded)) {
    const start = performance.now()
    const one = await library.prepare({ ...found, rate: RATE }, inputs)
    const outputs = await one.outputs()
    const first = performance.now() - start
    expected ??= outputs
    const problem = distance(outputs, expected) < 1 ? '' : ' other values'
    const run = async () => {
      await one.run()
      await device.queue.onSubmittedWorkDone()
    }
    for (let i = 0; i < 3; i++) await run()
    const before = { ...counts }
    await run()
    const counted = Object.fromEntries(Object.entries(counts).map(([key, count]) => [key, count - before[key]]))
    prepared[name] = { run, close: one.close }
    results[name] = { first, least: Infinity, ...counted, problem }
  }
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [name, { run }] of Object.entries(prepared)) {
      const start = performance.now()
      let n = 0
      for (; n === 0 || performance.now() - start < TURN; n++) await run()
      results[name].least = Math.min(results[name].least, (performance.now() - start) / n)
    }
  }
  for (const { close } of Object.values(prepared)) close()
  return results
}

const digits = (x) => x >= 100 ? String(Math.round(x)) : x.toPrecision(3)

async function main () {
  const lines = []
  const say = (line) => {
    lines.push(line)
    console.log(line)
    document.querySelector('pre').textContent = lines.join('\n')
  }
  const loaded = {}
  for (const [name, load] of Object.entries(LOADERS)) loaded[name] = await load()
  const { vendor, architecture, device, description } = loaded.polygrad.info
  say(`Adapter: ${[vendor, architecture, device, description].filter(Boolean).join(' ')}`)
  const names = Object.keys(loaded)
  say('')
  say(`| milliseconds (first; dispatches, submits, bind groups) | ${names.join(' | ')} | of the best | GFLOP/s |`)
  say(`| --- | ${names.map(() => '---').join(' | ')} | --- | --- |`)
  const wanted = NAMES.filter((name) => architecture !== 'swiftshader' || !LONG.test(name))
  for (const found of CASES.filter(({ name }) => wanted.includes(name))) {
    const results = await measure(found, loaded)
    const cells = names.map((name) => {
      const { least, first, dispatchWorkgroups, submit, createBindGroup, problem } = results[name]
      return `${digits(least)} (${Math.round(first)}; ${dispatchWorkgroups}, ${submit}, ${createBindGroup})${problem}`
    })
    const best = Math.min(...names.slice(1).map((name) => results[name].least))
    const own = results.polygrad.least
    say(`| ${found.name} | ${cells.join(' | ')} | ${(own / best).toFixed(2)} | ${found.flops ? digits(found.flops / own / 1e6) : ''} |`)
  }
  globalThis.done = lines.join('\n')
}

main().catch((error) => {
  document.querySelector('pre').textContent += `\n${error.stack}`
  globalThis.done = String(error.stack)
})
