/**
 * A server of static files for pages that use polygrad.
 *
 *     node scripts/serve.mjs [FOLDER] [--port 8080] [--plain]
 *
 * Pages are cross-origin isolated, which gives them shared memory and thus threads: responses have the headers
 * Cross-Origin-Opener-Policy and Cross-Origin-Embedder-Policy. With --plain they are not, as on a host where no headers
 * can be set. If FILE.br or FILE.gz exists in the same folder, it is sent as the compressed FILE.
 */

import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { pipeline } from 'node:stream'
import { pathToFileURL } from 'node:url'

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.md': 'text/plain; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm'
}
const ENCODINGS = { br: '.br', gzip: '.gz' }
const ISOLATED = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin'
}

/** The status of a regular file (size, modification time); null if there is none. */
function statusOf (file) {
  try {
    const status = fs.statSync(file)
    return status.isFile() ? status : null
  } catch {
    return null
  }
}

/** The file in the folder for the path of a URL; null if there is none, or the path leads out of the folder. */
function fileOf (folder, pathname) {
  let name
  try {
    name = decodeURIComponent(pathname)
  } catch {
    return null
  }
  if (name.includes('\0') || name.split(/[/\\]/).includes('..')) return null
  const file = path.join(folder, name, name.endsWith('/') ? 'index.html' : '')
  return statusOf(file) === null ? null : file
}

/** The encodings in an Accept-Encoding header, without those that are refused by q=0. */
function accepted (header = '') {
  return header.split(',').map((item) => item.trim().split(/\s*;\s*/)).filter(([, q]) => !/^q=0(\.0*)?$/.test(q ?? ''))
    .map(([name]) => name)
}

/** [first, last] byte of a Range header; null for the whole file, undefined for a range outside of it. */
function rangeOf (header, size) {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  if (from === undefined || (from === '' && to === '')) return null
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1)
  return first <= last ? [first, last] : undefined
}

function refuse (response, status, headers = {}) {
  response.writeHead(status, { 'Content-Type': 'text/plain', ...headers })
  response.end(`${status} ${http.STATUS_CODES[status]}\n`)
}

function answer (folder, headers, request, response) {
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405, { Allow: 'GET, HEAD' })
  const [pathname] = request.url.split('?')
  const file = fileOf(folder, pathname)
  if (file === null) {
    const isFolder = !pathname.endsWith('/') && fileOf(folder, `${pathname}/`) !== null
    return isFolder ? refuse(response, 301, { Location: `${pathname}/` }) : refuse(response, 404)
  }
  const sent = {
    'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream',
    'Cache-Control': 'no-cache',
    'Accept-Ranges': 'bytes',
    Vary: 'Accept-Encoding',
    ...headers
  }
  let from = file
  const names = accepted(request.headers['accept-encoding'])
  const asked = request.headers.range // a range refers to the uncompressed file
  const encoding = asked ? undefined : Object.keys(ENCODINGS).find((name) => names.includes(name) && statusOf(file + ENCODINGS[name]))
  if (encoding !== undefined) {
    from = file + ENCODINGS[encoding]
    sent['Content-Encoding'] = encoding
  }
  const { size, mtimeMs } = statusOf(from)
  sent.ETag = `"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}${encoding ?? ''}"`
  if (request.headers['if-none-match'] === sent.ETag) {
    response.writeHead(304, sent)
    return response.end()
  }
  const range = rangeOf(asked, size)
  if (range === undefined) return refuse(response, 416, { 'Content-Range': `bytes */${size}` })
  const [first, last] = range ?? [0, size - 1]
  if (range !== null) sent['Content-Range'] = `bytes ${first}-${last}/${size}`
  sent['Content-Length'] = last - first + 1
  response.writeHead(range === null ? 200 : 206, sent)
  if (request.method === 'HEAD' || size === 0) return response.end()
  pipeline(fs.createReadStream(from, { start: first, end: last }), response, () => {})
}

/**
 * Serves a folder to this machine; returns the address and a function that ends the server. Port 0 is any free port; headers
 * are sent with every file, in addition to those that isolate pages.
 */
export async function serve (folder, { port = 0, isolated = true, headers = {} } = {}) {
  const all = { ...(isolated ? ISOLATED : {}), ...headers }
  const server = http.createServer((request, response) => answer(path.resolve(folder), all, request, response))
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  return {
    url: `http://localhost:${server.address().port}/`,
    close: () => new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  }
}

async function main (args) {
  const plain = args.includes('--plain')
  const at = args.indexOf('--port')
  const port = at < 0 ? 8080 : Number(args[at + 1])
  const [folder = '.', ...rest] = args.filter((arg, i) => arg !== '--plain' && (at < 0 || (i !== at && i !== at + 1)))
  if (rest.length > 0 || !Number.isInteger(port) || !fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    console.error('usage: node scripts/serve.mjs [FOLDER] [--port 8080] [--plain]')
    process.exit(2)
  }
  const { url } = await serve(folder, { port, isolated: !plain })
  console.log(`${path.resolve(folder)} is served at ${url}${plain ? ', not isolated' : ''}`)
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main(process.argv.slice(2))
