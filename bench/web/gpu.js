/**
 * The page of the benchmark on WebGPU, also for a machine with a GPU: it times the same programs in polygrad, jax-js and TensorFlow.js on
 * their WebGPU backends, interleaved, and counts the dispatches, submits and other calls of a run.
 */

/* global GPUComputePassEncoder, GPUDevice, GPUQueue */

import { CASES, RATE, distance, inputsOf } from './cases.js'
import { openDevice } from './device.js'
import { peakOf } from './peak.js'

// The cases that are fast enough on a software GPU.
const SHORT = ['matmul 512', 'gelu of 1e6', 'sum of 1e6', 'MLP forward, batch 128', 'MLP training step, batch 128']
const ONLY = new URLSearchParams(location.search).get('only') // selects the cases whose names contain it
const TURNS = 5
const TURN = 100 // milliseconds

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
    const { device, info } = await openDevice()
    const { onGpu: library } = await import('./polygrad.js')
    await library.load(device)
    return { library, device, info }
  },
  async 'jax-js' () {
    const library = await import('./jax.js')
    return { library, device: await library.loadGpu() }
  },
  async tfjs () {
    const library = await import('./tfjs.js')
    const { gpu, flush } = await import('./tfjs_gpu.js')
    return { library, device: await gpu(), flush }
  }
}

/** Prepares a case in a library; null if that lacks an operation. */
async function prepare (library, found, inputs) {
  try {
    return await library.prepare({ ...found, rate: RATE }, inputs)
  } catch (error) {
    console.warn(error.message)
    return null
  }
}

/** Measures a case: for each library the minimum over turns of the mean time, the time of the first run, and the calls of one run. */
async function measure (found, loaded) {
  const inputs = inputsOf(found)
  const prepared = {}
  const results = {}
  let expected = null
  for (const [name, { library, device, flush }] of Object.entries(loaded)) {
    const start = performance.now()
    const one = await prepare(library, found, inputs)
    if (one === null) continue
    const outputs = await one.outputs()
    const first = performance.now() - start
    expected ??= outputs
    const problem = distance(outputs, expected) < 1 ? '' : ' other values'
    const run = async () => {
      await one.run()
      flush?.()
      await device.queue.onSubmittedWorkDone()
    }
    for (let i = 0; i < 3; i++) await run()
    const before = { ...counts }
    await run()
    const counted = Object.fromEntries(Object.entries(counts).map(([key, count]) => [key, count - before[key]]))
    prepared[name] = { run, close: one.close }
    const bytes = 4 * [...inputs.map(({ values }) => values), ...outputs].reduce((sum, { length }) => sum + length, 0)
    results[name] = { first, least: Infinity, ...counted, problem, bytes }
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
const percent = (part) => `${digits(100 * part)} %`

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
  const peak = await peakOf(loaded.polygrad.device)
  say(`Its peak, measured: ${digits(peak.flops)} GFLOP/s by multiply-adds of float32, ${digits(peak.bytes)} GB/s by a copy.`)
  const names = Object.keys(loaded)
  say('')
  say(`| milliseconds (first; dispatches, submits, bind groups) | ${names.join(' | ')} | of the best | rate | of the peak |`)
  say(`| --- | ${names.map(() => '---').join(' | ')} | --- | --- | --- |`)
  const isWanted = (name) => ONLY === null ? architecture !== 'swiftshader' || SHORT.includes(name) : name.includes(ONLY)
  for (const found of CASES.filter(({ name }) => isWanted(name))) {
    const results = await measure(found, loaded)
    const cells = names.map((name) => {
      if (results[name] === undefined) return '–'
      const { least, first, dispatchWorkgroups, submit, createBindGroup, problem } = results[name]
      return `${digits(least)} (${Math.round(first)}; ${dispatchWorkgroups}, ${submit}, ${createBindGroup})${problem}`
    })
    const best = Math.min(...names.slice(1).map((name) => results[name]?.least ?? Infinity))
    const { least, bytes } = results.polygrad
    const [work, unit, most] = found.flops ? [found.flops, 'GFLOP/s', peak.flops] : [bytes, 'GB/s', peak.bytes]
    const rate = work / least / 1e6
    cells.push(Number.isFinite(best) ? (least / best).toFixed(2) : '–', `${digits(rate)} ${unit}`, percent(rate / most))
    say(`| ${found.name} | ${cells.join(' | ')} |`)
  }
  globalThis.done = lines.join('\n')
}

main().catch((error) => {
  document.querySelector('pre').textContent += `\n${error.stack}`
  globalThis.done = String(error.stack)
})
