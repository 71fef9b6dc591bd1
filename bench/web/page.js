/** The page of the benchmark: the driver calls these functions. */

import { CASES, FORWARD, STEP, inputsOf } from './cases.js'

const TURNS = 7
const TURN = 40 // milliseconds of a turn, at least one run
const WARM = 300 // milliseconds of runs before: the engine compiles what runs often once more
const TOKENS = 24
const LONG = 400 // milliseconds: what takes more has less turns
const RATE = 0.01
const LOADERS = {
  polygrad: () => import('./polygrad.js'),
  'jax-js': () => import('./jax.js'),
  'onnxruntime-web': () => import('./onnx.js'),
  tfjs: () => import('./tfjs.js')
}
const loaded = {}

async function load (name, threads) {
  loaded[name] ??= await LOADERS[name]()
  await loaded[name].load(threads)
}

/** The mean time of runs, in milliseconds: processor time of the page's thread where the driver has a clock of it. */
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

/** How far values are from those of polygrad, in parts of what float32 explains: 1 and more is a difference. */
function distance (results, expected) {
  let most = 0
  results.forEach((values, k) => {
    const great = expected[k].reduce((max, value) => Math.max(max, Math.abs(value)), 0)
    if (values.length !== expected[k].length) most = Infinity
    expected[k].forEach((want, i) => {
      const far = Math.abs(values[i] - want) / (1e-4 * Math.abs(want) + 2e-5 * great)
      if (!(far <= most)) most = far // NaN counts
    })
  })
  return most
}

/** Times runs of several libraries by turns: the least of each. */
async function byTurns (runs) {
  const least = {}
  let rounds = TURNS
  for (let round = 0; round <= rounds; round++) {
    for (const [name, run] of Object.entries(runs)) {
      await new Promise((resolve) => setTimeout(resolve, 10)) // threads of others go to sleep
      const took = await turn(run, round > 0 ? TURN : WARM)
      if (took > LONG) rounds = 3
      if (round > 0) least[name] = Math.min(took, least[name] ?? Infinity)
    }
  }
  return least
}

/** A case in all libraries: their times in milliseconds, or why there is none. */
async function measure (name) {
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

/** Adds 10 elements and reads the sum: the least time of each library, in milliseconds. */
async function addAndRead () {
  const values = Float32Array.from({ length: 10 }, (_, i) => i)
  const runs = {}
  for (const [name, library] of Object.entries(loaded)) {
    if (library.addAndRead === undefined) continue
    runs[name] = library.addAndRead(values)
    const sums = runs[name]()
    if (!values.every((value, i) => sums[i] === 2 * value)) throw new Error(`${name}: 10 elements and themselves are ${sums}`)
  }
  return byTurns(runs)
}

/** What a visitor waits for, in a fresh page: the library, then the first result of the forward pass or of a training step. */
async function visit (name, threads, what) {
  const found = what === 'step' ? STEP : FORWARD
  const inputs = inputsOf(found)
  const start = performance.now()
  await load(name, threads)
  const ready = performance.now()
  const prepared = await loaded[name].prepare({ ...found, rate: RATE }, inputs)
  if (prepared === null) return null
  await prepared.outputs()
  return { ready: ready - start, first: performance.now() - ready }
}

/** GPT-2 writes: milliseconds until it is there, tokens a second by the fastest half of them, the tokens and the last logits. */
async function write (name, threads) {
  await load(name, threads)
  const start = performance.now()
  const model = await loaded[name].gpt2()
  const ready = performance.now() - start
  const logits = await model.logits()
  const tokens = []
  const times = []
  for (let i = 0; i < TOKENS; i++) {
    const before = performance.now()
    tokens.push(await model.next())
    times.push(performance.now() - before)
  }
  const fast = times.sort((a, b) => a - b).slice(0, TOKENS / 2)
  return { ready, perSecond: 1000 * fast.length / fast.reduce((a, b) => a + b), tokens, logits: Array.from(logits) }
}

Object.assign(globalThis, { load, measure, addAndRead, visit, write })
