// The types of polygrad/jax: which arguments a gradient is by, what comes beside a value, trees.

import { grad, jit, jvp, linearize, numpy as np, valueAndGrad, vjp, vmap, Array } from 'polygrad/jax'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
/** Compiles if two types are one. */
const same = <A, B>(yes: Same<A, B>): boolean => yes

type Network = { weight: Array, biases: [Array, Array] }
const loss = (network: Network, x: Array): Array => np.matmul(x, network.weight).add(network.biases[0]).sum()
const network: Network = { weight: np.ones([3, 2]), biases: [np.zeros([2]), np.zeros([1])] }
const x = np.ones([4, 3])

// The first argument, a number, several: the gradient is a tree like the argument.
const first = grad(loss)(network, x)
same<typeof first, Network>(true)
const second = grad(loss, { argnums: 1 })(network, x)
same<typeof second, Array>(true)
const both = grad(loss, { argnums: [1, 0] })(network, x)
const [byX, byNetwork] = both
same<typeof byX, Array>(true)
same<typeof byNetwork, Network>(true)

// With hasAux what comes with the value.
const withScore = (w: Array, x: Array): [Array, { score: Array }] => [w.mul(x).sum(), { score: w }]
const [slope, aux] = grad(withScore, { hasAux: true })(np.ones([3]), np.ones([3]))
same<typeof slope, Array>(true)
same<typeof aux, { score: Array }>(true)
const [[value, more], slopes] = valueAndGrad(withScore, { argnums: [0, 1], hasAux: true })(np.ones([3]), np.ones([3]))
same<typeof value, Array>(true)
same<typeof more, { score: Array }>(true)
same<(typeof slopes)['length'], 2>(true)

// Numbers may stand for arrays.
const [out, change] = jvp((a: Array, b: Array) => a.mul(b), [2, np.ones([2])], [1, np.zeros([2])])
same<typeof out, Array>(true)
same<typeof change, Array>(true)
const [there, back] = vjp(loss, [network, x])
const cotangents = back(1)
same<typeof there, Array>(true)
same<(typeof cotangents)['length'], 2>(true)
const [, ahead] = linearize((a: Array) => ({ twice: a.mul(2) }), [np.ones([2])])
same<ReturnType<typeof ahead>, { twice: Array }>(true)

const batched = vmap(loss, [null, 0])(network, x.reshape([4, 1, 3]))
same<typeof batched, Array>(true)
const compiled = jit((p: Network) => p)(network)
same<typeof compiled, Network>(true)

// Complex numbers, too.
const turned = np.ones([2]).mul({ re: 0, im: 1 })
same<typeof turned, Array>(true)

// @ts-expect-error: an argument of another type
grad(loss)(x, x)
// @ts-expect-error: no such argument
const third: Array = grad(loss, { argnums: 2 })(network, x)
// @ts-expect-error: a function must return arrays
grad((a: Array) => 'text')(x)
// @ts-expect-error: unknown options
jit(loss, { static: [0] })
// @ts-expect-error: a device that there is not
void np.ones([2], { device: 'tpu' })

export { third }
