'use strict'
// Downloads of models, from a server that stands for the Hugging Face Hub and is sometimes broken or hostile.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const http = require('node:http')
const os = require('node:os')
const path = require('node:path')
const { createHash, randomBytes } = require('node:crypto')
const { spawn, spawnSync } = require('node:child_process')
const { downloadHf, hf, PolygradError } = require('..')

const COMMIT = 'c'.repeat(40)
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')
const git = (bytes) => createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
const WEIGHTS = randomBytes(300_000)
const SHARDS = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
const index = (names) => JSON.stringify({ weight_map: Object.fromEntries(names.map((name, i) => [`t${i}`, name])) })

/** A server with the files of one model; answer may take a request over, and says so by true. */
async function serving (files, use, { answer = () => false, listing = null } = {}) {
  const asked = []
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://x')
    asked.push([pathname.split('/').at(-1), request.headers.range ?? null, request.headers.authorization ?? null])
    if (answer(request, response, pathname, asked.length)) return
    if (pathname === '/api/models/me/mine/revision/main') {
      const siblings = Object.entries(files).map(([rfilename, bytes]) => {
        const size = Buffer.byteLength(bytes)
        return rfilename.endsWith('.json')
          ? { rfilename, size, blobId: git(Buffer.from(bytes)) }
          : { rfilename, size, lfs: { sha256: sha256(bytes), size } }
      })
      response.end(JSON.stringify(listing ?? { sha: COMMIT, siblings }))
      return
    }
    const bytes = files[pathname.slice(`/me/mine/resolve/${COMMIT}/`.length)]
    if (bytes === undefined) {
      response.writeHead(404, { 'x-error-message': 'Repository not found' }).end()
      return
    }
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const rest = Buffer.from(bytes).subarray(from)
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': rest.length,
      ...(from > 0 && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` })
    }).end(rest)
  })
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  const cacheDir = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-hub-'))
  const endpoint = `http://127.0.0.1:${server.address().port}`
  try {
    return await use({ endpoint, cacheDir, asked, get: (options) => downloadHf('me/mine', { endpoint, cacheDir, ...options }) })
  } finally {
    server.closeAllConnections()
    server.close()
    fs.rmSync(cacheDir, { recursive: true })
  }
}

const MODEL = { 'config.json': '{"model_type": "gpt2"}', 'model.safetensors': WEIGHTS }
const blobs = (cacheDir) => path.join(cacheDir, 'models--me--mine', 'blobs')

test('a model comes once, into the cache of huggingface_hub', () => serving({
  ...MODEL,
  'generation_config.json': '{}',
  'tokenizer.json': '{}',
  'tokenizer_config.json': '{"a": 1}',
  'README.md': 'for people',
  'pytorch_model.bin': 'for others',
  'consolidated.safetensors': 'the same once more',
  'onnx/model.safetensors': 'of another folder'
}, async ({ get, cacheDir, asked }) => {
  const told = []
  const folder = await get({ onProgress: (state) => { told.push(state) } })
  assert.strictEqual(folder, path.join(cacheDir, 'models--me--mine', 'snapshots', COMMIT))
  assert.deepStrictEqual(fs.readdirSync(folder).sort(),
    ['config.json', 'generation_config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'])
  assert.deepStrictEqual(fs.readFileSync(path.join(folder, 'model.safetensors')), WEIGHTS)
  assert.strictEqual(fs.readlinkSync(path.join(folder, 'model.safetensors')), path.join('..', '..', 'blobs', sha256(WEIGHTS)))
  assert.strictEqual(fs.readFileSync(path.join(cacheDir, 'models--me--mine', 'refs', 'main'), 'utf8'), COMMIT)
  assert.ok(fs.readdirSync(blobs(cacheDir)).every((name) => /^[0-9a-f]+$/.test(name)))
  assert.deepStrictEqual(told.at(-1), { file: 'model.safetensors', have: WEIGHTS.length, total: WEIGHTS.length })
  const before = asked.length
  assert.strictEqual(await get(), folder)
  assert.strictEqual(asked.length, before + 1, 'only the list is read again')
  assert.strictEqual(await get({ revision: COMMIT }), folder)
  assert.strictEqual(asked.length, before + 1, 'a commit never changes')
  fs.rmSync(path.join(folder, 'model.safetensors'))
  await get()
  assert.strictEqual(asked.length, before + 2, 'the blob is still there')
  assert.ok(fs.existsSync(path.join(folder, 'model.safetensors')))
}))

test('shards are those of the index', () => serving({
  'config.json': '{}',
  'model.safetensors.index.json': index([SHARDS[1], SHARDS[0], SHARDS[1]]),
  [SHARDS[0]]: 'one',
  [SHARDS[1]]: 'two',
  'model.safetensors': 'all'
}, async ({ get }) => {
  assert.deepStrictEqual(fs.readdirSync(await get()).sort(), ['config.json', ...SHARDS, 'model.safetensors.index.json'])
}))

test('what is cut off goes on where it ended', () => serving(MODEL, async ({ get, asked, cacheDir }) => {
  const folder = await get()
  assert.deepStrictEqual(fs.readFileSync(path.join(folder, 'model.safetensors')), WEIGHTS)
  const ranges = asked.filter(([name]) => name === 'model.safetensors').map(([, range]) => range)
  assert.deepStrictEqual(ranges, [null, 'bytes=100000-'])
  assert.strictEqual(fs.readdirSync(blobs(cacheDir)).length, 2, 'no part is left')
}, {
  answer (request, response, name) {
    if (!name.endsWith('model.safetensors') || request.headers.range !== undefined) return false
    response.writeHead(200, { 'content-length': WEIGHTS.length })
    response.write(WEIGHTS.subarray(0, 100_000), () => setTimeout(() => response.destroy(), 50))
    return true
  }
}))

test('what a process has left behind is taken over, what one writes is not', () => serving(MODEL, async ({ get, asked, cacheDir }) => {
  fs.mkdirSync(blobs(cacheDir), { recursive: true })
  const part = (pid) => path.join(blobs(cacheDir), `${sha256(WEIGHTS)}.${pid}-0-x.incomplete`)
  const { pid } = spawnSync('true')
  fs.writeFileSync(part(pid), WEIGHTS.subarray(0, 1000))
  fs.writeFileSync(part(process.ppid), 'of another process')
  const folder = await get()
  assert.deepStrictEqual(fs.readFileSync(path.join(folder, 'model.safetensors')), WEIGHTS)
  assert.deepStrictEqual(asked.at(-1).slice(0, 2), ['model.safetensors', 'bytes=1000-'])
  assert.ok(!fs.existsSync(part(pid)))
  assert.ok(fs.existsSync(part(process.ppid)))
}))

test('a part that is all is not asked for', () => serving(MODEL, async ({ get, cacheDir, asked }) => {
  const { pid } = spawnSync('true')
  fs.mkdirSync(blobs(cacheDir), { recursive: true })
  const part = path.join(blobs(cacheDir), `${sha256(WEIGHTS)}.${pid}-0-x.incomplete`)
  fs.writeFileSync(part, WEIGHTS)
  const folder = await get()
  assert.ok(!asked.some(([name]) => name === 'model.safetensors'))
  fs.rmSync(fs.realpathSync(path.join(folder, 'model.safetensors')))
  fs.writeFileSync(part, 'something else of this length')
  assert.deepStrictEqual(fs.readFileSync(path.join(await get(), 'model.safetensors')), WEIGHTS)
  assert.strictEqual(asked.at(-1)[1], 'bytes=29-')
}, {
  answer (request, response, name) {
    if (!name.endsWith('model.safetensors')) return false
    response.end(WEIGHTS)
    return true
  }
}))

test('a server that is busy is asked again, one that redirects is followed without the token', async () => {
  const seen = []
  const store = http.createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.end(WEIGHTS)
  })
  await new Promise((resolve) => { store.listen(0, '127.0.0.1', resolve) })
  try {
    await serving(MODEL, async ({ get, asked }) => {
      await get({ token: 'hf_x' })
      assert.deepStrictEqual(asked.map(([, , token]) => token), Array(4).fill('Bearer hf_x'))
      assert.deepStrictEqual(seen, [undefined])
    }, {
      answer (request, response, name, n) {
        if (n === 1) response.writeHead(503).end()
        else if (!name.endsWith('model.safetensors')) return false
        else response.writeHead(302, { location: `http://localhost:${store.address().port}/x` }).end()
        return true
      }
    })
  } finally {
    store.closeAllConnections()
    store.close()
  }
})

test('several downloads of one model at a time all get it', () => serving(MODEL, async ({ get, cacheDir }) => {
  const [folder, ...others] = await Promise.all([get(), get(), get()])
  assert.deepStrictEqual(others, [folder, folder])
  assert.deepStrictEqual(fs.readFileSync(path.join(folder, 'model.safetensors')), WEIGHTS)
  assert.strictEqual(fs.readdirSync(blobs(cacheDir)).length, 2)
}))

// What a server sends, and what the error says of it.
const ANSWERS = {
  'wrong bytes': [MODEL, Buffer.alloc(WEIGHTS.length), /model\.safetensors: the bytes that came have the sha256 [0-9a-f]+, expected /],
  'too many bytes': [MODEL, Buffer.alloc(WEIGHTS.length + 1), /more bytes came than the 300000 of the file$/],
  'no weights': [{ 'config.json': '{}' }, null, /there is no \.safetensors file in it$/],
  'no config.json': [{ 'model.safetensors': 'x' }, null, /there is no config\.json in it$/],
  'an index of files elsewhere': [{ ...MODEL, 'model.safetensors.index.json': index(['../../x.safetensors']) }, null,
    /"\.\.\/\.\.\/x\.safetensors", expected a file beside the index$/],
  'an index of files that are not there': [{ ...MODEL, 'model.safetensors.index.json': index(['x.safetensors']) }, null,
    /there is no x\.safetensors in it$/],
  'an index that is none': [{ ...MODEL, 'model.safetensors.index.json': '[' }, null, /model\.safetensors\.index\.json: .*JSON/]
}
for (const [name, [files, bytes, want]] of Object.entries(ANSWERS)) {
  test(`refuses ${name}`, () => serving(files, async ({ get, cacheDir }) => {
    await assert.rejects(get(), (error) => {
      assert.ok(error instanceof PolygradError, error.stack)
      assert.match(error.message, /^downloadHf: repoId: "me\/mine", revision "main": /)
      assert.match(error.message, want)
      return true
    })
    assert.ok(!fs.existsSync(path.join(cacheDir, 'models--me--mine', 'refs')))
    if (name === 'wrong bytes') assert.deepStrictEqual(fs.readdirSync(blobs(cacheDir)), [git(Buffer.from(MODEL['config.json']))])
  }, {
    answer (request, response, at) {
      if (bytes === null || !at.endsWith('.safetensors')) return false
      response.writeHead(200, { 'transfer-encoding': 'chunked' }).end(bytes)
      return true
    }
  }))
}

const LISTINGS = {
  'a list that is none': [5, /expected an object$/],
  'a commit that is a path': [{ sha: '../../x', siblings: [] }, /is no list of files$/],
  'no files': [{ sha: COMMIT, siblings: [null, { rfilename: 3 }] }, /there is no \.safetensors file in it$|there is no config\.json/],
  'names of files elsewhere': [
    { sha: COMMIT, siblings: ['../config.json', '/x.safetensors', '..', 'a/../../config.json'].map((rfilename) => ({ rfilename })) },
    /there is no config\.json in it$/
  ]
}
for (const [name, [listing, want]] of Object.entries(LISTINGS)) {
  test(`refuses ${name}`, () => serving({}, async ({ get, cacheDir }) => {
    await assert.rejects(get(), want)
    assert.deepStrictEqual(fs.readdirSync(cacheDir), [])
  }, { listing }))
}

test('what a server refuses is told', () => serving(MODEL, async ({ endpoint, cacheDir, get }) => {
  await assert.rejects(downloadHf('me/other', { endpoint, cacheDir }),
    /^PolygradError: downloadHf: repoId: "me\/other", revision "main": the server answered 404 Not Found: Repository not found$/)
  await assert.rejects(get({ revision: 'secret' }), /the server answered 401 Unauthorized; it may need a token that allows it$/)
}, {
  answer (request, response, name) {
    if (!name.endsWith('secret')) return false
    response.writeHead(401).end()
    return true
  }
}))

test('without a network the cache is enough', { timeout: 60_000 }, () => serving(MODEL, async ({ get }) => {
  const folder = await get()
  const { emitWarning } = process
  const warnings = []
  process.emitWarning = (text) => { warnings.push(text) }
  try {
    assert.strictEqual(await get({ endpoint: 'http://127.0.0.1:9' }), folder)
  } finally {
    process.emitWarning = emitWarning
  }
  assert.match(warnings.join(), /^downloadHf: http:\/\/127\.0\.0\.1:9 does not answer \(.+\): what was downloaded before is taken$/)
  process.env.HF_HUB_OFFLINE = '1'
  try {
    assert.strictEqual(await get({ endpoint: 'http://127.0.0.1:9' }), folder)
    // A snapshot that is not whole is none.
    fs.rmSync(path.join(folder, 'model.safetensors'))
    await assert.rejects(get(), /HF_HUB_OFFLINE is 1, and the model is not in the cache$/)
    process.env.HF_HUB_OFFLINE = 'Yes'
    await assert.rejects(get(), /HF_HUB_OFFLINE is 1/)
    process.env.HF_HUB_OFFLINE = 'maybe'
    await assert.rejects(get(), /HF_HUB_OFFLINE: got 'maybe', expected 1 or 0$/)
  } finally {
    delete process.env.HF_HUB_OFFLINE
  }
}))

test('the environment and the display', () => serving(MODEL, async ({ endpoint, cacheDir, asked }) => {
  const program = `require(${JSON.stringify(path.join(__dirname, '..'))}).downloadHf('me/mine', { show: true }).then(console.log)`
  const run = async (more) => {
    const env = { ...process.env, HF_HOME: cacheDir, HF_ENDPOINT: `${endpoint}/`, ...more }
    for (const name of ['HF_HUB_CACHE', 'HF_TOKEN_PATH']) delete env[name]
    const child = spawn(process.execPath, ['-e', program], { env })
    const out = { stdout: '', stderr: '' }
    for (const name in out) child[name].on('data', (text) => { out[name] += text })
    assert.strictEqual(await new Promise((resolve) => { child.on('close', resolve) }), 0, out.stderr)
    return out
  }
  const out = await run({ HF_TOKEN: 'hf_y' })
  assert.strictEqual(out.stdout, `${path.join(cacheDir, 'hub', 'models--me--mine', 'snapshots', COMMIT)}\n`)
  assert.match(out.stderr, /\rconfig\.json: 100% of 22 B.*\n([^\n]*\r)?model\.safetensors: 100% of 300\.0 kB, [\d.]+ .?B\/s\x1b\[K\n$/)
  assert.ok(asked.every(([, , token]) => token === 'Bearer hf_y'))
  fs.writeFileSync(path.join(cacheDir, 'token'), 'hf_saved\n')
  await run({ HF_TOKEN: '' })
  assert.strictEqual(asked.at(-1)[2], 'Bearer hf_saved')
  process.env.HF_TOKEN = 'hf_y'
  try {
    await downloadHf('me/mine', { endpoint, cacheDir })
  } finally {
    delete process.env.HF_TOKEN
  }
  assert.strictEqual(asked.at(-1)[2], null, 'an endpoint that is named gets no token of the environment')
}))

test('onProgress may end a download', () => serving(MODEL, async ({ get }) => {
  const own = new Error('enough')
  await assert.rejects(get({ onProgress () { throw own } }), (error) => error === own)
  assert.ok(fs.existsSync(await get()))
}))

test('bad environment variables', async () => {
  for (const [name, junk] of [['HF_ENDPOINT', 'abc'], ['HF_TOKEN', 'a b'], ['HF_TOKEN_PATH', __dirname], ['HF_HUB_OFFLINE', 'abc']]) {
    const before = process.env[name]
    process.env[name] = junk
    try {
      await assert.rejects(hf.downloadHf('a/b'), new RegExp(`^PolygradError: ${name}: .*expected `))
    } finally {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    }
  }
})

test('bad arguments', async () => {
  for (const [args, want] of [
    [[5], 'repoId: 5, expected a string'], [['../x'], 'repoId: "../x", expected the name of a model'],
    [['a/b/c'], 'repoId: "a/b/c", expected'], [['a--b'], 'repoId: "a--b", expected'], [['a/b?x=1'], 'repoId: "a/b\\?x=1", expected'],
    [['a/b', { revision: '../x' }], 'revision: "../x", expected'], [['a/b', { revision: 'x/../y' }], 'revision: "x/../y", expected'],
    [['a/b', { token: 'x\ny' }], 'token: expected'], [['a/b', { endpoint: 'file:///x' }], 'endpoint: "file:///x", expected an http'],
    [['a/b', { show: 1 }], 'show: 1, expected a boolean'], [['a/b', { onProgress: 1 }], 'onProgress: 1, expected a function'],
    [['a/b', { cacheDir: 1 }], 'cacheDir: 1, expected a string'], [['a/b', { cache: 1 }], 'cache: unknown argument']
  ]) await assert.rejects(hf.downloadHf(...args), new RegExp(`downloadHf: ${want}`))
})
