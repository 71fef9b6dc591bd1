'use strict'
// The declarations: accepted by tsc --strict, true to the package, and complete.

const test = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { execFileSync } = require('node:child_process')
const polygrad = require('..')

const ts = require('typescript')

const program = ts.createProgram([path.join(__dirname, '..', 'index.d.ts')], { strict: true, types: ['node'], lib: ['lib.es2022.d.ts'] })
const checker = program.getTypeChecker()
const source = program.getSourceFile(program.getRootFileNames()[0])
const exported = new Map(checker.getExportsOfModule(checker.getSymbolAtLocation(source))
  .map((symbol) => [symbol.name, symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol]))

test('tsc --strict accepts the declarations, and what it compiles runs', () => {
  const tsc = require.resolve('typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', path.join(__dirname, 'types')], { stdio: 'pipe' })
  const run = (file) => execFileSync(process.execPath, [path.join(__dirname, 'types', 'out', file)], { encoding: 'utf8' })
  assert.match(run('sample.js'), /^\d+ checks\n$/)
  assert.strictEqual(run('module.mjs'), 'module\n')
})

/** The members of a declared class and its bases, each with whether it has a comment. */
function declared (name) {
  const symbol = exported.get(name)
  assert.ok(symbol, `${name} is not declared`)
  const types = [checker.getDeclaredTypeOfSymbol(symbol), checker.getTypeOfSymbol(symbol)]
  return new Map(types.flatMap((type) => type.getProperties())
    .map((member) => [member.name, member.getDocumentationComment(checker).length > 0]))
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
    for (const member of own) {
      if (member.startsWith('_') || ['constructor', 'length', 'name', 'prototype', 'track'].includes(member)) continue
      assert.ok(members.has(member), `${name}.${member} is not declared`)
    }
  }
})

test('every member of Tensor that is declared exists, and has a comment', () => {
  const { Tensor } = polygrad
  for (const [member, commented] of declared('Tensor')) {
    if (member === 'prototype' || member.startsWith('__@')) continue
    assert.ok(member in Tensor.prototype || member in Tensor, `Tensor.${member} does not exist`)
    assert.ok(commented, `Tensor.${member} has no comment`)
  }
})

test('what the entries export is declared', async () => {
  const module = await import('polygrad')
  assert.deepStrictEqual(Object.keys(module).filter((n) => n !== 'default').sort(), Object.keys(polygrad).sort())
  assert.strictEqual(module.default, polygrad)
  for (const [name, value] of Object.entries(polygrad)) {
    assert.strictEqual(module[name], value)
    assert.ok(exported.has(name), `${name} is not declared`)
  }
})
