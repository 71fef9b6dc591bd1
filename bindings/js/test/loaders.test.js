'use strict'
// polygrad/loaders: files of weights, tokens as tiktoken and sentencepiece find them, and what is kept of the network.

const assert = require('node:assert')
const test = require('node:test')
const { BpeEncoding, Unigram } = require('polygrad/loaders').tokenizers
const { WeightMapper, safetensors } = require('polygrad/loaders')
const { safetensors: { encode }, Tensor } = require('..')
const fixture = require('./jax/tokens.json')

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
const hex = (text) => Array.from(bytes(text), (b) => b.toString(16).padStart(2, '0')).join('')

test('safetensors as typed arrays', () => {
  const file = encode({ 'a.0': new Tensor([[1, 2], [3, 4]]), 'a.1': new Tensor([5]), b: new Tensor([0, 1]) })
  const { tensors, totalSize } = safetensors.parse(new Uint8Array(file))
  assert.deepStrictEqual(tensors['a.0'], { dtype: 'F32', shape: [2, 2], data: new Float32Array([1, 2, 3, 4]) })
  assert.deepStrictEqual(tensors['a.1'], { dtype: 'F32', shape: [1], data: new Float32Array([5]) })
  assert.deepStrictEqual([tensors.b.dtype, [...tensors.b.data], totalSize], ['F32', [0, 1], 28])
  const nested = safetensors.toNested(tensors)
  assert.deepStrictEqual([nested.a[1], nested.b], [tensors['a.1'], tensors.b])
  assert.deepStrictEqual(safetensors.fromNested(nested), { ...tensors })
  assert.deepStrictEqual(safetensors.toNested({ 'l.0.w': 1, 'l.1.w': 2, 'm.1': 3 }), { l: [{ w: 1 }, { w: 2 }], m: { 1: 3 } })
  assert.deepStrictEqual(safetensors.fromNested([{ w: 1 }], 'p'), { 'p.0.w': 1 })
  assert.throws(() => safetensors.toNested({ a: 1, 'a.b': 2 }), TypeError)
})

test('broken files are refused', () => {
  const file = (header, size) => {
    const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header))
    const out = new Uint8Array(8 + text.length + size)
    new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true)
    out.set(text, 8)
    return out
  }
  const entry = (more) => ({ a: { dtype: 'F32', shape: [2], data_offsets: [0, 8], ...more } })
  assert.strictEqual(safetensors.parse(file(entry(), 8)).totalSize, 8)
  for (const bad of [
    file(entry(), 4), file(entry({ shape: [3] }), 8), file(entry({ dtype: 'Q4' }), 8), file(entry({ shape: [-2] }), 8),
    file(entry({ data_offsets: [4] }), 8), file('[]', 0), file('{', 0), new Uint8Array(3), new Uint8Array(8).fill(255), file({ a: 3 }, 0)
  ]) assert.throws(() => safetensors.parse(bad), (error) => error instanceof TypeError || error instanceof SyntaxError)
  assert.throws(() => safetensors.parse('text'), TypeError)
})

test('names of weights', () => {
  const mapper = new WeightMapper({
    exact: { lm_head: 'head' }, prefix: { 'model.': '' }, suffix: { '.gamma': '.weight' }, substring: { attn: 'attention' },
    autoCamelCase: true
  })
  assert.deepStrictEqual(['lm_head', 'model.attn_norm.gamma', 'x'].map((key) => mapper.mapKey(key)), ['head', 'attentionNorm.weight', 'x'])
  assert.deepStrictEqual(new WeightMapper({ prefix: { 'a.': 'b.' } }).unmapObject({ 'b.c': 1, d: 2 }), { 'a.c': 1, d: 2 })
  assert.deepStrictEqual(mapper.mapObject({ lm_head: 1 }), { head: 1 })
  assert.throws(() => new WeightMapper({ infix: {} }), TypeError)
})

test('byte pairs are those of tiktoken', () => {
  const { patterns } = require('../lib/loaders/tokenizers.js')
  const encoder = new Map(fixture.ranks.map(([text, rank]) => [hex(text), rank]))
  for (const [name, cases] of Object.entries(fixture.cases)) {
    const encoding = new BpeEncoding(encoder, { '<|end|>': 400 }, patterns[name])
    for (const [text, plain, special] of cases) {
      assert.deepStrictEqual(encoding.encode(text), plain, `${name}: ${text}`)
      assert.deepStrictEqual(encoding.encodeWithSpecialTokens(text), special, `${name}: ${text}`)
      assert.strictEqual(encoding.decode(special), text)
    }
  }
  const encoding = new BpeEncoding(encoder, { '<|end|>': 400 }, patterns.GPT2)
  assert.deepStrictEqual([...encoding.specialTokens()], ['<|end|>'])
  assert.throws(() => encoding.decode([4000]), RangeError)
  assert.throws(() => encoding.encode(3), TypeError)
})

test('pieces are those of sentencepiece', () => {
  for (const { model, cases, ids } of fixture.sentencepiece) {
    const unigram = Unigram.fromBinary(bytes(model))
    assert.deepStrictEqual([unigram.bosToken, unigram.eosToken, unigram.unkToken, unigram.vocabSize], ids)
    for (const [text, tokens, decoded] of cases) {
      assert.deepStrictEqual(unigram.encode(text), tokens, text)
      assert.strictEqual(unigram.decode(tokens), decoded)
    }
    const file = bytes(model)
    for (let n = 0; n < 200; n++) {
      try {
        assert.ok(Unigram.fromBinary(file.subarray(0, n)).vocabSize > 0) // cut off behind a piece
      } catch (error) {
        assert.ok(error instanceof TypeError, error)
      }
    }
    assert.throws(() => Unigram.fromBinary(file.subarray(0, 1)), TypeError)
    assert.throws(() => unigram.decode([-1]), RangeError)
  }
})

test('tokenizers of Hugging Face find the tokens and the texts that theirs find', () => {
  const { Tokenizer } = require('polygrad/loaders').tokenizers
  for (const { name, file, texts } of require('./jax/tokenizers.json')) {
    const t = Tokenizer.fromJSON(JSON.stringify(file))
    for (const [text, ids, plain, decoded, whole] of texts) {
      assert.deepStrictEqual(t.encode(text), ids, `${name}: ${text}`)
      assert.deepStrictEqual(t.encode(text, { addSpecialTokens: false }), plain, `${name}: ${text}`)
      assert.strictEqual(t.decode(ids), decoded, `${name}: ${text}`)
      assert.strictEqual(t.decode(ids, { skipSpecialTokens: false }), whole, `${name}: ${text}`)
    }
    assert.throws(() => t.decode([1e6]), RangeError)
    assert.throws(() => t.encode(3), TypeError)
  }
})

test('broken tokenizers are refused', () => {
  const { Tokenizer } = require('polygrad/loaders').tokenizers
  const files = require('./jax/tokenizers.json').map(({ file }) => file)
  const models = ['{"type":"BPE"}', '{"type":"BPE","vocab":{"a":0},"merges":["a b"]}', '{"type":"Unigram","vocab":[["a"]]}', '{}']
  for (const bad of ['', '{', '[]', '3', '{}', ...models.map((model) => `{"model":${model}}`)]) {
    assert.throws(() => Tokenizer.fromJSON(bad), { name: 'TypeError', message: /tokenizer\.json/ }, bad)
  }
  assert.throws(() => Tokenizer.fromJSON(3), TypeError)
  const model = { type: 'BPE', vocab: { a: 0 }, merges: [] }
  for (const part of ['normalizer', 'pre_tokenizer', 'post_processor', 'decoder']) {
    assert.throws(() => new Tokenizer({ model, [part]: { type: 'Other' } }), { name: 'TypeError', message: /expected one of/ })
  }
  // Parts that are taken away or replaced are refused, or the tokenizer works.
  let seed = 1
  const random = (n) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return seed % n
  }
  const broken = (at) => {
    if (typeof at !== 'object' || at === null || random(12) === 0) return [null, -1, 'x', [], {}, undefined, [[1]]][random(7)]
    const keys = Object.keys(at)
    const key = keys[random(Math.max(1, keys.length))]
    if (Array.isArray(at)) return keys.length === 0 ? [3] : at.map((item, i) => String(i) === key ? broken(item) : item)
    return { ...at, [key ?? 'x']: broken(at[key]) }
  }
  for (let i = 0; i < 600; i++) {
    let t
    try {
      t = new Tokenizer(broken(files[i % files.length]))
    } catch (error) {
      assert.ok(error instanceof TypeError && error.message.startsWith('Tokenizer: tokenizer.json'), error.stack)
      continue
    }
    try {
      t.decode(t.encode('Hello, <s> world 12'))
    } catch (error) {
      assert.ok(error instanceof RangeError, error.stack)
    }
  }
})

test('files of NumPy', async () => {
  const { npy, npz } = require('polygrad/loaders')
  const { numbers, files, archives } = require('./jax/arrays.json')
  const plain = ({ shape, data }) => [shape, Array.from(data, Number)]
  for (const [name, text] of Object.entries(files)) {
    const [shape, values] = numbers[name]
    const given = Array.isArray(values) ? values.flat(Infinity) : [values]
    if (name.startsWith('float16') && globalThis.Float16Array === undefined) continue
    assert.deepStrictEqual(plain(npy.parse(bytes(text))), [shape, given], name)
  }
  for (const text of archives) {
    const found = await npz.parse(bytes(text))
    assert.deepStrictEqual(Object.keys(found).sort(), ['big', 'bool[3]', 'columns', 'float16[2, 3]', 'float32[]'])
    assert.deepStrictEqual(plain(found.columns), [[2, 3, 4], Array.from({ length: 24 }, (_, i) => i)])
    assert.deepStrictEqual([found.big.dtype, ...found.big.data], ['i4', 0, 1, 2, 3, 4])
    // Files that are cut, or changed at one place, are refused or read.
    const whole = bytes(text)
    for (let i = 0; i < 300; i++) {
      const broken = i % 2 === 0 ? whole.slice(0, (i * 7919) % whole.length) : whole.slice()
      if (i % 2 === 1) broken[(i * 7919) % whole.length] ^= 1 << (i % 8)
      await npz.parse(broken).catch((error) => assert.ok(error instanceof TypeError, error.stack))
    }
  }
  const file = bytes(files['float32[2, 3]'])
  for (let i = 0; i < file.length; i++) {
    assert.throws(() => npy.parse(file.slice(0, i)), TypeError)
    const broken = file.slice()
    broken[i] ^= 4
    try {
      npy.parse(broken)
    } catch (error) {
      assert.ok(error instanceof TypeError, error.stack)
    }
  }
  assert.throws(() => npy.parse('x'), TypeError)
  await assert.rejects(npz.parse('x'), TypeError)
})
