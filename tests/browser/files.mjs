/** Which test files a browser runs on which day, and the shims of Node's modules. */

import { BROWSERS } from './browsers.mjs'

const WHOLE = 'chromium' // the browser that runs most files

// The files that do not write into tensor memory: without shared memory, typed arrays of tensors are copies.
const COPIED = [
  'gradients.test.js', 'memory.test.js', 'ops.test.js', 'page.test.mjs', 'programs.test.js', 'remote.test.js', 'table.test.js',
  'views.test.js'
]

// The files whose tests have subtests, of which each day runs a part: they always run.
const PARTED = ['programs.test.js', 'table.test.js']

// The files about what differs between browsers.
const DIFFERENT = ['async.test.js', 'exchange.test.js', 'memory.test.js', 'page.test.mjs', 'remote.test.js', 'webgpu.test.mjs']

// The files for a browser with WebGPU.
const OF_GPU = ['webgpu.test.mjs']

export const SHIMS = {
  'node:assert': 'assert.mjs',
  'node:fs': 'fs.mjs',
  'node:path': 'path.mjs',
  'node:test': 'test.mjs',
  'node:util': 'inspect.mjs'
}

/** On how many days of a cycle a browser runs a file. */
function daysOf (name, file, days) {
  if (PARTED.includes(file)) return days
  if (DIFFERENT.includes(file)) return name === WHOLE ? days : 2
  return name === WHOLE ? 3 : 1
}

/** The test files that a browser runs: all that apply to it, or those of part `part` of `parts`. */
export function filesFor (name, files, part, parts) {
  const { isolated, only } = BROWSERS[name]
  const found = files.filter((file) => only?.includes(file) ?? (isolated ? !OF_GPU.includes(file) : COPIED.includes(file)))
  const today = found.filter((file, i) => (i + parts - part) % parts < daysOf(name, file, parts))
  if (today.length < found.length) console.log(`${name}: ${today.length} of ${found.length} files: POLY_PART=${part}/${parts}`)
  return today
}
