// The device webgpu in pages.

import test from 'node:test'
import assert from 'node:assert'
import { Tensor, Device, Linear, Sequential, AdamW, compileStep, getParameters, TinyJit } from 'polygrad'

const DIGITS = '/examples/data/digits.csv.gz'
const PIXELS = 64
const BATCH = 128
const PACKAGE = '/build/js/polygrad.js'

test('the device that a page asks for computes', async () => {
  assert.strictEqual(Device.default, 'WEBGPU')
  assert.ok(Device.available().includes('WEBGPU'))
  assert.strictEqual(await Device.init('webgpu'), 'WEBGPU')
  const x = new Tensor([[1, 2], [3, 4]])
  assert.strictEqual(x.device, 'WEBGPU')
  assert.deepStrictEqual(x.matmul(x).tolist(), [[7, 10], [15, 22]])
  assert.deepStrictEqual(await x.mul(2).tolistAsync(), [[2, 4], [6, 8]])
})

test('tensors move to the device that uses them', () => {
  const y = new Tensor([1, 2, 3]).mul(2).realize()
  const twice = new TinyJit((x) => x.mul(2))
  assert.deepStrictEqual(twice(y).tolist(), [4, 8, 12])
  Device.default = 'cpu'
  try {
    assert.strictEqual(y.device, 'CPU')
    const z = y.add(1).realize()
    assert.deepStrictEqual(z.tolist(), [3, 5, 7])
    assert.deepStrictEqual(twice(z).tolist(), [6, 10, 14])
    Device.default = 'webgpu'
    assert.deepStrictEqual(z.add(y).tolist(), [5, 9, 13])
    assert.deepStrictEqual(twice(z.add(y)).tolist(), [10, 18, 26])
  } finally {
    Device.default = 'webgpu'
  }
})

test('tensors are put on devices', () => {
  const x = new Tensor([1, 2, 3]).to('cpu')
  const y = new Tensor([1, 2, 3], { requiresGrad: true })
  const z = x.to('webgpu').mul(y).sum()
  z.backward()
  assert.deepStrictEqual([x, x.add(1), y, z].map((t) => t.device), ['CPU', 'CPU', 'WEBGPU', 'WEBGPU'])
  assert.deepStrictEqual(x.mul(2).tolist(), [2, 4, 6])
  assert.deepStrictEqual(y.grad.tolist(), [1, 2, 3])
  assert.throws(() => x.add(y.clone().to_('webgpu')), /operands are on the devices cpu and webgpu, expected one/)
  assert.deepStrictEqual(new Tensor([1], { device: 'cpu' }).to_('webgpu').add(1).tolist(), [2])
})

test('what is read is a copy', () => {
  const x = new Tensor([1, 2, 3]).mul(2).realize()
  x.data[0] = 100
  assert.deepStrictEqual(x.tolist(), [2, 4, 6])
})

test('a page trains on the digits', async () => {
  const bytes = (await Tensor.fromUrl(DIGITS, { gunzip: true })).toArray()
  const rows = new TextDecoder().decode(bytes.slice()).trim().split('\n').map((line) => line.split(',').map(Number))
  const pixels = (from, to) => Float32Array.from(rows.slice(from, to).flatMap((row) => row.slice(0, PIXELS).map((p) => p / 16)))
  const labels = (from, to) => Int32Array.from(rows.slice(from, to), (row) => row[PIXELS])
  Tensor.manualSeed(1)
  const model = new Sequential(new Linear(PIXELS, 64), (x) => x.relu(), new Linear(64, 10))
  const optimizer = new AdamW(getParameters(model), { lr: 5e-3 })
  const batch = (from) => [new Tensor(pixels(from, from + BATCH), { shape: [BATCH, PIXELS] }), new Tensor(labels(from, from + BATCH))]
  const [x, y] = batch(0)
  const step = compileStep(() => {
    optimizer.zeroGrad()
    const loss = model.forward(x).crossEntropy(y)
    loss.backward()
    optimizer.step()
    return loss
  })
  step.run()
  const first = step.lossValue()
  for (let epoch = 0; epoch < 8; epoch++) {
    for (let from = 0; from + BATCH <= 1400; from += BATCH) {
      Tensor.tidy(() => {
        const [pixelsOf, labelsOf] = batch(from)
        x.assign(pixelsOf)
        y.assign(labelsOf)
      })
      step.run()
    }
  }
  assert.ok(step.lossValue() < first / 5, `${first} -> ${step.lossValue()}`)
  const tests = new Tensor(pixels(1400), { shape: [rows.length - 1400, PIXELS] })
  const right = model.forward(tests).argmax(1).eq(new Tensor(labels(1400))).float().mean().item()
  assert.ok(right > 0.85, `${right} of the digits are read right`)
})

/** A fresh instance of the package, with its GPUDevice on the page's main thread. */
async function onThisThread (name) {
  const other = await import(`${PACKAGE}?${name}`)
  const adapter = await globalThis.navigator.gpu.requestAdapter()
  const device = await adapter.requestDevice()
  await other.Device.init('webgpu', { device })
  return { ...other, device }
}

test('on a device of the program results come by await', async () => {
  const { Tensor: T, Device: D, compileStep: compile, device } = await onThisThread('this-thread')
  D.default = 'webgpu'
  const x = new T([[1, 2], [3, 4]])
  const y = x.matmul(x).realize()
  assert.throws(() => y.tolist(), /results come later here, and are waited for by await: toArrayAsync\(\)/)
  assert.deepStrictEqual(await y.tolistAsync(), [[7, 10], [15, 22]])
  assert.deepStrictEqual(y.tolist(), [[7, 10], [15, 22]]) // it has been read back by now
  assert.deepStrictEqual(await y.transpose().tolistAsync(), [[7, 15], [10, 22]])
  assert.deepStrictEqual(await y.getitem(0).tolistAsync(), [7, 10])
  assert.strictEqual(await y.sum().itemAsync(), 54)
  assert.deepStrictEqual(await y.cast('bfloat16').tolistAsync(), [[7, 10], [15, 22]])
  assert.deepStrictEqual(await y.gt(8).tolistAsync(), [[false, true], [true, true]])
  const many = await Promise.all(Array.from({ length: 20 }, (_, i) => y.add(i).sum().itemAsync()))
  assert.deepStrictEqual(many, Array.from({ length: 20 }, (_, i) => 54 + 4 * i))
  const w = new T([1, 2], { requiresGrad: true })
  const step = compile(() => {
    const loss = w.mul(w).sum()
    w.assign(w.detach().mul(0.5))
    return loss
  })
  for (let i = 0; i < 3; i++) step.run()
  assert.strictEqual(await step.lossValueAsync(), 0.3125)
  assert.deepStrictEqual(await w.tolistAsync(), [0.125, 0.25])
  device.destroy()
  await device.lost
  await assert.rejects(y.add(1).tolistAsync(), /the device was lost/)
  await D.init('webgpu')
  assert.deepStrictEqual(await new T([1, 2]).add(1).tolistAsync(), [2, 3])
  assert.deepStrictEqual(y.tolist(), [[7, 10], [15, 22]])
})

/** The contents of a GPUBuffer, read back by a staging buffer. */
async function contents (device, buffer, bytes) {
  const { GPUBufferUsage, GPUMapMode } = globalThis
  const read = device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST })
  const encoder = device.createCommandEncoder()
  encoder.copyBufferToBuffer(buffer, 0, read, 0, bytes)
  device.queue.submit([encoder.finish()])
  await read.mapAsync(GPUMapMode.READ)
  return new Float32Array(read.getMappedRange().slice(0))
}

test('buffers are shared with the program', async () => {
  const { Tensor: T, Device: D, device } = await onThisThread('shared')
  D.default = 'webgpu'
  const { STORAGE, COPY_SRC, COPY_DST } = globalThis.GPUBufferUsage
  const many = 40_000
  for (const n of [3, many]) { // suballocated from a larger buffer at first, then in one of its own
    const x = T.arange(n).cast('float32').mul(2).realize()
    const buffer = x.gpuBuffer()
    assert.ok(buffer instanceof globalThis.GPUBuffer && buffer.size >= 4 * n)
    assert.strictEqual(x.gpuBuffer(), buffer)
    assert.deepStrictEqual([...(await contents(device, buffer, 12))], [0, 2, 4])
    assert.strictEqual((await contents(device, buffer, 4 * n))[n - 1], 2 * (n - 1))
    const same = T.fromGpuBuffer(buffer, { shape: [n] })
    assert.strictEqual(same.gpuBuffer(), buffer)
    assert.deepStrictEqual(await same.getitem({ stop: 3 }).add(1).tolistAsync(), [1, 3, 5])
    device.queue.writeBuffer(buffer, 0, Float32Array.of(7))
    assert.deepStrictEqual(await x.getitem({ stop: 3 }).add(1).tolistAsync(), [8, 3, 5])
    for (const first of [7, 8, 9]) { // a read must not return stale values after a write
      device.queue.writeBuffer(buffer, 0, Float32Array.of(first))
      const reads = await Promise.all([x.toArrayAsync(), x.toArrayAsync(), same.toArrayAsync()])
      for (const read of reads) assert.deepStrictEqual(read.slice(0, 3), Float32Array.of(first, 2, 4))
    }
    device.queue.writeBuffer(buffer, 0, Float32Array.of(7))
    x.dispose()
    assert.deepStrictEqual([...(await contents(device, buffer, 12))], [7, 2, 4]) // the buffer belongs to the caller, and outlives x
  }
  const own = device.createBuffer({ size: 1024, usage: STORAGE | COPY_SRC | COPY_DST })
  device.queue.writeBuffer(own, 256, Int32Array.of(1, 2, 3))
  const ints = T.fromGpuBuffer(own, { shape: [3], dtype: 'int32', offset: 256 })
  assert.strictEqual(ints.device, 'WEBGPU')
  assert.strictEqual(await ints.sum().itemAsync(), 6)
  device.queue.writeBuffer(own, 256, Int32Array.of(10))
  assert.strictEqual(await ints.sum().itemAsync(), 15)
  assert.strictEqual(T.fromGpuBuffer(own).shape[0], 256)
  assert.deepStrictEqual(T.fromGpuBuffer(own, { dtype: 'complex64' }).shape, [128])
  assert.throws(() => T.fromGpuBuffer(own, { shape: [257] }), /buffer: has 1024 bytes from the offset on, expected 1028/)
  assert.throws(() => T.fromGpuBuffer(own, { offset: 4 }), /offset 4, expected a multiple of 256/)
  assert.throws(() => T.fromGpuBuffer({}), /fromGpuBuffer: buffer: .*, expected a GPUBuffer/)
  assert.throws(() => T.fromGpuBuffer(device.createBuffer({ size: 16, usage: COPY_DST })), /expected STORAGE, COPY_SRC and COPY_DST/)
  assert.throws(() => new T([1, 2, 3, 4]).reshape(2, 2).gpuBuffer(), /the tensor is a view/)
  assert.throws(() => new T([1]).to('cpu').gpuBuffer(), /the device has no buffers of WebGPU/)
  const { T: image, expected } = await picture(T)
  assert.deepStrictEqual(await image.tolistAsync(), expected)
  device.destroy()
})

/** An image of three by two pixels as a tensor, and as lists. */
async function picture (T) {
  const canvas = new globalThis.OffscreenCanvas(3, 2)
  const context = canvas.getContext('2d')
  const colors = [['#ff0000', '#00ff00', '#0000ff'], ['#102030', '#ffffff', '#000000']]
  colors.forEach((row, y) => row.forEach((color, x) => {
    context.fillStyle = color
    context.fillRect(x, y, 1, 1)
  }))
  const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)).concat(255)
  return { T: await T.fromImage(canvas), expected: colors.map((row) => row.map(channels)) }
}

test('images are tensors, on each device', async () => {
  const { T: image, expected } = await picture(Tensor)
  assert.deepStrictEqual([image.device, image.dtype, image.shape], ['WEBGPU', 'uint8', [2, 3, 4]])
  assert.deepStrictEqual(image.tolist(), expected)
  assert.throws(() => image.contiguous().gpuBuffer(), /the GPU is used on a thread of its own/)
  Device.default = 'cpu'
  try {
    const { T: other } = await picture(Tensor)
    assert.deepStrictEqual([other.device, other.tolist()], ['CPU', expected])
  } finally {
    Device.default = 'webgpu'
  }
  await assert.rejects(Tensor.fromImage(null), /fromImage: source: null, expected a canvas/)
})

test('a lost device is an error, and another one is opened', async () => {
  const { internals: { engine } } = await import(PACKAGE)
  const first = new Tensor([1, 2, 3])
  const twice = new TinyJit((x) => x.mul(2))
  for (let i = 0; i < 3; i++) twice(first).tolist()
  const w = new Tensor([1, 2])
  const step = compileStep(() => {
    w.assign(w.mul(2))
    return w.sum()
  })
  step.run()
  assert.strictEqual(step.lossValue(), 6)
  assert.deepStrictEqual(w.tolist(), [2, 4]) // the host's copy is up to date
  const only = first.add(1).realize()
  const known = first.add(2)
  assert.deepStrictEqual(known.tolist(), [3, 4, 5])
  const big = Tensor.arange(1 << 20).cast('float32').add(1).realize()
  const reads = [big.toArrayAsync(), only.add(1).toArrayAsync()].map((read) => read.then(() => 'read', ({ message }) => message))
  engine.loseGpu()
  for (const outcome of await Promise.all(reads)) assert.match(outcome, /^read$|the device was lost|destroyed|aborted|mapAsync/i)
  assert.throws(() => only.tolist(), /the device was lost/)
  assert.throws(() => only.mul(2).tolist(), /the device was lost/)
  await assert.rejects(only.mul(3).toArrayAsync(), /the device was lost/)
  assert.deepStrictEqual(new Tensor([1, 2]).add(1).tolist(), [2, 3])
  assert.deepStrictEqual(await known.mul(2).tolistAsync(), [6, 8, 10])
  assert.deepStrictEqual(twice(first).tolist(), [2, 4, 6])
  step.run()
  assert.deepStrictEqual([w.tolist(), step.lossValue()], [[4, 8], 12])
  engine.loseGpu()
  assert.strictEqual(await Device.init('webgpu'), 'WEBGPU')
  assert.deepStrictEqual(new Tensor([1, 2]).sub(1).tolist(), [0, 1])
})

test('the device of programs for jax-js', async () => {
  const { defaultDevice, devicePut, init, numpy: np } = await import('polygrad/jax')
  assert.deepStrictEqual(await init('webgpu', 'wasm'), ['wasm', 'webgpu'])
  try {
    assert.strictEqual(defaultDevice('webgpu'), 'webgpu')
    assert.strictEqual(Device.default, 'WEBGPU')
    const x = await devicePut(np.array([1, 2, 3]), 'webgpu')
    assert.strictEqual(x.device, 'webgpu')
    assert.deepStrictEqual(await x.mul(2).data(), Float32Array.of(2, 4, 6))
    assert.deepStrictEqual(await x.add(1).jsAsync(), [2, 3, 4])
    const y = await devicePut(np.array([1, 2, 3]), 'wasm')
    assert.strictEqual(y.mul(2).device, 'wasm')
    assert.deepStrictEqual(y.mul(2).js(), [2, 4, 6])
    assert.throws(() => x.add(y), /operands are on the devices/)
    assert.strictEqual(defaultDevice('wasm'), 'wasm')
    assert.deepStrictEqual(x.add(2).js(), [3, 4, 5])
  } finally {
    Device.default = 'webgpu'
  }
})

test('all numbers of narrow types, the subnormal ones too', () => {
  const codes = new Tensor(Uint16Array.from({ length: 1 << 16 }, (_, i) => i)).realize()
  const wide = () => codes.bitcast('float16').cast('float32').toArray()
  const found = wide()
  Device.default = 'cpu'
  try {
    assert.deepStrictEqual(found, wide())
  } finally {
    Device.default = 'webgpu'
  }
})
