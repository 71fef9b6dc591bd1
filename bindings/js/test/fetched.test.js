'use strict'
// polygrad/loaders: what is fetched once, and vocabularies by their names.

const assert = require('node:assert')
const fs = require('node:fs')
const http = require('node:http')
const os = require('node:os')
const path = require('node:path')
const test = require('node:test')
const zlib = require('node:zlib')
const { cachedFetch, opfs, tokenizers } = require('polygrad/loaders')

test.before(() => { process.env.POLYGRAD_CACHE = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-cache-')) })
test.after(() => fs.rmSync(process.env.POLYGRAD_CACHE, { recursive: true }))

test('a file is fetched once', async (t) => {
  let asked = 0
  const server = http.createServer((request, answer) => {
    asked++
    if (request.url === '/gone') answer.writeHead(404).end()
    else answer.writeHead(200, { 'content-length': 5 }).end('hello')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${server.address().port}/a?b='*`
  const told = []
  for (let i = 0; i < 2; i++) {
    assert.strictEqual(Buffer.from(await cachedFetch(url, undefined, (p) => told.push(p))).toString(), 'hello')
  }
  assert.strictEqual(asked, 1)
  assert.deepStrictEqual(told.at(-1), { loadedBytes: 5, totalBytes: 5 })
  await assert.rejects(cachedFetch(new URL('/gone', url)), /the server answered 404/)
  const [info] = await opfs.list()
  assert.deepStrictEqual([info.name, info.size], [url, 5])
  assert.ok(info.lastModified instanceof Date)
  assert.strictEqual((await opfs.remove(url)).size, 5)
  assert.deepStrictEqual([await opfs.read(url), await opfs.info(url), await opfs.remove(url)], [null, null, null])
  await opfs.write('../x', new Uint8Array([1]))
  assert.deepStrictEqual([[...await opfs.read('../x')], (await opfs.list()).map((file) => file.name)], [[1], ['../x']])
  await opfs.clear()
  assert.deepStrictEqual(await opfs.list(), [])
  await assert.rejects(opfs.write('', new Uint8Array()), TypeError)
})

test('vocabularies by their names', async (t) => {
  const before = globalThis.fetch
  t.after(() => { globalThis.fetch = before })
  const merges = '"version"\nh e\nl l\nll o</w>\nhe llo</w>\n'
  const ranks = [...Array(256).keys()].map((b) => `${Buffer.from([b]).toString('base64')} ${b}`).join('\n')
  globalThis.fetch = async (url) => new globalThis.Response(String(url).endsWith('.gz') ? zlib.gzipSync(merges) : `${ranks}\n`)
  const clip = await tokenizers.getBpe('clip')
  const row = clip.encode('Hello  a')
  assert.deepStrictEqual([row.slice(0, 5), row.length], [[516, 515, 320, 517, 0], 77])
  assert.strictEqual(clip.decode(row), '<|startoftext|>hello a <|endoftext|>')
  assert.strictEqual(clip.encode('a '.repeat(100)).at(-1), 517)
  for (const [name, special] of Object.entries({
    r50k_base: { '<|endoftext|>': 50256 }, p50k_edit: { '<|fim_suffix|>': 50283 }, cl100k_base: { '<|endofprompt|>': 100276 },
    o200k_base: { '<|endoftext|>': 199999 },
    o200k_harmony: { '<|call|>': 200012, '<|reserved_200018|>': 200018, '<|reserved_201087|>': 201087 }
  })) {
    const encoding = await tokenizers.getBpe(name)
    assert.deepStrictEqual(encoding.encode('a!'), [97, 33])
    for (const [text, token] of Object.entries(special)) assert.deepStrictEqual(encoding.encodeWithSpecialTokens(text), [token])
  }
  await assert.rejects(tokenizers.getBpe('foo'), RangeError)
})
