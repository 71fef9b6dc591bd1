'use strict'
// polygrad/loaders: files of weights, tokens as tiktoken and sentencepiece find them, and what is kept of the network.

const assert = require('node:assert')
const test = require('node:test')
const fs = require('node:fs')
const path = require('node:path')
const zlib = require('node:zlib')
const { BpeEncoding, Tokenizer, Unigram } = require('polygrad/loaders').tokenizers
const { WeightMapper, safetensors } = require('polygrad/loaders')
const { safetensors: { encode }, Tensor } = require('..')

/** What tiktoken, sentencepiece and tokenizers find: files that the library's own tests read. */
const packed = (name) => {
  const file = path.join(__dirname, '../../../model/tokens/testdata', `${name}.json.gz`)
  return JSON.parse(zlib.gunzipSync(fs.readFileSync(file)))
}

const [UPPER, LOWER] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]']
const ENDINGS = "(?:'[sStTmMdD]|'[rRvV][eE]|'[lL][lL])?"
const LETTERS = '[^\\r\\n\\p{L}\\p{N}]?'
const WORDS = {
  r50k_base: /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/u,
  cl100k_base: new RegExp("'(?:[sdmtSDMT\\u017f]|[lL][lL]|[vV][eE]|[rR][eE])" +
    `|${LETTERS}\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`, 'u'),
  o200k_base: new RegExp(`${LETTERS}${UPPER}*${LOWER}+${ENDINGS}|${LETTERS}${UPPER}+${LOWER}*${ENDINGS}|\\p{N}{1,3}` +
    '| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+', 'u')
}

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
  const complex = entry({ dtype: 'C64', shape: [1] })
  assert.deepStrictEqual(safetensors.parse(file(complex, 8)).tensors.a, { dtype: 'C64', shape: [1], data: new Float32Array(2) })
  for (const dtype of ['F8_E8M0', 'F8_E4M3FNUZ', 'F8_E5M2FNUZ']) { // their bits
    const { data } = safetensors.parse(file(entry({ dtype, shape: [8] }), 8)).tensors.a
    assert.deepStrictEqual(data, new Uint8Array(8))
  }
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
  const { encodings } = packed('others')
  for (const { name, ranks, texts } of encodings) {
    const encoder = new Map(ranks.trim().split('\n').map((line) => line.split(' ')).map(([text, rank]) => [hex(text), Number(rank)]))
    const encoding = new BpeEncoding(encoder, { '<|end|>': 400 }, WORDS[name])
    for (const [text, plain, special] of texts) {
      assert.deepStrictEqual(encoding.encode(text), plain, `${name}: ${text}`)
      assert.deepStrictEqual(encoding.encodeWithSpecialTokens(text), special, `${name}: ${text}`)
      assert.deepStrictEqual(encoding.encode(text, new Set(['<|end|>'])), special)
      assert.strictEqual(encoding.decode(special), text)
    }
    assert.deepStrictEqual(encoding.encoder, encoder)
    assert.deepStrictEqual([...encoding.specialTokens()], ['<|end|>'])
    assert.deepStrictEqual([...encoding.decodeBytes([0xe2, 400])].slice(1), [...Buffer.from('<|end|>')])
    assert.throws(() => encoding.encode('<|end|>', 'refuse'), RangeError)
    assert.throws(() => encoding.decode([4000]), RangeError)
    assert.throws(() => encoding.decode([2 ** 40]), RangeError)
    assert.throws(() => encoding.encode(3), TypeError)
  }
  const lines = new Map([['61', 0], ['0a', 1]])
  assert.deepStrictEqual(new BpeEncoding(lines, {}, /./s).encode('a\n'), [0, 1])
  assert.deepStrictEqual(new BpeEncoding(lines, {}, /./).encode('a\n'), [0])
  assert.throws(() => new BpeEncoding(new Map(), {}, '('), TypeError)
  assert.throws(() => new BpeEncoding(new Map([['61', 0]]), {}, /(a)\1/), TypeError)
})

test('pieces are those of sentencepiece', () => {
  for (const { model, texts } of packed('others').models) {
    const pieces = Unigram.fromBinary(bytes(model))
    assert.deepStrictEqual([pieces.bosToken, pieces.eosToken, pieces.unkToken], [1, 2, 0])
    for (const [text, tokens, decoded] of texts) {
      assert.deepStrictEqual(pieces.encode(text), tokens, text)
      assert.strictEqual(pieces.decode(tokens), decoded)
    }
    assert.throws(() => Unigram.fromBinary(bytes(model).subarray(0, 1)), TypeError)
    assert.throws(() => pieces.decode([-1]), RangeError)
  }
})

test('tokenizers of Hugging Face find the tokens and the texts that theirs find', () => {
  for (const { name, file, texts, shaped = [] } of packed('huggingface')) {
    const t = new Tokenizer(file)
    for (const [text, ids, plain, decoded, whole] of texts) {
      assert.deepStrictEqual(t.encode(text), ids, `${name}: ${text}`)
      assert.deepStrictEqual(t.encode(text, { addSpecialTokens: false }), plain, `${name}: ${text}`)
      assert.strictEqual(t.decode(ids), decoded, `${name}: ${text}`)
      assert.strictEqual(t.decode(ids, { skipSpecialTokens: false }), whole, `${name}: ${text}`)
    }
    assert.deepStrictEqual(t.encodeBatch(texts.map(([text]) => text)), texts.map(([, ids]) => ids))
    for (const [options, batch, want] of shaped) {
      const given = batch.map((text) => text.length === 1 ? text[0] : text)
      if (want === null) assert.throws(() => t.encodeBatch(given, options), RangeError)
      else assert.deepStrictEqual(t.encodeBatch(given, options), want)
    }
    assert.strictEqual(t.idToToken(t.tokenToId(t.idToToken(5))), t.idToToken(5))
    assert.deepStrictEqual([t.tokenToId('no such token'), t.idToToken(1e6), t.encodeBatch([])], [undefined, undefined, []])
    assert.throws(() => t.decode([1e6]), RangeError)
    assert.throws(() => t.encode(3), TypeError)
  }
  const [{ file }] = packed('huggingface')
  const t = Tokenizer.fromJSON(JSON.stringify(file))
  const stream = t.stream(t.encode('Hello'))
  const ids = t.encode(' \u6771\u4eac')
  assert.strictEqual(ids.map((id) => stream.push(id)).join('') + stream.push(), ' \u6771\u4eac')
  assert.strictEqual(stream.push(ids[1]) + stream.push(), '\ufffd')
})

test('broken tokenizers are refused', () => {
  const models = ['{"type":"BPE"}', '{"type":"BPE","vocab":{"a":0},"merges":["a b"]}', '{"type":"Unigram","vocab":[["a"]]}', '{}']
  for (const bad of ['{', '{}', ...models.map((model) => `{"model":${model}}`)]) {
    assert.throws(() => Tokenizer.fromJSON(bad), { name: 'TypeError', message: /tokenizer\.json/ }, bad)
  }
  for (const bad of ['', '[]', '3', 'x']) assert.throws(() => Tokenizer.fromJSON(bad), { name: 'TypeError', message: /SentencePiece/ }, bad)
  assert.throws(() => Tokenizer.fromJSON(3), TypeError)
  assert.throws(() => new Tokenizer(3), TypeError)
  assert.throws(() => new Tokenizer('{}', 123456789), { name: 'TypeError', message: 'Tokenizer: name: 123456789, expected a text' })
  const words = new Tokenizer({ model: { type: 'WordLevel', vocab: { a: 0, b: 1 } } })
  for (const [call, message] of [
    [() => words.encodeBatch('ab'), 'encodeBatch: texts: "ab", expected texts'],
    [() => words.encode(['a']), 'encode: text: ["a"], expected a text, or a pair of texts'],
    [() => words.encodeBatch(['a', ['a', 'b']]), 'encodeBatch: texts: "a", expected texts, or pairs of texts'],
    [() => words.encode('a', { allowedSpecial: 'x' }), 'encode: allowedSpecial: "x", expected "all", "none", "refuse" or texts'],
    [() => words.encode('a', { allowedSpecial: 3 }), 'encode: allowedSpecial: 3, expected "all", "none", "refuse" or texts'],
    [() => words.encode('a', null), 'encode: options: null, expected an object'],
    [() => words.decode(1), 'decode: tokens: 1, expected numbers of tokens'],
    [() => words.tokenToId(1), 'tokenToId: token: 1, expected a text']
  ]) assert.throws(call, { name: 'TypeError', message })
  for (const options of [{ truncation: {} }, { padding: true }, { pad: 1 }, { truncation: { max_length: 1, stride: '' } }]) {
    assert.throws(() => words.encode('a', options), { name: 'RangeError', message: /^encode: (truncation|padding|options): / })
  }
  assert.deepStrictEqual([words.idToToken('x'), words.idToToken(0.5)], [undefined, undefined])
  const model = { type: 'BPE', vocab: { a: 0 }, merges: [] }
  for (const part of ['normalizer', 'pre_tokenizer', 'post_processor', 'decoder']) {
    assert.throws(() => new Tokenizer({ model, [part]: { type: 'Other' } }), { name: 'TypeError', message: /expected one of/ })
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
    const parsed = npy.parse(bytes(text))
    assert.deepStrictEqual(plain(parsed), [shape, given], name)
    assert.deepStrictEqual(npy.parse(npy.format(parsed)), parsed, name)
    if (name.startsWith('float')) assert.deepStrictEqual(Buffer.from(npy.format(parsed)), Buffer.from(bytes(text)), name)
  }
  for (const text of archives) {
    const found = await npz.parse(bytes(text))
    assert.deepStrictEqual(Object.keys(found).sort(), ['big', 'bool[3]', 'columns', 'float16[2, 3]', 'float32[]'])
    assert.deepStrictEqual(plain(found.columns), [[2, 3, 4], Array.from({ length: 24 }, (_, i) => i)])
    assert.deepStrictEqual([found.big.dtype, ...found.big.data], ['i4', 0, 1, 2, 3, 4])
    // Files that are cut, or changed at one place, are refused, or the same.
    const whole = bytes(text)
    for (let i = 0; i < 300; i++) {
      const broken = i % 2 === 0 ? whole.slice(0, (i * 7919) % whole.length) : whole.slice()
      if (i % 2 === 1) broken[(i * 7919) % whole.length] ^= 1 << (i % 8)
      const read = await npz.parse(broken).catch((error) => assert.ok(error instanceof TypeError, error.stack))
      if (read !== undefined) assert.deepStrictEqual(read, found)
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
  const headed = (header) => Uint8Array.of(0x93, ...Buffer.from('NUMPY'), 1, 0, header.length, 0, ...Buffer.from(header), ...Array(16))
  const header = (shape, type = "'<f4'", order = 'False') => `{'descr': ${type}, 'fortran_order': ${order}, 'shape': ${shape}, }`
  for (const [shape, sizes] of [['(3L, 1)', [3, 1]], ['(2,)', [2]], ['()', []], ['(0,)', [0]]]) {
    assert.deepStrictEqual(npy.parse(headed(header(shape))).shape, sizes)
  }
  for (const shape of ['(1 2)', '(2)', '(-1,)', '(1.0,)', '(1,,2)', '[2]', '(0, 99999999999999999999)']) {
    assert.throws(() => npy.parse(headed(header(shape))), { name: 'TypeError', message: /shape .*, expected a tuple of sizes/ })
  }
  for (const [text, message] of [
    [header('(5,)'), /16 bytes of elements, expected 20/], [header('(2,)', "'<f4'", '1'), /fortran_order 1/],
    [header('(2,)', "[('a', '<f4')]"), /the type \[/], [header('(2,)', "'|O'"), /the type '\|O'/],
    ["{'descr': '<f4', 'shape': (2,)}", /header of descr, shape/], [header('(2,)') + 'x', /expected a dict/], ['{}', /header of nothing/]
  ]) assert.throws(() => npy.parse(headed(text)), { name: 'TypeError', message })
  const two = new Float32Array(2)
  for (const [tensor, message] of [
    [3, /expected { shape, data }/], [{ shape: [2], data: [1, 2] }, /type undefined/], [{ shape: [3], data: two }, /2 numbers, expected 3/],
    [{ shape: [1, -2], data: two }, /shape/], [{ shape: [2], data: two, dtype: 'c16' }, /expected Float64Array/]
  ]) assert.throws(() => npy.format(tensor), { name: 'TypeError', message })
})
