'use strict'
// Each name of @jax-js/jax, optax and loaders is here, or stands below with the reason why it is not.

const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const test = require('node:test')
const ts = require('typescript')
const polygrad = require('..')
const jax = require('polygrad/jax')

const ROWS = fs.readFileSync(path.join(__dirname, 'jax', 'names.tsv'), 'utf8').trim().split('\n').map((line) => line.split('\t'))

/** Names that are missing, by their namespaces. */
const MISSING = {
  Array: { 'readonly _trace': 'an inner part of jax-js: arrays in transformed functions are arrays here' },
  onnx: { ONNXModel: 'models are read by hf and Instance; there is no reader of ONNX files yet' }
}

const own = (object, key) => Object.hasOwn(object, key) ? object[key] : undefined
const at = (root, dotted) => dotted.split('.').reduce((object, key) => object?.[key], root)
const loaders = require('polygrad/loaders')

const SPACES = {
  optax: require('polygrad/optax'),
  loaders,
  'loaders.safetensors': loaders.safetensors,
  'loaders.tokenizers': loaders.tokenizers,
  '-': jax,
  'scipy.special': jax.scipySpecial,
  Array: Object.getOwnPropertyDescriptors(jax.numpy.array([1]).constructor.prototype)
}

test('every name of the list is here, or missing for a reason', () => {
  assert.ok(ROWS.length > 490)
  for (const [space, name, kind] of ROWS) {
    const reason = typeof MISSING[space] === 'string' ? MISSING[space] : own(MISSING[space] ?? {}, name)
    const found = (SPACES[space] ?? at(jax, space))?.[name]
    if (reason !== undefined) assert.strictEqual(found, undefined, `${space}.${name} is here, and said to be missing`)
    else if (kind !== 'type' && name !== 'JsTreeDef') assert.notStrictEqual(found, undefined, `${space}.${name} is missing`)
    if (kind === 'function' && reason === undefined) assert.strictEqual(typeof found, 'function', `${space}.${name}`)
  }
})

test('every name of the list is declared with a comment, and so is all that is here', () => {
  const file = path.join(__dirname, '..', 'lib', 'jax', 'index.d.ts')
  const program = ts.createProgram([file], { strict: true, types: [], lib: ['lib.es2022.d.ts'] })
  const checker = program.getTypeChecker()
  const exported = (symbol) => new Map(checker.getExportsOfModule(symbol)
    .map((s) => [s.name, s.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(s) : s]))
  const root = exported(checker.getSymbolAtLocation(program.getSourceFile(program.getRootFileNames()[0])))
  const space = (dotted) => dotted === '-' ? root : dotted.split('.').reduce((names, key) => exported(names.get(key)), root)
  for (const [group, name] of ROWS) {
    if (group === 'Array' || /^(onnx|optax|loaders)/.test(group)) continue
    assert.ok(space(group === 'scipy.special' ? 'scipySpecial' : group).has(name), `${group}.${name} is not declared`)
  }
  // What other modules have besides comes here by itself.
  const generated = new Set(['numpy', 'linalg', 'lax', 'random', 'special'].flatMap((module) => Object.keys(polygrad[module])))
  const listed = new Set(ROWS.map(([group, name]) => `${group} ${name}`))
  const values = { '-': jax, scipySpecial: jax.scipySpecial }
  for (const group of ['lax', 'lax.linalg', 'nn', 'numpy', 'numpy.fft', 'numpy.linalg', 'random', 'tree']) values[group] = at(jax, group)
  for (const [group, object] of Object.entries(values)) {
    const names = space(group)
    for (const name of Object.keys(object)) {
      if (generated.has(name) && !listed.has(`${group} ${name}`)) continue
      const symbol = names.get(name)
      assert.ok(symbol !== undefined, `${group}.${name} is not declared`)
      const plain = typeof object[name] !== 'function'
      assert.ok(plain || symbol.getDocumentationComment(checker).length > 0, `${group}.${name} has no comment`)
    }
  }
})
