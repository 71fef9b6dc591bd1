'use strict'
// The example reads real digits, and the examples of the guide print what they say.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { execFileSync } = require('node:child_process')

const run = (name, ...args) => {
  return execFileSync(process.execPath, [path.join(__dirname, '..', '..', '..', 'examples', name), ...args], { encoding: 'utf8' })
}

test('examples/digits.mjs learns to read', () => {
  const out = run('digits.mjs', '30')
  const accuracy = Number(/test accuracy: ([\d.]+)\n$/.exec(out)[1])
  assert.ok(accuracy >= 0.95, out)
})

test('examples/jax.mjs derives, fits a line and learns to read', () => {
  const out = run('jax.mjs')
  assert.match(out, /^f\(2\) = 1\.8186, f'\(2\) = 0\.0770, f''\(2\) = -2\.6509$/m)
  const [, slope, offset] = /^line: ([\d.]+) x \+ ([\d.]+), error 0\.01\d\d$/m.exec(out).map(Number)
  assert.ok(Math.abs(slope - 3) < 0.1 && Math.abs(offset - 0.5) < 0.05, out)
  assert.ok(Number(/^test accuracy: ([\d.]+)$/m.exec(out)[1]) >= 0.95, out)
})

test('examples/mandelbrot.mjs draws the set', () => {
  const lines = run('mandelbrot.mjs', '60').split('\n')
  assert.strictEqual(lines.length, 25)
  assert.ok(lines.every((line, i) => i === 24 || line === lines[23 - i]), 'it is symmetric')
  assert.match(lines[11], /^ +\.\.:\.+-@{20,}\.\.$/)
})

test('the examples of docs/guide/functions.md print what they say', () => {
  const page = fs.readFileSync(path.join(__dirname, '..', '..', '..', 'docs', 'guide', 'functions.md'), 'utf8')
  const blocks = [...page.matchAll(/```js\n([^]*?)```/g)].map((found) => found[1])
  assert.ok(blocks.length > 2)
  for (const code of blocks) {
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', cwd: path.join(__dirname, '..') })
    const promised = [...code.matchAll(/console\.log\(.*\) +\/\/ (.*)$/gm)].map((found) => found[1])
    assert.deepStrictEqual(said.trimEnd().split('\n'), promised)
  }
})
