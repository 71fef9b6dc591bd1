/**
 * Times polygrad in headless Chromium beside the newest jax-js, onnxruntime-web and TensorFlow.js:
 *
 *     node bench/web/run.mjs [--write bench/WEB.md] [--only TEXT]
 *
 * All run interleaved in one page; results are minimum times: CPU time with one thread, otherwise wall time. The peers are installed
 * from npm into build/bench-web; the package of polygrad is that of build/js (make web). Results are compared in full. It fails when
 * libraries compute different values.
 */

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import zlib from 'node:zlib'
import { build } from '../../bindings/js/node_modules/esbuild/lib/main.js'
import { OPTIONS } from '../../bindings/js/scripts/bundle.mjs'
import { serve } from '../../scripts/serve.mjs'
import { launch, openPage } from '../../tests/browser/browsers.mjs'
import { CASES } from './cases.js'
import { pageOf } from './report.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BUILT = path.join(ROOT, 'build', 'bench-web')
const SITE = path.join(BUILT, 'site')
const MODULES = path.join(BUILT, 'node_modules')
const PEERS = ['@jax-js/jax', 'onnxruntime-web', '@tensorflow/tfjs-core', '@tensorflow/tfjs-backend-wasm']
const LIBRARIES = ['polygrad', 'jax-js', 'onnxruntime-web', 'tfjs']
const VISITS = 5
const PATIENCE = 600_000 // milliseconds

// The files that each library loads beside the bundle, their folder, and the chunk with its adapter.
const FILES = {
  polygrad: { from: path.join(ROOT, 'build', 'js'), to: '',
    files: ['polygrad.js', 'polygrad.wasm', 'polygrad-deferred.wasm', 'polygrad-models.wasm', 'polygrad-worker.js'] },
  'jax-js': { bundle: 'jax', files: [] },
  'onnxruntime-web': { bundle: 'onnx', from: path.join(MODULES, 'onnxruntime-web', 'dist'), to: 'onnx',
    files: ['ort-wasm-simd-threaded.mjs', 'ort-wasm-simd-threaded.wasm'] },
  tfjs: { bundle: 'tfjs', from: path.join(MODULES, '@tensorflow', 'tfjs-backend-wasm', 'dist'), to: 'tfjs',
    files: ['tfjs-backend-wasm-threaded-simd.wasm', 'tfjs-backend-wasm-simd.wasm'] }
}

// Files that are not loaded, or only lazily: they do not count in the sizes.
const LATER = ['polygrad-deferred.wasm', 'polygrad-models.wasm', 'tfjs-backend-wasm-simd.wasm']

/** Installs the peers, and returns their versions. */
function install () {
  fs.mkdirSync(BUILT, { recursive: true })
  fs.writeFileSync(path.join(BUILT, 'package.json'), '{"private": true, "type": "module"}\n')
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  execFileSync('npm', ['install', ...options, ...PEERS.map((name) => `${name}@latest`)], { cwd: BUILT, stdio: 'inherit' })
  return PEERS.map((name) => {
    const { version } = JSON.parse(fs.readFileSync(path.join(MODULES, name, 'package.json'), 'utf8'))
    return `${name} ${version}`
  })
}

/** Bundles the page, and returns for each library the files that a first visit loads. */
async function assemble () {
  fs.rmSync(SITE, { recursive: true, force: true })
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: [path.join(ROOT, 'bench', 'web', 'page.js')],
    outdir: SITE,
    splitting: true,
    minify: true,
    metafile: true,
    nodePaths: [MODULES],
    external: ['/polygrad.js'],
    chunkNames: 'chunks/[name]-[hash]'
  })
  fs.writeFileSync(path.join(SITE, 'index.html'), '<!doctype html>\n<meta charset="utf-8">\n<link rel="icon" href="data:,">\n' +
    '<title>Benchmark</title>\n<script type="module" src="page.js"></script>\n')
  const sent = {}
  for (const [name, { from, to, bundle, files }] of Object.entries(FILES)) {
    for (const file of files) {
      fs.mkdirSync(path.join(SITE, to), { recursive: true })
      fs.copyFileSync(path.join(from, file), path.join(SITE, to, file))
    }
    sent[name] = files.filter((file) => !LATER.includes(file)).map((file) => path.join(SITE, to, file))
    const entry = (module) => Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith(`bench/web/${module}.js`))
    const needed = new Set()
    const take = (output) => {
      if (needed.has(output)) return
      needed.add(output)
      for (const { path: next, kind } of metafile.outputs[output].imports) {
        if (kind === 'import-statement' && next in metafile.outputs) take(next)
      }
    }
    if (bundle !== undefined) take(entry(bundle)[0])
    sent[name].push(...[...needed].map((output) => path.resolve(output)))
  }
  return sent
}

/** The download sizes of a first visit in bytes: raw, gzip and brotli. */
function sizesOf (sent) {
  const sum = (files, of) => files.reduce((all, file) => all + of(fs.readFileSync(file)).length, 0)
  return Object.fromEntries(Object.entries(sent).map(([name, files]) => {
    return [name, { raw: sum(files, (data) => data), gzip: sum(files, (data) => zlib.gzipSync(data, { level: 9 })),
      brotli: sum(files, (data) => zlib.brotliCompressSync(data, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 11 } })) }]
  }))
}

/** A clock of the CPU time of the renderers' main threads, in milliseconds. */
function processorTime (browser) {
  const childrenOf = (pid) => fs.readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    return fs.readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').match(/\d+/g) ?? []
  })
  const below = (pid) => childrenOf(pid).flatMap((child) => [child, ...below(child)])
  const pages = below(browser.process().pid).filter((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer'))
  const nanoseconds = (pid) => Number(fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0])
  return () => pages.reduce((sum, pid) => sum + nanoseconds(pid), 0) / 1e6
}

/** Opens the page in a new browser context, with an empty cache. */
async function open (browser, url) {
  const context = await browser.createBrowserContext()
  const page = await openPage(context)
  page.setDefaultTimeout(PATIENCE)
  page.on('pageerror', (error) => console.log(`  page: ${error.message}`))
  await page.goto(url)
  await page.waitForFunction('globalThis.visit !== undefined')
  return { page, close: () => context.close() }
}

/** The times of all cases with a number of threads. */
async function timesOf (browser, url, threads, cases) {
  const { page, close } = await open(browser, url)
  if (threads === 1) await page.exposeFunction('processorTime', processorTime(browser))
  for (const name of LIBRARIES) await page.evaluate((library, n) => globalThis.load(library, n), name, threads)
  const all = {}
  for (const { name } of cases) {
    all[name] = await page.evaluate((which) => globalThis.measure(which), name)
    console.log(threads, name, JSON.stringify(all[name]))
  }
  all.add = { times: await page.evaluate(() => globalThis.addAndRead()), problems: {} }
  console.log(threads, 'add', JSON.stringify(all.add))
  await close()
  return all
}

/** The minimum times of cold visits: until the library is loaded, and from then on to the first result. */
async function visitsOf (browser, url) {
  const least = {}
  for (let i = 0; i < VISITS; i++) {
    for (const name of LIBRARIES) {
      for (const what of ['forward', 'step']) {
        const { page, close } = await open(browser, url)
        const took = await page.evaluate((...args) => globalThis.visit(...args), name, 1, what)
        await close()
        if (took === null) continue
        const known = (least[name] ??= { ready: Infinity, forward: Infinity, step: Infinity, total: Infinity })
        known.ready = Math.min(known.ready, took.ready)
        known[what] = Math.min(known[what], took.first)
        if (what === 'forward') known.total = Math.min(known.total, took.ready + took.first)
      }
    }
  }
  console.log(JSON.stringify(least))
  return least
}

/** Tokens per second of GPT-2, each library in a page of its own; the tokens, and the logits after the prompt, must agree. */
async function writingOf (browser, url, threads) {
  const all = {}
  let expected
  for (const name of ['polygrad', 'onnxruntime-web']) {
    const { page, close } = await open(browser, url)
    const { logits, tokens, ...told } = await page.evaluate((...args) => globalThis.write(...args), name, threads)
    await close()
    expected ??= { logits, tokens }
    const far = logits.reduce((most, value, i) => Math.max(most, Math.abs(value - expected.logits[i])), 0)
    if (!(far < 1e-3)) throw new Error(`GPT-2: logits of ${name} are up to ${far} from those of polygrad`)
    if (String(tokens) !== String(expected.tokens)) throw new Error(`GPT-2: ${name} writes ${tokens}, polygrad ${expected.tokens}`)
    all[name] = told
  }
  console.log(threads, 'GPT-2', JSON.stringify(all))
  return all
}

async function main () {
  const { values } = parseArgs({ options: { write: { type: 'string' }, only: { type: 'string', default: '' } } })
  const cases = CASES.filter(({ name }) => name.includes(values.only))
  const versions = install()
  const sent = await assemble()
  const times = {}
  const writing = {}
  let visits
  for (const threads of [1, 2]) {
    const server = await serve(SITE, { isolated: threads > 1 })
    const browser = await launch('chromium', { protocolTimeout: PATIENCE })
    times[threads] = await timesOf(browser, server.url, threads, cases)
    writing[threads] = await writingOf(browser, server.url, threads)
    if (threads === 1) visits = await visitsOf(browser, server.url)
    versions.unshift(...(threads === 1 ? [await browser.version()] : []))
    await browser.close()
    await server.close()
  }
  const processor = `${os.cpus().length} processors ${os.cpus()[0].model}, load average ${os.loadavg()[1].toFixed(1)}`
  const text = pageOf({ cases, times, writing, visits, sizes: sizesOf(sent), versions, processor })
  if (values.write !== undefined) fs.writeFileSync(values.write, text)
  console.log(text)
  const wrong = Object.values(times).flatMap((all) => Object.values(all)).some(({ problems }) => Object.keys(problems).length > 0)
  process.exit(wrong ? 1 : 0)
}

await main()
