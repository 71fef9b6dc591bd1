'use strict'
// The library in a process: where it is found, exit, threads; the documented programs.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { spawnSync } = require('node:child_process')
const { Worker } = require('node:worker_threads')

const ROOT = path.join(__dirname, '..')
const native = { skip: process.env.POLYGRAD_ENGINE === 'wasm' && 'it is about the native library' }

function run (program, { env = {}, cwd = ROOT, args = [] } = {}) {
  return spawnSync(process.execPath, [...args, '-e', program], { encoding: 'utf8', cwd, env: { ...process.env, ...env }, timeout: 120000 })
}

function says (program, options) {
  const done = run(program, options)
  assert.strictEqual(done.status, 0, done.stderr)
  assert.strictEqual(done.stderr, '')
  return done.stdout
}

test('the quick start of the reference runs as printed', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-'))
  try {
    fs.symlinkSync(ROOT, path.join(folder, 'js'))
    const out = says(`
const { Tensor } = require('./js')

// Create tensors
const a = Tensor.rand(3, 4)
const b = Tensor.rand(4, 5)

// Matrix multiply + softmax
const c = a.matmul(b).softmax(-1)
console.log(c.toArray())

// Autograd
const x = new Tensor([1.0, 2.0, 3.0], { requiresGrad: true })
const loss = x.mul(x).sum()
loss.backward()
console.log(x.grad.toArray())  // Float32Array [2, 4, 6]
`, { cwd: folder })
    assert.match(out, /^Float32Array\(15\) \[/)
    assert.match(out, /Float32Array\(3\) \[ 2, 4, 6 \]\n$/)
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
})

test('a wrong name of a processor is an error that says what can be', native, () => {
  const program = "const { Tensor } = require('.'); try { new Tensor([1]).add(1).toArray() } catch (e) { console.log(e.name, e.message) }"
  const out = says(program, { env: { POLY_DEVICE: 'native', POLY_CPU: 'mmx' } })
  assert.match(out, /^PolygradError .*POLY_CPU: got "mmx", expected one of avx512, avx2, sse4, wasm\n$/)
})

test('the programs of README.md print what it says', () => {
  const text = fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8')
  const programs = [...text.matchAll(/```js\n([\s\S]*?)```/g)].map((m) => m[1])
  assert.ok(programs.length >= 3)
  for (const program of programs) {
    const want = [...program.matchAll(/console\.log\(.*\) *\/\/ (.*)$/gm)].map((m) => m[1])
    const args = program.startsWith('import ') ? ['--input-type=module'] : []
    assert.deepStrictEqual(says(program.replaceAll("'polygrad'", "'.'"), { args }).trim().split('\n'), want, program)
  }
})

test('the examples of the declarations give what they say', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-'))
  try {
    const files = ['index.d.ts', 'lib/nn/index.d.ts', 'lib/methods.d.ts'].map((file) => fs.readFileSync(path.join(ROOT, file), 'utf8'))
    const examples = files.flatMap((text) => [...text.matchAll(/@example\n((?: *\* .*\n)+)/g)]
      .map((found) => found[1].replace(/^ *\* ?/gm, ''))).filter((text) => !text.includes('downloadHf'))
    assert.ok(examples.length >= 3)
    for (const example of examples) {
      const [, last, value] = /^(.*) \/\/ (.*)\n$/m.exec(example)
      const program = example.replace(`${last} // ${value}`, `require('assert').deepStrictEqual(${last}, ${value})`)
      says(`Object.assign(globalThis, require(${JSON.stringify(ROOT)}))\n${program}`, { cwd: folder })
    }
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
})

test('POLYGRAD_LIB names the library; what cannot be loaded is told', native, () => {
  const missing = run("require('.')", { env: { POLYGRAD_LIB: '/nowhere/libpolygrad.so' } })
  assert.notStrictEqual(missing.status, 0)
  assert.match(missing.stderr, /PolygradError: libpolygrad.so not found \(looked at \/nowhere\/libpolygrad.so\): build it/)
  const wrong = run("require('.')", { env: { POLYGRAD_LIB: path.join(ROOT, 'package.json') } })
  assert.match(wrong.stderr, /PolygradError: .*package.json cannot be loaded/)
})

test('POLYGRAD_ENGINE says what runs the library; where there is none, that is told', () => {
  const errors = [
    [{ POLYGRAD_ENGINE: 'fast' }, /PolygradError: POLYGRAD_ENGINE: got 'fast', expected native or wasm/],
    [{ POLYGRAD_ENGINE: 'wasm', POLYGRAD_WASM: '/nowhere/polygrad.wasm' },
      /PolygradError: polygrad.wasm not found \(looked at \/nowhere\/polygrad.wasm\): build it with `make wasm`, or set POLYGRAD_WASM/],
    [{ POLYGRAD_ENGINE: 'wasm', POLYGRAD_WASM: path.join(ROOT, 'package.json') }, /PolygradError: .*package.json cannot be loaded/],
    [{ POLYGRAD_ENGINE: 'native', POLYGRAD_LIB: '/nowhere/libpolygrad.so' }, /PolygradError: libpolygrad.so not found/]
  ]
  for (const [env, message] of errors) {
    const done = run("require('.')", { env })
    assert.notStrictEqual(done.status, 0)
    assert.match(done.stderr, message)
  }
})

test('exit while tensors, steps and instances live, and while something is computed', () => {
  assert.strictEqual(says(`
    const { Tensor, Instance, compileStep } = require('.')
    global.kept = [new Tensor([1]).add(1).realize(), Instance.mlp({ layers: [2, 2] }), compileStep((x) => x.add(1), new Tensor([1]))]
    console.log('end')`), 'end\n')
  assert.strictEqual(says(`
    const { Tensor } = require('.')
    const a = Tensor.rand(600, 600).realize()
    a.matmul(a).matmul(a).realizeAsync().then(() => console.log('late'))
    setTimeout(() => { console.log('exit'); process.exit() }, 5)`), 'exit\n')
  const thrown = run("const { Tensor } = require('.'); new Tensor([1]).reshape(3)")
  assert.strictEqual(thrown.status, 1)
  assert.match(thrown.stderr, /PolygradError: reshape: shape/)
})

test('Ctrl-C ends a program', async () => {
  const { spawn } = require('node:child_process')
  const child = spawn(process.execPath, ['-e', `
    const { Tensor } = require('.')
    new Tensor([1]).add(1).realize()
    console.log('ready')
    setInterval(() => new Tensor([1]).add(1).realize(), 1)`], { cwd: ROOT })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  child.kill('SIGINT')
  const [code, signal] = await new Promise((resolve) => child.once('exit', (...args) => resolve(args)))
  assert.deepStrictEqual([code, signal], [null, 'SIGINT'])
})

const WORK = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { Tensor, Linear, SGD, getParameters } = require(workerData.root)
  Tensor.manualSeed(workerData.seed)
  const model = new Linear(2, 1)
  const optimizer = new SGD(getParameters(model), { lr: 0.05 })
  const x = new Tensor(workerData.x, { shape: [2, 2] })
  const y = new Tensor([[5], [11]])
  let loss
  for (let i = 0; i < 200; i++) {
    optimizer.zeroGrad()
    loss = model.forward(x).mseLoss(y)
    loss.backward()
    optimizer.step()
  }
  parentPort.postMessage({ loss: loss.item(), weight: model.weight.toArray() })`

function work (seed, x) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORK, { eval: true, workerData: { root: ROOT, seed, x } })
    let result
    worker.once('message', (message) => { result = message })
    worker.once('error', reject)
    worker.once('exit', (code) => code === 0 ? resolve(result) : reject(new Error(`exit ${code}`)))
  })
}

test('worker threads train beside each other, on shared memory', async () => {
  const x = new Float32Array(new SharedArrayBuffer(16))
  x.set([1, 2, 3, 4])
  const results = await Promise.all([1, 2, 3, 1].map((seed) => work(seed, x)))
  for (const { loss } of results) assert.ok(loss < 0.1)
  assert.deepStrictEqual(results[0].weight, results[3].weight)
  assert.notDeepStrictEqual(results[0].weight, results[1].weight)
})

test('worker threads may be ended at any time', async () => {
  const { Tensor } = require('..')
  const busy = `
    const { parentPort, workerData } = require('node:worker_threads')
    const { Tensor } = require(workerData.root)
    const a = Tensor.rand(400, 400).realize()
    parentPort.postMessage('ready')
    if (workerData.seed % 2) (async () => { for (;;) await a.matmul(a).realizeAsync() })()
    else for (;;) a.matmul(a).realize()`
  for (let seed = 0; seed < 4; seed++) {
    const worker = new Worker(busy, { eval: true, workerData: { root: ROOT, seed } })
    await new Promise((resolve) => worker.once('message', resolve))
    await new Promise((resolve) => setTimeout(resolve, 30))
    await worker.terminate()
  }
  assert.deepStrictEqual(new Tensor([1]).add(1).tolist(), [2])
})

test('there are no buffers of WebGPU in Node', native, () => {
  const { Tensor } = require('..')
  assert.throws(() => new Tensor([1]).gpuBuffer(), /gpuBuffer: there are no GPUBuffers here/)
  assert.throws(() => Tensor.fromGpuBuffer({}), /fromGpuBuffer: there are no GPUBuffers here/)
})
