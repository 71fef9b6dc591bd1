/**
 * Times polygrad on WebGPU beside jax-js and TensorFlow.js, in one page:
 *
 *     node bench/web/gpu.mjs [--only PART] [--write bench/WEBGPU.md] [--serve]
 *
 * runs it in headless Chromium, on the CPU (SwiftShader): the cases that are fast there, or those with PART in their names. With
 * --serve it serves the page to a browser of this machine, to measure its GPU. The peers are installed from npm into
 * build/bench-web; the package of polygrad is that of build/js (make web).
 */

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from '../../bindings/js/node_modules/esbuild/lib/main.js'
import { OPTIONS } from '../../bindings/js/scripts/bundle.mjs'
import { serve } from '../../scripts/serve.mjs'
import { launch, openPage } from '../../tests/browser/browsers.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BUILT = path.join(ROOT, 'build', 'bench-web')
const SITE = path.join(BUILT, 'gpu')
const MODULES = path.join(BUILT, 'node_modules')
const PEERS = ['@jax-js/jax', '@tensorflow/tfjs-core', '@tensorflow/tfjs-backend-webgpu', '@tensorflow/tfjs-backend-wasm']
const PATIENCE = 600_000 // milliseconds

function install () {
  fs.mkdirSync(BUILT, { recursive: true })
  fs.writeFileSync(path.join(BUILT, 'package.json'), '{"private": true, "type": "module"}\n')
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  execFileSync('npm', ['install', ...options, ...PEERS.map((name) => `${name}@latest`)], { cwd: BUILT, stdio: 'inherit' })
  return PEERS.slice(0, 3).map((name) => `${name} ${JSON.parse(fs.readFileSync(path.join(MODULES, name, 'package.json'), 'utf8')).version}`)
}

async function assemble () {
  fs.rmSync(SITE, { recursive: true, force: true })
  await build({
    ...OPTIONS,
    entryPoints: [path.join(ROOT, 'bench', 'web', 'gpu.js')],
    outdir: SITE,
    splitting: true,
    minify: true,
    nodePaths: [MODULES],
    external: ['/polygrad.js'],
    chunkNames: 'chunks/[name]-[hash]'
  })
  fs.writeFileSync(path.join(SITE, 'index.html'), '<!doctype html>\n<meta charset="utf-8">\n<link rel="icon" href="data:,">\n' +
    '<title>polygrad on WebGPU</title>\n<pre></pre>\n<script type="module" src="gpu.js"></script>\n')
  for (const file of fs.readdirSync(path.join(ROOT, 'build', 'js')).filter((name) => /\.(js|wasm)$/.test(name))) {
    fs.copyFileSync(path.join(ROOT, 'build', 'js', file), path.join(SITE, file))
  }
}

const text = { type: 'string' }
const { values } = parseArgs({ options: { write: text, only: text, serve: { type: 'boolean', default: false } } })
const versions = install()
await assemble()
const server = await serve(SITE, { isolated: true })
if (values.serve) {
  console.log(`${server.url}: open it in a browser with WebGPU; Ctrl-C ends this`)
} else {
  const browser = await launch('chromium-webgpu', { protocolTimeout: PATIENCE })
  try {
    const page = await openPage(browser)
    page.on('pageerror', (error) => console.log(`page: ${error.message}`))
    page.on('console', (message) => console.log(message.text()))
    await page.goto(values.only === undefined ? server.url : `${server.url}?only=${encodeURIComponent(values.only)}`)
    await page.waitForFunction('globalThis.done !== undefined', { timeout: PATIENCE })
    const found = await page.evaluate('globalThis.done')
    if (values.write !== undefined) {
      fs.writeFileSync(values.write, `# On WebGPU in the browser

polygrad beside ${versions.join(', ')}
(npm's newest) in one page of headless ${await browser.version()}, whose WebGPU is SwiftShader: ${os.cpus().length} processors
(${os.cpus()[0].model.trim()}) do the work, load average ${os.loadavg()[0].toFixed(1)}. So times show the structure of
programs and shaders, not GPUs. To measure a GPU: \`make web\`, then \`node bench/web/gpu.mjs --serve\`, and open the page that it names.

All run by turns of 100 ms on a GPUDevice of the page's thread; a run ends when the device has done its work, the least mean of five turns
counts. In parentheses: milliseconds of the first run with reading its results; dispatches, submits and bind groups that are made in a run
that has run before. Rates are of the operations of products, and of the bytes of inputs and results; the peak is that of a shader that
only multiplies and adds, and of one that copies. Programs are compiled ones (TinyJit, compileStep, jit); TensorFlow.js has none. All
values of all results are compared with those of polygrad.

${found}
`)
    }
  } finally {
    await browser.close()
    await server.close()
  }
}
