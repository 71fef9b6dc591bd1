/** The playground: runs the reader's program, and shows the kernels of the tensor that it exports. */

import * as polygrad from './polygrad.js'
import { offerDevices } from './device.js'

const RUNS = 20 // of each kernel when it is timed
const EXAMPLES = {
  'Softmax of rows': `const x = Tensor.randn(256, 64).realize()
const y = x.softmax(1)
print(y)                            // not computed yet
print(y.sum(1).tolist().slice(0, 3))
export default y`,
  'A gradient': `const x = new Tensor([1, 2, 3], { requiresGrad: true })
const y = x.pow(3).sum()
y.backward()
print('y', y.item())
print('dy/dx', x.grad.tolist())     // 3 x²
export default y`,
  'Product of matrices': `const n = 256
const a = Tensor.rand(n, n), b = Tensor.rand(n, n)
const c = a.matmul(b).relu().add(1)
const start = performance.now()
c.realize()
print((performance.now() - start).toFixed(1), 'ms with compiling')
export default c`,
  'A compiled training step': `const model = new Sequential(new Linear(2, 16), (x) => x.tanh(), new Linear(16, 1))
const optimizer = new AdamW(getParameters(model), { lr: 0.01 })
const x = Tensor.rand(64, 2).realize()
const y = x.sum(1, true).realize()
const step = compileStep(() => {
  optimizer.zeroGrad()
  const loss = model.forward(x).mseLoss(y)
  loss.backward()
  optimizer.step()
  return loss
})
for (let i = 0; i < 300; i++) {
  step.run()
  if (i % 100 === 99) print('loss', step.lossValue().toFixed(5))
}
export default step`
}

const byId = (id) => document.getElementById(id)
const NAMES = Object.keys(polygrad).filter((name) => name !== 'default').join(', ')
const PACKAGE = new URL('polygrad.js', import.meta.url).href

const textOf = (value) => typeof value === 'string' ? value : Array.isArray(value) ? JSON.stringify(value) : String(value)

/** Adds a line to the output. */
function print (...values) {
  byId('output').textContent += `${values.map(textOf).join(' ')}\n`
}

/** Runs a program as a module, and returns its exports. */
async function resultOf (code) {
  globalThis.print = print
  const text = `import * as polygrad from ${JSON.stringify(PACKAGE)}; const { ${NAMES} } = polygrad; ${code}`
  const address = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  try {
    return (await import(address)).default
  } finally {
    URL.revokeObjectURL(address)
  }
}

/** Shows the graph, the kernels and their times. */
function showComputed (what) {
  const profile = polygrad.viz.profile(what, { runs: RUNS })
  byId('times').textContent = profile.text
  const isTensor = what instanceof polygrad.Tensor
  byId('graph').textContent = isTensor ? polygrad.viz.graph(what) : polygrad.viz.kernels(what)
  byId('kernels').replaceChildren(...profile.kernels.map(({ name, language, code, seconds }) => {
    const details = document.createElement('details')
    const summary = document.createElement('summary')
    summary.textContent = `${name}: ${language}, ${code.split('\n').length} lines, ${(1e6 * seconds).toFixed(1)} µs`
    const pre = Object.assign(document.createElement('pre'), { className: 'tall', textContent: code, tabIndex: 0 })
    details.append(summary, pre)
    details.open = profile.kernels.length === 1
    return details
  }))
}

const isComputed = (value) => value instanceof polygrad.Tensor || value instanceof polygrad.TinyJit ||
  value instanceof polygrad.nn.CompiledTrainingStep

async function run () {
  const button = byId('run')
  if (button.disabled) return
  button.disabled = true
  byId('output').textContent = ''
  byId('output').classList.remove('error')
  byId('computed').hidden = true
  byId('state').textContent = 'Running …'
  await new Promise(requestAnimationFrame)
  const start = performance.now()
  try {
    const result = await resultOf(byId('code').value)
    byId('state').textContent = `Done in ${Math.round(performance.now() - start)} ms`
    if (isComputed(result)) {
      showComputed(result)
      byId('computed').hidden = false
    }
  } catch (error) {
    print(`${error.name}: ${error.message}`)
    byId('output').classList.add('error')
    byId('state').textContent = 'The program failed'
  }
  button.disabled = false
  document.documentElement.dataset.done = 'yes'
}

const choice = byId('example')
choice.append(...Object.keys(EXAMPLES).map((name) => new Option(name)))
const take = () => { byId('code').value = EXAMPLES[choice.value] }
choice.addEventListener('change', () => {
  take()
  run()
})
byId('run').addEventListener('click', run)
byId('code').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run()
})
take()
await offerDevices(run)
byId('run').disabled = false
await run()
