// Compiled by tsc --strict, then run: the declarations must fit the package.
import { Tensor, Variable, SymInt, Linear, Conv2d, Sequential, AdamW, SGD, Instance, TinyJit, JitError, viz, generate, generateStream, compileStep, getParameters, dtypes, PolygradError } from 'polygrad'
import type { DType, Layer, TextTokenizer } from 'polygrad'

const checks: Array<[name: string, holds: boolean]> = []

const x = new Tensor([[1, 2, 3], [4, 5, 6]], { requiresGrad: true })
const loss: Tensor = x.mul(x).sum()
loss.backward()
const grad: Float32Array = x.grad!.toArray()
checks.push(['gradient', grad[5] === 12])

const name: DType = x.dtype
checks.push(['dtype', name === dtypes.float32])
const big: BigInt64Array = new Tensor([1n, 2n]).add(1).toArray<BigInt64Array>()
checks.push(['int64', big[1] === 3n])
checks.push(['options', x.sum({ axis: 1, keepdim: true }).shape.length === 2 && x.sum(1, true).ndim === 2])
const [values, indices] = x.topk(2)
checks.push(['topk', values.shape[1] === 2 && indices.dtype === 'int32'])
checks.push(['indexing', x.getitem(1, '::-1').tolist<number[]>()[0] === 6])
checks.push(['pool', new Conv2d(1, 2, 3, { padding: 'same' }).forward(Tensor.rand(1, 1, 4, 4)).maxPool2d({ kernelSize: [2, 2] }).numel() === 8])

const [std, mean]: [Tensor, Tensor] = x.stdMean(1, { keepdim: true })
checks.push(['generated', std.ndim === 2 && mean.ndim === 2 && x.sum({ axis: [0, 1], dtype: 'float64' }).dtype === 'float64'])
checks.push(['generated makers', Tensor.uniform(2, 3, { low: -1, dtype: 'float64' }).numel() + Tensor.eye(2, { m: 3 }).numel() === 12])
checks.push(['lists', x.maskedFill([[true], [false]], 0).sum().item() === 15 && x.permute(1, 0).repeat([2, 1]).split([2, 4])[1]!.shape[0] === 4])
const losses = x.crossEntropy(x.softmax(-1), { reduction: 'none', labelSmoothing: 0.1 }) satisfies Tensor
checks.push(['loss', losses.ndim === 1])
// @ts-expect-error such a reduction does not exist
try { x.mseLoss(x, { reduction: 'median' }) } catch (error) { checks.push(['choices', error instanceof TypeError]) }
// @ts-expect-error k is missing
try { x.topk() } catch (error) { checks.push(['missing', error instanceof TypeError]) }

const masked = new Tensor([1, 2, 3])
masked.setitem(masked.gt(2), 0).setitem([':1'], 7)
checks.push(['masks', masked.getitem([true, false, true]).sum().item() === 7 && masked.getitem(Int32Array.of(2, 0)).numel() === 2])
// @ts-expect-error a date is no index
try { masked.getitem(new Date()) } catch { checks.push(['wrong index', true]) }
const asked: boolean | null = masked.requiresGrad
checks.push(['requiresGrad', asked === null])

const n: SymInt = new Variable('n', 1, 3).bind(2)
checks.push(['variable', x.getitem('...', { stop: n }).sum(1).reshape(2, 1).numel() === 2 && n.mul(3).val === 6])
checks.push(['symbolic shape', Tensor.zeros(n, 4).expand([n, 4]).shrink([[0, n], null]).add(n).tolist<number[][]>()[1]![0] === 2])

const model: Layer = new Sequential(new Linear(3, 4), (t) => t.relu(), new Linear(4, 1))
const optimizer = new AdamW(getParameters(model), { lr: 0.01, betas: [0.9, 0.99] })
const target = Tensor.ones(2, 1).realize()
{
  using step = compileStep((input: Tensor, wanted: Tensor) => {
    optimizer.zeroGrad()
    const mse = model.forward(input).mseLoss(wanted)
    mse.backward()
    optimizer.step()
    return mse
  }, x.detach(), target)
  step.run()
  checks.push(['step', Number.isFinite(step.lossValue())])
}
{
  using temporary = Tensor.ones(3)
  checks.push(['using', temporary.sum().item() === 3])
}
new SGD([x], 0.1, { momentum: 0.9, nesterov: true }).zeroGrad()

const scaled = new TinyJit((a: Tensor, { by }: { by: Tensor }) => ({ out: a.mul(by), parts: [a] }))
for (let i = 0; i < 3; i++) {
  const { out } = scaled(Tensor.ones(2), { by: new Tensor([i, 1]) })
  checks.push(['jit', out.tolist<number[]>()[0] === i])
}
checks.push(['jit program', scaled.captured!.nKernels > 0 && scaled.cnt === 3 && viz.kernels(scaled).length > 0])
try { scaled(Tensor.ones(3), { by: Tensor.ones(2) }) } catch (error) { checks.push(['jit error', error instanceof JitError]) }
// @ts-expect-error a number is no result
new TinyJit((a: Tensor) => a.item())

const continuations = (language: Instance, words: TextTokenizer) => [
  generate(language, [1, 2], 3, { topK: 2 })[0] satisfies number | undefined,
  generate(language, [[1, 2], new Int32Array(2)], 3)[1]?.[0] satisfies number | undefined,
  generate(language, 'once', 3, { tokenizer: words, onToken: (piece) => piece.length }) satisfies string,
  generate(language, ['once', 'twice'], 3, { tokenizer: words }).map((text) => text.length),
  (async () => { for await (const step of generateStream(language, [[1], [2]], 3)) step satisfies Int32Array })
]
checks.push(['generation', typeof continuations === 'function'])
// @ts-expect-error texts need a tokenizer
const untold = (language: Instance) => generate(language, 'once', 3)
checks.push(['no tokenizer', typeof untold === 'function'])

const net = Instance.mlp({ layers: [2, 1], loss: 'mse' })
checks.push(['instance', net.forward({ x: [[1, 2]] })['output']!.length === 1])
try {
  x.reshape(5)
  checks.push(['error', false])
} catch (error) {
  checks.push(['error', error instanceof PolygradError])
}

// @ts-expect-error a string is no data type
try { x.cast('complex32') } catch { checks.push(['wrong type', true]) }
// @ts-expect-error there is no such option
try { x.sum({ axes: 1 }) } catch { checks.push(['wrong option', true]) }

const failed = checks.filter(([, holds]) => !holds).map(([what]) => what)
if (failed.length > 0) throw new Error(`not as declared: ${failed.join(', ')}`)
console.log(`${checks.length} checks`)
