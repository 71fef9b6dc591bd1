// Runs a program that Go built for GOOS=wasip1, with the functions that the library needs from its host: an -exec of go run and go test.
//
//   GOOS=wasip1 GOARCH=wasm go test -exec "node $PWD/tests/wasm/run.mjs" ./exec/...
import { readFileSync } from 'node:fs'
import { WASI } from 'node:wasi'
import { kernels } from './kernels.mjs'

const [program, ...args] = process.argv.slice(2)
const wasi = new WASI({
  version: 'preview1',
  args: [program, ...args],
  env: { ...process.env, PWD: process.cwd() },
  preopens: { '/': '/' },
})
const host = kernels()
const { instance } = await WebAssembly.instantiate(readFileSync(program), { ...wasi.getImportObject(), polygrad: host.imports })
host.memory = instance.exports.memory
process.exitCode = wasi.start(instance)
