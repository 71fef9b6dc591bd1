'use strict'
// The declarations: accepted by tsc --strict, true to the package, and complete.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { execFileSync } = require('node:child_process')
const polygrad = require('..')

const ROOT = path.join(__dirname, '..')
const text = fs.readFileSync(path.join(ROOT, 'index.d.ts'), 'utf8')

test('tsc --strict accepts the declarations, and what it compiles runs', () => {
  const tsc = require.resolve('typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', path.join(__dirname, 'types')], { stdio: 'pipe' })
  const run = (file) => execFileSync(process.execPath, [path.join(__dirname, 'types', 'out', file)], { encoding: 'utf8' })
  assert.match(run('sample.js'), /^\d+ checks\n$/)
  assert.strictEqual(run('module.mjs'), 'module\n')
})

/** The members of a declared class, each with whether it has a comment. */
function declared (name) {
  const start = text.search(new RegExp(`^export (abstract )?class ${name}\\b`, 'm'))
  assert.ok(start >= 0, `${name} is not declared`)
  const body = text.slice(start, text.indexOf('\n}\n', start)).split('\n')
  const members = new Map()
  body.forEach((line, i) => {
    const member = /^ {2}(?:static |readonly )*(\w+)[(<:?]/.exec(line)?.[1]
    if (member === undefined || member === 'constructor') return
    members.set(member, members.get(member) || /\*\/$/.test(body[i - 1]))
  })
  return members
}

test('every public member of a class is declared', () => {
  const classes = Object.entries(polygrad).filter(([name, value]) => /^[A-Z]/.test(name) && typeof value === 'function')
  assert.ok(classes.length > 15)
  for (const [name, value] of classes) {
    if (value.prototype instanceof Error) continue
    const members = declared(name)
    const own = new Set()
    for (let at = value.prototype; at !== Object.prototype && at !== Function.prototype; at = Object.getPrototypeOf(at)) {
      Object.getOwnPropertyNames(at).forEach((n) => own.add(n))
    }
    for (let at = value; at !== Function.prototype; at = Object.getPrototypeOf(at)) {
      Object.getOwnPropertyNames(at).forEach((n) => own.add(n))
    }
    const { Optimizer, LRScheduler, LayerNorm, SymInt } = polygrad
    const bases = [Optimizer, LRScheduler, LayerNorm, SymInt].filter((base) => base.isPrototypeOf(value))
    const inherited = new Map(bases.flatMap((base) => [...declared(base.name)]))
    for (const member of own) {
      if (member.startsWith('_') || ['constructor', 'length', 'name', 'prototype', 'track'].includes(member)) continue
      assert.ok(members.has(member) || inherited.has(member), `${name}.${member} is not declared`)
    }
  }
})

test('every method of Tensor has a comment', () => {
  for (const [member, commented] of declared('Tensor')) {
    if (member !== 'dispose') assert.ok(commented, `Tensor.${member} has no comment`)
  }
})

test('what the entries export is declared', async () => {
  const module = await import('../index.mjs')
  assert.deepStrictEqual(Object.keys(module).filter((n) => n !== 'default').sort(), Object.keys(polygrad).sort())
  assert.strictEqual(module.default, polygrad)
  for (const [name, value] of Object.entries(polygrad)) {
    assert.strictEqual(module[name], value)
    assert.match(text, new RegExp(`^export (abstract )?(class|function|const) ${name}\\b`, 'm'), `${name} is not declared`)
  }
})
