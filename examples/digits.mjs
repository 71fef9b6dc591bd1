// Trains a small network on handwritten digits:
//
//     cd bindings/js && npm install && cd ../..
//     node examples/digits.mjs [epochs]
//
// 1,797 digits of 8x8 pixels; one fifth is held back for the test. A network with two hidden layers
// learns from the rest in mini-batches, each step being one compiled program.

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { Tensor, Linear, Sequential, AdamW, compileStep, getParameters } from '../bindings/js/index.js'

const SEED = 42
const BATCH = 128
const EPOCHS = 60
const PIXELS = 64

/** The digits: pixels scaled to 0 .. 1, 64 for each, and labels 0 .. 9. */
function loadDigits () {
  const text = gunzipSync(readFileSync(new URL('data/digits.csv.gz', import.meta.url))).toString()
  const rows = text.trim().split('\n').map((line) => line.split(',').map(Number))
  return rows.map((row) => ({ pixels: row.slice(0, PIXELS).map((p) => p / 16), label: row[PIXELS] }))
}

/** Writes digits into the memory of the tensors of a batch. */
function fill (x, y, digits) {
  digits.forEach(({ pixels, label }, i) => {
    x.data.set(pixels, i * PIXELS)
    y.data[i] = label
  })
}

function tensorsFor (count) {
  return [new Tensor(new Float32Array(count * PIXELS), { shape: [count, PIXELS] }), new Tensor(new Int32Array(count))]
}

const shuffled = (digits) => Array.from(Tensor.randperm(digits.length).toArray(), (i) => digits[i])

Tensor.manualSeed(SEED)
const digits = shuffled(loadDigits())
const heldBack = digits.splice(0, Math.floor(digits.length / 5))

const model = new Sequential(new Linear(PIXELS, 256), (x) => x.relu(), new Linear(256, 256), (x) => x.relu(), new Linear(256, 10))
const optimizer = new AdamW(getParameters(model), { lr: 2e-3, weightDecay: 0.5 })
const [x, y] = tensorsFor(BATCH)

// Forward, backward and update are one compiled program, which reads x and y in each run.
const step = compileStep(() => {
  optimizer.zeroGrad()
  const loss = model.forward(x).crossEntropy(y)
  loss.backward()
  optimizer.step()
  return loss
})

const epochs = Number(process.argv[2] ?? EPOCHS)
for (let epoch = 0; epoch < epochs; epoch++) {
  const order = shuffled(digits)
  for (let start = 0; start + BATCH <= order.length; start += BATCH) {
    fill(x, y, order.slice(start, start + BATCH))
    step.run()
  }
  if ((epoch + 1) % 10 === 0) console.log(`epoch ${epoch + 1}: loss ${step.lossValue().toFixed(4)}`)
}

const [testX, testY] = tensorsFor(heldBack.length)
fill(testX, testY, heldBack)
const right = model.forward(testX).argmax(1).eq(testY).float().mean().item()
console.log(`test accuracy: ${right.toFixed(4)}`)
