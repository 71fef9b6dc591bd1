// What only pages have: Content-Security-Policy, cross-origin isolation, and files from the server.

import test from 'node:test'
import assert from 'node:assert'
import { Tensor, PolygradError, download, downloadHf, func, random } from 'polygrad'

const HERE = '/tests/browser/only'
const PACKAGE = '/build/js/polygrad.js'
const WASM = '/build/js/polygrad.wasm'

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

test('groups of functions are modules of their own', async () => {
  const [{ grad }, { key, uniform }] = await Promise.all([import('polygrad/func'), import('polygrad/random')])
  assert.strictEqual(grad, func.grad)
  assert.strictEqual(uniform, random.uniform)
  const draw = (x) => uniform(key(42), [3]).mul(x).sum()
  assert.deepStrictEqual(grad(draw)(new Tensor([1, 2, 3])).tolist(), uniform(key(42), [3]).tolist())
})

test('tokens of texts, whose part of the library comes when it is needed', async () => {
  const { tokenizers: { BpeEncoding } } = await import('polygrad/loaders')
  const encoding = new BpeEncoding(new Map([['61', 0], ['62', 1], ['6162', 2]]), { '<|end|>': 3 }, /\w+/u)
  assert.deepStrictEqual(encoding.encode('abba<|end|>', new Set(['<|end|>'])), [2, 1, 0, 3])
  assert.strictEqual(encoding.decode([2, 1, 3]), 'abb<|end|>')
})

test('a script of a page has the package when its import is done', async () => {
  const said = new Promise((resolve) => addEventListener('message', ({ data }) => resolve(data), { once: true }))
  const frame = document.body.appendChild(document.createElement('iframe'))
  frame.src = `${HERE}/frame.html`
  assert.deepStrictEqual(await said, [5, 7, 9])
  frame.remove()
})

test('a page that is loaded again while it works', async () => {
  const frame = document.body.appendChild(document.createElement('iframe'))
  for (let visit = 0; visit < 5; visit++) {
    const said = new Promise((resolve) => addEventListener('message', ({ data }) => resolve(data), { once: true }))
    if (visit === 0) frame.src = `${HERE}/frame.html?working`
    else frame.contentWindow.location.reload()
    assert.deepStrictEqual(await said, [5, 7, 9])
    await new Promise((resolve) => setTimeout(resolve, 50 * visit))
  }
  frame.remove()
  assert.strictEqual(Tensor.ones(2 ** 20).sum().item(), 2 ** 20)
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

/** Imports a fresh instance of the package while some globals of the page are replaced by mocks. */
async function importing (name, changes, parent = globalThis) {
  const kept = Object.keys(changes).map((key) => [key, parent[key]])
  Object.assign(parent, changes)
  try {
    return await import(`${PACKAGE}?${name}`)
  } finally {
    Object.assign(parent, Object.fromEntries(kept))
  }
}

/** Asserts that loading the package fails with a message of this pattern for an answer of the server. */
async function refusal (name, answer, pattern) {
  await assert.rejects(importing(name, { fetch: async () => answer() }), (error) => {
    assert.match(error.message, /^http:.*polygrad.wasm cannot be loaded: /)
    assert.match(error.message, pattern)
    return error.name === 'PolygradError'
  })
}

const typed = (type) => ({ headers: { 'Content-Type': type } })

test('a browser that gives a page no shared memory', async () => {
  const { Memory } = WebAssembly
  class Unshared extends Memory {
    constructor (limits) {
      if (limits.shared) throw new TypeError('no shared memory')
      super(limits)
    }
  }
  const { Tensor: T } = await importing('unshared', { Memory: Unshared }, WebAssembly)
  const x = new T([[1, 2], [3, 4]])
  assert.deepStrictEqual(x.matmul(x).tolist(), [[7, 10], [15, 22]])
  x.data[0] = 100
  assert.deepStrictEqual(x.tolist(), [[1, 2], [3, 4]]) // x.data is a copy
})

test('a module that is not there', async () => {
  await refusal('missing', () => new Response('', { status: 404, statusText: 'Not Found' }), /the server answered 404 Not Found/)
  await refusal('page', () => new Response('<!doctype html>', typed('text/html; charset=utf-8')), /a page of HTML in its place: put/)
  const bytes = new Uint8Array(await (await fetch(WASM)).arrayBuffer())
  await refusal('text', () => new Response('hello', typed('text/plain')), /no polygrad.wasm|magic/)
  await refusal('other', () => new Response(bytes.slice(0, 8), typed('application/wasm')), /no polygrad.wasm|cut off/)
  for (const length of [40, 100_000]) {
    await refusal(`cut${length}`, () => new Response(bytes.slice(0, length), typed('application/wasm')), /loaded: ./)
  }
  const failing = () => { throw new TypeError('Failed to fetch') }
  await refusal('failing', failing, /Failed to fetch$/)
})

test('a module from another server, where POLYGRAD_WASM says', async () => {
  const { POLYGRAD } = globalThis
  const other = importing('other-origin', { POLYGRAD_WASM: 'https://nowhere.invalid/polygrad.wasm' }, POLYGRAD)
  await assert.rejects(other, /^PolygradError: https:..nowhere.invalid.*loaded: .*Access-Control-Allow-Origin/)
  const here = await importing('here', { POLYGRAD_WASM: WASM }, POLYGRAD)
  assert.deepStrictEqual(new here.Tensor([1, 2]).add(1).tolist(), [2, 3])
})

/** A fetch that fails for the deferred parts of the module. */
const withoutDeferred = (fetch) => async (url, options) => {
  if (/-(deferred|models)\.wasm/.test(url)) throw new TypeError('Failed to fetch')
  return fetch(url, options)
}

/** A subclass of XMLHttpRequest that records its URLs, and the list of them; send mocks the sending. */
function counting (send) {
  const requests = []
  class Counted extends XMLHttpRequest {
    open (method, url, ...rest) {
      requests.push(url)
      super.open(method, url, ...rest)
    }

    send () { return send === undefined ? super.send() : send() }
  }
  return { requests, Counted }
}

test('training needs the first part of the module only; a call that needs more loads a deferred part', async () => {
  const { requests, Counted } = counting()
  const { XMLHttpRequest, POLYGRAD } = globalThis
  globalThis.XMLHttpRequest = Counted
  POLYGRAD.GOGC = '100000' // without Go's garbage collector, whose timing is random: it may move a waiting stack, for example
  try {
    const library = await importing('deferred', { fetch: withoutDeferred(fetch) })
    for (const [batch, ...widths] of [[5, 8, 16, 3], [128, 784, 512, 256, 10]]) {
      const layers = widths.slice(1).flatMap((width, i) => [new library.Linear(widths[i], width), (x) => x.gelu()])
      const model = new library.Sequential(...layers.slice(0, -1))
      const optimizer = new library.AdamW(library.getParameters(model), { lr: 1e-2 })
      const [x, y] = [library.Tensor.rand(batch, widths[0]), library.Tensor.randint(batch, { high: 3 }).realize()]
      const step = library.compileStep(() => {
        optimizer.zeroGrad()
        const loss = model.forward(x).crossEntropy(y)
        loss.backward()
        optimizer.step()
        return loss
      })
      step.run()
      const first = step.lossValue()
      for (let k = 0; k < 30; k++) step.run()
      assert.ok(step.lossValue() < first)
      const weights = await Promise.all(library.getParameters(model).map((weight) => weight.toArrayAsync()))
      assert.ok(weights.every((values) => values.every(Number.isFinite)))
    }
    assert.deepStrictEqual(requests, [])
    assert.deepStrictEqual(library.linalg.expm(new library.Tensor([[0, 1], [0, 0]])).tolist(), [[1, 1], [0, 1]])
    assert.strictEqual(requests.length, 1)
    assert.match(requests[0], /polygrad-deferred.wasm$/)
    assert.ok(Math.abs(library.special.zeta(new library.Tensor([2]), 1).item() - Math.PI ** 2 / 6) < 1e-5)
    assert.strictEqual(requests.length, 1)
    const { x: kept } = library.safeLoad(library.safetensors.encode({ x: new library.Tensor([1, 2]) }))
    assert.deepStrictEqual(kept.tolist(), [1, 2])
    assert.strictEqual(requests.length, 2)
    assert.match(requests[1], /polygrad-models.wasm$/)
  } finally {
    globalThis.XMLHttpRequest = XMLHttpRequest
    delete POLYGRAD.GOGC
  }
})

test('calls of other tasks while a call loads a deferred part, which Firefox runs', async () => {
  const { XMLHttpRequest } = globalThis
  const { Counted } = counting()
  const library = await importing('nested', { fetch: withoutDeferred(fetch) })
  const { port1, port2 } = new MessageChannel()
  const answer = new Promise((resolve) => {
    port1.onmessage = () => {
      try {
        resolve(new library.Tensor([1, 2]).add(1).tolist())
      } catch (error) {
        resolve(error)
      }
    }
  })
  for (let i = 0; i < 20_000; i++) new library.Tensor([i]).add(1) // garbage, whose finalizers run in other tasks
  globalThis.XMLHttpRequest = Counted
  try {
    port2.postMessage(null)
    assert.deepStrictEqual(library.linalg.expm(new library.Tensor([[0, 1], [0, 0]])).tolist(), [[1, 1], [0, 1]])
  } finally {
    globalThis.XMLHttpRequest = XMLHttpRequest
  }
  const other = await answer
  if (Array.isArray(other)) assert.deepStrictEqual(other, [2, 3])
  else assert.match(other.message, /loads a part of itself for another call/)
  assert.deepStrictEqual(new library.Tensor([1, 2]).add(1).tolist(), [2, 3])
})

test('a deferred part that does not come', async () => {
  const { XMLHttpRequest } = globalThis
  const { Counted } = counting(() => { throw new Error('Failed to load') })
  let error = null
  for (let i = 0; i < 3 && error === null; i++) { // Go's garbage collector may by chance have loaded the part already
    const library = await importing(`undeferred${i}`, { fetch: withoutDeferred(fetch) })
    globalThis.XMLHttpRequest = Counted
    try {
      library.linalg.expm(new library.Tensor([[0, 1], [0, 0]]))
    } catch (e) {
      error = e
    } finally {
      globalThis.XMLHttpRequest = XMLHttpRequest
    }
  }
  assert.strictEqual(error?.name, 'PolygradError')
  assert.match(error.message, /polygrad-deferred.wasm cannot be loaded: Failed to load/)
})

test('a function that calls itself without an end gets its error, and the library goes on', async () => {
  const { Tensor: Fresh } = await importing('endless', {})
  const x = new Fresh([1, 2])
  const endless = () => {
    x.add(1).tolist()
    return endless() + 1
  }
  assert.throws(endless, /call stack|recursion/)
  assert.deepStrictEqual(x.add(1).tolist(), [2, 3])
})

test('a module of another type, or no compiling of streams', async () => {
  const bytes = new Uint8Array(await (await fetch(WASM)).arrayBuffer())
  const { Tensor: Typed } = await importing('type', { fetch: async () => new Response(bytes, typed('application/octet-stream')) })
  assert.deepStrictEqual(new Typed([1, 2]).mul(3).tolist(), [3, 6])
  const { Tensor: Whole } = await importing('whole', { compileStreaming: undefined }, WebAssembly)
  assert.deepStrictEqual(new Whole([1, 2]).mul(3).tolist(), [3, 6])
})

test('downloads are kept for the next visit', async () => {
  const url = `${HERE}/page.test.mjs?kept`
  const states = []
  const first = await download(url, { onProgress: (state) => states.push(state) })
  assert.deepStrictEqual(first, new Uint8Array(await (await fetch(url)).arrayBuffer()))
  assert.strictEqual(states.at(-1).have, first.length)
  const root = await globalThis.navigator.storage.getDirectory()
  const folder = await (await root.getDirectoryHandle('polygrad')).getDirectoryHandle('downloads')
  const names = []
  for await (const name of folder.keys()) names.push(name)
  assert.ok(names.length > 0)
  for (const name of names) {
    const stream = await (await folder.getFileHandle(name)).createWritable()
    await stream.write('kept')
    await stream.close()
  }
  assert.deepStrictEqual(await download(url), new TextEncoder().encode('kept'))
  assert.deepStrictEqual(await download(url, { cache: false }), first)
  for (const name of names) await folder.removeEntry(name)
  await assert.rejects(download(`${HERE}/missing`), /download: url: .*missing: the server answered 404/)
  await assert.rejects(download('https://nowhere.invalid/x'), /does not let pages of other origins read it|there is no network/)
})

test('a browser that is offline, has no room, or gets a part of a file', async () => {
  const url = `${HERE}/frame.html`
  const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer())
  const { fetch: fetched, console: { warn }, FileSystemFileHandle: { prototype: handle } } = globalThis
  const { createWritable } = handle
  const said = []
  try {
    globalThis.fetch = async () => { throw new TypeError('Failed to fetch') }
    Object.defineProperty(globalThis.navigator, 'onLine', { value: false, configurable: true })
    await assert.rejects(download(`${url}?offline`), /Failed to fetch; there is no network/)
    await assert.rejects(import(`${PACKAGE}?offline`), /polygrad.wasm cannot be loaded: the browser is offline/)
    globalThis.fetch = async () => new Response('abc', { headers: { 'Content-Length': '5' } })
    await assert.rejects(download(`${url}?cut`), /the file ended after 3 of 5 bytes/)
    globalThis.fetch = fetched
    handle.createWritable = async () => { throw Object.assign(new Error('full'), { name: 'QuotaExceededError' }) }
    globalThis.console.warn = (text) => said.push(text)
    assert.deepStrictEqual(await download(`${url}?full`), bytes)
  } finally {
    delete globalThis.navigator.onLine
    globalThis.fetch = fetched
    globalThis.console.warn = warn
    handle.createWritable = createWritable
  }
  assert.match(said.join(), /frame.html.full is not kept for the next visit: the browser gives this page no more room/)
})

test('a browser without SIMD', async () => {
  const old = importing('simd', { validate: () => false }, WebAssembly)
  await assert.rejects(old, /this browser has no SIMD in WebAssembly: it needs Chrome or Edge 91, Firefox 89, Safari 16.4/)
})

test('a policy that forbids WebAssembly', async () => {
  const said = new Promise((resolve) => addEventListener('message', ({ data }) => resolve(data), { once: true }))
  const frame = document.body.appendChild(document.createElement('iframe'))
  frame.src = `${HERE}/strict.html`
  assert.match(await said, /cannot be loaded: the page's Content-Security-Policy forbids WebAssembly: add 'wasm-unsafe-eval'/)
  frame.remove()
})

test('threads share large runs where the page is isolated', async () => {
  const isWorker = ({ name }) => name.endsWith('/build/js/polygrad-worker.js')
  const n = 2 ** 20 + 3
  for (let round = 0; round < 40; round++) {
    const x = Tensor.arange(n).mod(1000).realize()
    const y = x.mul(x).add(x.mul(round)).realize()
    const at = round * 1000 + 999
    assert.strictEqual(y.shrink([[at, at + 1]]).item(), 999 * 999 + 999 * round)
    assert.strictEqual(y.max().item(), 999 * 999 + 999 * round)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  const wanted = globalThis.crossOriginIsolated && globalThis.navigator.hardwareConcurrency > 1
  assert.strictEqual(performance.getEntriesByType('resource').some(isWorker), wanted)
})
