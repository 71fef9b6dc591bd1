/**
 * Builds the site: static files for any server.
 *
 *     node scripts/site.mjs OUT
 *
 * writes the pages of the folder site, with a common head, the documents in docs as pages, the package for browsers (make web), and data
 * for the examples.
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { OPTIONS } from '../bindings/js/scripts/bundle.mjs'
import { build } from '../bindings/js/node_modules/esbuild/lib/main.js'
import { Marked } from '../bindings/js/node_modules/marked/lib/marked.esm.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = path.join(ROOT, 'site')
const PACKAGE = path.join(ROOT, 'build', 'js')
const PAGES = {
  'index.html': 'Digits',
  'chargpt.html': 'Writing',
  'language.html': 'Language models',
  'playground.html': 'Playground',
  'search.html': 'Pictures',
  'mandelbrot.html': 'Mandelbrot',
  'data.html': 'Groups',
  'benchmark.html': 'Speed',
  'docs/api.html': 'Reference'
}
const DOCS = path.join(ROOT, 'docs')
const DOCUMENTS = 'docs/api.html'
const POLICY = "default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval'; img-src 'self' data: blob:"


// The benchmark page loads other libraries from a CDN.
const BENCHMARK = 'benchmark.html'
const CDN = 'https://cdn.jsdelivr.net'
const PEERS = {
  '@jax-js/jax': '@jax-js/jax@0.1.25/+esm',
  'onnxruntime-web/wasm': 'onnxruntime-web@1.30.0/dist/ort.wasm.bundle.min.mjs',
  '@tensorflow/tfjs-core': '@tensorflow/tfjs-core@4.22.0/+esm',
  '@tensorflow/tfjs-backend-wasm': '@tensorflow/tfjs-backend-wasm@4.22.0/+esm'
}

const withCdn = (policy) => policy.replaceAll("'self'", `'self' ${CDN}`)

/** Bundles the script of the benchmark page with the adapters of bench/web. */
function bundleBenchmark (out) {
  const places = {
    name: 'places',
    setup ({ onResolve, onLoad }) {
      onResolve({ filter: /^\/polygrad\.js$/ }, () => ({ path: './polygrad.js', external: true }))
      onResolve({ filter: /register_all_gradients/ }, () => ({ path: 'none', namespace: 'none' })) // not needed: the page times no training
      onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: '' }))
      onResolve({ filter: /^(@jax-js|@tensorflow|onnxruntime-web)/ }, ({ path: name }) => {
        return { path: `${CDN}/npm/${PEERS[name]}`, external: true }
      })
    }
  }
  return build({
    ...OPTIONS,
    entryPoints: [path.join(SOURCE, 'benchmark.js')],
    outdir: out,
    splitting: true,
    chunkNames: 'benchmark-[name]-[hash]',
    plugins: [places]
  })
}

/** The common head of all pages, below the title; root is the relative path to the front page. */
function head (name, root = '') {
  const links = Object.entries(PAGES).map(([file, title]) => {
    return `<a href="${root}${file}"${file === name ? ' aria-current="page"' : ''}>${title}</a>`
  })
  return `<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${name === BENCHMARK ? withCdn(POLICY) : POLICY}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}style.css">
<a class="skip" href="#main">Skip to the content</a>
<header><nav aria-label="Pages"><a href="${root}index.html">polygrad</a>${links.join('')}</nav></header>
`
}

/** Inserts the common head into a page. */
function pageOf (text, name, root) {
  const titled = text.replace('<title>', '<meta charset="utf-8">\n<title>')
  return titled.replace('</title>\n', () => `</title>\n${head(name, root)}`)
}

/** A renderer of Markdown that gives headings GitHub's anchors, and turns links to documents into links to their pages. */
function rendererFor (file) {
  const taken = new Map()
  return {
    heading ({ tokens, depth, text }) {
      const anchor = text.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
      const times = taken.get(anchor) ?? 0
      taken.set(anchor, times + 1)
      return `<h${depth} id="${anchor}${times > 0 ? `-${times}` : ''}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    link ({ href, tokens }) {
      const text = this.parser.parseInline(tokens)
      const [place, anchor] = href.split('#')
      if (/^https?:/.test(href) || place === '') return `<a href="${href}">${text}</a>`
      const inside = place.endsWith('.md') && path.join(path.dirname(file), place).startsWith(DOCS)
      return inside ? `<a href="${place.replace(/\.md$/, '.html')}${anchor === undefined ? '' : `#${anchor}`}">${text}</a>` : text
    }
  }
}

/** Renders a Markdown file as a page. */
function documentOf (file, root) {
  const text = fs.readFileSync(file, 'utf8')
  const [, title] = /^# (.*)$/m.exec(text)
  const body = new Marked({ renderer: rendererFor(file) }).parse(text)
  const page = `<!doctype html>\n<html lang="en">\n<title>${title}: polygrad</title>\n<main id="main">\n${body}</main>\n</html>\n`
  return pageOf(page, DOCUMENTS, root)
}

async function site (out) {
  fs.rmSync(out, { recursive: true, force: true })
  fs.mkdirSync(path.join(out, 'data'), { recursive: true })
  for (const name of fs.readdirSync(SOURCE)) {
    const from = path.join(SOURCE, name)
    if (name.endsWith('.html')) fs.writeFileSync(path.join(out, name), pageOf(fs.readFileSync(from, 'utf8'), name))
    else if (name !== 'benchmark.js') fs.copyFileSync(from, path.join(out, name))
  }
  await bundleBenchmark(out)
  for (const folder of ['', 'guide', 'tutorial']) {
    fs.mkdirSync(path.join(out, 'docs', folder), { recursive: true })
    for (const name of fs.readdirSync(path.join(DOCS, folder)).filter((file) => file.endsWith('.md'))) {
      const page = documentOf(path.join(DOCS, folder, name), folder === '' ? '../' : '../../')
      fs.writeFileSync(path.join(out, 'docs', folder, name.replace(/\.md$/, '.html')), page)
    }
  }
  for (const name of fs.readdirSync(PACKAGE)) fs.copyFileSync(path.join(PACKAGE, name), path.join(out, name))
  fs.copyFileSync(path.join(ROOT, 'examples', 'data', 'digits.csv.gz'), path.join(out, 'data', 'digits.csv.gz'))
  const texts = fs.readdirSync(path.join(DOCS, 'guide')).map((name) => path.join(DOCS, 'guide', name))
  const read = [...texts, path.join(DOCS, 'concepts.md'), path.join(DOCS, 'architecture.md'), path.join(DOCS, 'decisions.md')]
  fs.writeFileSync(path.join(out, 'data', 'text.txt'), read.map((name) => fs.readFileSync(name, 'utf8')).join('\n'))
}

if (process.argv.length !== 3) {
  console.error('usage: node scripts/site.mjs OUT')
  process.exit(2)
}
await site(process.argv[2])
