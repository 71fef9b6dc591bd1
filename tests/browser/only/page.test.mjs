// What only a page has: its policy, isolation, and files from its server.

import test from 'node:test'
import assert from 'node:assert'
import { Tensor, PolygradError, downloadHf } from 'polygrad'

const HERE = '/tests/browser/only'

test('nothing may be made of texts, and the library works', () => {
  assert.throws(() => new Function('return 1'), EvalError)
  assert.deepStrictEqual(new Tensor([1, 2, 3]).mul(2).tolist(), [2, 4, 6])
})

test('a page is isolated where its server says so', () => {
  const isolated = new URLSearchParams(location.search).get('isolated') === 'true'
  assert.strictEqual(globalThis.crossOriginIsolated, isolated)
  assert.strictEqual(typeof SharedArrayBuffer === 'function', isolated)
})

test('a second import gives the same module', async () => {
  const again = await import('polygrad')
  assert.strictEqual(again.Tensor, Tensor)
})

test('a script of a page has the package when its import is done', async () => {
  const said = new Promise((resolve) => addEventListener('message', ({ data }) => resolve(data), { once: true }))
  const frame = document.body.appendChild(document.createElement('iframe'))
  frame.src = `${HERE}/frame.html`
  assert.deepStrictEqual(await said, [5, 7, 9])
  frame.remove()
})

test('the contents of a URL', async () => {
  const file = await (await fetch(`${HERE}/page.test.mjs`)).arrayBuffer()
  assert.deepStrictEqual((await Tensor.fromUrl(`${HERE}/page.test.mjs`)).toArray(), new Uint8Array(file))
  assert.deepStrictEqual((await Tensor.fromUrl(new URL(`${HERE}/page.test.mjs`, location.href))).shape, [file.byteLength])
  const packed = await new Response(new Blob([Float32Array.of(1, 2.5)]).stream().pipeThrough(new CompressionStream('gzip'))).blob()
  const url = `data:application/gzip;base64,${btoa(String.fromCharCode(...new Uint8Array(await packed.arrayBuffer())))}`
  assert.deepStrictEqual((await Tensor.fromUrl(url, { gunzip: true, dtype: 'float32' })).tolist(), [1, 2.5])
  await assert.rejects(Tensor.fromUrl('data:,hello', { gunzip: true }), /fromUrl: url: data:,hello is no gzip file/)
  await assert.rejects(Tensor.fromUrl(`${HERE}/nothing`), /the server answered 404/)
  await assert.rejects(Tensor.fromUrl('https://nowhere.invalid/x'), /fromUrl: url: .*CORS/)
  await assert.rejects(Tensor.fromUrl('data:,abc', { dtype: 'float32' }), /3 bytes are no multiple of 4/)
})

test('what needs folders says what to do instead', async () => {
  await assert.rejects(downloadHf('me/mine'), (e) => e instanceof PolygradError && /give them to loadHfBytes/.test(e.message))
})
