/** The front page: trains a network to classify digits, and shows its progress. */

import { Tensor, Conv2d, Linear, Sequential, AdamW, compileStep, getParameters, version } from './polygrad.js'
import { draw } from './chart.js'
import { offerDevices } from './device.js'

const BATCH = 128
const EPOCHS = 30
const PIXELS = 64
const SIDE = 8
const LOOKS = 4 // steps between which the browser may draw
const SHOWN = 12 // misclassified digits
const LOSSES = [0.01, 0.1, 1]
const show = (id, text) => { document.getElementById(id).textContent = text }

/** The digits: pixels scaled to 0 .. 1, 64 for each, and labels 0 .. 9. */
async function loadDigits () {
  const bytes = (await Tensor.fromUrl('data/digits.csv.gz', { gunzip: true })).toArray()
  const rows = new TextDecoder().decode(bytes.slice()).trim().split('\n').map((line) => line.split(',').map(Number))
  return rows.map((row) => ({ pixels: row.slice(0, PIXELS).map((p) => p / 16), label: row[PIXELS] }))
}

const pixelsOf = (digits) => Float32Array.from(digits.flatMap(({ pixels }) => pixels))
const labelsOf = (digits) => Int32Array.from(digits, ({ label }) => label)
const tensorsOf = (digits) => [new Tensor(pixelsOf(digits), { shape: [digits.length, PIXELS] }), new Tensor(labelsOf(digits))]
const shuffled = (digits) => Array.from(Tensor.randperm(digits.length).toArray(), (i) => digits[i])

/** Digits shifted at random by -1, 0 or 1 pixels along both axes. */
function moved (digits) {
  const steps = Tensor.tidy(() => Tensor.randint(2 * digits.length, { low: -1, high: 2 }).toArray().slice())
  return digits.map(({ pixels, label }, n) => {
    const [down, right] = [steps[2 * n], steps[2 * n + 1]]
    const at = (i) => [Math.floor(i / SIDE) - down, i % SIDE - right]
    const inside = ([row, column]) => row >= 0 && row < SIDE && column >= 0 && column < SIDE
    return { pixels: pixels.map((_, i) => inside(at(i)) ? pixels[at(i)[0] * SIDE + at(i)[1]] : 0), label }
  })
}

/** Shows misclassified digits with their predicted labels. */
function showMisread (digits, read) {
  const wrong = digits.map((digit, i) => ({ ...digit, read: read[i] })).filter((digit) => digit.read !== digit.label)
  const figures = wrong.slice(0, SHOWN).map(({ pixels, label, read: said }) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: SIDE, height: SIDE })
    canvas.setAttribute('role', 'img')
    canvas.setAttribute('aria-label', `a ${label}, read as ${said}`)
    const image = new ImageData(SIDE, SIDE)
    pixels.forEach((p, i) => image.data.set([255 * p, 255 * p, 255 * p, 255], 4 * i))
    canvas.getContext('2d').putImageData(image, 0, 0)
    const caption = document.createElement('figcaption')
    const bold = Object.assign(document.createElement('b'), { textContent: said })
    caption.append(`${label}, read as `, bold)
    const figure = document.createElement('figure')
    figure.append(canvas, caption)
    return figure
  })
  document.getElementById('misread').replaceChildren(...figures)
}

let current = 0 // the number of the latest training: older ones stop
let paused = false
let goOn = () => {}
/** Yields to the browser for a frame, waits while training is paused, and returns whether this training is still the latest. */
async function breath (mine) {
  await new Promise(requestAnimationFrame)
  if (paused) await new Promise((resolve) => { goOn = resolve })
  return mine === current
}

/** Shows the loss of the last of some steps, and the steps per second. */
function showProgress (loss, steps, milliseconds) {
  const rate = 1000 * steps / milliseconds
  show('loss', loss.toFixed(4))
  show('speed', rate.toFixed(rate < 10 ? 1 : 0))
}

/** Trains a new network, and returns its accuracy on the test set; null if another training has begun. */
async function train (digits, heldBack) {
  const mine = ++current
  const model = new Sequential(
    (x) => x.reshape(-1, 1, SIDE, SIDE),
    new Conv2d(1, 16, 3, { padding: 1 }), (x) => x.relu(),
    new Conv2d(16, 32, 3, { padding: 1 }), (x) => x.relu().maxPool2d(2).flatten(1),
    new Linear(512, 10))
  const optimizer = new AdamW(getParameters(model), { lr: 4e-3, weightDecay: 0.1 })
  const [x, y] = tensorsOf(digits.slice(0, BATCH))
  // Forward, backward and the update become one compiled program. It reads x and y anew on each run.
  const step = compileStep(() => {
    optimizer.zeroGrad()
    const loss = model.forward(x).crossEntropy(y)
    loss.backward()
    optimizer.step()
    return loss
  })
  const [testX] = tensorsOf(heldBack)
  const losses = []
  const accuracies = []
  let steps = 0
  let milliseconds = 0
  for (let epoch = 1; epoch <= EPOCHS; epoch++) {
    const order = moved(shuffled(digits)) // augmentation: new random shifts in each epoch, against overfitting
    let start = performance.now()
    for (let at = 0; at + BATCH <= order.length; at += BATCH, steps++) {
      const batch = order.slice(at, at + BATCH)
      Tensor.tidy(() => {
        x.assign(new Tensor(pixelsOf(batch), { shape: [BATCH, PIXELS] }))
        y.assign(new Tensor(labelsOf(batch)))
      })
      step.run()
      if (steps % LOOKS === 0) {
        const loss = step.lossValue() // waits for the GPU
        milliseconds += performance.now() - start
        showProgress(loss, steps + 1, milliseconds)
        if (!await breath(mine)) return null
        start = performance.now()
      }
    }
    losses.push(step.lossValue())
    milliseconds += performance.now() - start
    showProgress(losses.at(-1), steps, milliseconds)
    const read = Array.from(Tensor.tidy(() => model.forward(testX).argmax(1).toArray().slice()), Number)
    accuracies.push(heldBack.filter(({ label }, i) => label === read[i]).length / heldBack.length)
    show('epoch', `${epoch} of ${EPOCHS}`)
    show('accuracy', accuracies.at(-1).toFixed(4))
    draw(document.getElementById('losses'), {
      label: 'The loss by epochs', curves: [losses.map(Math.log10)], low: Math.log10(LOSSES[0]), high: Math.log10(3),
      ticks: LOSSES.map(Math.log10), unit: 'epochs', format: (tick) => String(LOSSES[LOSSES.map(Math.log10).indexOf(tick)])
    })
    draw(document.getElementById('accuracies'), {
      label: 'The accuracy by epochs', curves: [accuracies], low: 0.8, high: 1, ticks: [0.8, 0.85, 0.9, 0.95, 1], unit: 'epochs'
    })
    showMisread(heldBack, read)
    if (!await breath(mine)) return null
  }
  console.log(`${steps} steps, ${Math.round(1000 * steps / milliseconds)} a second`)
  return accuracies.at(-1)
}

async function main () {
  const again = document.getElementById('train')
  const pause = document.getElementById('pause')
  Tensor.manualSeed(42)
  const digits = shuffled(await loadDigits())
  const heldBack = digits.splice(0, Math.floor(digits.length / 5))
  const run = async () => {
    again.disabled = true
    pause.disabled = false
    show('state', `Training with polygrad ${version} …`)
    const accuracy = await train(digits, heldBack)
    if (accuracy === null) return
    show('state', `Done: ${(100 * accuracy).toFixed(1)} % of ${heldBack.length} digits that it never saw are read right.`)
    console.log(`test accuracy: ${accuracy.toFixed(4)}`)
    again.disabled = false
    pause.disabled = true
    document.documentElement.dataset.done = 'yes'
  }
  again.addEventListener('click', run)
  pause.addEventListener('click', () => {
    paused = !paused
    pause.textContent = paused ? 'Go on' : 'Pause'
    if (!paused) goOn()
  })
  await offerDevices(run)
  await run()
}

await main()
