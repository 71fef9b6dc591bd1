/** Text-to-image search: a dual encoder learns from drawn shapes, and ranks drawn pictures and the reader's. */

import { Tensor, AdamW, Conv2d, CosineAnnealingLRWithWarmup, Embedding, Linear, compileStep, getParameters } from './polygrad.js'
import { offerDevices } from './device.js'
import { onFile } from './drop.js'

const SIDE = 32
const PIXELS = 3 * SIDE * SIDE
const WIDTH = 64
const BATCH = 64
const STEPS = 800
const RATE = 4e-3
const DRAWN = 120 // pictures to search in
const SHOWN = 24
const LOOKS = 5 // steps between which the browser may draw
const COLORS = {
  red: [225, 40, 40], green: [40, 160, 60], blue: [45, 85, 220], yellow: [240, 215, 40], orange: [245, 140, 30], purple: [140, 60, 180],
  black: [15, 15, 15], white: [250, 250, 250]
}
const SHAPES = {
  circle: (context, r) => context.arc(0, 0, r, 0, 2 * Math.PI),
  square: (context, r) => context.rect(-0.85 * r, -0.85 * r, 1.7 * r, 1.7 * r),
  triangle: (context, r) => polygon(context, r, 3),
  star: (context, r) => polygon(context, r, 10, 0.42)
}
const WORDS = [...Object.keys(COLORS), ...Object.keys(SHAPES)]
const NOTHING = WORDS.length // the padding index: no word
const CAPTIONS = Object.keys(COLORS).flatMap((color) => Object.keys(SHAPES).map((shape) => [color, shape]))
const byId = (id) => document.getElementById(id)
const show = (id, text) => { byId(id).textContent = text }

function polygon (context, r, corners, inner = 1) {
  for (let i = 0; i < corners; i++) {
    const [angle, far] = [2 * Math.PI * i / corners - Math.PI / 2, i % 2 === 1 ? inner * r : r]
    context.lineTo(far * Math.cos(angle), far * Math.sin(angle))
  }
}

const between = (low, high) => low + Math.random() * (high - low)
const one = (list) => list[Math.floor(Math.random() * list.length)]
const css = (color, spread) => `rgb(${color.map((part) => Math.max(0, Math.min(255, part + between(-spread, spread)))).join(' ')})`

function blank () {
  const canvas = Object.assign(document.createElement('canvas'), { width: SIDE, height: SIDE })
  return { canvas, context: canvas.getContext('2d', { willReadFrequently: true }) }
}

/** A drawn picture: a shape in a color, at a random position and angle, on a background of another color. */
function drawn ([color, shape], { canvas, context } = blank()) {
  const ground = one(Object.values(COLORS).filter((other) => other !== COLORS[color]).concat([[128, 128, 128], [200, 200, 200]]))
  context.resetTransform()
  context.fillStyle = css(ground.map((part) => 0.6 * part + 80), 25) // paler than the shapes
  context.fillRect(0, 0, SIDE, SIDE)
  const r = between(9, 14)
  context.translate(between(r, SIDE - r), between(r, SIDE - r))
  context.rotate(between(-0.4, 0.4))
  context.beginPath()
  SHAPES[shape](context, r)
  context.closePath()
  context.fillStyle = css(COLORS[color], 20)
  context.fill()
  return { canvas, context, words: [color, shape] }
}

/** The pixels of pictures, scaled to -1 .. 1, channels first. */
function pixelsOf (pictures) {
  const values = new Float32Array(pictures.length * PIXELS)
  pictures.forEach(({ context }, n) => {
    const { data } = context.getImageData(0, 0, SIDE, SIDE)
    for (let i = 0; i < PIXELS; i++) values[n * PIXELS + i] = data[4 * (i % (SIDE * SIDE)) + Math.floor(i / (SIDE * SIDE))] / 127.5 - 1
  })
  return new Tensor(values, { shape: [pictures.length, 3, SIDE, SIDE] })
}

/** Captions as word indices, two each, padded by NOTHING. */
function numbersOf (captions) {
  const numbers = captions.flatMap((words) => [0, 1].map((i) => words[i] === undefined ? NOTHING : WORDS.indexOf(words[i])))
  return new Tensor(Int32Array.from(numbers), { shape: [captions.length, 2] })
}

const fits = (words, caption) => caption.every((word) => words.includes(word))
const unit = (x) => x.div(x.square().sum(-1, true).add(1e-6).sqrt())

/** A dual encoder, as in CLIP: unit embeddings of pictures and captions, and the logits of their match. */
class Model {
  constructor () {
    this.first = new Conv2d(3, 16, 3, { stride: 2, padding: 1 })
    this.second = new Conv2d(16, 32, 3, { stride: 2, padding: 1 })
    this.third = new Conv2d(32, 64, 3, { stride: 2, padding: 1 })
    this.place = new Linear(1024, WIDTH)
    this.words = new Embedding(WORDS.length + 1, WIDTH)
    this.meaning = new Linear(WIDTH, WIDTH)
    this.scale = new Tensor([10], { requiresGrad: true }).realize()
    this.shift = new Tensor([-5], { requiresGrad: true }).realize()
  }

  pictures (x) {
    return unit(this.place.forward([this.first, this.second, this.third].reduce((h, layer) => layer.forward(h).relu(), x).flatten(1)))
  }

  captions (numbers) {
    return unit(this.meaning.forward(this.words.forward(numbers).sum(1).relu()))
  }

  forward (x, numbers) {
    return this.pictures(x).matmul(this.captions(numbers).T).mul(this.scale).add(this.shift)
  }
}

/** A caption for a training example: both words, or one of them. */
const captionOf = ([color, shape]) => one([[color, shape], [color, shape], [color], [shape]])

let model = null
let pictures = [] // to search in
let current = 0 // the number of the latest training: older ones stop

/** The matching scores, a row for each picture and a column for each caption. */
const scoresOf = (chosen, captions) => Tensor.tidy(() => model.forward(pixelsOf(chosen), numbersOf(captions)).tolist())

function search () {
  const asked = byId('words').value.toLowerCase().match(/\p{L}+/gu) ?? []
  const words = asked.filter((word) => WORDS.includes(word)).slice(0, 2)
  show('known', words.length > 0 ? '' : `Known words: ${WORDS.join(', ')}`)
  if (words.length === 0 || model === null) return
  const scores = scoresOf(pictures, [words])
  const order = pictures.map((picture, i) => ({ ...picture, score: scores[i][0] })).sort((a, b) => b.score - a.score).slice(0, SHOWN)
  byId('found').replaceChildren(...order.map(({ canvas, name, words: truth, score }) => {
    const figure = document.createElement('figure')
    canvas.setAttribute('role', 'img')
    canvas.setAttribute('aria-label', name ?? truth.join(' '))
    const caption = document.createElement('figcaption')
    caption.textContent = `${Math.round(100 / (1 + Math.exp(-score)))} %${name === undefined ? '' : ` ${name}`}`
    figure.append(canvas, caption)
    return figure
  }))
}

/** The top-1 accuracy of the search on drawn pictures: the fraction of captions whose best picture matches. */
function rightOnes () {
  const chosen = pictures.filter(({ words }) => words !== undefined)
  const scores = scoresOf(chosen, CAPTIONS)
  const first = CAPTIONS.map((_, c) => scores.reduce((best, row, i) => row[c] > scores[best][c] ? i : best, 0))
  return CAPTIONS.filter((caption, c) => fits(chosen[first[c]].words, caption)).length / CAPTIONS.length
}

async function train () {
  const mine = ++current
  Tensor.manualSeed(7)
  model = new Model()
  const optimizer = new AdamW(getParameters(model), { lr: RATE, weightDecay: 0.01 })
  const schedule = new CosineAnnealingLRWithWarmup(optimizer, RATE, RATE / 20, 30, STEPS + 1)
  const places = Array.from({ length: BATCH }, blank)
  const lesson = () => {
    const made = places.map((place) => drawn(one(CAPTIONS), place))
    const captions = made.map(({ words }) => captionOf(words))
    const truth = Float32Array.from(made.flatMap(({ words }) => captions.map((caption) => fits(words, caption) ? 1 : 0)))
    return [pixelsOf(made), numbersOf(captions), new Tensor(truth, { shape: [BATCH, BATCH] })]
  }
  const inputs = lesson().map((tensor) => tensor.realize())
  const [x, numbers, y] = inputs
  const step = compileStep(() => {
    optimizer.zeroGrad()
    const loss = model.forward(x, numbers).binaryCrossentropyLogits(y)
    loss.backward()
    optimizer.step()
    schedule.step()
    return loss
  })
  const start = performance.now()
  for (let i = 1; i <= STEPS; i++) {
    Tensor.tidy(() => lesson().forEach((tensor, k) => inputs[k].assign(tensor)))
    step.run()
    if (i % LOOKS !== 0) continue
    show('step', `${i} of ${STEPS}`)
    show('loss', step.lossValue().toFixed(4))
    show('speed', Math.round(1000 * i / (performance.now() - start)))
    if (i % 50 === 0) {
      show('right', `${Math.round(100 * rightOnes())} %`)
      search()
    }
    await new Promise(requestAnimationFrame)
    if (mine !== current) return step.dispose()
  }
  step.dispose()
  show('state', `Done in ${((performance.now() - start) / 1000).toFixed(1)} s.`)
  document.documentElement.dataset.done = 'yes'
}

async function begin () {
  show('state', 'Learning …')
  try {
    await train()
  } catch (error) {
    show('state', `Failed: ${error.message}`)
  }
}

/** A picture of the reader, cropped to its largest centred square. */
async function pictureOf (file) {
  const image = await createImageBitmap(file)
  const { canvas, context } = blank()
  const side = Math.min(image.width, image.height)
  context.imageSmoothingQuality = 'high'
  context.drawImage(image, (image.width - side) / 2, (image.height - side) / 2, side, side, 0, 0, SIDE, SIDE)
  image.close()
  return { canvas, context, name: file.name }
}

onFile(async (files) => {
  const read = await Promise.allSettled(files.map(pictureOf))
  pictures.push(...read.filter(({ status }) => status === 'fulfilled').map(({ value }) => value))
  const bad = files.filter((_, i) => read[i].status === 'rejected').map(({ name }) => name)
  const count = pictures.filter(({ name }) => name !== undefined).length
  show('own', `${count} of yours.${bad.length > 0 ? ` No pictures: ${bad.join(', ')}` : ''}`)
  search()
})
byId('words').addEventListener('input', search)
byId('train').addEventListener('click', begin)
await offerDevices(begin)
byId('train').disabled = false
pictures = Array.from({ length: DRAWN }, (_, i) => drawn(CAPTIONS[i % CAPTIONS.length]))
await begin()
