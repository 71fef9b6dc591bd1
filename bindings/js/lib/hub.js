'use strict'
/**
 * Models from the Hugging Face Hub, kept in the cache that its Python package has, too:
 * models--owner--name/blobs/(hash) are files, snapshots/(commit)/(name) links to them, refs/(revision) the commit.
 */

const { fs, os, path, process, environment, randomUUID, threadId, warn } = require('./host/node.js')
const { PolygradError } = require('./library.js')
const { named, string, record, article, show } = require('./arguments.js')
const { INDEX, weightNames, parsed } = require('./hf_folder.js')
const { Refusal, Interruption, fetchBytes, fetchFile } = require('./transfer.js')
const { ProgressLine } = require('./progress.js')

const SMALL = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json', INDEX]
const LISTING = 64 * 2 ** 20 // bytes
const PART = '[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?'
const REPO = new RegExp(`^${PART}(?:/${PART})?$`)
const REVISION = /^\w[\w./-]*$/
const COMMIT = /^[0-9a-f]{40}$/

const DEFAULTS = { cacheDir: null, revision: 'main', token: null, endpoint: null, show: null, onProgress: null }

/** Whether downloads are off: HF_HUB_OFFLINE, with the values that huggingface_hub accepts. */
function offline () {
  const value = environment.HF_HUB_OFFLINE || '0'
  if (/^(1|on|yes|true)$/i.test(value)) return true
  if (/^(0|off|no|false)$/i.test(value)) return false
  throw new PolygradError(`HF_HUB_OFFLINE: got '${value}', expected 1 or 0`)
}

async function downloadHf (repoId, ...args) {
  const options = checked(repoId, named('downloadHf', args, DEFAULTS))
  const store = path.join(options.cacheDir, `models--${repoId.replace('/', '--')}`)
  const known = knownSnapshot(store, options.revision)
  const isOffline = offline()
  if (known !== null && (COMMIT.test(options.revision) || isOffline)) return known
  try {
    if (isOffline) throw new PolygradError('HF_HUB_OFFLINE is 1, and the model is not in the cache')
    const { commit, files } = await listed(options)
    const snapshot = path.join(store, 'snapshots', commit)
    const get = async (name) => {
      if (!fs.existsSync(path.join(snapshot, name))) await fetched(store, snapshot, commit, name, files.get(name), options)
    }
    for (const name of SMALL) if (files.has(name)) await get(name)
    const weights = weightNames('downloadHf: repoId', snapshot, [...files.keys()])
    for (const name of ['config.json', ...weights]) if (!files.has(name)) throw new PolygradError(`there is no ${name} in it`)
    if (weights.length === 0) throw new PolygradError('there is no .safetensors file in it')
    for (const name of weights) await get(name)
    if (options.revision !== commit) writeWhole(path.join(store, 'refs', options.revision), commit)
    return snapshot
  } catch (error) {
    if (error instanceof Interruption && known !== null) {
      warn(`downloadHf: ${options.endpoint} does not answer (${error.message}): what was downloaded before is taken`)
      return known
    }
    // An error that onProgress has thrown passes through unchanged.
    if (!(error instanceof PolygradError) && error?.code === undefined) throw error
    const hint = error instanceof Refusal && [401, 403].includes(error.status) ? '; it may need a token that allows it' : ''
    throw new PolygradError(`downloadHf: repoId: ${show(repoId)}, revision ${show(options.revision)}: ${error.message}${hint}`)
  }
}

/** Checks the options of a download, and fills in defaults from environment variables. */
function checked (repoId, options) {
  if (!REPO.test(string(repoId, 'downloadHf: repoId')) || /--|\.\./.test(repoId)) {
    throw new PolygradError(`downloadHf: repoId: ${show(repoId)}, expected the name of a model, such as "owner/name"`)
  }
  const parts = string(options.revision, 'downloadHf: revision').split('/')
  if (!REVISION.test(options.revision) || parts.some((part) => ['', '.', '..'].includes(part))) {
    throw new PolygradError(`downloadHf: revision: ${show(options.revision)}, expected a branch, a tag or a commit`)
  }
  for (const [name, type] of [['show', 'boolean'], ['onProgress', 'function']]) {
    const value = options[name]
    if (value !== null && typeof value !== type) throw new TypeError(`downloadHf: ${name}: ${show(value)}, expected ${article(type)}`)
  }
  const { HF_HUB_CACHE, HF_HOME, HF_ENDPOINT, XDG_CACHE_HOME } = environment
  const home = HF_HOME || path.join(XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'huggingface')
  const endpoint = string(options.endpoint ?? (HF_ENDPOINT || 'https://huggingface.co'), 'downloadHf: endpoint').replace(/\/+$/, '')
  if (!/^https?:\/\/[^/]/.test(endpoint)) {
    const name = options.endpoint === null ? 'HF_ENDPOINT: got' : 'downloadHf: endpoint:'
    throw new PolygradError(`${name} ${show(endpoint)}, expected an http or https URL`)
  }
  return {
    ...options,
    repoId,
    endpoint,
    cacheDir: path.resolve(string(options.cacheDir ?? (HF_HUB_CACHE || path.join(home, 'hub')), 'downloadHf: cacheDir')),
    show: options.show ?? process.stderr.isTTY === true,
    // The token saved for the Hub is not sent to any other server.
    headers: options.token === null && options.endpoint === null ? savedHeaders(home) : headersOf('downloadHf: token', options.token)
  }
}

/** The HTTP headers for the token of HF_TOKEN, or else for the token that logging in to the Hub has saved. */
function savedHeaders (home) {
  if (environment.HF_TOKEN) return headersOf('HF_TOKEN', environment.HF_TOKEN)
  const file = environment.HF_TOKEN_PATH || path.join(home, 'token')
  let token = null
  try {
    token = fs.readFileSync(file, 'utf8').trim() || null
  } catch (error) {
    if (error.code === 'EISDIR') throw new PolygradError(`HF_TOKEN_PATH: '${file}' is a folder, expected a file`)
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') {
      throw new PolygradError(`HF_TOKEN_PATH: '${file}' cannot be read: ${error.message}`)
    }
  }
  return headersOf(file, token)
}

function headersOf (name, token) {
  if (token === null) return {}
  if (!/^[\x21-\x7e]+$/.test(string(token, name))) throw new PolygradError(`${name}: expected a token of letters and digits`)
  return { Authorization: `Bearer ${token}` }
}

/** The cached snapshot folder of a revision, null if there is none or it is incomplete. */
function knownSnapshot (store, revision) {
  try {
    const commit = COMMIT.test(revision) ? revision : fs.readFileSync(path.join(store, 'refs', revision), 'utf8').trim()
    if (!COMMIT.test(commit)) return null
    const snapshot = path.join(store, 'snapshots', commit)
    const weights = weightNames('downloadHf: repoId', snapshot, fs.readdirSync(snapshot))
    const isThere = (name) => fs.existsSync(path.join(snapshot, name))
    return weights.length > 0 && ['config.json', ...weights].every(isThere) ? snapshot : null
  } catch {
    return null
  }
}

/** The commit of a revision, and the size and hash of each file by name; null for a size or hash that the server does not give. */
async function listed ({ repoId, endpoint, revision, headers }) {
  const url = `${endpoint}/api/models/${repoId}/revision/${encodeURIComponent(revision)}?blobs=true`
  const { sha, siblings } = record(parsed(url, await fetchBytes(url, headers, LISTING)), url)
  if (typeof sha !== 'string' || !COMMIT.test(sha) || !Array.isArray(siblings)) throw new PolygradError(`${url} is no list of files`)
  const files = new Map()
  for (const sibling of siblings) {
    // Models have no files in subfolders; and no name from the server may lead to a place outside of the cache.
    const name = sibling?.rfilename
    if (typeof name !== 'string' || !/^\w[\w.-]*$/.test(name)) continue
    const size = Number.isSafeInteger(sibling.size) && sibling.size >= 0 ? sibling.size : null
    files.set(name, { size, hash: hashOf(sibling.lfs?.sha256 ?? sibling.blobId, size) })
  }
  return { commit: sha, files }
}

/** How a file is verified: [hash algorithm, prefix to hash before the bytes, digest]; null if the server gives no usable digest. */
function hashOf (digest, size) {
  if (typeof digest !== 'string') return null
  if (/^[0-9a-f]{64}$/.test(digest)) return ['sha256', '', digest]
  // Small files have the hash that git gives them.
  return /^[0-9a-f]{40}$/.test(digest) && size !== null ? ['sha1', `blob ${size}\0`, digest] : null
}

/** Downloads a file into blobs/, unless it is there, and links it into the snapshot. */
async function fetched (store, snapshot, commit, name, { size, hash }, { repoId, endpoint, headers, show: isShown, onProgress }) {
  const blob = hash === null ? `${commit}-${name}` : hash[2]
  const place = path.join(store, 'blobs', blob)
  fs.mkdirSync(path.dirname(place), { recursive: true })
  fs.mkdirSync(snapshot, { recursive: true })
  if (!fs.existsSync(place)) {
    const line = isShown ? new ProgressLine(name) : null
    const part = ownPart(place)
    active.add(part)
    try {
      await fetchFile(`${endpoint}/${repoId}/resolve/${commit}/${name}`, part, {
        headers,
        size,
        hash,
        onBytes (have, total) {
          line?.show(have, total)
          onProgress?.({ file: name, have, total })
        }
      })
      fs.renameSync(part, place)
    } catch (error) {
      if (error instanceof PolygradError) error.message = `${name}: ${error.message}`
      throw error
    } finally {
      active.delete(part)
      line?.end()
    }
  }
  const link = path.join(snapshot, `.${name}.${randomUUID()}`)
  fs.symlinkSync(path.join('..', '..', 'blobs', blob), link)
  fs.renameSync(link, path.join(snapshot, name))
}

// Incomplete files that this thread is writing.
const active = new Set()

/**
 * The name of an .incomplete file for a blob, one from an earlier attempt if there is one. The name has the process and thread that write
 * it: the file of a process that has ended is taken over, the file of a live one is left alone.
 */
function ownPart (place) {
  const own = `${place}.${process.pid}-${threadId}-`
  for (const name of fs.readdirSync(path.dirname(place))) {
    const file = path.join(path.dirname(place), name)
    const writer = /^\.(\d+)-(\d+)-[\w-]+\.incomplete$/.exec(file.startsWith(place) ? file.slice(place.length) : '')
    if (writer === null || active.has(file)) continue
    if (!file.startsWith(own) && isAlive(Number(writer[1]))) continue
    const mine = `${own}${randomUUID()}.incomplete`
    try {
      fs.renameSync(file, mine)
      return mine
    } catch {} // another process was faster
  }
  return `${own}${randomUUID()}.incomplete`
}

function isAlive (pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Writes a small file atomically: under another name, then renamed. */
function writeWhole (file, text) {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  const part = `${file}.${randomUUID()}`
  fs.writeFileSync(part, text)
  fs.renameSync(part, file)
}

module.exports = { downloadHf }
