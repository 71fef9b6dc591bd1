/** Times cases in several libraries, interleaved. */

import { CASES, RATE, distance, inputsOf } from './cases.js'

const TURNS = 7
const TURN = 40 // milliseconds of a turn, at least one run
const WARM = 300 // milliseconds of warm-up: the engine recompiles hot code with its optimizing compiler
const LONG = 400 // milliseconds: slower cases get fewer turns
const LOADERS = {
  polygrad: () => import('./polygrad.js'),
  async 'polygrad, WebGPU' () {
    const { onGpu } = await import('./polygrad.js')
    const { openDevice } = await import('./device.js')
    return { ...onGpu, load: async () => onGpu.load((await openDevice()).device) }
  },
  'jax-js': () => import('./jax.js'),
  'onnxruntime-web': () => import('./onnx.js'),
  tfjs: () => import('./tfjs.js')
}
export const loaded = {}

/** Loads a library; places: the URLs of its files. */
export async function load (name, threads, places) {
  loaded[name] ??= await LOADERS[name]()
  await loaded[name].load(threads, places)
}

/** The mean time of a run in milliseconds: CPU time of the page's main thread if the driver provides that clock, otherwise wall time. */
async function turn (run, least = TURN) {
  const clock = globalThis.processorTime ?? (async () => performance.now())
  const before = await clock()
  const start = performance.now()
  let n = 0
  do {
    const result = run()
    if (result instanceof Promise) await result
    n++
  } while (performance.now() - start < least)
  return (await clock() - before) / n
}

/** Times runs of several libraries, interleaved; returns the minimum of each. */
export async function byTurns (runs) {
  const least = {}
  let rounds = TURNS
  for (let round = 0; round <= rounds; round++) {
    for (const [name, run] of Object.entries(runs)) {
      await new Promise((resolve) => setTimeout(resolve, 10)) // until the previous library's spinning threads sleep
      const took = await turn(run, round > 0 ? TURN : WARM)
      if (took > LONG) rounds = 3
      if (round > 0) least[name] = Math.min(took, least[name] ?? Infinity)
    }
  }
  return least
}

/** Measures a case in all libraries: { times } in milliseconds, and { problems } of those without one. */
export async function measure (name) {
  const found = CASES.find((one) => one.name === name)
  const inputs = inputsOf(found)
  const prepared = {}
  const runs = {}
  const problems = {}
  let expected
  for (const library of Object.keys(loaded)) {
    try {
      prepared[library] = await loaded[library].prepare({ ...found, rate: RATE }, inputs)
      if (prepared[library] === null) continue
      const results = await prepared[library].outputs()
      expected ??= results
      const far = distance(results, expected)
      if (far < 1) runs[library] = prepared[library].run
      else problems[library] = `other values: ${far.toPrecision(2)} times the tolerance`
    } catch (error) {
      problems[library] = error.message.split('\n')[0]
    }
  }
  const times = await byTurns(runs)
  for (const one of Object.values(prepared)) await one?.close()
  return { times, problems }
}
