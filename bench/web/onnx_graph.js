/** Builds ONNX graphs, and encodes them as protobuf (onnx.proto, https://github.com/onnx/onnx). */

const FLOAT = 1
const INT64 = 7
const OPSET = 23

const text = new TextEncoder()

function varint (value) {
  const bytes = []
  for (let left = BigInt.asUintN(64, BigInt(value)); ; left >>= 7n) {
    if (left < 128n) return Uint8Array.of(...bytes, Number(left))
    bytes.push(Number(left & 127n) | 128)
  }
}

// A message is a list of chunks, whose length is known without concatenating them: weights are copied only once.
const sizeOf = (parts) => parts.reduce((sum, part) => sum + part.length, 0)
const int = (field, value) => [varint(field << 3), varint(value)]
const bytes = (field, value) => [varint(field << 3 | 2), varint(value.length), value]
const string = (field, value) => bytes(field, text.encode(value))
const message = (field, parts) => [varint(field << 3 | 2), varint(sizeOf(parts)), ...parts]
const float = (field, value) => [varint(field << 3 | 5), new Uint8Array(Float32Array.of(value).buffer)]

function attribute (name, value) {
  const kinds = {
    number: () => Number.isInteger(value) ? [...int(3, value), ...int(20, 2)] : [...float(1, value), ...int(20, 1)],
    string: () => [...string(4, value), ...int(20, 3)],
    object: () => [...value.flatMap((item) => int(8, item)), ...int(20, 7)]
  }
  return message(5, [...string(1, name), ...kinds[typeof value]()])
}

function info (field, name, shape, type) {
  const dims = shape.flatMap((size) => message(1, typeof size === 'string' ? string(2, size) : int(1, size)))
  return message(field, [...string(1, name), ...message(2, message(1, [...int(1, type), ...message(2, dims)]))])
}

export class Graph {
  constructor () {
    this.parts = []
    this.count = 0
  }

  /** Adds a node, and returns the names of its outputs. */
  nodes (type, inputs, attributes = {}, results = 1) {
    const names = Array.from({ length: results }, () => `v${this.count++}`)
    const given = Object.entries(attributes).flatMap(([name, value]) => attribute(name, value))
    const ends = [...inputs.flatMap((name) => string(1, name)), ...names.flatMap((name) => string(2, name))]
    this.parts.push(...message(1, [...ends, ...string(4, type), ...given]))
    return names
  }

  node (type, inputs, attributes) {
    return this.nodes(type, inputs, attributes)[0]
  }

  /** Adds an input; sizes that are names are symbolic dimensions. */
  input (name, shape, type = 'float32') {
    this.parts.push(...info(11, name, shape, type === 'int64' ? INT64 : FLOAT))
    return name
  }

  /** Adds an initializer from a Float32Array or a BigInt64Array. */
  constant (values, shape = [values.length]) {
    const name = `v${this.count++}`
    const type = values instanceof BigInt64Array ? INT64 : FLOAT
    const raw = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
    this.parts.push(...message(5, [...shape.flatMap((size) => int(1, size)), ...int(2, type), ...string(8, name), ...bytes(9, raw)]))
    return name
  }

  ints (...values) {
    return this.constant(BigInt64Array.from(values, BigInt))
  }

  /** The encoded model, with these names as its outputs. */
  model (results) {
    const outputs = results.flatMap((name) => message(12, [...string(1, name), ...message(2, message(1, int(1, FLOAT)))]))
    const parts = [
      ...int(1, 10), ...message(7, [...string(2, 'graph'), ...this.parts, ...outputs]), ...message(8, [...string(1, ''), ...int(2, OPSET)])
    ]
    const all = new Uint8Array(sizeOf(parts))
    let at = 0
    for (const part of parts) {
      all.set(part, at)
      at += part.length
    }
    return all
  }

  matmul (a, b) { return this.node('MatMul', [a, b]) }
  add (a, b) { return this.node('Add', [a, b]) }
  sub (a, b) { return this.node('Sub', [a, b]) }
  mul (a, b) { return this.node('Mul', [a, b]) }
  exp (x) { return this.node('Exp', [x]) }
  tanh (x) { return this.node('Tanh', [x]) }
  sin (x) { return this.node('Sin', [x]) }
  gelu (x) { return this.node('Gelu', [x], { approximate: 'tanh' }) }
  relu (x) { return this.node('Relu', [x]) }
  sum (x) { return this.node('ReduceSum', [x], { keepdims: 0 }) }
  softmax (x) { return this.node('Softmax', [x]) }
  conv (x, w) { return this.node('Conv', [x, w], { pads: [1, 1, 1, 1] }) }
  attention (q, k, v) { return this.node('Attention', [q, k, v]) }
  sort (x) { return this.nodes('TopK', [x, this.ints(1e6)], { largest: 0 }, 2)[0] }

  layernorm (x, weight = this.constant(new Float32Array(1024).fill(1)), bias = this.constant(new Float32Array(1024))) {
    return this.node('LayerNormalization', [x, weight, bias])
  }
}
