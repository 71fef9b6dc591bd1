'use strict'
// The library whole in a worker.

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { worker, terminate } = require('../lib/remote/index.js')

/** The promise of what an object of the worker is. */
const value = async (remote) => remote

test('the library in a worker', async (t) => {
  const pg = await worker({ module: path.join(__dirname, 'modules', 'steps.mjs') })
  t.after(() => terminate(pg))

  await t.test('calls in a chain wait once', async () => {
    const x = new pg.Tensor([[1, 2], [3, 4]])
    assert.deepStrictEqual(await x.matmul(x).sum(0).tolist(), [22, 32])
    assert.deepStrictEqual(await x.shape, [2, 2])
    assert.deepStrictEqual(await pg.Tensor.stack([x, x]).shape, [2, 2, 2])
    assert.deepStrictEqual(await x.add(new Float32Array([1, 2])).toArray(), new Float32Array([2, 4, 4, 6]))
  })

  await t.test('objects stay in the worker', async () => {
    const [values, order] = await new pg.Tensor([3, 1, 2]).sort()
    assert.deepStrictEqual([await values.tolist(), await order.tolist()], [[1, 2, 3], [1, 2, 0]])
    const tensor = await values.add(1)
    assert.deepStrictEqual(await tensor.tolist(), [2, 3, 4])
  })

  await t.test('training', async () => {
    const model = new pg.Linear(2, 1)
    const optimizer = new pg.SGD(pg.getParameters(model), { lr: 0.01 })
    const [x, y] = [new pg.Tensor([[1, 2], [3, 4]]), new pg.Tensor([[5], [11]])]
    const losses = []
    for (let i = 0; i < 30; i++) {
      optimizer.zeroGrad()
      const loss = model.forward(x).sub(y).square().mean()
      loss.backward()
      optimizer.step()
      if (i % 29 === 0) losses.push(await loss.item())
    }
    assert.ok(losses[1] < losses[0] / 2, `${losses}`)
    optimizer.lr = 0.5
    assert.strictEqual(await optimizer.lr, 0.5)
  })

  await t.test('a module of the user', async () => {
    assert.deepStrictEqual(await pg.module.double(new pg.Tensor([1, 2])).tolist(), [2, 4])
    assert.strictEqual(await pg.module.sum([1, 2, 3]), 6)
    await assert.rejects(value(pg.module.fail()), { name: 'RangeError', message: 'it does' })
  })

  await t.test('errors', async () => {
    const x = new pg.Tensor([1, 2, 3])
    await assert.rejects(value(x.reshape([2, 2]).add(1).tolist()), /reshape/)
    await assert.rejects(value(x.nothing.more()), /nothing.more: nothing is undefined/)
    await assert.rejects(value(x.shape.length()), /shape.length is no function/)
    assert.throws(() => x.map(() => 1), /a function .* cannot go to the worker/)
    assert.throws(() => x.add(new (class Own {})()), /an object of Own cannot go to the worker/)
    x.assign(new pg.Tensor([1, 2])) // nobody waits for it
    await assert.rejects(value(x.tolist()), /assign: x: shape \[2\]/)
    assert.deepStrictEqual(await x.tolist(), [1, 2, 3])
    await assert.rejects(worker({ url: 'x' }), /unknown option url, expected module, settings/)
    await assert.rejects(worker({ module: 1 }), /module: 1, expected the address of a module/)
    await assert.rejects(worker({ module: path.join(__dirname, 'modules', 'nothing.mjs') }), /nothing.mjs/)
    assert.throws(() => terminate(1), /expected what worker\(\) gave/)
  })
})

test('a worker that has ended', async () => {
  const pg = await worker({ settings: { POLY_THREADS: '1' } })
  const x = new pg.Tensor([1])
  const pending = x.exp().tolist().then(() => 'too early', (error) => error.message)
  terminate(pg)
  assert.match(await pending, /terminated/)
  await assert.rejects(value(x.tolist()), /terminated/)
})
