'use strict'
// The example reads real digits, and the examples of the guide print what they say.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { execFileSync } = require('node:child_process')

test('examples/digits.mjs learns to read', () => {
  const example = path.join(__dirname, '..', '..', '..', 'examples', 'digits.mjs')
  const out = execFileSync(process.execPath, [example, '30'], { encoding: 'utf8' })
  const accuracy = Number(/test accuracy: ([\d.]+)\n$/.exec(out)[1])
  assert.ok(accuracy >= 0.95, out)
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
