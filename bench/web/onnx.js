/** onnxruntime-web on its CPU backend (wasm). Inputs and results are copied between JavaScript and its memory. */

import * as ort from 'onnxruntime-web/wasm'
import { CONFIG, HEADS, PROMPT, graphOf, past } from './gpt2.js'
import { Graph } from './onnx_graph.js'

export async function load (threads, places = '/onnx/') {
  ort.env.wasm.wasmPaths = places
  ort.env.wasm.numThreads = threads
  ort.env.logLevel = 'error'
  await sessionOf(((graph) => graph.model([graph.relu(graph.input('x', [1]))]))(new Graph()))
}

export const sessionOf = (model) => ort.InferenceSession.create(model, { graphOptimizationLevel: 'all' })

export async function prepare ({ program, train, parameters = Infinity }, inputs) {
  if (train) return null // it has no gradients
  const graph = new Graph()
  const feeds = {}
  const values = inputs.map(({ values: data, shape }, i) => {
    if (i >= parameters) return graph.constant(data, shape)
    feeds[`x${i}`] = new ort.Tensor('float32', data, shape)
    return graph.input(`x${i}`, shape)
  })
  const result = program(graph, ...values)
  const session = await sessionOf(graph.model([result]))
  const run = () => session.run(feeds)
  return { run, outputs: async () => [(await run())[result].data], close: () => session.release() }
}

export async function gpt2 () {
  let graph = new Graph()
  const names = graphOf(graph)
  const session = await sessionOf(graph.model([names.logits, ...names.kept]))
  graph = null // frees its copy of the weights
  const empty = () => new ort.Tensor('float32', new Float32Array(0), [1, HEADS, 0, CONFIG.n_embd / HEADS])
  const number = (value) => new ort.Tensor('int64', BigInt64Array.of(BigInt(value)), [1, 1])
  let cache = names.kept.map(empty)
  let logits
  let position = 0
  const feed = async (token) => {
    const feeds = { ids: number(token), position: number(position++) }
    cache.forEach((tensor, i) => { feeds[past(i >> 1)[i & 1]] = tensor })
    const results = await session.run(feeds)
    cache = names.kept.map((name) => results[name])
    logits = results[names.logits].data
  }
  for (const token of PROMPT) await feed(token)
  const next = async () => {
    const best = logits.reduce((most, value, i) => value > logits[most] ? i : most, 0)
    await feed(best)
    return best
  }
  return { next, logits: () => logits.slice() }
}
