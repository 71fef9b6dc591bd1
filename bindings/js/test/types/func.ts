// Function transformations: types of trees.

import { Tensor, Linear, func, getStateDict, lax } from 'polygrad'
import { PRNGKey } from 'polygrad/random'
import {
  checkpoint, customJvp, customVjp, customVmap, grad, hessian, jacrev, jit, jvp, makeJaxpr, sequentialVmap, treeMap, valueAndGrad, vjp, vmap, evalShape, hvp,
  functionalCall, type JsTree
} from 'polygrad/func'

interface Params { w: Tensor, layers: [Tensor, Tensor] }
const params: Params = { w: Tensor.ones(2), layers: [Tensor.ones(2), Tensor.zeros(2)] }
const loss = (p: Params, x: Tensor): Tensor => p.w.mul(x).add(p.layers[0]).square().sum()
const x = new Tensor([1, 2])

const g = grad(loss)(params, x)
g.layers satisfies [Tensor, Tensor]
const [value, [gx, gp]] = valueAndGrad(loss, { argnums: [1, 0] })(params, x)
value satisfies Tensor
gx satisfies Tensor
gp.w satisfies Tensor
const [gradient, aux] = grad((p: Params) => [p.w.sum(), { n: p.w }] as const, { hasAux: true })(params)
gradient.w satisfies Tensor
aux.n satisfies Tensor
grad((a) => a.pow(3).sum())(2)
const each = vmap(grad(loss), [null, 0])(params, Tensor.ones(3, 2))
each.layers[1] satisfies Tensor
vmap((a: Tensor, k: number) => ({ out: a.mul(k) }), { inAxes: [0, null], outAxes: { out: 0 } })(x, 3).out satisfies Tensor
const [, pullback] = vjp((a: Tensor, b: Tensor) => a.mul(b), [x, x])
pullback(x) satisfies [Tensor, Tensor]
const [y, change] = jvp((a: Tensor) => ({ y: a.sin() }), [x], [x])
const same: [Tensor, Tensor] = [y.y, change.y]
jacrev((a: Tensor) => [a, a.sum()] as const)(x)[1] satisfies Tensor
hessian((p: Params) => p.w.square().sum())(params).w.layers[0] satisfies Tensor
hvp(loss, [params, x], [params, x])[0].w satisfies Tensor
evalShape((a: Tensor) => ({ a }), x).a.dtype satisfies string
treeMap((a: Tensor, b: Tensor) => a.sub(b.mul(0.1)), params, g).layers[0] satisfies Tensor
const layer = new Linear(2, 1)
vmap(grad((p: Record<string, Tensor>, v: Tensor) => functionalCall(layer, p, v).sum()), [null, 0])(getStateDict(layer), Tensor.ones(3, 2))
const tree: JsTree = { a: [x, null] }

const [last, states] = lax.scan((h, v) => [h.mul(0.5).add(v), { h }], 0, new Tensor([1, 2]))
last satisfies Tensor
states.h satisfies Tensor
const [pair] = lax.scan(([a, b], v) => [[b, a.add(v)], null], [0, new Tensor(1)], new Tensor([1, 2]))
pair[1] satisfies Tensor
lax.whileLoop((s) => s.n.lt(3), (s) => ({ n: s.n.add(1) }), { n: 0 }).n satisfies Tensor
lax.foriLoop(0, 3, (i, v) => v.add(i), 0) satisfies Tensor
lax.map((p) => [p.a], { a: x })[0] satisfies Tensor | undefined
lax.cond(x.sum().gt(1), (a, b) => ({ out: a.add(b) }), (a) => ({ out: a }), x, 1).out satisfies Tensor
lax.switch(1, [(a) => a.mul(2), (a) => a.square()], 5) satisfies Tensor
lax.associativeScan((a, b) => [a[0].mul(b[0]), b[0].mul(a[1]).add(b[1])], [x, x])[1] satisfies Tensor
vmap((a: Tensor) => ({ a: a.div(lax.psum(a, 'i')), n: lax.axisIndex('i') }), { axisName: 'i' })(x).n satisfies Tensor
checkpoint((a: Tensor) => ({ a: a.sin() }), { policy: 'dotsSaveable' })(x).a satisfies Tensor
customJvp((a: Tensor, b: Tensor) => a.mul(b)).defjvp(([a, b], [s, t]) => [a.mul(b), s.mul(b).add(t.mul(a))])(x, 2) satisfies Tensor
customVmap((a: Tensor, b: Tensor) => ({ sum: a.add(b) }))
  .defVmap((size, [a, b], x, y) => [{ sum: x.add(y) }, { sum: a || b || size > 0 }])(x, x).sum satisfies Tensor
vmap(sequentialVmap((a: Tensor, { b }: { b: Tensor }) => a.mul(b)), { inAxes: [0, null] })(x, { b: x }) satisfies Tensor
customVjp((a: Tensor) => a).defvjp((a) => [a, { a }], ({ a }, cotangent) => [cotangent.mul(a)])(x) satisfies Tensor
const [hess, more] = hessian((a: Tensor) => [a.square().sum(), { a }] as const, { hasAux: true })(x)
hess satisfies Tensor
more.a satisfies Tensor
const fast = jit((a: Tensor, n: number) => ({ a: a.mul(n) }), { staticArgnums: 1 })
fast(x, 2).a satisfies Tensor
fast.lower(x, 2).compile()(x, 2).a satisfies Tensor
fast.cacheInfo().hits satisfies number
makeJaxpr((a: Tensor) => a.sin())(1) satisfies string
PRNGKey(1) satisfies Tensor

// @ts-expect-error a step returns a carry and what is kept
const alone = () => lax.scan((h) => h, 0, x)
// @ts-expect-error the carry is another tree
const other = () => lax.foriLoop(0, 3, (i, v) => [v], 0)
// @ts-expect-error there is no such policy
const policy = () => checkpoint((a: Tensor) => a, { policy: 'all' })
// @ts-expect-error a loss is a tensor
grad((a: Tensor) => a.tolist())
// @ts-expect-error an argument is missing
const few = () => grad(loss)(params)
// @ts-expect-error there is no such option
const none = () => grad(loss, { argnum: 1 })
if (same.length !== 2 || tree === null || [none, alone, other, policy].some((f) => typeof f !== typeof few) || func.grad !== grad) throw new Error('not as declared')
