// Functions of functions: types of trees.

import { Tensor, Linear, func, getStateDict } from 'polygrad'
import { grad, hessian, jacrev, jvp, treeMap, valueAndGrad, vjp, vmap, evalShape, hvp, functionalCall, type JsTree } from 'polygrad/func'

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

// @ts-expect-error a loss is a tensor
grad((a: Tensor) => a.tolist())
// @ts-expect-error an argument is missing
const few = () => grad(loss)(params)
// @ts-expect-error there is no such option
const none = () => grad(loss, { argnum: 1 })
if (same.length !== 2 || tree === null || typeof none !== typeof few || func.grad !== grad) throw new Error('not as declared')
