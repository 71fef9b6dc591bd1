/**
 * Puts the site together: static files for any server.
 *
 *     node scripts/site.mjs OUT
 *
 * writes the pages of the folder site, with what all of them have in their heads, the package for browsers (make web) and the data of
 * examples.
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = path.join(ROOT, 'site')
const PACKAGE = path.join(ROOT, 'build', 'js')
const PAGES = { 'index.html': 'Digits' }
const POLICY = "default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval'; img-src 'self' data: blob:"

/** What all pages begin with, below the title. */
function head (name) {
  const links = Object.entries(PAGES).map(([file, title]) => `<a href="${file}"${file === name ? ' aria-current="page"' : ''}>${title}</a>`)
  return `<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<a class="skip" href="#main">Skip to the content</a>
<header><nav aria-label="Pages"><a href="index.html">polygrad</a>${links.join('')}</nav></header>
`
}

/** A page of the site, with its head. */
function pageOf (text, name) {
  const titled = text.replace('<title>', '<meta charset="utf-8">\n<title>')
  return titled.replace('</title>\n', () => `</title>\n${head(name)}`)
}

function site (out) {
  fs.rmSync(out, { recursive: true, force: true })
  fs.mkdirSync(path.join(out, 'data'), { recursive: true })
  for (const name of fs.readdirSync(SOURCE)) {
    const from = path.join(SOURCE, name)
    if (name.endsWith('.html')) fs.writeFileSync(path.join(out, name), pageOf(fs.readFileSync(from, 'utf8'), name))
    else fs.copyFileSync(from, path.join(out, name))
  }
  for (const name of fs.readdirSync(PACKAGE)) fs.copyFileSync(path.join(PACKAGE, name), path.join(out, name))
  fs.copyFileSync(path.join(ROOT, 'examples', 'data', 'digits.csv.gz'), path.join(out, 'data', 'digits.csv.gz'))
}

if (process.argv.length !== 3) {
  console.error('usage: node scripts/site.mjs OUT')
  process.exit(2)
}
site(process.argv[2])
