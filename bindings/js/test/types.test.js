'use strict'
// The declarations: accepted by tsc --strict, true to the package, and complete.

const test = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
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
  assert.strictEqual(run('func.js'), '')
  assert.strictEqual(run('module.mjs'), 'module\n')
})

test('the examples of the pages are right in TypeScript', () => {
  const root = path.join(__dirname, '..', '..', '..')
  const pages = ['README.md', 'bindings/js/README.md', 'docs/tutorial/javascript.md', 'docs/guide/functions.md']
  const texts = pages.map((page) => fs.readFileSync(path.join(root, page), 'utf8'))
  const blocks = texts.flatMap((text) => [...text.matchAll(/```m?js\n([^]*?)```/g)].map((found) => found[1]))
    .filter((text) => !text.includes('@huggingface/'))
  assert.ok(blocks.length > 5)
  const folder = fs.mkdtempSync(path.join(__dirname, 'types', 'pages-'))
  try {
    const files = blocks.map((text, i) => {
      const file = path.join(folder, `${i}.mts`)
      fs.writeFileSync(file, `${text.replace(/const (\{[^}]*\}) = require\('([\w:]+)'\)/g, "import $1 from '$2'")}\nexport {}\n`)
      return file
    })
    const module = { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16, target: ts.ScriptTarget.ES2022 }
    const options = { strict: true, noEmit: true, types: ['node'], lib: ['lib.es2022.d.ts'], ...module }
    // Functions that are transformed have parameters without types there.
    const untyped = ({ code, file }) => code === 7006 && file.text.includes("'polygrad/func'")
    const wrong = ts.getPreEmitDiagnostics(ts.createProgram(files, options)).filter((d) => !untyped(d))
    assert.strictEqual(wrong.map((d) => `${d.file?.text}\n${ts.flattenDiagnosticMessageText(d.messageText, ' ')}`).join('\n'), '')
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
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

for (const group of ['random', 'lax', 'special', 'linalg', 'fft', 'numpy', 'func']) {
  test(`polygrad/${group} exports the functions of ${group}, all declared with a comment`, async () => {
    const { default: whole, 'module.exports': _, ...module } = await import(`polygrad/${group}`)
    assert.strictEqual(whole, polygrad[group])
    assert.deepStrictEqual(module, { ...polygrad[group] })
    const functions = new Map(checker.getExportsOfModule(exported.get(group)).map((symbol) => [symbol.name, symbol]))
    for (const name of Object.keys(module)) {
      assert.ok(functions.get(name)?.getDocumentationComment(checker).length > 0, `${name} is not declared with a comment`)
    }
  })
}
