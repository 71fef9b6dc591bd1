'use strict'
// Model files: written here by hand, and read on mapped memory.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const {
  Tensor, PolygradError, safeLoad, safeLoadMetadata, safeSave, ggufLoad, torchLoad, ggmlDataToTensor, safetensors,
  getStateDict, loadStateDict
} = require('..')

/** Calls f with a folder that is gone afterwards. */
function inFolder (f) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-'))
  try {
    f(folder, (name) => path.join(folder, name))
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}

const TYPES = ['bool', 'int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64', 'fp8e4m3', 'fp8e5m2', 'float16',
  'bfloat16', 'float32', 'float64']

test('tensors of all types are saved and loaded', () => inFolder((folder, at) => {
  const tensors = Object.fromEntries(TYPES.map((t) => [t, new Tensor([[0, 1], [1, 2]]).cast(t)]))
  tensors.empty = Tensor.zeros(0, 3)
  tensors.scalar = new Tensor(2.5)
  safeSave(tensors, at('a.safetensors'), { metadata: { who: 'test' } })
  for (const source of [at('a.safetensors'), folder, fs.readFileSync(at('a.safetensors'))]) {
    const back = safeLoad(source)
    assert.deepStrictEqual(Object.keys(back), Object.keys(tensors))
    for (const [name, tensor] of Object.entries(tensors)) {
      assert.deepStrictEqual([back[name].dtype, back[name].shape, back[name].tolist()], [tensor.dtype, tensor.shape, tensor.tolist()])
    }
  }
  assert.deepStrictEqual(safeLoadMetadata(at('a.safetensors')), { who: 'test' })
}))

test('any text is the name of a tensor', () => {
  const header = Buffer.from('{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},' +
    '"constructor":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}')
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  const file = Buffer.concat([length, header, Buffer.from(Float32Array.of(1, 2).buffer)])
  for (const found of [safeLoad(file), safetensors.decode(file), getStateDict(safeLoad(file))]) {
    assert.deepStrictEqual(Object.entries(found).map(([name, t]) => [name, t.tolist()]), [['__proto__', [1]], ['constructor', [2]]])
    assert.strictEqual(Object.getPrototypeOf(found), Object.prototype)
  }
  const model = { weight: new Tensor([3]) }
  loadStateDict(model, safeLoad(file), { strict: false, verbose: false })
  assert.deepStrictEqual(model.weight.tolist(), [3])
  assert.throws(() => loadStateDict({ constructor: new Tensor([3]) }, {}), /missing \[constructor\]/)
})

test('what is written into a loaded tensor stays in memory', () => inFolder((folder, at) => {
  safeSave({ x: new Tensor([1, 2, 3]) }, at('a'))
  const before = fs.readFileSync(at('a'))
  const { x } = safeLoad(at('a'))
  x.assign(x.mul(10))
  x.data[0] = 7
  assert.deepStrictEqual(x.tolist(), [7, 20, 30])
  assert.deepStrictEqual(fs.readFileSync(at('a')), before)
  safeSave({ x }, at('a')) // over the file that is mapped
  assert.deepStrictEqual(x.tolist(), [7, 20, 30])
  assert.deepStrictEqual(safeLoad(at('a')).x.tolist(), [7, 20, 30])
}))

test('memory of a file outlives its tensors', () => inFolder((folder, at) => {
  safeSave({ x: Tensor.ones(1000) }, at('a'))
  let data = safeLoad(at('a')).x.data
  for (let i = 0; i < 200; i++) safeLoad(at('a')).x.add(1).realize()
  assert.strictEqual(data.reduce((a, b) => a + b), 1000)
  data = null
}))

test('shards', () => inFolder((folder, at) => {
  const tensors = Object.fromEntries([0, 1, 2, 3].map((i) => [`layers.${i}`, Tensor.full([4], i)]))
  safeSave(tensors, at('model.safetensors'), { maxShardSize: 32 })
  assert.strictEqual(fs.readdirSync(folder).length, 3)
  for (const source of [folder, at('model.safetensors.index.json')]) {
    assert.deepStrictEqual(Object.values(safeLoad(source)).map((t) => t.tolist()[0]), [0, 1, 2, 3])
  }
}))

const u32 = (n) => { const b = Buffer.alloc(4); b.writeUInt32LE(n); return b }
const u64 = (n) => { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt(n)); return b }
const text = (s) => Buffer.concat([u64(Buffer.byteLength(s)), Buffer.from(s)])

test('GGUF files', () => inFolder((folder, at) => {
  const blocks = Buffer.concat([Buffer.from([0, 0x40]), Buffer.from(Array.from({ length: 32 }, (_, i) => i))]) // the scale 2
  const head = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(1), u64(3),
    text('name'), u32(8), text('small'), text('count'), u32(10), u64(2n ** 63n), text('list'), u32(9), u32(4), u64(2), u32(1), u32(2),
    text('w'), u32(2), u64(32), u64(1), u32(8), u64(0)])
  const file = Buffer.concat([head, Buffer.alloc((32 - head.length % 32) % 32), blocks])
  fs.writeFileSync(at('a.gguf'), file)
  for (const source of [at('a.gguf'), file]) {
    const [kv, tensors] = ggufLoad(source)
    assert.deepStrictEqual(kv, { name: 'small', count: 2n ** 63n, list: [1, 2] })
    assert.deepStrictEqual(tensors.w.shape, [1, 32])
    assert.deepStrictEqual(tensors.w.tolist()[0], Array.from({ length: 32 }, (_, i) => 2 * i))
  }
  const packed = new Tensor(Uint8Array.from(blocks))
  assert.strictEqual(ggmlDataToTensor(packed, 32, 8).sum().item(), 2 * 31 * 16)
  assert.throws(() => ggmlDataToTensor(packed, 32, 99), PolygradError)
  assert.throws(() => ggmlDataToTensor(packed, 64, 8), /34 bytes hold 32/)
}))

// Pickles of torch.save before PyTorch 1.6, with the storages behind them.
const magic = Buffer.from('80028a0a6cfc9c46f9206aa85019' + '2e', 'hex')
const pickle = (...parts) => Buffer.concat([Buffer.from([0x80, 2]), ...parts.map((p) => Buffer.from(p, 'latin1')), Buffer.from('.')])
const X = (s) => 'X' + u32(s.length).toString('latin1') + s
const torchFile = (value) => Buffer.concat([magic, pickle('M\xe9\x03'), pickle('}'), pickle(value), pickle(']', X('0'), 'a'), u64(6),
  Buffer.from(Float32Array.of(0, 1, 2, 3, 4, 5).buffer)])
const matrix = 'ctorch._utils\n_rebuild_tensor_v2\n((' + X('storage') + 'ctorch\nFloatStorage\n' + X('0') + X('cpu') +
  'K\x06NtQK\x00K\x03K\x02\x86K\x01K\x03\x86\x89}tR'

test('files of PyTorch', () => {
  const others = X('epoch') + 'K\x07' + X('state') + '}K\x00' + X('x') + 's' + X('none') + 'N'
  const found = torchLoad(torchFile('}(' + X('w') + matrix + others + 'u'))
  assert.deepStrictEqual(found.w.tolist(), [[0, 3], [1, 4], [2, 5]])
  assert.deepStrictEqual([found.epoch, found.state, found.none], [7, new Map([[0, 'x']]), null])
  const evil = torchFile('}(' + X('w') + matrix + X('x') + 'cos\nsystem\n' + X('true') + '\x85Ru')
  assert.throws(() => torchLoad(evil), /global "os.system" is refused/)
})

test('bad files and arguments', () => inFolder((folder, at) => {
  fs.writeFileSync(at('bad'), 'xxxxxxxxxxxx')
  for (const load of [safeLoad, safeLoadMetadata, ggufLoad, torchLoad]) {
    assert.throws(() => load(at('none')), /no such file/i)
    assert.throws(() => load(at('bad')), (e) => e instanceof PolygradError && e.message.includes(at('bad')))
    assert.throws(() => load(Buffer.alloc(0)), PolygradError)
    assert.throws(() => load(3), TypeError)
  }
  const x = new Tensor([1])
  assert.throws(() => safeSave({ x: 1 }, at('a')), TypeError)
  assert.throws(() => safeSave({ x }, 3), TypeError)
  assert.throws(() => safeSave({ x }, at('a'), { metadata: { a: 1 } }), TypeError)
  assert.throws(() => safeSave({ x }, at('a'), { maxShardSize: 0 }), RangeError)
  assert.throws(() => safeSave({ 'a\0b': x }, at('a')), PolygradError)
  assert.throws(() => safeSave({ x }, at('none/a')), /no such file/i)
  assert.deepStrictEqual(fs.readdirSync(folder), ['bad'])
}))
