// The ES module has the same types.
import polygrad, { Tensor, random } from 'polygrad'
import { split, uniform } from 'polygrad/random'

const same: boolean = polygrad.Tensor === Tensor
const list: number[] = (await new Tensor([1, 2]).mul(2).tolistAsync<number[]>())
const keys: Tensor = split(random.key(1), { num: 3 })
const drawn: number[] = uniform(keys.getitem(2), [2], { minval: [1, 2], maxval: 3 }).tolist<number[]>()
// @ts-expect-error a key is a tensor
export const none = () => uniform(1, [2])
if (!(drawn[1]! >= 2)) throw new Error('numbers are out of their range')
if (!same || list[1] !== 4) throw new Error('the ES module differs')
console.log('module')
