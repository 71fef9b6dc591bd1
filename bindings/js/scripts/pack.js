'use strict'
/**
 * npm's prepack and postpack: puts the library and the license into the package, so that a user needs
 * no compiler, and takes them away again: a checkout uses the library in build.
 */

const fs = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')
const native = path.join(root, 'native')
const license = path.join(root, 'LICENSE')
const description = path.join(root, 'package.json')
const PUBLISHED = 'x64'

/** Lets npm refuse to install the package for a processor that the library in it is not for. */
function setProcessor (cpu) {
  const text = fs.readFileSync(description, 'utf8')
  const now = text.replace(/("cpu": \["?).*?("?\])/, `$1${cpu}$2`)
  if (now !== text) fs.writeFileSync(description, now)
}

function before () {
  const library = process.env.POLYGRAD_LIB ?? path.join(root, '..', '..', 'build', 'libpolygrad.so')
  if (!fs.existsSync(library)) {
    console.error(`${library} does not exist: build it with \`make build\`, or set POLYGRAD_LIB to its path`)
    process.exit(1)
  }
  const folder = path.join(native, `${process.platform}-${process.arch}`)
  fs.mkdirSync(folder, { recursive: true })
  fs.copyFileSync(library, path.join(folder, 'libpolygrad.so'))
  fs.copyFileSync(path.join(root, '..', '..', 'LICENSE'), license)
  setProcessor(process.arch)
}

function after () {
  fs.rmSync(native, { recursive: true, force: true })
  fs.rmSync(license, { force: true })
  setProcessor(PUBLISHED)
}

if (process.argv[2] === 'after') after()
else before()
