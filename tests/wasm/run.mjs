// Runs a program that Go built for GOOS=wasip1, with the functions that the library needs from its host: an -exec of go run and go test.
//
//   GOOS=wasip1 GOARCH=wasm go test -ldflags=-checklinkname=0 -exec "$PWD/tests/wasm/run.mjs" ./exec/...
import { readFileSync } from 'node:fs'
import { WASI } from 'node:wasi'
import host from '../../bindings/js/lib/wasm/host.js'

const [program, ...args] = process.argv.slice(2)
const wasi = new WASI({
  version: 'preview1',
  args: [program, ...args],
  env: { ...process.env, PWD: process.cwd() },
  preopens: { '/': '/' },
})
const library = { memory: null, shared: false }
const { wasiImport: system } = wasi // getImportObject is newer than Node 18
const imports = {
  polygrad: host.hostImports(library),
  // Node's own unwinds the program with an exception, and sometimes dies of it.
  wasi_snapshot_preview1: { ...system, proc_exit: (code) => process.exit(code) },
}
const { instance } = await WebAssembly.instantiate(readFileSync(program), imports)
library.memory = instance.exports.memory
wasi.start(instance)
