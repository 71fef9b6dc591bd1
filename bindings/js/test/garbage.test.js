'use strict'
// What the collectors of Node and of the library give back: programs with access to the collector, and loops without a turn.

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { execFileSync } = require('node:child_process')
const { Tensor, Linear, Adam, getParameters, liveNodes } = require('..')

/** Runs a program with access to the garbage collector. */
function collected (program) {
  const text = `const { Tensor, Instance, liveNodes, compileStep } = require(${JSON.stringify(path.join(__dirname, '..'))});
    const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
    const settle = async () => { for (let i = 0; i < 6; i++) { gc(); await turn() } };
    (async () => { ${program} })()`
  return execFileSync(process.execPath, ['--expose-gc', '-e', text], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
}

test('the collector gives back what is not used any more', () => {
  assert.strictEqual(collected(`
    await settle(); const before = liveNodes()
    for (let i = 0; i < 3000; i++) { new Tensor([i]).add(1).mul(2).tolist(); if (i % 100 === 0) await turn() }
    await settle(); console.log(liveNodes() - before < 100)`), 'true')
})

test('large results of a loop that never awaits are given back, one of a group that is in use or not', () => {
  const program = `const { Tensor, TinyJit } = require(${JSON.stringify(path.join(__dirname, '..'))});
    const { lib } = require(${JSON.stringify(path.join(__dirname, '..', 'lib', 'library.js'))});
    const x = Tensor.ones(4096, 1024).realize(); // 16 MiB
    const add = new TinyJit((y) => y.add(1).realize());
    let last, most = 0;
    for (let i = 0; i < 100; i++) { last = add(x); most = Math.max(most, lib.poly_array_memory()) }
    console.log(most < 2 ** 30, last.sum().item() === 2 * 4096 * 1024)`
  assert.strictEqual(execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }).trim(), 'true true')
})

test('a graph keeps the memory that it reads', () => {
  assert.strictEqual(collected(`
    const make = () => new Tensor(Float32Array.from({ length: 1000 }, (_, i) => i)).add(1)
    const sum = make(); await settle()
    const rubbish = Array.from({ length: 1000 }, () => new Float32Array(1000).fill(7))
    console.log(sum.sum().item(), rubbish.length)`), '500500 1000')
})

test('arrays of an instance keep it', () => {
  assert.strictEqual(collected(`
    let part = Instance.mlp({ layers: [100, 100] }).params['layers.0.weight'].subarray(5, 7)
    const want = part.join(); await settle()
    for (let i = 0; i < 100; i++) Instance.mlp({ layers: [100, 100], seed: i }).dispose()
    console.log(part.join() === want)`), 'true')
})

test('steps are given back', () => {
  assert.strictEqual(collected(`
    const x = new Tensor([1, 2]); const before = liveNodes()
    for (let i = 0; i < 50; i++) { compileStep((t) => t.mul(i).sum(), x).run(); await turn() }
    await settle(); console.log(liveNodes() - before < 60)`), 'true')
})

test('eager training steps that neither await nor tidy have flat memory', () => {
  const layer = new Linear(4, 2)
  const optimizer = new Adam(getParameters(layer), { lr: 0.01 })
  const x = Tensor.rand(8, 4).realize()
  const run = (steps) => {
    for (let i = 0; i < steps; i++) {
      optimizer.zeroGrad()
      layer.forward(x).square().mean().backward()
      optimizer.step()
    }
  }
  // The heap grows to what the collectors allow, in about 6000 steps; that of a WebAssembly module is never given back.
  const [steps, most] = process.env.POLYGRAD_ENGINE === 'wasm' ? [1000, 256] : [6000, 64]
  run(steps)
  const before = process.memoryUsage.rss()
  run(2000)
  const grown = (process.memoryUsage.rss() - before) / 2 ** 20
  assert.ok(grown < most, `${grown.toFixed(0)} MiB more`)
  assert.ok(liveNodes() < 30_000, `${liveNodes()} nodes`)
})
