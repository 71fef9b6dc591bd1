// Each browser runs all files within a week, but those that no page can run.

import test from 'node:test'
import assert from 'node:assert'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { BROWSERS } from './browsers.mjs'
import { SHIMS, filesFor } from './files.mjs'
import { files, tests } from './left_out.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const TESTS = path.join(HERE, '..', '..', 'bindings', 'js', 'test')
const FOUND = fs.readdirSync(TESTS).filter((name) => name.endsWith('.test.js'))
const read = (name) => fs.readFileSync(path.join(TESTS, name), 'utf8')

test('what needs modules of Node that a page has not is left out', () => {
  for (const name of FOUND) {
    const missing = [...read(name).matchAll(/(?:require|import)\('(node:\w+)'\)/g)].map(([, module]) => module).filter((m) => !(m in SHIMS))
    assert.ok(missing.length === 0 || name in files || name in tests, `${name} needs ${missing}: see left_out.mjs`)
  }
})

test('what is left out is there', () => {
  for (const name of Object.keys(files)) assert.ok(FOUND.includes(name), name)
  for (const [name, titles] of Object.entries(tests)) {
    for (const title of Object.keys(titles)) assert.ok(read(name).includes(title), `${name}: ${title}`)
  }
})

test('a week has all files', () => {
  const names = [...FOUND.filter((name) => !(name in files)), 'page.test.mjs', 'webgpu.test.mjs']
  for (const name of Object.keys(BROWSERS)) {
    const all = filesFor(name, names, 0, 1)
    const week = Array.from({ length: 7 }, (_, day) => filesFor(name, names, day, 7))
    assert.deepStrictEqual(new Set(week.flat()), new Set(all), name)
    assert.ok(all.length > 0)
  }
})
