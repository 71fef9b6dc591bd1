'use strict'
/**
 * npm's prepack and postpack: puts the library, the package for browsers and the license into the package, so that a user needs no
 * compiler, and takes them away again: a checkout uses what is in build.
 */

const fs = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')
const build = path.join(root, '..', '..', 'build')
const native = path.join(root, 'native')
const web = path.join(root, 'web')
const MODULES = ['', '-worker', '-remote', '-remote-worker', '-jax', '-optax', '-loaders'].map((name) => `polygrad${name}`)
const GROUPS = ['random', 'lax', 'special', 'linalg', 'fft', 'numpy', 'func'].map((name) => `polygrad-${name}.js`)
const PARTS = ['', '-deferred', '-models'].map((name) => `polygrad${name}.wasm`)
const WEB = [...MODULES.flatMap((name) => [`${name}.js`, `${name}.js.map`]), ...GROUPS, ...PARTS]
const license = path.join(root, 'LICENSE')

function before () {
  const library = process.env.POLYGRAD_LIB ?? path.join(build, 'libpolygrad.so')
  const folder = path.join(native, `${process.platform}-${process.arch}`)
  const files = [
    [library, path.join(folder, 'libpolygrad.so')],
    ...WEB.map((name) => [path.join(build, 'js', name), path.join(web, name)]),
    [path.join(root, '..', '..', 'LICENSE'), license]
  ]
  const missing = files.map(([from]) => from).filter((from) => !fs.existsSync(from))
  if (missing.length > 0) {
    console.error(`${missing.join(', ')} not found: \`make build web\` builds the files that the package contains`)
    process.exit(1)
  }
  fs.mkdirSync(folder, { recursive: true })
  fs.mkdirSync(web, { recursive: true })
  for (const [from, to] of files) fs.copyFileSync(from, to)
  fs.writeFileSync(path.join(web, 'package.json'), '{ "type": "module" }\n')
}

function after () {
  for (const made of [native, web, license]) fs.rmSync(made, { recursive: true, force: true })
}

if (process.argv[2] === 'after') after()
else before()
