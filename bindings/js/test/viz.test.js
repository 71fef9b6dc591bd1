'use strict'
// Graphs, kernels and profiles as text and as records.

const test = require('node:test')
const assert = require('node:assert')
const { Tensor, Linear, SGD, getParameters, compileStep, viz } = require('..')

const example = () => Tensor.ones(16, 32).contiguous().matmul(Tensor.ones(32, 8).contiguous()).softmax()

test('graphs in each form', () => {
  const y = new Tensor([[1, 2], [3, 4]]).mul(2).sum(1)
  assert.match(viz.graph(y), /REDUCE_AXIS ADD\(1\) float32 \(2,1\)/)
  assert.match(viz.graph([y, y.neg()], { format: 'dot' }), /^digraph \{\n[^]* -> [^]*\}\n$/)
  assert.match(viz.graph(y, { format: 'svg' }), /^<svg [^]*<\/svg>\n$/)
  assert.match(viz.graph(y, { format: 'code' }), /UNIQUE/)
  const { nodes, roots } = JSON.parse(viz.graph(y, { format: 'json' }))
  assert.deepStrictEqual(roots, [nodes.length - 1])
  assert.ok(nodes.every((node, i) => node.sources.every((source) => source < i)))
})

test('kernels in each form', () => {
  assert.match(viz.kernels(example()), /^\d+ kernels on \w+/)
  assert.doesNotMatch(viz.kernels(example()), /GFLOP\/s/)
  assert.match(viz.kernels(example(), { runs: 2 }), /GFLOP\/s/)
  assert.match(viz.kernels(example(), { format: 'code' }), /^--- kernel 0: /)
  assert.match(viz.kernels(example(), { format: 'svg' }), /^<svg /)
})

test('a profile has records', () => {
  const profile = viz.profile(example(), { runs: 3 })
  assert.strictEqual(profile.runs, 3)
  assert.ok(profile.seconds > 0 && profile.compileSeconds > 0)
  assert.strictEqual(`${profile}`, profile.text)
  assert.ok(profile.kernels.length >= 2)
  for (const kernel of profile.kernels) {
    assert.ok(kernel.seconds > 0 && kernel.meanSeconds >= kernel.seconds && kernel.code.length > 0)
    for (const b of [...kernel.reads, ...kernel.writes]) assert.ok(profile.buffers[b].bytes > 0)
  }
  assert.deepStrictEqual(profile.buffers.filter((b) => b.role === 'output').map((b) => b.shape), [[16, 8]])
})

test('looking at a step changes nothing', () => {
  const model = new Linear(4, 2)
  const optimizer = new SGD(getParameters(model), { lr: 0.1 })
  const x = Tensor.ones(8, 4).realize()
  const step = compileStep(() => {
    optimizer.zeroGrad()
    const loss = model.forward(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss
  })
  const before = model.weight.tolist()
  const profile = viz.profile(step, { runs: 2 })
  assert.deepStrictEqual(model.weight.tolist(), before)
  assert.strictEqual(profile.kernels.length, step.nKernels)
  assert.strictEqual(profile.buffers.filter((b) => b.role === 'updated').length, 2)
})

test('bad arguments', () => {
  const x = new Tensor([1])
  assert.throws(() => viz.graph([]), /graph: no tensors/)
  assert.throws(() => viz.graph([1]), /graph: 1, expected a Tensor/)
  assert.throws(() => viz.graph(x, { format: 'png' }), /format: "png", expected one of text, json/)
  assert.throws(() => viz.graph(x, { runs: 1 }), /graph: runs: unknown argument, expected format/)
  assert.throws(() => viz.graph(x, 3), /graph: format: 3, expected one of text/)
  assert.throws(() => viz.kernels(x, { runs: 1.5 }), /runs: 1.5/)
  assert.throws(() => viz.profile(x, { runs: -1 }), /runs: -1/)
  x.dispose()
  assert.throws(() => viz.graph(x), /disposed/)
})
