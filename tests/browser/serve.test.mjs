// The server of pages: headers, ranges, compressed files, and no access outside its folder.

import test from 'node:test'
import assert from 'node:assert'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import zlib from 'node:zlib'
import { serve } from '../../scripts/serve.mjs'

const TEXT = 'abcdefghij'.repeat(10)
const above = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-'))
const folder = path.join(above, 'site')
fs.mkdirSync(path.join(folder, 'sub'), { recursive: true })
fs.writeFileSync(path.join(above, 'secret'), 'secret')
fs.writeFileSync(path.join(folder, 'a.wasm'), TEXT)
fs.writeFileSync(path.join(folder, 'a.wasm.br'), zlib.brotliCompressSync(TEXT))
fs.writeFileSync(path.join(folder, 'empty.js'), '')
fs.writeFileSync(path.join(folder, 'sub', 'index.html'), 'page')
test.after(() => fs.rmSync(above, { recursive: true }))

/** The response to a request whose path is sent unnormalised. */
async function ask (at, headers = {}, options = {}, method = 'GET') {
  const server = await serve(folder, options)
  try {
    return await new Promise((resolve, reject) => {
      http.request(server.url, { path: at, headers, method }, async (response) => {
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(await response.toArray()) })
      }).on('error', reject).end()
    })
  } finally {
    await server.close()
  }
}

test('types and isolation', async () => {
  const { status, headers, body } = await ask('/a.wasm')
  assert.deepStrictEqual([status, headers['content-type'], String(body)], [200, 'application/wasm', TEXT])
  assert.deepStrictEqual([headers['cross-origin-opener-policy'], headers['cross-origin-embedder-policy']], ['same-origin', 'require-corp'])
  const plain = await ask('/a.wasm', {}, { isolated: false, headers: { 'X-More': '1' } })
  assert.deepStrictEqual([plain.headers['cross-origin-opener-policy'], plain.headers['x-more']], [undefined, '1'])
  assert.strictEqual(String((await ask('/sub/')).body), 'page')
  assert.strictEqual((await ask('/sub')).headers.location, '/sub/')
  assert.strictEqual((await ask('/empty.js')).headers['content-length'], '0')
})

test('ranges', async () => {
  const parts = { '0-4': TEXT.slice(0, 5), '95-': TEXT.slice(95), '-3': TEXT.slice(-3), '98-500': TEXT.slice(98) }
  for (const [range, want] of Object.entries(parts)) {
    const { status, headers, body } = await ask('/a.wasm', { range: `bytes=${range}`, 'accept-encoding': 'br' })
    assert.deepStrictEqual([status, String(body), headers['content-encoding']], [206, want, undefined])
  }
  const outside = await ask('/a.wasm', { range: 'bytes=100-' })
  assert.deepStrictEqual([outside.status, outside.headers['content-range']], [416, 'bytes */100'])
})

test('compressed files, and those that a client has', async () => {
  const { headers, body } = await ask('/a.wasm', { 'accept-encoding': 'gzip, br' })
  assert.deepStrictEqual([headers['content-encoding'], headers['content-type']], ['br', 'application/wasm'])
  assert.strictEqual(String(zlib.brotliDecompressSync(body)), TEXT)
  for (const names of ['gzip', 'br;q=0, gzip']) {
    assert.strictEqual((await ask('/a.wasm', { 'accept-encoding': names })).headers['content-encoding'], undefined)
  }
  assert.strictEqual((await ask('/a.wasm', { 'accept-encoding': 'br', 'if-none-match': headers.etag })).status, 304)
})

test('refusals', async () => {
  const outside = ['/../secret', '/%2e%2e/secret', '/..%2fsecret', '/sub/..%5c..%5csecret']
  for (const at of [...outside, '/nothing', '/%00', '/%', '//', '//[', '/a.wasm/']) {
    assert.strictEqual((await ask(at)).status, 404, at)
  }
  assert.strictEqual((await ask('/a.wasm', {}, {}, 'POST')).status, 405)
  const head = await ask('/a.wasm', {}, {}, 'HEAD')
  assert.deepStrictEqual([head.status, head.headers['content-length'], head.body.length], [200, '100', 0])
})
