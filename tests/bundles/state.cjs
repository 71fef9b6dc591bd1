'use strict'
// Trains a network, whose state and data are in files that another language wrote, for so many steps, and writes both back.
const path = require('node:path')
const {
  Tensor, Linear, BatchNorm, GRUCell, SGD, Adam, AdamW, getParameters, getStateDict, loadStateDict, safeLoad, safeSave
} = require(process.env.POLYGRAD_JS)

const [folder, kind] = process.argv.slice(2)
const at = (name) => path.join(folder, name)
const make = {
  sgd: (p) => new SGD(p, { lr: 0.5, momentum: 0.9 }),
  adam: (p) => new Adam(p, { lr: 0.5 }),
  adamw: (p) => new AdamW(p, { lr: 0.5, weightDecay: 0.1 })
}[kind]
const net = { layers: [new Linear(4, 8), new GRUCell(8, 8), new BatchNorm(8), new Linear(8, 2)] }
const optimizer = make(getParameters(net))
const everything = { net, optimizer }
loadStateDict(everything, safeLoad(at('state.safetensors')))
const { x, y } = safeLoad(at('data.safetensors'))
const losses = []
for (let i = 0; i < 5; i++) {
  optimizer.zeroGrad()
  const [first, cell, norm, last] = net.layers
  const loss = Tensor.train(() => last.forward(norm.forward(cell.forward(first.forward(x))).relu()).sub(y).square().mean())
  loss.backward()
  optimizer.step()
  losses.push(loss.item())
}
safeSave({ ...getStateDict(everything), losses: new Tensor(losses, { dtype: 'float64' }) }, at('back.safetensors'))
