'use strict'
/** Downloads of large files over HTTP: interrupted downloads are resumed, and checksums are verified. */

const { fs, createHash, pause } = require('./host/node.js')
const { PolygradError } = require('./library.js')

const TIMEOUT = 30_000 // milliseconds without an answer or a byte of it
const ATTEMPTS = 5 // attempts in a row that bring no byte
const PAUSE = 300 // milliseconds before the second attempt; twice as long before each further one
const PASSING = new Set([408, 429])

/** An HTTP status that is an error. */
class Refusal extends PolygradError {
  constructor (answer) {
    const reason = answer.headers.get('x-error-message')
    super(`the server answered ${answer.status} ${answer.statusText}${reason === null ? '' : `: ${reason}`}`)
    this.status = answer.status
  }
}

/** No answer, or one that was cut off: another attempt may succeed. */
class Interruption extends PolygradError {
  constructor (error) {
    super(error.cause?.message || error.cause?.code || error.message)
  }
}

/** Sends a request, and calls read with the answer and a function that returns the next bytes of the body, or null at the end. */
async function asked (url, headers, read) {
  const giveUp = new AbortController()
  const watch = setTimeout(() => giveUp.abort(new Error(`nothing came for ${TIMEOUT / 1000} seconds`)), TIMEOUT)
  const interrupted = (error) => { throw new Interruption(giveUp.signal.aborted ? giveUp.signal.reason : error) }
  try {
    // No compression: a compressed body could not be resumed in the middle.
    const sent = { 'User-Agent': 'polygrad', 'Accept-Encoding': 'identity', ...headers }
    const answer = await fetch(url, { headers: sent, signal: giveUp.signal }).catch(interrupted)
    if (answer.status >= 500 || PASSING.has(answer.status)) interrupted(new Refusal(answer))
    if (!answer.ok && answer.status !== 416) throw new Refusal(answer)
    const reader = answer.body?.getReader()
    return await read(answer, async () => {
      watch.refresh()
      const { done, value } = await (reader?.read().catch(interrupted) ?? { done: true })
      return done ? null : value
    })
  } finally {
    clearTimeout(watch)
    giveUp.abort() // drops the rest of the answer
  }
}

/** Retries after interruptions. ATTEMPTS counts from the last one that brought bytes. */
async function attempts (once, progress) {
  for (let left = ATTEMPTS, wait = PAUSE; ; wait *= 2) {
    const before = progress()
    try {
      return await once()
    } catch (error) {
      if (progress() > before) [left, wait] = [ATTEMPTS, PAUSE]
      if (!(error instanceof Interruption) || --left === 0) throw error
    }
    await pause(wait)
  }
}

/** The bytes at a URL; more than limit bytes are an error. */
function fetchBytes (url, headers, limit) {
  return attempts(() => asked(url, headers, async (_, next) => {
    const parts = []
    let n = 0
    for (let part; (part = await next()) !== null;) {
      n += part.length
      if (n > limit) throw new PolygradError(`the answer has more than ${limit} bytes`)
      parts.push(part)
    }
    return Buffer.concat(parts)
  }), () => 0)
}

/** The file offset at which an answer begins, 0 or have; null if its Content-Range does not fit. */
function beginOf (answer, have) {
  if (answer.status === 200) return 0
  const range = /^bytes (\d+)-/.exec(answer.headers.get('content-range') ?? '')
  return answer.status === 206 && Number(range?.[1]) === have ? have : null
}

/**
 * Downloads a URL into a file, and resumes after the bytes that the file has. size and hash, [algorithm, prefix, digest], are
 * the expected ones, or null if they are not known. onBytes gets the number of bytes so far and the total or null.
 */
async function fetchFile (url, file, { headers, size, hash, onBytes }) {
  const handle = await fs.promises.open(file, fs.constants.O_RDWR | fs.constants.O_CREAT)
  try {
    let have = (await handle.stat()).size
    await attempts(async () => {
      if (size !== null && have > size) have = 0
      if (have === size) return
      const range = have > 0 ? { Range: `bytes=${have}-` } : {}
      await asked(url, { ...headers, ...range }, async (answer, next) => {
        const begin = beginOf(answer, have)
        have = begin ?? 0
        await handle.truncate(have)
        if (begin === null) throw new Interruption(new Error('the server does not go on where the file ends'))
        const length = answer.headers.get('content-length')
        const total = size ?? (length === null ? null : have + Number(length))
        for (let part; (part = await next()) !== null;) {
          if (total !== null && have + part.length > total) throw new PolygradError(`more bytes came than the ${total} of the file`)
          for (let n = 0; n < part.length;) n += (await handle.write(part, n, part.length - n, have + n)).bytesWritten
          have += part.length
          onBytes(have, total)
        }
        if (total !== null && have < total) throw new Interruption(new Error(`the file ended after ${have} of ${total} bytes`))
      })
    }, () => have)
    await handle.sync()
  } finally {
    await handle.close()
  }
  if (hash !== null) await check(file, hash)
}

/** Throws, and removes the file, if its checksum differs from the announced one. */
async function check (file, [algorithm, prefix, digest]) {
  const sum = createHash(algorithm).update(prefix)
  for await (const part of fs.createReadStream(file)) sum.update(part)
  const found = sum.digest('hex')
  if (found === digest) return
  fs.rmSync(file)
  throw new PolygradError(`the bytes that came have the ${algorithm} ${found}, expected ${digest}`)
}

module.exports = { Refusal, Interruption, fetchBytes, fetchFile }
