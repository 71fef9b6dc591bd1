'use strict'
// The example reads real digits.

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { execFileSync } = require('node:child_process')

test('examples/digits.mjs learns to read', () => {
  const example = path.join(__dirname, '..', '..', '..', 'examples', 'digits.mjs')
  const out = execFileSync(process.execPath, [example, '30'], { encoding: 'utf8' })
  const accuracy = Number(/test accuracy: ([\d.]+)\n$/.exec(out)[1])
  assert.ok(accuracy >= 0.95, out)
})
