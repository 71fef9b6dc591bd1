/**
 * The cases: programs over the operations that the adapters of all libraries have, the shapes of their inputs, and the goal, the
 * maximum ratio to the fastest peer's time. Inputs are random numbers below `range`; those from `parameters` on are weights. A case with
 * `train` is a training step: SGD on these weights, where the program is the loss.
 */

const LAYERS = [784, 512, 256, 10]
const BATCH = 128
const WEIGHTS = LAYERS.slice(1).flatMap((size, i) => [[LAYERS[i], size], [size]])
const ROWS = [4096, 1024]
const HEADS = [1, 12, 256, 64]
const MILLION = 1e6

const matmul = (o, a, b) => o.matmul(a, b)
const square = (n) => ({ name: `matmul ${n}`, goal: 0.8, inputs: [[n, n], [n, n]], flops: 2 * n ** 3, program: matmul })
const unary = (name) => ({ name: `${name} of 1e6`, goal: 0.4, inputs: [[MILLION]], range: 4, program: (o, x) => o[name](x) })

// Of the matrix products: a step adds those of the gradients of weights, and of inputs but the first layer's.
const FORWARD_FLOPS = LAYERS.slice(1).reduce((sum, size, i) => sum + 2 * BATCH * LAYERS[i] * size, 0)
const STEP_FLOPS = 3 * FORWARD_FLOPS - 2 * BATCH * LAYERS[0] * LAYERS[1]

function mlp (o, x, ...weights) {
  for (let i = 0; i < weights.length; i += 2) {
    x = o.add(o.matmul(x, weights[i]), weights[i + 1])
    if (i + 2 < weights.length) x = o.relu(x)
  }
  return x
}

export const CASES = [
  square(512), square(1024), square(2048), square(1023),
  { name: 'conv 3x3, 64 channels of 56x56', goal: 0.9, inputs: [[1, 64, 56, 56], [64, 64, 3, 3]], parameters: 1, images: true,
    flops: 2 * 64 * 64 * 9 * 56 * 56, program: (o, x, w) => o.conv(x, w) },
  { name: 'softmax 4096x1024', goal: 0.3, inputs: [ROWS], range: 4, program: (o, x) => o.softmax(x) },
  { name: 'layernorm 4096x1024', goal: 0.3, inputs: [ROWS], program: (o, x) => o.layernorm(x) },
  unary('exp'), unary('tanh'), unary('sin'), unary('gelu'),
  { name: 'sum of 1e6', goal: 0.4, inputs: [[MILLION]], program: (o, x) => o.sum(x) },
  { name: 'sum of 1e7', goal: 0.4, inputs: [[10 * MILLION]], program: (o, x) => o.sum(x) },
  { name: 'chain of 4, 1e6', goal: 0.8, inputs: [[MILLION], [MILLION]],
    program: (o, x, y) => o.relu(o.sub(o.mul(o.add(x, y), x), y)) },
  { name: 'attention, 12 heads of 256x64', goal: 0.5, inputs: [HEADS, HEADS, HEADS], flops: 4 * 12 * 256 * 256 * 64,
    program: (o, q, k, v) => o.attention(q, k, v) },
  { name: 'sort of 1e6', goal: 0.7, inputs: [[MILLION]], program: (o, x) => o.sort(x) },
  { name: 'MLP forward, batch 128', goal: 0.8, inputs: [[BATCH, 784], ...WEIGHTS], parameters: 1, range: 0.1, flops: FORWARD_FLOPS,
    program: mlp },
  { name: 'MLP training step, batch 128', goal: 0.6, inputs: [[BATCH, 784], [BATCH, 10], ...WEIGHTS], parameters: 2, range: 0.1,
    flops: STEP_FLOPS, train: true, program: (o, x, y, ...weights) => o.crossEntropy(mlp(o, x, ...weights), y) }
]
export const RATE = 0.01 // the learning rate
export const [FORWARD, STEP] = CASES.slice(-2)

/** Random numbers of a shape, the same in each page. */
export function randomOf (shape, seed, range = 1) {
  const values = new Float32Array(shape.reduce((a, b) => a * b, 1))
  for (let i = 0; i < values.length; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) | 0
    values[i] = range * (seed / 2 ** 31)
  }
  return values
}

export const inputsOf = ({ inputs, range }) => inputs.map((shape, i) => ({ shape, values: randomOf(shape, i + 1, range) }))

/** The largest error against the results of polygrad in units of the tolerance for float32: 1 or more is a mismatch. */
export function distance (results, expected) {
  let most = 0
  results.forEach((values, k) => {
    const great = expected[k].reduce((max, value) => Math.max(max, Math.abs(value)), 0)
    if (values.length !== expected[k].length) most = Infinity
    expected[k].forEach((want, i) => {
      const far = Math.abs(values[i] - want) / (1e-4 * Math.abs(want) + 2e-5 * great)
      if (!(far <= most)) most = far // also if it is NaN
    })
  })
  return most
}
