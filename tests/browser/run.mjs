/**
 * Runs the tests of the JavaScript package in browsers, in pages with a Content-Security-Policy:
 *
 *     node tests/browser/run.mjs [--report JUNIT.xml] [BROWSER...] [FILE.test.js...]
 *
 * BROWSER is one of chromium, chromium-plain (a page that is not isolated: no shared memory), chromium-webgpu (whose device is webgpu),
 * firefox and firefox-webgpu; FILE a file of bindings/js/test, or of only, which has tests that Node does not run. Without names it is all
 * of them. With POLY_PART=2/7, as make test sets it, it runs every seventh subtest, from the third on, of files with subtests (the table of
 * operations and the small programs), and of the other files those that files.mjs selects.
 * The package is that of build/js (make web).
 */

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from '../../bindings/js/node_modules/esbuild/lib/main.js'
import { asModules, OPTIONS } from '../../bindings/js/scripts/bundle.mjs'
import { serve } from '../../scripts/serve.mjs'
import { BROWSERS, launch, openPage } from './browsers.mjs'
import { SHIMS, filesFor } from './files.mjs'
import { files as leftOutFiles, tests as leftOutTests } from './left_out.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const ROOT = path.join(HERE, '..', '..')
const FOLDERS = [path.join(ROOT, 'bindings', 'js', 'test'), path.join(HERE, 'only')]
const PACKAGE = '/build/js/polygrad.js'
const REMOTE = '/build/js/polygrad-remote.js'
const PATIENCE = 60_000 // milliseconds without a message of a page, after which it counts as hung

/** A plugin of esbuild: resolves Node's modules to shims, and the package to its build for pages. */
const inPage = {
  name: 'page',
  setup ({ onResolve, onLoad }) {
    onResolve({ filter: /^(\.\.|polygrad)$/ }, () => ({ path: PACKAGE, external: true }))
    onResolve({ filter: /^polygrad\// }, ({ path: name }) => ({ path: `/build/js/${name.replace('/', '-')}.js`, external: true }))
    onResolve({ filter: /^\.\.\/lib\/remote\/index\.js$/ }, () => ({ path: REMOTE, external: true }))
    onResolve({ filter: /^(node:|koffi$)/ }, ({ path: name }) => {
      return name in SHIMS ? { path: path.join(HERE, 'page', SHIMS[name]) } : { path: name, namespace: 'absent' }
    })
    // Modules without a shim are empty: the tests that need them are skipped.
    onLoad({ filter: /.*/, namespace: 'absent' }, () => ({ contents: 'module.exports = {}' }))
  }
}

/** The paths of the test files by name. */
function known () {
  const all = FOLDERS.flatMap((folder) => fs.readdirSync(folder).map((file) => [file, path.join(folder, file)]))
  return new Map(all.filter(([file]) => /\.test\.m?js$/.test(file) && !(file in leftOutFiles)))
}

/** Bundles each test file into a module in a folder. */
async function bundleTests (places, folder) {
  const entry = (file) => `import ${JSON.stringify(places.get(file))}
export { run } from ${JSON.stringify(path.join(HERE, 'page', 'test.mjs'))}`
  const virtual = {
    name: 'entries',
    setup ({ onResolve, onLoad }) {
      onResolve({ filter: /^entry:/ }, ({ path: name }) => ({ path: name.slice('entry:'.length), namespace: 'entry' }))
      onLoad({ filter: /.*/, namespace: 'entry' }, ({ path: name }) => ({ contents: entry(name), resolveDir: HERE }))
    }
  }
  await build({
    ...OPTIONS,
    entryPoints: [...places.keys()].map((file) => ({ in: `entry:${file}`, out: file.replace(/\.m?js$/, '') })),
    outdir: folder,
    sourcemap: 'inline',
    inject: [path.join(HERE, 'page', 'globals.mjs')],
    define: { __dirname: '"/bindings/js/test"', global: 'globalThis' },
    plugins: [virtual, inPage, asModules(/\.test\.js$/)]
  })
}

/** Runs a test file in a page, and resolves to its results when all tests have ended, the page breaks or a timeout expires. */
function runFile (page, { url, ...choices }, folder, file) {
  const bundle = `/${path.relative(ROOT, folder)}/${file.replace(/\.mjs$/, '.js')}`
  const query = new URLSearchParams({ ...choices, file: bundle, leftOut: JSON.stringify(leftOutTests[file] ?? {}) })
  const results = []
  let now = '(file)'
  return new Promise((resolve) => {
    let watch
    const end = () => {
      clearTimeout(watch)
      page.removeAllListeners()
      resolve(results)
    }
    const broken = (error) => {
      results.push({ end: now, error, ms: 0 })
      end()
    }
    const patient = () => {
      clearTimeout(watch)
      watch = setTimeout(broken, PATIENCE, `nothing came for ${PATIENCE / 1000} seconds`)
    }
    page.on('console', (message) => {
      const text = message.text()
      if (!text.startsWith('#{')) return console.log(`  ${file}: ${message.type()}: ${text}`)
      patient()
      const event = JSON.parse(text.slice(1))
      if (event.begin !== undefined) now = event.begin
      else if (event.end !== undefined) results.push(event)
      else end()
    })
    page.on('pageerror', (error) => {
      // Firefox reports violations of the policy as page errors, too; the code that caused one has got its own exception.
      if (!/Content-Security-Policy/.test(error.message)) broken(`${error.stack ?? error}`)
    })
    page.on('error', (error) => broken(`the page is gone: ${error.message}`))
    patient()
    page.goto(`${url}tests/browser/page/index.html?${query}`, { timeout: PATIENCE }).catch((error) => broken(String(error)))
  })
}

/** Runs test files in a browser, up to two at a time. */
async function runBrowser (name, files, folder, offset, every) {
  const { isolated, settings = {} } = BROWSERS[name]
  const server = await serve(ROOT, { isolated })
  const launched = await launch(name)
  const all = new Map()
  const left = [...files]
  // In Firefox pages of one site share a process and its main thread, and would block each other: each worker has its own subdomain.
  const work = async (_, number) => {
    const url = server.url.replace('localhost', `page${number}.localhost`)
    for (let file; (file = left.shift()) !== undefined;) {
      const page = await openPage(launched) // in Firefox a cross-origin isolated page cannot navigate on
      const start = performance.now()
      const results = await runFile(page, { url, isolated, every, offset, settings: JSON.stringify(settings) }, folder, file)
      const failed = results.filter(({ error }) => error !== null)
      console.log(`${failed.length > 0 ? 'fail' : 'pass'} ${name} ${file}: ${results.length} tests, ${
        ((performance.now() - start) / 1000).toFixed(1)} s`)
      for (const { end, error } of failed) console.log(`  ${end}: ${error}`)
      all.set(file, results)
      await page.close().catch(() => {})
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(2, os.cpus().length) }, work))
  } finally {
    await launched.close()
    await server.close()
  }
  return all
}

const escaped = (text) => text.replace(/[\0-\x08\x0b-\x1f]/g, '?').replace(/[&<>"\n]/g, (c) => `&#${c.charCodeAt(0)};`)

/** The results as a JUnit report. */
function junit (browsers) {
  const cases = []
  for (const [name, files] of browsers) {
    for (const [file, results] of files) {
      for (const { end, error, ms } of results) {
        const inside = error === null ? '' : `<failure message="${escaped(error.split('\n')[0])}">${escaped(error)}</failure>`
        cases.push(`<testcase classname="${escaped(`${name}.${file}`)}" name="${escaped(end)}" time="${ms / 1000}">${inside}</testcase>`)
      }
    }
  }
  return `<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n${cases.join('\n')}\n</testsuites>\n`
}

async function main (args) {
  const at = args.indexOf('--report')
  const report = at < 0 ? null : args.splice(at, 2)[1]
  const [part, parts] = (process.env.POLY_PART ?? '0/1').split('/').map(Number)
  const places = known()
  const unknown = args.filter((arg) => !(arg in BROWSERS) && !places.has(arg))
  if (unknown.length > 0) {
    console.error(`run.mjs: ${unknown[0]}: expected one of ${[...Object.keys(BROWSERS), ...places.keys()].join(', ')}`)
    process.exit(2)
  }
  if (!fs.existsSync(path.join(ROOT, PACKAGE))) throw new Error(`${PACKAGE} is not built: make web`)
  const named = args.filter((arg) => arg in BROWSERS)
  const browsers = named.length > 0 ? named : Object.keys(BROWSERS)
  const files = args.filter((arg) => !(arg in BROWSERS))
  if (files.length > 0) for (const file of places.keys()) if (!files.includes(file)) places.delete(file)
  const folder = fs.mkdtempSync(path.join(ROOT, 'build', 'pages-'))
  const done = []
  try {
    await bundleTests(places, folder)
    for (const name of browsers) {
      const chosen = filesFor(name, [...places.keys()], part, parts)
      done.push([name, await runBrowser(name, chosen, folder, part, parts)])
    }
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
  if (report !== null) fs.writeFileSync(report, junit(done))
  const results = done.flatMap(([, ofFiles]) => [...ofFiles.values()].flat())
  const failed = results.filter(({ error }) => error !== null).length
  console.log(`${results.length - failed} passed, ${failed} failed`)
  process.exit(failed > 0 ? 1 : 0)
}

await main(process.argv.slice(2))
