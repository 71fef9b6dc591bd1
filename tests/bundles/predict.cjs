// As predict.c, with the Node package in $POLYGRAD_JS.
'use strict'
const { readFileSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { Instance } = require(process.env.POLYGRAD_JS)

const [folder, steps] = process.argv.slice(2)
const floats = (name) => new Float32Array(Uint8Array.from(readFileSync(join(folder, name))).buffer)
const write = (name, data) => writeFileSync(join(folder, name), Buffer.from(data.buffer, data.byteOffset, data.byteLength))

const model = Instance.fromBundle(readFileSync(join(folder, 'model.bundle')))
const x = floats('x')
write('output', model.forward({ x }).output)
write('again.bundle', model.saveBundle())
const losses = Float32Array.from({ length: Number(steps) }, () => model.trainStep({ x, y: floats('y') }))
write('losses', losses)
