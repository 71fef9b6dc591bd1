/** Trains a small GPT on the characters of a text, and shows samples of what it generates meanwhile. */

import {
  Tensor, TinyJit, AdamW, CosineAnnealingLRWithWarmup, Embedding, LayerNorm, Linear, TransformerBlock, clipGradNorm, compileStep,
  getParameters
} from './polygrad.js'
import { draw } from './chart.js'
import { offerDevices } from './device.js'
import { onFile } from './drop.js'

const CONTEXT = 64
const WIDTH = 64
const HEADS = 4
const LAYERS = 2
const BATCH = 16
const RATE = 5e-3
const LENGTH = 200 // characters of a sample
const BETWEEN = 50 // steps between samples
const LOOKS = 5 // steps between which the browser may draw
const TICKS = [0, 1, 2, 3, 4]
const byId = (id) => document.getElementById(id)
const say = (id, text) => { byId(id).textContent = text }

/** A GPT over characters: indices (batch, length) to logits of the next character (batch, length, characters). */
class CharGPT {
  constructor (characters) {
    this.token = new Embedding(characters, WIDTH)
    this.place = new Embedding(CONTEXT, WIDTH)
    this.blocks = Array.from({ length: LAYERS }, () => new TransformerBlock(WIDTH, HEADS, { causal: true }))
    this.norm = new LayerNorm(WIDTH)
    this.scores = new Linear(WIDTH, characters, { bias: false })
  }

  forward (x) {
    const read = this.token.forward(x).add(this.place.forward(Tensor.arange(CONTEXT)))
    return this.scores.forward(this.norm.forward(this.blocks.reduce((h, block) => block.forward(h), read)))
  }
}

/** A text without its rare characters, its vocabulary of characters, and its longer words. */
function prepared (text) {
  const counts = new Map()
  for (const c of text) counts.set(c, (counts.get(c) ?? 0) + 1)
  const characters = [...counts].filter(([, n]) => n > text.length / 1e5).map(([c]) => c).sort()
  const number = new Map(characters.map((c, i) => [c, i]))
  const tokens = Int32Array.from(Array.from(text).filter((c) => number.has(c)), (c) => number.get(c))
  if (tokens.length < 10 * CONTEXT) throw new Error(`the text has ${tokens.length} characters: at least ${10 * CONTEXT} are needed`)
  return { characters, number, tokens, words: new Set(wordsOf(text)) }
}

const wordsOf = (text) => text.toLowerCase().match(/\p{L}{4,}/gu) ?? []

/** A text generator: returns the prompt, continued by LENGTH sampled characters. */
function writer (model) {
  const scores = new TinyJit((window, row, temperature) => model.forward(window).getitem(0).gather(0, row).div(temperature).softmax(-1))
  return ({ characters, number }, prompt, temperature) => {
    const out = Array.from(prompt).filter((c) => number.has(c)).map((c) => number.get(c))
    if (out.length === 0) out.push(0)
    for (let i = 0; i < LENGTH; i++) {
      const seen = out.slice(-CONTEXT)
      const chances = Tensor.tidy(() => {
        const window = new Tensor(Int32Array.from({ length: CONTEXT }, (_, at) => seen[at] ?? 0), { shape: [1, CONTEXT] })
        const row = new Tensor(new Int32Array(characters.length).fill(seen.length - 1), { shape: [1, characters.length] })
        return scores(window, row, new Tensor([temperature])).toArray().slice()
      })
      let left = Math.random()
      const drawn = chances.findIndex((chance) => (left -= chance) < 0)
      out.push(drawn < 0 ? characters.length - 1 : drawn)
    }
    return out.map((token) => characters[token]).join('')
  }
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

function showLosses (losses) {
  draw(byId('losses'), { label: 'The loss by samples', curves: [losses], low: 0, high: 4.5, ticks: TICKS, unit: `× ${BETWEEN} steps` })
}

async function train (text) {
  const mine = ++current
  Tensor.manualSeed(42)
  const { characters, tokens, words } = text
  const model = new CharGPT(characters.length)
  const steps = Math.max(1, Math.round(Number(byId('steps').value)) || 1)
  const optimizer = new AdamW(getParameters(model), { lr: RATE, weightDecay: 0.1 })
  const schedule = new CosineAnnealingLRWithWarmup(optimizer, RATE, RATE / 10, Math.ceil(steps / 10), steps + 1)
  const [x, y] = [0, 1].map(() => Tensor.zeros(BATCH, CONTEXT, { dtype: 'int32' }).realize())
  const step = compileStep(() => {
    optimizer.zeroGrad()
    const loss = model.forward(x).flatten(0, 1).crossEntropy(y.flatten())
    loss.backward()
    clipGradNorm(optimizer.params, 1)
    optimizer.step()
    schedule.step()
    return loss
  })
  const write = writer(model)
  const losses = []
  let sum = 0
  let milliseconds = 0
  for (let i = 1; i <= steps; i++) {
    const start = performance.now()
    const starts = Array.from({ length: BATCH }, () => Math.floor(Math.random() * (tokens.length - CONTEXT)))
    const windows = (shift) => {
      const placeOf = (at) => starts[Math.floor(at / CONTEXT)] + at % CONTEXT + shift
      return new Tensor(Int32Array.from({ length: BATCH * CONTEXT }, (_, at) => tokens[placeOf(at)]), { shape: [BATCH, CONTEXT] })
    }
    Tensor.tidy(() => [x, y].forEach((tensor, shift) => tensor.assign(windows(shift))))
    step.run()
    sum += step.lossValue()
    milliseconds += performance.now() - start
    if (i % BETWEEN === 0 || i === steps) {
      losses.push(sum / ((i - 1) % BETWEEN + 1))
      sum = 0
      const sample = write(text, byId('prompt').value, Math.max(0.1, Number(byId('temperature').value) || 0.1))
      const found = wordsOf(sample)
      say('sample', sample)
      say('loss', losses.at(-1).toFixed(3))
      say('words', `${Math.round(100 * found.filter((word) => words.has(word)).length / Math.max(1, found.length))} %`)
      showLosses(losses)
      document.documentElement.dataset.done = 'yes'
    }
    if (i % LOOKS === 0 || i === steps) {
      say('step', `${i} of ${steps}`)
      say('speed', Math.round(1000 * i * BATCH * CONTEXT / milliseconds).toLocaleString('en'))
      if (!await breath(mine)) return step.dispose()
    }
  }
  step.dispose()
  byId('pause').disabled = true
  say('state', 'Done.')
}

let text = null

async function begin () {
  paused = false
  say('pause', 'Pause')
  goOn()
  byId('pause').disabled = false
  say('state', 'Training …')
  try {
    await train(text)
  } catch (error) {
    say('state', `Failed: ${error.message}`)
  }
}

function take (name, contents) {
  try {
    text = prepared(contents)
  } catch (error) {
    return say('text', `${name}: ${error.message}`)
  }
  say('text', `${name}: ${text.tokens.length.toLocaleString('en')} characters, ${text.characters.length} different ones`)
  begin()
}

byId('train').addEventListener('click', begin)
byId('pause').addEventListener('click', () => {
  paused = !paused
  say('pause', paused ? 'Go on' : 'Pause')
  if (!paused) goOn()
})
onFile(async ([file]) => take(file.name, await file.text()))
await offerDevices(begin)
byId('train').disabled = false
take('The documentation', await (await fetch('data/text.txt')).text())
