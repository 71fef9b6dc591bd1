'use strict'
/** The package as one module for browsers: what a bundler leaves of it. */

const assert = require('node:assert')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { test } = require('node:test')
const zlib = require('node:zlib')

const MOST = 40_000 // bytes, compressed by gzip

test('A bundler takes what a page uses of the package', async (t) => {
  const { build } = await import('esbuild')
  const { bundle, OPTIONS } = await import('../scripts/bundle.mjs')
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'polygrad-bundle-'))
  t.after(() => fs.rmSync(folder, { recursive: true }))
  await bundle(folder)
  const sizeOf = async (names, from = './polygrad.js') => {
    const contents = `import { ${names} } from '${from}'\nglobalThis.used = [${names}]`
    const { outputFiles: [{ text }] } = await build({ ...OPTIONS, stdin: { contents, resolveDir: folder }, minify: true, write: false })
    return { text, size: zlib.gzipSync(text, { level: 9 }).length }
  }
  const tensor = await sizeOf('Tensor')
  const all = await sizeOf(
    'Tensor, nn, hf, viz, Instance, TinyJit, download, safetensors, Variable, random, lax, special, linalg, fft, numpy, func')
  assert.ok(tensor.size < MOST, `${tensor.size} bytes for Tensor`)
  assert.ok(tensor.size < 0.7 * all.size, `${tensor.size} bytes for Tensor, ${all.size} for everything`)
  const functions = await sizeOf('uniform, split', './polygrad-random.js')
  assert.ok(functions.size < tensor.size + 1_500, `${functions.size} bytes for functions of random`)
  const gradients = await sizeOf('grad', './polygrad-func.js')
  assert.ok(gradients.size < tensor.size + 10_500, `${gradients.size} bytes for function transformations`)
  assert.ok(gradients.text.includes('inAxes') && !tensor.text.includes('inAxes'))
  assert.ok(all.text.includes('random.uniform') && !tensor.text.includes('random.uniform'))
  for (const name of ['Linear', 'Structure', 'Traced', 'Optimizer', 'LRScheduler', 'TinyJit', 'Instance', 'OpenFile']) {
    assert.ok(all.text.includes(`static name="${name}"`), name)
    assert.ok(!tensor.text.includes(`static name="${name}"`), `${name} is in what a page needs for Tensor`)
  }
})
