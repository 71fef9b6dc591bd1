'use strict'
// Bad input gets an error that names the function, the argument, what was given and what was expected.

const test = require('node:test')
const assert = require('node:assert')
const vm = require('node:vm')
const polygrad = require('..')
const { Tensor, Variable, Instance, Device, nn, dtypes, hf, safetensors } = polygrad

const x = new Tensor([[1, 2], [3, 4]])
const itself = []
itself[0] = itself
const gone = new Tensor([1])
gone.dispose()
const linear = new nn.Linear(2, 2)
const part = x.flatten().getitem({ stop: new Variable('n', 1, 4).bind(2) })
const net = Instance.mlp({ layers: [2, 1] })

// What is called, and what the error says.
const REFUSED = [
  [() => x.sum({ constructor: 1 }), 'sum: constructor: unknown argument, expected axis, keepdim, dtype'],
  [() => x.getitem(Int32Array.of(0, 2)), 'getitem: index: 2 is out of bounds for axis 0 of size 2'],
  [() => x.getitem('...', [[0, -3]]), 'getitem: index: -3 is out of bounds for axis 1 of size 2'],
  [() => x.setitem([0, Uint8Array.of(2)], 1), 'setitem: index: 2 is out of bounds for axis 1 of size 2'],
  [() => x.sum(0, { axis: 1 }), 'sum: axis: is given twice, expected one value'],
  [() => x.div(2, { roundingMode: 'constructor' }), 'div: roundingMode: "constructor", expected one of "floor", "trunc"'],
  [() => x.mseLoss(x, { reduction: 'toString' }), 'mseLoss: reduction: "toString", expected one of "mean", "none", "sum"'],
  [() => x.pad([[1, 1]], { mode: 'valueOf' }), /^pad: mode: "valueOf", expected one of "circular", "constant", "reflect", "replicate"/],
  [() => x.interpolate([2], 'constructor'), /^interpolate: mode: "constructor", expected one of "area", "bicubic", "bilinear", "linear"/],
  [() => x.keccak('constructor'), /^keccak: cfg: "constructor", expected one of "sha3_224"/],
  [() => x.scatterReduce(0, x, x, 'constructor'), /^scatterReduce: /],
  [() => x.newtonSchulz(3), 'newtonSchulz: params: is missing, expected numbers'],
  [() => x.sequential(5), 'sequential: functions: 5, expected a list of functions'],
  [() => x.replace(gone), 'replace: x: the tensor was disposed'],
  [() => gone.replace(x), 'replace: the tensor was disposed'],
  [() => new Tensor(gone), 'Tensor: data: the tensor was disposed'],
  [() => new Tensor(itself), 'Tensor: data: a list nested deeper than 16 dimensions'],
  [() => new Tensor(['a'.repeat(1e6)]), /^Tensor: data: "a{200}…" is not a number of a tensor$/],
  [() => { x.grad = 5 }, 'grad: 5, expected a tensor or null'],
  [() => x + 1, /^a tensor is no number: use its methods/],
  [() => x < 1, /^a tensor is no number: use its methods/],
  [() => Number(new Tensor(3)), /^a tensor is no number: use its methods/],
  [() => Tensor.zeros(2, { dtype: 10n }), 'zeros: dtype: 10 is not a data type of tensors'],
  [() => dtypes.isFloat(x), 'isFloat: dtype: a Tensor is not a data type of tensors'],
  [() => x.to(10n), 'device: 10 is unknown, expected one of CPU, CUDA, WEBGPU'],
  [() => Device.number({ toString: 1 }), /^device: an object is unknown/],
  [() => Tensor.full([1], 2n ** 70n, { dtype: 'uint64' }), `full: fillValue: ${2n ** 70n} is out of range, expected 64 bits`],
  [() => Tensor.rand(Symbol('s')), 'rand: shape: Symbol(s), expected a tensor, a number or a list'],
  [() => Tensor.einsum('ij->i\0j', x), 'einsum: formula: "ij->i\\u0000j", expected a string without a character 0'],
  [() => Tensor.zeros(2 ** 40).realize(), 'realize: memory: none for 4398046511104 bytes'],
  [() => polygrad.compileStep(() => Tensor.zeros(2 ** 40)), 'compileStep: memory: none for 4398046511104 bytes'],
  // Layers
  [() => linear.forward(5), 'Linear: x: 5, expected a tensor'],
  [() => new nn.Linear(2, -1), 'Linear: outFeatures: -1, expected 0 or more'],
  [() => new nn.LayerNorm('x'), 'LayerNorm: normalizedShape: is "x", expected integers'],
  [() => new nn.LayerNorm(2).forward(null), 'LayerNorm: x: null, expected a tensor'],
  [() => new nn.LayerNorm2d(2).forward(), 'LayerNorm2d: x: undefined, expected a tensor'],
  [() => new nn.RMSNorm(2).forward(5), 'RMSNorm: x: 5, expected a tensor'],
  [() => new nn.RMSNorm(-2), 'RMSNorm: dim: -2, expected 0 or more'],
  [() => new nn.GroupNorm(1, -1), 'GroupNorm: numChannels: -1, expected 0 or more'],
  [() => new nn.InstanceNorm(2).forward('x'), 'InstanceNorm: x: "x", expected a tensor'],
  [() => new nn.BatchNorm(2).forward([1]), 'BatchNorm: x: [1], expected a tensor'],
  [() => new nn.BatchNorm('x'), 'BatchNorm: numFeatures: is "x", expected an integer'],
  [() => new nn.Conv2d(3, 4, 3, { groups: 2 }), 'Conv2d: groups: 2, expected a divisor of inChannels, 3'],
  [() => new nn.ConvTranspose2d(2, 3, 3, { groups: 2 }), 'ConvTranspose2d: groups: 2, expected a divisor of outChannels, 3'],
  [() => new nn.Conv1d(1, 1, 'x'), 'Conv1d: kernelSize: is "x", expected integers'],
  [() => new nn.Conv2d(1, 1, 2).forward(1), 'Conv2d: x: 1, expected a tensor'],
  [() => new nn.ConvTranspose2d(1, 1, 2).forward(1), 'ConvTranspose2d: x: 1, expected a tensor'],
  [() => new nn.Embedding(Symbol('s'), 2), 'Embedding: vocabSize: Symbol(s), expected a tensor, a number or a list'],
  [() => new nn.Dropout().forward(1), 'Dropout: x: 1, expected a tensor'],
  [() => new nn.Sequential(5), 'Sequential: layers: 5, expected a function or an object with forward'],
  [() => new nn.LSTMCell(2, 2).forward(1), 'LSTMCell: x: 1, expected a tensor'],
  [() => new nn.LSTMCell(2, 2).forward(x, x), 'LSTMCell: hc: is a tensor, expected a list of tensors'],
  [() => new nn.LSTMCell(2, 2).forward(x, [x, 1]), 'LSTMCell: hc[1]: is 1, expected a tensor'],
  [() => new nn.LSTM(2, 2).forward(1), 'LSTM: x: 1, expected a tensor'],
  [() => new nn.MultiHeadAttention('x', 2), 'MultiHeadAttention: embedDim: "x", expected an integer'],
  [() => new nn.TransformerBlock(2, 1).forward(1), 'TransformerBlock: x: 1, expected a tensor'],
  [() => new nn.SequentialLR(new nn.SGD([new Tensor([1])]), 5, [1]), 'SequentialLR: schedulers: 5, expected a list of schedules'],
  // Files and models
  [() => nn.loadStateDict(linear, null), 'loadStateDict: stateDict: null, expected an object'],
  [() => nn.loadStateDict(linear, {}, { strct: false }), 'loadStateDict: strct: unknown argument, expected strict, verbose'],
  [() => nn.safeSave(null, 'x'), 'safeSave: tensors: null, expected an object'],
  [() => nn.safeSave({}, 'x', { metadata: 5 }), 'safeSave: metadata: 5, expected an object'],
  [() => nn.safeLoad('x\0y'), 'safeLoad: file: "x\\u0000y", expected a string without a character 0'],
  [() => safetensors.encode(undefined), 'encode: tensors: undefined, expected an object'],
  [() => nn.safeSave({ a: part }, 'x'), 'safeSave: a: shape [(n=2)], expected sizes without variables'],
  [() => safetensors.encode({}, { a: 5n }), 'encode: metadata: a: 5, expected strings'],
  [() => safetensors.encode({ a: part }), 'encode: a: shape [(n=2)], expected sizes without variables'],
  [() => hf.generate(null, [1], 1, { temperature: NaN }), 'generate: temperature: NaN, expected 0 or more'],
  [() => hf.generate(null, [1], -1), 'generate: maxNewTokens: -1, expected 0 or more'],
  [() => hf.loadHf(5), 'loadHf: folder: 5, expected a string'],
  [() => hf.loadHf('/nowhere'), /^loadHf: folder: open \/nowhere\/config.json: [Nn]o such file or directory$/],
  [() => hf.loadHf('/nowhere', { maxbatch: 2 }), 'loadHf: maxbatch: unknown argument, expected maxBatch, maxSeqLen, dtype, strict'],
  [() => hf.loadHfBytes('{}', 5), 'loadHfBytes: weights: 5, expected a list of the bytes of files'],
  [() => hf.loadHfBytes('{}', [], { dtype: 'x' }), 'loadHfBytes: dtype: "x" is not a data type of tensors'],
  [() => net.forward(null), 'forward: arrays: null, expected an object'],
  [() => net.forward({ x: itself }), /^forward: x: /],
  [() => net.importWeights(new Uint8Array(9), { strct: true }), 'importWeights: strct: unknown argument, expected strict'],
  [() => net.setDevice({ toString: 1 }), /^setDevice: an object is not available/]
]
for (const [call, want] of REFUSED) {
  test(`${String(call).slice(6, 80)} is refused`, () => {
    assert.throws(call, (error) => {
      if (typeof want === 'string') assert.strictEqual(error.message, want)
      else assert.match(error.message, want)
      return true
    })
  })
}

const CONFIG = '{"model_type":"gpt2","n_embd":8,"n_head":2,"n_layer":1,"vocab_size":5,"n_positions":10}'
const model = hf.loadHfBytes(CONFIG, [], { strict: false })
const learned = new Tensor([1, 2], { requiresGrad: true })
learned.sum().backward()
const sgd = new nn.SGD([learned], { lr: 0.1 })
const drawn = { temperature: 1, topK: 0, topP: 1, seed: 1, eosTokenId: 1 }
const loaded = { maxBatch: 1, maxSeqLen: 0, dtype: 'float32' }

// Calls that are right, by functions and classes of the package.
const RIGHT = {
  loadHfBytes: [CONFIG, [model.exportWeights()], loaded],
  generate: [model, [1, 2], 2, drawn],
  generateSteps: [model, [1, 2], 2, drawn],
  Generator: [model, 1],
  getStateDict: [linear],
  getParameters: [linear],
  compileStep: [() => x.sum()],
  clipGradNorm: [[learned], 1],
  clipGradValue: [[learned], 1],
  ggmlDataToTensor: [new Tensor(new Uint8Array(34)), 32, 8],
  Variable: ['n', 1, 8],
  TinyJit: [(a) => a],
  Linear: [2, 1],
  LayerNorm: [2, { eps: 1e-5 }],
  RMSNorm: [2, { eps: 1e-5 }],
  GroupNorm: [1, 2, { eps: 1e-5 }],
  BatchNorm: [2, { eps: 1e-5, momentum: 0.1 }],
  InstanceNorm: [2],
  Embedding: [3, 2],
  Dropout: [0.5],
  Conv1d: [1, 1, 1, { stride: 1, padding: 0, dilation: 1, groups: 1 }],
  Conv2d: [1, 1, 1, { stride: 1, padding: 0, dilation: 1, groups: 1 }],
  ConvTranspose2d: [1, 1, 1, { stride: 1, padding: 0 }],
  LSTMCell: [2, 2],
  LSTM: [2, 2, { numLayers: 1 }],
  GRUCell: [2, 2],
  GRU: [2, 2, { numLayers: 1 }],
  SGD: [[learned], { lr: 0.1, momentum: 0, weightDecay: 0 }],
  Adam: [[learned], { lr: 0.1, betas: [0.9, 0.99], eps: 1e-8, weightDecay: 0 }],
  Muon: [[learned], { lr: 0.1 }],
  StepLR: [sgd, 2, { gamma: 0.1 }],
  MultiStepLR: [sgd, [2], { gamma: 0.1 }],
  ExponentialLR: [sgd, 0.9],
  CosineAnnealingLR: [sgd, 3, { etaMin: 0 }],
  LambdaLR: [sgd, () => 1],
  LinearLR: [sgd],
  ReduceLROnPlateau: [sgd, { mode: 'min', factor: 0.1, patience: 1 }]
}
const EXPECTED = '(expected|is missing|unknown argument|is not a data type|do not fit|hold)'
const JUNK = [null, 'abc', -9, 1e300, NaN, Infinity, 1.5, true, 2n ** 70n, [], {}, new Date(), Tensor.ones(7, 5)]

for (const [name, right] of Object.entries(RIGHT)) {
  test(`${name} refuses junk by its own name`, () => {
    const call = polygrad[name] ?? nn[name]
    right.forEach((argument, i) => {
      const options = i > 0 && Object.getPrototypeOf(argument) === Object.prototype ? Object.keys(argument) : []
      for (const junk of JUNK) {
        for (const option of [null, ...options]) {
          const args = right.map((a, k) => k !== i ? a : option === null ? junk : { ...a, [option]: junk })
          try {
            const made = /^[A-Z]/.test(name) ? Reflect.construct(call, args) : call(...args)
            if (name === 'generateSteps') Array.from(made)
          } catch ({ message }) {
            assert.match(message, new RegExp(`^${name}: .*${EXPECTED}`), `${i} ${option} ${String(junk)}`)
            if (option !== null) assert.ok(message.includes(`: ${option}`), `${option}: ${message}`)
          }
        }
      }
    })
  })
}

test('what a list holds is told in short', () => {
  assert.throws(() => x.sequential(Array(1000).fill([[[0]]])), (error) => error.message.length < 400 && error.message.includes('[[[…]]'))
})

test('arrays and options of other realms, and subclasses, are what they are', () => {
  class Mine extends Float32Array {}
  assert.deepStrictEqual(new Tensor(Mine.of(1, 2)).tolist(), [1, 2])
  const [array, options, buffer] = vm.runInNewContext('[Int16Array.of(3, 4), { dtype: "int32" }, new ArrayBuffer(9)]')
  assert.strictEqual(new Tensor(array).dtype, 'int16')
  assert.strictEqual(new Tensor([1], options).dtype, 'int32')
  assert.throws(() => safetensors.decode(buffer), /^PolygradError: decode: file: /)
})

test('shapes are lists of any kind, NaN is true, numbers at the ends of uint64 are exact', () => {
  assert.deepStrictEqual(Tensor.full(Int32Array.of(1, 2), 3).tolist(), [[3, 3]])
  assert.deepStrictEqual(new Tensor([NaN, 0, -0, 1, 0n, true], { dtype: 'bool' }).tolist(), [true, false, false, true, false, true])
  for (const value of [2n ** 64n - 1n, 2n ** 63n, 0n]) {
    assert.deepStrictEqual(Tensor.full([1], value, { dtype: 'uint64' }).tolist(), [value])
  }
  assert.deepStrictEqual(new Tensor([-5n, 0n, 2n ** 60n + 1n]).clamp(-1n, 2n ** 60n).tolist(), [-1n, 0n, 2n ** 60n])
})

test('a tensor without elements prints little, whatever its axes are', () => {
  assert.strictEqual(String(Tensor.zeros(2 ** 20, 0).realize()), 'Tensor([], shape=[1048576,0], dtype=float32)')
  assert.strictEqual(String(Tensor.zeros(0, 2 ** 31).realize()), 'Tensor([], shape=[0,2147483648], dtype=float32)')
})

test('JSON has the values', () => {
  assert.strictEqual(JSON.stringify({ loss: new Tensor(0.5), x }), '{"loss":0.5,"x":[[1,2],[3,4]]}')
  assert.strictEqual(`${x.sum().realize()}`, 'Tensor(10, shape=[], dtype=float32)')
})
