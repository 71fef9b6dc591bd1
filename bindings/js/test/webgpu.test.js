'use strict'
// WebGPU by npm's package webgpu (Dawn), on the WebAssembly module.

const test = require('node:test')
const assert = require('node:assert')
const { execFileSync } = require('node:child_process')
const path = require('node:path')
const { pathToFileURL } = require('node:url')

const { POLY_WEBGPU = '', POLYGRAD_ENGINE } = process.env
const settings = { skip: !(POLYGRAD_ENGINE === 'wasm' && POLY_WEBGPU.endsWith('.js')) && 'POLY_WEBGPU is not the package webgpu' }

/** What a program prints, as words; it sees the package as polygrad. */
function printed (program, more = {}) {
  const text = `const { Tensor, Device, compileStep } = require(${JSON.stringify(path.join(__dirname, '..'))});${program}`
  const options = { encoding: 'utf8', env: { ...process.env, ...more }, stdio: ['ignore', 'pipe', 'ignore'], timeout: 120_000 }
  return execFileSync(process.execPath, ['-e', text], options).trim()
}

test('the default device is opened when it is set, and results are there at once', settings, () => {
  const { Tensor, Device, compileStep } = require('..')
  Device.default = 'webgpu'
  assert.strictEqual(Device.default, 'WEBGPU')
  const x = new Tensor([[1, 2], [3, 4]])
  assert.strictEqual(x.device, 'WEBGPU')
  assert.deepStrictEqual(x.matmul(x).tolist(), [[7, 10], [15, 22]])
  const many = new Tensor(Float32Array.from({ length: 100_000 }, (_, i) => i % 7)) // more than fits into commands
  assert.strictEqual(many.sum().item(), many.to('cpu').sum().item())
  const w = new Tensor([1, 2], { requiresGrad: true })
  const step = compileStep(() => {
    const loss = w.mul(w).sum()
    w.assign(w.detach().mul(0.5))
    return loss
  })
  for (let i = 0; i < 3; i++) step.run()
  assert.deepStrictEqual([step.lossValue(), w.tolist()], [0.3125, [0.125, 0.25]])
})

test('results that are waited for keep the program alive', settings, () => {
  const program = "Device.default = 'webgpu'; new Tensor([1, 2]).add(1).tolistAsync().then((list) => console.log(list.join()))"
  assert.strictEqual(printed(program), '2,3')
  const opened = "Device.init('webgpu').then(() => new Tensor([1], { device: 'webgpu' }).mul(2).tolistAsync()).then(console.log)"
  assert.strictEqual(printed(opened), '[ 2 ]')
})

test('the module runs where the device is asked for and native code has no library for it', settings, () => {
  const native = { POLYGRAD_ENGINE: '', POLY_DEVICE: 'webgpu' }
  assert.strictEqual(printed('console.log(Device.default, new Tensor([1, 2]).add(1).tolist().join())', native), 'WEBGPU 2,3')
})

test('a package that is not there is said', settings, () => {
  const program = "try { Device.default = 'webgpu' } catch ({ message }) { console.log(message) }"
  const said = printed(program, { POLY_WEBGPU: path.join(__dirname, 'nothing.js') })
  assert.match(said, /npm's package webgpu cannot be loaded; npm install webgpu, or POLY_WEBGPU is the place of its index.js: .*nothing.js/)
})

test('a lost device is an error, and another one is opened', settings, () => {
  const { Tensor, Device, internals: { engine } } = require('..')
  Device.default = 'webgpu'
  const only = new Tensor([1, 2]).add(1).realize()
  engine.loseGpu()
  assert.throws(() => only.tolist(), /the device was lost/)
  assert.deepStrictEqual(new Tensor([1, 2]).add(2).tolist(), [3, 4])
})

test('shaders use what a device of the program has', settings, async () => {
  const { create, globals } = await import(pathToFileURL(POLY_WEBGPU).href)
  const { Tensor, Device } = require('..')
  Object.assign(globalThis, globals)
  Object.defineProperty(globalThis.navigator ??= {}, 'gpu', { value: create([]) })
  for (const requiredFeatures of [[], ['subgroups']]) {
    const adapter = await globalThis.navigator.gpu.requestAdapter()
    const device = await adapter.requestDevice({ requiredFeatures })
    const codes = []
    const make = device.createShaderModule
    device.createShaderModule = (description) => {
      codes.push(description.code)
      return make.call(device, description)
    }
    await Device.init('webgpu', { device })
    Device.default = 'webgpu'
    const x = Tensor.arange(4096 * (1 + requiredFeatures.length)).cast('float32').realize()
    assert.strictEqual(await x.max().itemAsync(), x.shape[0] - 1)
    assert.strictEqual(codes.some((code) => code.startsWith('enable subgroups;')), requiredFeatures.length > 0)
    device.destroy()
    await device.lost
  }
  Device.default = 'cpu'
})
