'use strict'
/** npm's prepack: puts the library into the package, so that a user needs no compiler. */

const fs = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')
const from = process.env.POLYGRAD_LIB ?? path.join(root, '..', '..', 'build', 'libpolygrad.so')
const folder = path.join(root, 'native', `${process.platform}-${process.arch}`)
if (!fs.existsSync(from)) {
  console.error(`${from} does not exist: build it with \`make build\`, or set POLYGRAD_LIB to its path`)
  process.exit(1)
}
fs.mkdirSync(folder, { recursive: true })
fs.copyFileSync(from, path.join(folder, 'libpolygrad.so'))
fs.copyFileSync(path.join(root, '..', '..', 'LICENSE'), path.join(root, 'LICENSE'))
