/** Times polygrad and the libraries that the reader chooses, which come from a CDN, on the reader's machine. */

import { CASES } from '../bench/web/cases.js'
import { load, loaded, measure } from '../bench/web/measure.js'

// The folders of the other libraries' files; site.mjs has the addresses of their modules.
const CDN = 'https://cdn.jsdelivr.net/npm'
const GPU = 'polygrad, WebGPU'
const isOwn = (name) => name.startsWith('polygrad')
const PLACES = {
  [GPU]: undefined,
  'onnxruntime-web': `${CDN}/onnxruntime-web@1.30.0/dist/`,
  tfjs: `${CDN}/@tensorflow/tfjs-backend-wasm@4.22.0/dist/`,
  'jax-js': undefined
}
const LEFT_OUT = /2048|1023/ // they take long in some
const cases = CASES.filter(({ name, train }) => !train && !LEFT_OUT.test(name))
const byId = (id) => document.getElementById(id)
const say = (text) => { byId('state').textContent = text }
const threads = globalThis.crossOriginIsolated ? globalThis.navigator.hardwareConcurrency : 1
let stopped = false

function cell (row, content, kind = 'td') {
  const made = document.createElement(kind)
  made.append(content)
  row.append(made)
  return made
}

const milliseconds = (time) => time === undefined ? '–' : time.toPrecision(3)

/** A meter of the ratio of polygrad's time to the fastest other one; its full width is 2. */
function bar (part) {
  const meter = document.createElement('meter')
  Object.assign(meter, { min: 0, max: 2, low: 1, high: 1, optimum: 0, value: Math.min(2, part), title: part.toFixed(2) })
  return meter
}

function addRow (names, name, { times, problems }) {
  const row = document.createElement('tr')
  cell(row, name, 'th')
  for (const library of names) {
    const made = cell(row, problems[library] === undefined ? milliseconds(times[library]) : 'differs')
    if (problems[library] !== undefined) made.title = problems[library]
  }
  const best = Math.min(...names.filter((library) => !isOwn(library)).map((library) => times[library] ?? Infinity))
  if (Number.isFinite(best) && times.polygrad !== undefined) {
    cell(row, (times.polygrad / best).toFixed(2))
    cell(row, bar(times.polygrad / best))
  }
  byId('times').append(row)
}

/** Loads a library; returns null, or what to tell if that fails. */
async function tryLoad (name) {
  say(`Loading ${name} …`)
  try {
    await load(name, threads, PLACES[name])
    return null
  } catch (error) {
    delete loaded[name]
    return `${name} cannot be loaded: ${error.message.split('\n')[0]}`
  }
}

async function run () {
  byId('measure').disabled = true
  byId('stop').disabled = false
  stopped = false
  const wanted = ['polygrad', ...Array.from(document.querySelectorAll('#libraries input:checked'), ({ value }) => value)]
  for (const name of Object.keys(loaded)) if (!wanted.includes(name)) delete loaded[name]
  const problems = []
  for (const name of wanted) problems.push(await tryLoad(name))
  const names = wanted.filter((_, i) => problems[i] === null)
  const head = document.createElement('tr')
  for (const text of ['', ...names, ...(names.every(isOwn) ? [] : ['of the best', ''])]) cell(head, text, 'th')
  byId('times').replaceChildren(head)
  for (const { name } of cases) {
    if (stopped) break
    say(`${name} …`)
    await new Promise(requestAnimationFrame)
    addRow(names, name, await measure(name))
  }
  const told = problems.filter((problem) => problem !== null).join('; ')
  say(`${stopped ? 'Stopped.' : `Done with ${threads} thread${threads > 1 ? 's' : ''}.`} ${told}`)
  byId('measure').disabled = false
  byId('stop').disabled = true
  document.documentElement.dataset.done = 'yes'
}

const hasGpu = await globalThis.navigator.gpu?.requestAdapter().catch(() => null) != null
for (const name of Object.keys(PLACES)) {
  const label = document.createElement('label')
  const checked = name !== GPU || hasGpu
  label.append(Object.assign(document.createElement('input'), { type: 'checkbox', value: name, checked }), ` ${name}`)
  byId('libraries').append(label)
}
byId('measure').addEventListener('click', run)
byId('stop').addEventListener('click', () => { stopped = true })
byId('measure').disabled = false
say('')
