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
