'use strict'
// Texts continued by a small model of random weights whose tokens are bytes: streams, threads, ends.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { spawnSync } = require('node:child_process')
const { Tensor, Generator, safetensors, loadHf, loadHfBytes, generate, generateAsync, generateSteps, generateStream, hf } = require('..')

const END = 256
const CONFIG = { model_type: 'gpt2', vocab_size: 257, n_embd: 16, n_head: 2, n_layer: 2, n_positions: 64, layer_norm_epsilon: 1e-5 }
const SHAPES = {
  'ln_1.weight': [16], 'ln_1.bias': [16], 'ln_2.weight': [16], 'ln_2.bias': [16],
  'attn.c_attn.weight': [16, 48], 'attn.c_attn.bias': [48], 'attn.c_proj.weight': [16, 16], 'attn.c_proj.bias': [16],
  'mlp.c_fc.weight': [16, 64], 'mlp.c_fc.bias': [64], 'mlp.c_proj.weight': [64, 16], 'mlp.c_proj.bias': [16]
}

function weights () {
  Tensor.manualSeed(6)
  const shapes = { 'wte.weight': [257, 16], 'wpe.weight': [64, 16], 'ln_f.weight': [16], 'ln_f.bias': [16] }
  for (const layer of [0, 1]) for (const [name, shape] of Object.entries(SHAPES)) shapes[`h.${layer}.${name}`] = shape
  return safetensors.encode(Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, Tensor.randn(shape).mul(0.5)])))
}

const model = loadHfBytes(JSON.stringify(CONFIG), [weights()])

/** Bytes as tokens: characters of several bytes are incomplete in between. */
const tokenizer = {
  encode: (text) => ({ ids: [...Buffer.from(text)] }),
  decode: (ids) => Buffer.from(ids.filter((id) => id !== END)).toString()
}

async function collect (stream) {
  const found = []
  for await (const piece of stream) found.push(piece)
  return found
}

test('streams give what generate gives', async () => {
  assert.deepStrictEqual(model.notes, [])
  for (const options of [{ temperature: 0 }, { seed: 3 }, { seed: 4, temperature: 2, topK: 5 }, { seed: 5, topP: 0.7 }]) {
    const rows = [[1, 2, 3], [7]]
    const whole = generate(model, rows, 12, options)
    assert.deepStrictEqual(whole.map((row) => row.length), [15, 13])
    const told = []
    assert.deepStrictEqual(await generateAsync(model, rows, 12, { ...options, onToken: (step) => { told.push(step) } }), whole)
    for (const steps of [[...generateSteps(model, rows, 12, options)], await collect(generateStream(model, rows, 12, options)), told]) {
      assert.deepStrictEqual(rows.map((row, i) => [...row, ...steps.map((step) => step[i])]), whole)
    }
    assert.deepStrictEqual(rows, [[1, 2, 3], [7]], 'what is given stays as it is')
  }
  assert.notDeepStrictEqual(generate(model, [1], 12, { seed: 1 }), generate(model, [1], 12, { seed: 2 }))
})

test('draws follow the logits', () => {
  const logits = new Generator(model, 1).feed([[1, 2]]).logits()
  const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a])
  const next = (options) => new Set(Array.from({ length: 60 }, (_, seed) => generate(model, [1, 2], 1, { seed, ...options })[2]))
  assert.deepStrictEqual(next({ temperature: 0 }), new Set([order[0]]))
  assert.deepStrictEqual([...next({ topK: 3, temperature: 20 })].sort(), order.slice(0, 3).sort())
  assert.deepStrictEqual(next({ topP: 1e-9 }), new Set([order[0]]))
  assert.ok(next({ temperature: 5 }).size > 20)
})

test('the event loop goes on while a stream computes', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  const tokens = await collect(generateStream(model, [1], 40, { seed: 1 }))
  clearInterval(timer)
  assert.ok(tokens.length === 40 && turns > 0)
  const both = await Promise.all([generateAsync(model, [1], 20, { seed: 1 }), generateAsync(model, [2], 20, { seed: 2 })])
  assert.deepStrictEqual(both, [generate(model, [1], 20, { seed: 1 }), generate(model, [2], 20, { seed: 2 })])
  const rows = new Generator(model, 2)
  const next = await rows.feed([[1], [2]]).nextAsync()
  assert.deepStrictEqual(next, rows.reset().feed([[1], [2]]).next())
  rows.dispose()
  await assert.rejects(rows.nextAsync(), /the generator was disposed/)
})

test('a stream that is left gives its memory back', async () => {
  for await (const step of generateStream(model, [1], 40)) {
    assert.strictEqual(step.length, 1)
    break
  }
  let calls = 0
  const ended = await generateAsync(model, [1], 40, { seed: 1, onToken: () => ++calls === 3 })
  assert.deepStrictEqual([calls, ended.length], [3, 4])
})

test('texts', async () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const options = { seed, temperature: 3, tokenizer }
    const ids = generate(model, [...Buffer.from('grün')], 30, { seed, temperature: 3 })
    const want = tokenizer.decode(ids)
    const whole = generate(model, 'grün', 30, options)
    assert.strictEqual(whole, want)
    const pieces = await collect(generateStream(model, 'grün', 30, options))
    assert.deepStrictEqual([...generateSteps(model, 'grün', 30, options)], pieces)
    assert.strictEqual(`grün${pieces.join('')}`, want)
    assert.strictEqual(await generateAsync(model, 'grün', 30, options), want)
  }
  const texts = ['one', 'zwei']
  const rows = texts.map((text) => [...Buffer.from(text)])
  const want = generate(model, rows, 9, { temperature: 0 }).map(tokenizer.decode)
  const plain = { ...tokenizer, encode: (text) => tokenizer.encode(text).ids }
  assert.deepStrictEqual(generate(model, texts, 9, { temperature: 0, tokenizer: plain }), want)
  const steps = [...generateSteps(model, texts, 9, { temperature: 0, tokenizer })]
  assert.deepStrictEqual(texts.map((text, i) => text + steps.map((step) => step[i]).join('')), want)
  assert.strictEqual(generate(model, 'a', 5, { seed: 1, tokenizer, onToken: () => true }).length, 2)
})

test('texts end where the model says', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-'))
  try {
    const first = generate(model, [65], 3, { temperature: 0 })
    fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ ...CONFIG, eos_token_id: first[3] }))
    fs.writeFileSync(path.join(folder, 'model.safetensors'), weights())
    const ending = loadHf(folder)
    assert.deepStrictEqual(ending.eosTokenIds, [first[3]])
    const count = (options) => [...generateSteps(ending, 'A', 20, { temperature: 0, tokenizer, ...options })].length
    const at = first.indexOf(first[3], 1)
    assert.ok(count() <= at && count({ eosTokenId: [] }) > at)
    assert.strictEqual(generate(ending, [65], 20, { temperature: 0 }).length, 21, 'numbers go on')
    fs.writeFileSync(path.join(folder, 'generation_config.json'), '{"eos_token_id": [1, 256]}')
    assert.deepStrictEqual(loadHf(folder).eosTokenIds, [1, 256])
    fs.writeFileSync(path.join(folder, 'generation_config.json'), '{"eos_token_id": "x"}')
    assert.throws(() => loadHf(folder), /loadHf: folder: .*generation_config.json: eos_token_id: x, expected tokens/)
    fs.writeFileSync(path.join(folder, 'generation_config.json'), '{')
    assert.throws(() => loadHf(folder), /loadHf: folder: .*generation_config.json: /)
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
})

test('what is refused', async () => {
  assert.strictEqual(hf.generateStream, generateStream)
  const refused = [
    [() => generate(model, 'a', 3), TypeError, /generate: tokenizer: undefined, expected an object with encode and decode/],
    [() => generate(model, 'a', 3, { tokenizer: {} }), TypeError, /generate: tokenizer: an object/],
    [() => generate(model, ['a', [1]], 3, { tokenizer }), TypeError, /generate: tokens: \[1\], expected a text/],
    [() => generate(model, '', 3, { tokenizer }), Error, /generate: tokens: "" has no tokens/],
    [() => generate(model, 'a', 3, { tokenizer: { encode: () => 3, decode: String } }), TypeError, /encode returns 3/],
    [() => generate(model, 'a', 3, { tokenizer: { ...tokenizer, decode: () => 3 } }), TypeError, /decode returns 3, expected a string/],
    [() => generateStream(model, [1], -1), RangeError, /generateStream: maxNewTokens/],
    [() => generateStream({}, [1], 1), TypeError, /instance/],
    [() => generateSteps(model, [1], 1, { onToken: () => {} }), TypeError, /onToken: unknown argument/],
    [() => generate(model, [1], 1, { onToken: 3 }), TypeError, /generate: onToken: 3, expected a function/],
    [() => generate(model, [1], 1, { seed: 'x' }), TypeError, /seed/],
    [() => generate(model, [257], 1), Error, /257/]
  ]
  for (const [call, kind, message] of refused) assert.throws(call, (e) => e instanceof kind && message.test(e.message), String(call))
  await assert.rejects(generateAsync(model, [1], 1, { topK: -1 }), RangeError)
})

test('onToken may be async where the generation is', async () => {
  const told = []
  const onToken = async (step) => {
    await null
    told.push(step[0])
    return told.length === 3
  }
  assert.strictEqual((await generateAsync(model, [1], 9, { seed: 1, onToken })).length, 4)
  assert.strictEqual(told.length, 3)
  assert.throws(() => generate(model, [1], 9, { onToken }), /^TypeError: generate: onToken: returned a promise, expected/)
})

test('the language model of README.md', () => {
  const root = path.join(__dirname, '..')
  const [, program] = /```mjs\n([^]*?)```/.exec(fs.readFileSync(path.join(root, 'README.md'), 'utf8'))
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-'))
  try {
    const folder = path.join(home, 'hub', 'models--openai-community--gpt2')
    const commit = 'c'.repeat(40)
    const config = JSON.stringify(CONFIG)
    const vocab = Object.fromEntries(Array.from({ length: CONFIG.vocab_size }, (_, i) => [`+${'+'.repeat(i)}`, i]))
    const words = { type: 'BPE', vocab, merges: [], unk_token: '+' }
    const decoder = { type: 'Fuse' }
    const files = { 'config.json': config, 'tokenizer.json': JSON.stringify({ model: words, decoder }), 'model.safetensors': weights() }
    fs.mkdirSync(path.join(folder, 'snapshots', commit), { recursive: true })
    fs.mkdirSync(path.join(folder, 'refs'))
    fs.writeFileSync(path.join(folder, 'refs', 'main'), commit)
    for (const [name, bytes] of Object.entries(files)) fs.writeFileSync(path.join(folder, 'snapshots', commit, name), bytes)
    const modules = path.join(home, 'node_modules')
    fs.mkdirSync(modules)
    fs.symlinkSync(root, path.join(modules, 'polygrad'))
    fs.writeFileSync(path.join(home, 'program.mjs'), program)
    const env = { ...process.env, HF_HOME: home, HF_HUB_OFFLINE: '1' }
    const done = spawnSync(process.execPath, ['program.mjs'], { cwd: home, env, encoding: 'utf8', timeout: 120000 })
    assert.strictEqual(done.stderr, '')
    assert.match(done.stdout, /^\++$/)
  } finally {
    fs.rmSync(home, { recursive: true })
  }
})
