// The ES module has the same types.
import polygrad, { Tensor } from 'polygrad'

const same: boolean = polygrad.Tensor === Tensor
const list: number[] = (await new Tensor([1, 2]).mul(2).tolistAsync<number[]>())
if (!same || list[1] !== 4) throw new Error('the ES module differs')
console.log('module')
