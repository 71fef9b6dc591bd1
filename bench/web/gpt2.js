/** GPT-2 of 124M parameters with random weights: its configuration, its weights by name, and its ONNX graph with a KV cache. */

import { randomOf } from './cases.js'

const WIDTH = 768
const LAYERS = 12
const SPREAD = 0.035 // half the width of the uniform distribution, whose standard deviation is 0.02
export const HEADS = 12
export const CONFIG = {
  model_type: 'gpt2', vocab_size: 50257, n_embd: WIDTH, n_head: HEADS, n_layer: LAYERS, n_positions: 1024, layer_norm_epsilon: 1e-5
}
export const PROMPT = [464, 2068, 7586, 21831]
export const ROOM = 128 // tokens

const norm = (name) => [[`${name}.weight`, [WIDTH]], [`${name}.bias`, [WIDTH]]]
const dense = (name, inputs, outputs) => [[`${name}.weight`, [inputs, outputs]], [`${name}.bias`, [outputs]]]
const layer = (prefix) => [
  ...norm(`${prefix}.ln_1`), ...dense(`${prefix}.attn.c_attn`, WIDTH, 3 * WIDTH), ...dense(`${prefix}.attn.c_proj`, WIDTH, WIDTH),
  ...norm(`${prefix}.ln_2`), ...dense(`${prefix}.mlp.c_fc`, WIDTH, 4 * WIDTH), ...dense(`${prefix}.mlp.c_proj`, 4 * WIDTH, WIDTH)
]
const SHAPES = [
  ['wte.weight', [CONFIG.vocab_size, WIDTH]], ['wpe.weight', [CONFIG.n_positions, WIDTH]],
  ...Array.from({ length: LAYERS }, (_, i) => layer(`h.${i}`)).flat(), ...norm('ln_f')
]

/** Yields the weights with their names, one at a time. */
export function * weights () {
  for (const [i, [name, shape]] of SHAPES.entries()) {
    const values = /ln_.*weight/.test(name) ? new Float32Array(WIDTH).fill(1) : randomOf(shape, i + 1, SPREAD)
    yield { name, shape, values }
  }
}

/** The weights as a safetensors file: the length of the JSON header, the header, the values. */
export function safetensors () {
  let at = 0
  const header = Object.fromEntries(SHAPES.map(([name, shape]) => {
    const from = at
    at += 4 * shape.reduce((a, b) => a * b, 1)
    return [name, { dtype: 'F32', shape, data_offsets: [from, at] }]
  }))
  const text = JSON.stringify(header)
  const head = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8))
  const file = new Uint8Array(8 + head.length + at)
  new DataView(file.buffer).setBigUint64(0, BigInt(head.length), true)
  file.set(head, 8)
  for (const { name, values } of weights()) file.set(new Uint8Array(values.buffer), 8 + head.length + header[name].data_offsets[0])
  return file
}

export const past = (i) => [`key${i}`, `value${i}`]

/** The graph of a decoding step: ids and position (1, 1), and each layer's KV cache, to the logits and the extended caches. */
export function graphOf (graph) {
  const weight = Object.fromEntries(Array.from(weights(), ({ name, shape, values }) => [name, graph.constant(values, shape)]))
  const linear = (x, name) => graph.add(graph.matmul(x, weight[`${name}.weight`]), weight[`${name}.bias`])
  const normed = (x, name) => graph.layernorm(x, weight[`${name}.weight`], weight[`${name}.bias`])
  const row = (table, index) => graph.node('Gather', [weight[table], graph.input(index, [1, 1], 'int64')])
  let x = graph.add(row('wte.weight', 'ids'), row('wpe.weight', 'position'))
  const kept = []
  for (let i = 0; i < LAYERS; i++) {
    const cache = past(i).map((name) => graph.input(name, [1, HEADS, 'past', WIDTH / HEADS]))
    const parts = graph.nodes('Split', [linear(normed(x, `h.${i}.ln_1`), `h.${i}.attn.c_attn`)], { axis: 2, num_outputs: 3 }, 3)
    const [seen, ...longer] = graph.nodes('Attention', [...parts, '', ...cache], { q_num_heads: HEADS, kv_num_heads: HEADS }, 3)
    kept.push(...longer)
    x = graph.add(x, linear(seen, `h.${i}.attn.c_proj`))
    x = graph.add(x, linear(graph.gelu(linear(normed(x, `h.${i}.ln_2`), `h.${i}.mlp.c_fc`)), `h.${i}.mlp.c_proj`))
  }
  const last = graph.node('Reshape', [normed(x, 'ln_f'), graph.ints(1, WIDTH)])
  return { logits: graph.node('Gemm', [last, weight['wte.weight']], { transB: 1 }), kept }
}
