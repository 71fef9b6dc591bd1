'use strict'
// Models with memory of their own, bundles, safetensors, Hugging Face's format.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { Instance, Tensor, Generator, safetensors, loadHf, loadHfBytes, generate, generateSteps } = require('..')

const FIXTURES = path.join(__dirname, '..', '..', '..', 'model', 'testdata')
const MADE = {
  mlp_4_8_3: () => Instance.mlp({ layers: [4, 8, 3], activation: 'relu', bias: true, loss: 'mse', batchSize: 1, seed: 42 }),
  mlp_gelu_b3: () => Instance.mlp({ layers: [5, 7, 7, 2], activation: 'gelu', bias: false, loss: 'none', batchSize: 3, seed: 7 }),
  tabm_4_8_1: () => Instance.tabm({ layers: [4, 8, 1], nEnsemble: 4, activation: 'relu', loss: 'mse', batchSize: 1, seed: 3 }),
  nam_3: () => Instance.nam({ nFeatures: 3, hiddenSizes: [8, 4], activation: 'exu', nOutputs: 1, loss: 'mse', batchSize: 1, seed: 5 })
}

for (const [name, make] of Object.entries(MADE)) {
  test(`${name}: the same bytes, parameters and outputs as the original library's`, () => {
    const bundle = fs.readFileSync(path.join(FIXTURES, `${name}.bundle`))
    const want = JSON.parse(fs.readFileSync(path.join(FIXTURES, `${name}.json`), 'utf8'))
    const loaded = Instance.fromBundle(bundle)
    assert.ok(bundle.equals(loaded.saveBundle()))
    for (const instance of [loaded, make()]) {
      const { output } = instance.forward({ x: Float32Array.from(want.x) })
      want.output.forEach((w, i) => assert.ok(Math.abs(output[i] - w) <= 1e-5 * (1 + Math.abs(w)), `${output[i]}, expected ${w}`))
      for (const [param, { first }] of Object.entries(want.params)) {
        assert.deepStrictEqual(instance.params[param].slice(0, first.length), Float32Array.from(first))
      }
    }
  })
}

const small = (options = {}) => Instance.mlp({ layers: [2, 8, 1], loss: 'mse', seed: 1, ...options })

test('training', () => {
  const net = small()
  net.setOptimizer('adam', { lr: 0.05 })
  const losses = Array.from({ length: 100 }, () => net.trainStep({ x: [[1, 2]], y: [[3]] }))
  assert.ok(losses[99] < 0.01 * losses[0])
  assert.deepStrictEqual(net.forward({ x: new Tensor([[1, 2]]) }).output.length, 1)
})

test('training goes on after a bundle was loaded', () => {
  const data = { x: [[1, 2]], y: [[3]] }
  const net = small()
  net.setOptimizer('adamw', { lr: 0.05, weightDecay: 0.1 })
  for (let i = 0; i < 5; i++) net.trainStep(data)
  const other = Instance.fromBundle(net.saveBundle())
  for (let i = 0; i < 5; i++) assert.strictEqual(other.trainStep(data), net.trainStep(data))
  assert.deepStrictEqual(other.params, net.params)
})

test('what a model holds', () => {
  const net = small({ batchSize: 3 })
  assert.deepStrictEqual(Object.keys(net.params), ['layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias'])
  assert.deepStrictEqual([net.shapes.x, net.roles.y, net.roles.output], [[3, 2], 'target', 'output'])
  assert.strictEqual(net.buffers.x.length, 6)
  net.params['layers.1.bias'][0] = 100
  assert.ok(net.forward({ x: [[1, 1]] }).output[0] > 50)
  const { output } = net.forward({ x: [[1, 2], [3, 4]] })
  assert.strictEqual(output[2], net.forward({ x: [[0, 0], [0, 0], [0, 0]] }).output[0], 'a smaller input is followed by zeros')
})

test('loss and gradients', () => {
  const net = Instance.mlp({ layers: [2, 1], loss: 'mse', seed: 1 })
  const [w] = [net.params['layers.0.weight']]
  const [loss, grads] = net.valueAndGrad({ x: [[1, 2]], y: [[0]] })
  const out = w[0] + 2 * w[1]
  assert.ok(Math.abs(loss - out * out) < 1e-5)
  assert.ok(Math.abs(grads['layers.0.weight'][1] - 4 * out) < 1e-4)
  assert.ok(Math.abs(net.call('loss', { x: [[0, 0]], y: [[2]] }).loss[0] - 4) < 1e-5)
})

test('weights and graphs as bytes', () => {
  const net = small()
  const copy = Instance.fromIr(net.exportIr(), net.exportWeights())
  assert.deepStrictEqual(copy.params, net.params)
  const zeros = Instance.fromIr(net.exportIr())
  assert.ok(Object.values(zeros.params).every((p) => p.every((v) => v === 0)))
  zeros.importWeights(net.exportWeights())
  assert.deepStrictEqual(zeros.params, net.params)
  const other = safetensors.encode({ 'layers.0.bias': Tensor.ones(8) })
  assert.throws(() => zeros.importWeights(other))
  zeros.importWeights(other, { strict: false })
  assert.strictEqual(zeros.params['layers.0.bias'][7], 1)
  assert.ok(zeros.notes.length > 0)
})

test('safetensors', () => {
  const tensors = { b: new Tensor([1, 2]), a: new Tensor([[3], [4]]) }
  const bytes = safetensors.encode(tensors, { who: 'test' })
  const back = safetensors.decode(bytes)
  assert.deepStrictEqual(Object.keys(back), ['a', 'b'])
  assert.deepStrictEqual(back.a.tolist(), [[3], [4]])
  assert.match(Buffer.from(bytes).toString('latin1'), /"who":"test"/)
  assert.throws(() => safetensors.decode(bytes.slice(0, 20)))
  assert.throws(() => safetensors.encode({ a: Tensor.arange(2) }), TypeError)
})

/** A file of tensors of any type, as others write it. */
function file (entries) {
  let offset = 0
  const header = {}
  for (const [name, dtype, shape, data] of entries) {
    header[name] = { dtype, shape, data_offsets: [offset, offset += data.byteLength] }
  }
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  return Buffer.concat([length, text, ...entries.map(([, , , d]) => Buffer.from(d.buffer, d.byteOffset, d.byteLength))])
}

test('safetensors of all types, at odd places in the file', () => {
  const back = safetensors.decode(file([
    ['u8', 'U8', [1], Uint8Array.of(7)],
    ['f16', 'F16', [2], Uint16Array.of(0x3c00, 0xc000)],
    ['bf16', 'BF16', [1], Uint16Array.of(0x3fc0)],
    ['f64', 'F64', [], Float64Array.of(0.1)],
    ['i64', 'I64', [1], BigInt64Array.of(-5n)],
    ['flag', 'BOOL', [2], Uint8Array.of(1, 0)]
  ]))
  assert.deepStrictEqual(Object.fromEntries(Object.entries(back).map(([n, t]) => [n, [t.dtype, t.tolist()]])), {
    u8: ['uint8', [7]],
    f16: ['float16', [1, -2]],
    bf16: ['bfloat16', [1.5]],
    f64: ['float64', 0.1],
    i64: ['int64', [-5n]],
    flag: ['bool', [true, false]]
  })
})

const GPT2 = { model_type: 'gpt2', vocab_size: 11, n_embd: 8, n_head: 2, n_layer: 1, n_positions: 6, layer_norm_epsilon: 1e-5 }

function gpt2Weights () {
  Tensor.manualSeed(1)
  const empty = loadHfBytes(JSON.stringify(GPT2), [], { maxSeqLen: 4, strict: false })
  const tensors = {}
  for (const [name, role] of Object.entries(empty.roles)) {
    if (role === 'param') tensors[`transformer.${name}`] = Tensor.randn(empty.shapes[name]).mul(0.3)
  }
  return safetensors.encode(tensors)
}

test('files that cannot be read', () => {
  const weights = gpt2Weights()
  for (const broken of [weights.slice(0, -1), weights.slice(0, 100), new Uint8Array(0), Buffer.from('junk'.repeat(9))]) {
    assert.throws(() => loadHfBytes(JSON.stringify(GPT2), [weights, broken]), /^PolygradError: loadHfBytes: weights\[1\]: /)
  }
  const tensors = safetensors.decode(weights)
  const { 'transformer.ln_f.weight': norm, ...others } = tensors
  const load = (parts, options) => loadHfBytes(JSON.stringify(GPT2), [safetensors.encode(parts)], { maxSeqLen: 4, ...options })
  assert.throws(() => load(others), { message: 'loadHfBytes: weights: parameter "ln_f.weight" is missing, expected one of shape [8]' })
  for (const tensor of [norm.reshape(1, 8), norm.shrink([[0, 7]])]) {
    const wrong = { ...others, 'transformer.ln_f.weight': tensor }
    assert.throws(() => load(wrong), /loadHfBytes: weights\[0\]: tensor "transformer.ln_f.weight": shape \[.*\], expected \[8\]$/)
    assert.strictEqual(load(wrong, { strict: false }).notes.length, 1)
  }
  assert.throws(() => load({ ...tensors, odd: norm }), /weights\[0\]: tensor "odd": the model has no such parameter$/)
  assert.deepStrictEqual(load({ ...tensors, 'classifier.weight': norm }).notes, [])
})

test('a model in the format of Hugging Face', () => {
  const weights = gpt2Weights()
  const model = loadHfBytes(JSON.stringify(GPT2), [weights], { maxSeqLen: 4 })
  assert.deepStrictEqual(model.notes, [])
  const { output } = model.forward({ x: [[1, 2]] })
  assert.strictEqual(output.length, 4 * 11)
  const logits = new Tensor(output, { shape: [4, 11] })
  const best = logits.getitem(1).argmax().item()
  assert.deepStrictEqual(generate(model, [1, 2], 1, { temperature: 0 }), [1, 2, best])
  Tensor.manualSeed(5)
  const drawn = generate(model, [[1, 2]], 6, { topK: 3 })
  assert.strictEqual(drawn[0].length, 8)
  assert.ok(drawn[0].every((t) => Number.isInteger(t) && t >= 0 && t < 11))
  Tensor.manualSeed(5)
  assert.deepStrictEqual(generate(model, [[1, 2]], { maxNewTokens: 6, topK: 3 }), drawn)
  assert.deepStrictEqual(generate(model, Int32Array.of(1), 0), [1])
  assert.deepStrictEqual(generate(model, [[1, 2], [1]], 1, { temperature: 0 })[0], [1, 2, best])
  assert.throws(() => generate(model, [[1], []], 1), /generate: tokens/)
  assert.throws(() => generate(model, [1], -1), RangeError)

  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-'))
  try {
    fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify(GPT2))
    assert.throws(() => loadHf(folder), /loadHf: folder: .*\.safetensors/)
    fs.writeFileSync(path.join(folder, 'model.safetensors'), weights)
    fs.writeFileSync(path.join(folder, 'consolidated.safetensors'), 'for other programs')
    assert.deepStrictEqual(loadHf(folder, { maxSeqLen: 4 }).forward({ x: [[1, 2]] }).output, output)
    assert.deepStrictEqual(loadHf(folder, { maxSeqLen: 4 }).notes, [])
    const index = path.join(folder, 'model.safetensors.index.json')
    const names = Object.keys(safetensors.decode(weights))
    fs.writeFileSync(index, JSON.stringify({ weight_map: Object.fromEntries(names.map((name) => [name, 'model.safetensors'])) }))
    assert.deepStrictEqual(loadHf(folder, { maxSeqLen: 4 }).forward({ x: [[1, 2]] }).output, output)
    for (const name of ['"../a"', '"/etc/passwd"', '".."', '5']) {
      fs.writeFileSync(index, `{"weight_map": {"a": ${name}}}`)
      assert.throws(() => loadHf(folder), /loadHf: folder: .*the index: /)
    }
    for (const [text, message] of [['{', /the index: /], ['[]', /the index: /], ['{"weight_map": 5}', /the index: /]]) {
      fs.writeFileSync(index, text)
      assert.throws(() => loadHf(folder), message)
    }
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
})

test('generation: streams, ends, other types of weights', () => {
  const model = loadHfBytes(JSON.stringify(GPT2), [gpt2Weights()], { maxSeqLen: 4 })
  const whole = generate(model, [1, 2], 6, { temperature: 0 })
  const steps = generateSteps(model, [[1, 2]], 6, { temperature: 0 })
  assert.deepStrictEqual(Array.from(steps, ([t]) => t), whole.slice(2))
  const seen = []
  const stopped = generate(model, [1, 2], 6, { temperature: 0, onToken: ([t]) => seen.push(t) === 2 })
  assert.deepStrictEqual(stopped, whole.slice(0, 4))
  assert.deepStrictEqual(seen, whole.slice(2, 4))
  const ended = generate(model, [[1, 2]], 6, { temperature: 0, eosTokenId: [whole[2], 99] })
  assert.deepStrictEqual(ended, [whole.slice(0, 3)])
  const options = { maxNewTokens: 9, topP: 0.9, seed: 7 }
  assert.deepStrictEqual(generate(model, [1], options), generate(model, [1], options))
  const rows = new Generator(model, 2).feed([[1, 2, 3], [4]])
  assert.strictEqual(rows.logits().length, 2 * rows.vocab)
  const rounded = loadHfBytes(JSON.stringify(GPT2), [gpt2Weights()], { maxSeqLen: 4, dtype: 'int8' })
  const near = new Generator(rounded, 2).feed([[1, 2, 3], [4]]).logits()
  const most = Math.max(...rows.logits().map(Math.abs))
  near.forEach((v, i) => assert.ok(Math.abs(v - rows.logits()[i]) < 0.1 * most))
  assert.throws(() => rounded.saveBundle(), /float32/)
  assert.throws(() => loadHfBytes(JSON.stringify(GPT2), [], { dtype: 'int4' }), /int4/)
  assert.throws(() => new Generator(model, -1), /rows/)
  assert.throws(() => new Generator({}), TypeError)
  assert.throws(() => generate(model, [1], 1, { topP: 0 }), /topP/)
  assert.throws(() => generate(model, [11], 1), /expected 0 to 10/)
  assert.strictEqual(rows.reset().feed([[1], [2]]).next().length, 2)
  rows.dispose()
  assert.throws(() => rows.next(), /disposed/)
  model.dispose()
  assert.throws(() => new Generator(model), /disposed/)
})

test('errors', () => {
  const net = small()
  assert.throws(() => new Instance(0), /^TypeError: Instance: 0: use Instance.mlp, fromBundle and so on$/)
  assert.throws(() => new Instance(), TypeError)
  assert.throws(() => Instance.mlp({ layers: [1] }))
  assert.throws(() => Instance.fromBundle(Buffer.from('POLYBNDL')))
  assert.throws(() => Instance.fromBundle('text'), TypeError)
  assert.throws(() => net.forward({ z: [1] }), /forward: "z" is not an input of the model, expected one of x, y/)
  assert.throws(() => net.forward({ x: [[1, 2], [3, 4]] }), /forward: x: shape \[2,2\], expected at most \[1,2\]/)
  assert.throws(() => net.trainStep({ x: [[1]] }), /trainStep: x: shape \[1,1\], expected \[1,2\]/)
  assert.throws(() => net.forward({ x: [[1], [1, 2]] }), /forward: x: a list of 2 elements at depth 1, expected 1 as in the first one/)
  assert.throws(() => net.forward({ x: ['a', 'b'] }), TypeError)
  assert.throws(() => net.trainStep({ x: [1, 2], y: [3] }), /optimizer/)
  assert.throws(() => net.setOptimizer('rmsprop'), RangeError)
  assert.throws(() => net.setDevice('quantum'), RangeError)
  assert.throws(() => net.call('nothing'), /nothing/)
  net.setDevice('cpu')
})

test('dispose', () => {
  const net = small()
  const weights = net.params['layers.0.weight']
  const first = weights[0]
  net.dispose()
  net.dispose()
  assert.strictEqual(weights[0], first, 'arrays that were handed out stay')
  assert.throws(() => net.forward(), /the instance was disposed/)
  assert.throws(() => net.params, /the instance was disposed/)
})
