// The library in a worker: results are promises of values, or objects of the worker.

import { worker, terminate, type Remote } from '../../lib/remote/index.js'
import type { Tensor } from '../../index.js'

async function main (): Promise<void> {
  const pg = await worker<{ epoch: (rate: number) => Promise<Tensor> }>({ settings: { POLY_THREADS: '1' } })
  const x = new pg.Tensor([1, 2, 3])
  const y: Remote<Tensor> = x.mul(2).add(pg.Tensor.rand(3))
  const numbers: Float32Array | unknown = await y.toArray()
  const shape: number[] = await y.shape
  const loss = await pg.module.epoch(0.5).item()
  const kept = await y
  const again = x.mul(kept)
  const model = new pg.Linear(2, 3)
  model.forward(x)
  console.log(numbers, shape, loss, await again.tolist())
  // @ts-expect-error a tensor has no such method
  x.nothing()
  // @ts-expect-error the options have names
  await worker({ url: 'x' })
  terminate(pg)
}
void main()
