'use strict'
// The engine of the WebAssembly module: its memory, and its end.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { Tensor, PolygradError } = require('..')
const { start } = require('../lib/wasm/module.js')
const { engineOf } = require('../lib/engine/wasm.js')
const { PROTOTYPES } = require('../lib/prototypes.js')

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
