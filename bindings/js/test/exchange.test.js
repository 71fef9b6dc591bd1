'use strict'
// Tensors of memory at an address, and of what is at a URL.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const http = require('node:http')
const os = require('node:os')
const path = require('node:path')
const zlib = require('node:zlib')
const { pathToFileURL } = require('node:url')
const koffi = require('koffi')
const { Tensor, PolygradError, download } = require('..')

const native = { skip: process.env.POLYGRAD_ENGINE === 'wasm' && 'the memory is outside of the module' }

test('a tensor on memory of somebody else', native, () => {
  const memory = new Int32Array(new SharedArrayBuffer(24))
  memory.set([1, 2, 3, 4, 5, 6])
  const address = koffi.address(memory)
  const t = Tensor.fromBlob(address, [2, 3], { dtype: 'int32' })
  assert.deepStrictEqual(t.tolist(), [[1, 2, 3], [4, 5, 6]])
  memory[0] = 7
  t.setitem([1, 2], 9)
  assert.deepStrictEqual([t.sum().item(), memory[5]], [7 + 2 + 3 + 4 + 5 + 9, 9])
  assert.deepStrictEqual(Tensor.fromBlob(Number(address), 2, { dtype: 'int32' }).tolist(), [7, 2])
  const floats = Tensor.fromBlob({ ptr: address, shape: [1], requiresGrad: true })
  assert.deepStrictEqual([floats.dtype, floats.requiresGrad, Tensor.fromBlob(address, [0]).shape], ['float32', true, [0]])
  const refused = [
    [() => Tensor.fromBlob(0, [1]), PolygradError, /fromBlob: ptr: 0, expected an address that is a multiple of 4, the size of float32/],
    [() => Tensor.fromBlob(address + 2n, [1]), PolygradError, /multiple of 4/],
    [() => Tensor.fromBlob(-4, [1]), PolygradError, /ptr: -4/],
    [() => Tensor.fromBlob('0x1000', [1]), TypeError, /fromBlob: ptr: "0x1000"/],
    [() => Tensor.fromBlob(address, [-1]), PolygradError, /fromBlob: shape: \[-1\], expected no negative size/],
    [() => Tensor.fromBlob(address), TypeError, /fromBlob: shape/],
    [() => Tensor.fromBlob(address, [1], { dtype: 'int128' }), TypeError, /int128/]
  ]
  for (const [call, kind, message] of refused) assert.throws(call, (e) => e instanceof kind && message.test(e.message), String(call))
})

test('the contents of a URL', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-'))
  const before = process.env.XDG_CACHE_HOME
  process.env.XDG_CACHE_HOME = folder
  const asked = []
  const server = http.createServer((request, response) => {
    asked.push([request.url, request.headers['user-agent']])
    if (request.url !== '/numbers') response.writeHead(404, 'Not here')
    const body = request.url === '/numbers' ? zlib.gzipSync(Buffer.from(Float32Array.of(1, 2.5).buffer)) : Buffer.alloc(0)
    if (request.url === '/numbers') response.setHeader('Content-Length', body.length)
    response.end(body)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    if (before === undefined) delete process.env.XDG_CACHE_HOME
    else process.env.XDG_CACHE_HOME = before
    fs.rmSync(folder, { recursive: true })
  })
  const url = `http://127.0.0.1:${server.address().port}`
  for (let i = 0; i < 2; i++) {
    const numbers = await Tensor.fromUrl(`${url}/numbers`, { gunzip: true, dtype: 'float32' })
    assert.deepStrictEqual(numbers.tolist(), [1, 2.5])
  }
  assert.deepStrictEqual(asked, [['/numbers', 'polygrad']], 'the second time it was kept')
  assert.strictEqual(fs.readdirSync(path.join(folder, 'polygrad', 'downloads')).length, 1)

  const states = []
  const bytes = await download(`${url}/numbers`, { cache: false, onProgress: (state) => states.push(state) })
  assert.deepStrictEqual([states.at(-1).have, states.at(-1).total], [bytes.length, bytes.length])
  assert.strictEqual(asked.length, 2)
  assert.deepStrictEqual(await download(`${url}/numbers`), bytes)
  assert.strictEqual(asked.length, 2)
  assert.strictEqual(fs.readdirSync(path.join(folder, 'polygrad', 'downloads')).length, 1)

  assert.deepStrictEqual((await Tensor.fromUrl('data:,hello')).toArray(), Uint8Array.from(Buffer.from('hello')))
  const file = path.join(folder, 'bytes')
  fs.writeFileSync(file, Uint8Array.of(0, 1, 2))
  const bools = await Tensor.fromUrl({ url: pathToFileURL(file), dtype: 'bool' })
  assert.deepStrictEqual(bools.tolist(), [false, true, true])

  const refused = [
    [() => Tensor.fromUrl(`${url}/other`), PolygradError, /fromUrl: url: .*other: the server answered 404 Not here/],
    [() => Tensor.fromUrl('http://127.0.0.1:1/'), PolygradError, /fromUrl: url: http:\/\/127.0.0.1:1\/: ./],
    [() => Tensor.fromUrl('data:,hello', { gunzip: true }), PolygradError, /is no gzip file/],
    [() => Tensor.fromUrl('data:,hello', { dtype: 'int32' }), PolygradError, /the 5 bytes are no multiple of 4/],
    [() => Tensor.fromUrl('ftp://x'), PolygradError, /"ftp:\/\/x", expected one that begins with http:/],
    [() => Tensor.fromUrl('hello'), PolygradError, /"hello"/],
    [() => Tensor.fromUrl(3), TypeError, /fromUrl: url: 3, expected a string/],
    [() => Tensor.fromUrl(`file://${folder}/missing`), Error, /ENOENT/],
    [() => download(`${url}/other`), PolygradError, /download: url: .*other: the server answered 404 Not here/],
    [() => download(`${url}/numbers`, { onProgress: 1 }), TypeError, /download: onProgress: 1, expected a function/]
  ]
  for (const [call, kind, message] of refused) {
    await assert.rejects(call(), (e) => e instanceof kind && message.test(e.message), String(call))
  }
  assert.strictEqual(asked.length, 4)
})
