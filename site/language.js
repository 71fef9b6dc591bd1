/** Loads a language model from the reader's files, and continues a prompt with it. */

import { generateSteps } from './polygrad.js'
import { offerDevices } from './device.js'
import { onFile } from './drop.js'
import { modelOf } from './models.js'

const byId = (id) => document.getElementById(id)
const say = (text) => { byId('state').textContent = text }
const megabytes = (files) => Math.round(files.reduce((sum, { size }) => sum + size, 0) / 1e6).toLocaleString('en')
const drawn = () => new Promise((resolve) => setTimeout(resolve)) // not requestAnimationFrame: that stops while the page is hidden

let loaded = null
let stopped = false

async function load (files) {
  byId('write').disabled = true
  say(`Reading ${megabytes(files)} MB …`)
  await drawn()
  loaded?.model.dispose()
  loaded = null
  const start = performance.now()
  try {
    loaded = await modelOf(files, { dtype: byId('dtype').value })
  } catch (error) {
    return say(`Failed: ${error.message}`)
  }
  const { shapes, roles } = loaded.model
  const sizes = Object.keys(shapes).filter((name) => roles[name] === 'param').map((name) => shapes[name].reduce((a, b) => a * b, 1))
  const count = sizes.reduce((a, b) => a + b, 0)
  say(`A model of ${(count / 1e6).toPrecision(3)} million numbers, read in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  byId('write').disabled = false
}

async function write () {
  if (byId('write').disabled) return
  const { model, tokenizer, end } = loaded
  byId('write').disabled = true
  byId('stop').disabled = false
  stopped = false
  const output = byId('output')
  const prompt = byId('prompt').value
  output.textContent = prompt
  let count = 0
  try {
    const tokens = Math.max(1, Math.round(Number(byId('tokens').value)) || 1)
    const options = { tokenizer, temperature: Math.max(0, Number(byId('temperature').value) || 0), topP: 0.95, eosTokenId: end }
    let start = performance.now()
    for (const piece of generateSteps(model, prompt, tokens, options)) {
      output.textContent += piece
      if (count === 0) start = performance.now() // without the first token, which includes the prefill of the prompt
      say(`${++count} tokens, ${(1000 * (count - 1) / (performance.now() - start)).toFixed(1)} a second`)
      await drawn()
      if (stopped) break
    }
    document.documentElement.dataset.done = String(count)
  } catch (error) {
    say(`Failed: ${error.message}`)
  }
  byId('write').disabled = loaded === null
  byId('stop').disabled = true
}

onFile(load)
byId('write').addEventListener('click', write)
byId('stop').addEventListener('click', () => { stopped = true })
byId('prompt').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) write()
})
await offerDevices(() => {})
say('No model yet.')
