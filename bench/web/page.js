/** The page of the benchmark; the driver calls these functions. */

import { FORWARD, RATE, STEP, inputsOf } from './cases.js'
import { byTurns, load, loaded, measure } from './measure.js'

const TOKENS = 24

/** Eagerly adds two arrays of 10 elements and reads the result: the minimum time of each library, in milliseconds. */
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

/** The latency of a cold start, in a fresh page: loading the library, then the first result of the forward pass or training step. */
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

/** Generates with GPT-2: milliseconds of loading, tokens per second over the faster half, the tokens, and the logits after the prompt. */
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
