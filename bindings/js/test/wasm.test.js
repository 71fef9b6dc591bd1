'use strict'
// The engine of the WebAssembly module: its memory, and its end.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { Worker } = require('node:worker_threads')
const { setTimeout: pause } = require('node:timers/promises')
const { Tensor, PolygradError } = require('..')
const { start } = require('../lib/wasm/module.js')
const { engineOf } = require('../lib/engine/wasm.js')
const { PROTOTYPES, constants } = require('../lib/prototypes.js')

const MODULE = process.env.POLYGRAD_WASM ?? path.join(__dirname, '..', '..', '..', 'build', 'polygrad.wasm')
const settings = { skip: process.env.POLYGRAD_ENGINE !== 'wasm' && 'it is about the WebAssembly module' }

/** An engine of its own, and its functions. */
function started (options) {
  const library = start(fs.readFileSync(MODULE), options)
  const engine = engineOf(library)
  const lib = new Proxy({}, { get: (_, name) => engine.find(name, ...PROTOTYPES[name]) })
  return { engine, lib, library }
}

const SHAPE = BigInt64Array.of(4n)
const FLOAT32 = (lib) => lib.poly_dtype_id_parse('float32')

for (const shared of [true, false]) {
  test(`memory that is ${shared ? '' : 'not '}shared grows`, settings, () => {
    const { engine, lib, library } = started({ shared })
    assert.deepStrictEqual([library.shared, engine.live], [shared, shared])
    const ctx = lib.poly_ctx_new()
    const values = Float32Array.of(1, 2, 3, 4)
    const x = lib.poly_array_new(ctx, FLOAT32(lib), SHAPE, 1, values, values.byteLength)
    const block = engine.block(64)
    block.ints[1] = 7
    const before = library.memory.buffer.byteLength
    const large = new Float32Array(2 ** 24)
    assert.notStrictEqual(lib.poly_array_new(ctx, FLOAT32(lib), BigInt64Array.of(2n ** 24n), 1, large, large.byteLength), 0)
    assert.ok(library.memory.buffer.byteLength >= before + large.byteLength)
    assert.deepStrictEqual([block.ints[1], block.bytes[4], block.floats.length], [7, 7, 8])
    const read = new Float32Array(4)
    assert.strictEqual(lib.poly_array_read(x, read, read.byteLength), 0)
    assert.deepStrictEqual(read, values)
    block.free()
  })
}

test('texts, words and results of any length', settings, () => {
  const { engine, lib } = started()
  assert.strictEqual(lib.poly_op('matmul') >= 0, true)
  assert.strictEqual(lib.poly_op('ä'.repeat(100_000)), -1)
  assert.match(lib.poly_last_error(), /ä/)
  const view = engine.view(Float32Array, engine.block(64).address, 8)
  assert.strictEqual(engine.address(view.subarray(2)), engine.address(view) + 8)
  assert.strictEqual(engine.address(new Float32Array(2)), null)
  assert.throws(() => engine.find('poly_nothing', 'int', []), /poly_nothing: the module that was loaded is older than the package/)
})

test('a library that has stopped says so', settings, () => {
  const { lib } = started()
  const stopped = (error) => error instanceof PolygradError && /^the library has stopped.*out of bounds/.test(error.message)
  const ctx = lib.poly_ctx_new()
  const x = lib.poly_array_new(ctx, FLOAT32(lib), SHAPE, 1, new Float32Array(4), 16)
  assert.throws(() => lib.poly_array_read(x, 2 ** 32 - 64, 16), stopped)
  assert.throws(() => lib.poly_version(), stopped)
})

/** Workers of Node, and the messages that they got. */
function workersOf (count, file = '../lib/wasm/worker.js') {
  const all = []
  return {
    count,
    mayWait: true,
    all,
    start (message, died) {
      const worker = new Worker(path.join(__dirname, file), { workerData: message })
      worker.on('exit', died)
      all.push(worker)
      return true
    }
  }
}

/** A program that threads share, and what they count: runs, and workers that are ready. */
function sharing (workers) {
  const { lib, library } = started({ workers, environment: { POLY_THREADS: String(workers.count) } })
  const ctx = lib.poly_ctx_new()
  const n = 2 ** 20 + 7
  const shape = BigInt64Array.of(BigInt(n))
  let checks = 0
  return {
    counts () {
      const words = new Int32Array(library.memory.buffer, library.control, 64)
      return { runs: words[0], ready: words[32] }
    },
    check () {
      checks++
      const values = Float32Array.from({ length: n }, (_, i) => i % 1000 + checks)
      const x = lib.poly_array_new(ctx, FLOAT32(lib), shape, 1, values, values.byteLength)
      let y = lib.poly_array_binary(constants.POLY_MUL, x, x)
      for (let i = 0; i < 3; i++) y = lib.poly_array_binary(constants.POLY_ADD, y, x)
      const out = new Float32Array(n)
      assert.strictEqual(lib.poly_array_read(y, out, out.byteLength), 0)
      assert.ok(out.every((value, i) => value === values[i] * values[i] + 3 * values[i]))
    },
    /** Works until all workers take part. */
    async warm () {
      for (let tries = 0; this.counts().ready < workers.count - 1; tries++) {
        assert.ok(tries < 600, 'workers do not begin')
        this.check()
        await pause(50)
      }
    }
  }
}

test('threads share runs', settings, async () => {
  const workers = workersOf(4)
  const program = sharing(workers)
  await program.warm()
  const before = program.counts().runs
  for (let i = 0; i < 10; i++) program.check()
  assert.ok(program.counts().runs >= before + 10)
  await Promise.all(workers.all.map((worker) => worker.terminate()))
})

test('what threads cannot do one thread does', settings, async () => {
  for (const workers of [{ count: 3, start: () => false }, { count: 3, start: () => true }, { count: 1 }]) {
    const program = sharing(workers)
    for (let i = 0; i < 3; i++) program.check()
    assert.strictEqual(program.counts().runs, 0)
  }
  const workers = workersOf(3)
  const program = sharing(workers)
  await program.warm()
  await workers.all[0].terminate()
  const { runs } = program.counts()
  for (let i = 0; i < 3; i++) program.check()
  assert.strictEqual(program.counts().runs, runs)
  await workers.all[1].terminate()
})

test('data is the memory of a tensor, also of what was made of it', settings, () => {
  const given = Float32Array.of(1, 2, 3)
  const x = new Tensor(given)
  given[0] = 5
  assert.deepStrictEqual(x.tolist(), [1, 2, 3])
  x.data[0] = 7
  const part = x.data.subarray(1)
  part[0] = 8
  assert.deepStrictEqual(x.add(1).tolist(), [8, 9, 4])
  assert.strictEqual(x.data, x.data)
  assert.deepStrictEqual(new Tensor(part).add(1).tolist(), [9, 4])
})

test('memory beyond the module is no memory of a tensor', settings, () => {
  const expected = /fromBlob: ptr: 1099511627776, expected 12 bytes within the \d+ of the module's memory/
  assert.throws(() => Tensor.fromBlob(2 ** 40, [3]), expected)
})
