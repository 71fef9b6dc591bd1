'use strict'
/**
 * A thread pool that runs kernels. A run is cut into parts, one for each thread, and each part into pieces. A thread takes the pieces
 * of its own part first, so that it touches the same memory in consecutive runs, and then steals pieces of other parts.
 * Threads communicate only through words of the shared memory: the thread that starts a run does not return to its event loop
 * before the run has ended.
 */

// Indices of the shared words. A word that several threads write has a cache line of its own.
const RUN = 0 // the number of the last run; workers sleep on it
const DONE = 16 // the number of finished pieces of the run
const READY = 32 // the number of workers that have started
const SLEEPERS = 48 // the number of workers that sleep
const WAITING = 64 // whether the starting thread sleeps until the end of the run
const FAILED = 80 // whether a piece has failed
const JOB = 96 // the description of the run; it is written only while no pieces are left to take
const [MODULE, CODE, LENGTH, KERNEL, ARGS, WORDS, FIRST, THREADS, PIECES, ITEMS, ITEMS_HIGH] = Array.from({ length: 11 }, (_, i) => JOB + i)
const LEFT = 112 // for each part, packed by wordOf: the number of the run, the end of its pieces, and the next piece to take
const LINE = 16
const MOST_THREADS = 32
const TEXT = LEFT + LINE * MOST_THREADS // the error message of a piece: its length, and UTF-8
const TEXT_BYTES = 1024
const CONTROL = TEXT + 1 + TEXT_BYTES / 4
const CONTROL_BYTES = 4 * CONTROL

const SPIN = 0.05 // milliseconds that a worker spins for the next run before it sleeps: waking a thread takes longer than a short run
const WAIT = 0.1 // milliseconds that the starting thread spins for the end of a run
const LOOKS = 64 // loads between two readings of the clock while spinning
const LOST = 60_000 // milliseconds without a finished piece after which a thread is taken for dead
const MODULES = 256 // modules that a worker keeps compiled
const HALF = 2 ** 32

const wordOf = (run, end, next) => run << 10 | end << 5 | next
const NUMBER = (1 << 22) - 1 // the mask of run numbers

/** Takes the next piece of a part; -1 if none is left or the run is over. */
function take (words, part, run) {
  const at = LEFT + LINE * part
  for (;;) {
    const word = Atomics.load(words, at)
    const next = word & 31
    if (word >>> 10 !== run || next >= (word >>> 5 & 31)) return -1
    if (Atomics.compareExchange(words, at, word, word + 1) === word) return next
  }
}

/** The beginning of share i when count items from first on are divided into n nearly equal shares. */
const begin = (first, count, n, i) => first + Math.floor(count / n) * i + Math.min(i, count % n)

/**
 * A thread's work in a run: the pieces of its own part, then pieces that it steals from other parts.
 *
 * @param {Int32Array} words the shared words
 * @param {function(): Int32Array} all returns the whole memory
 * @param {number} thread the number of the thread
 * @param {number} run
 * @param {function(): function(number)} functionOf returns the kernel of the run
 */
function work (words, all, thread, run, functionOf) {
  const threads = words[THREADS] // may belong to a later run already; then take finds no piece of this one
  for (let i = 0; i < threads; i++) {
    const part = (thread + i) % threads
    for (let piece = take(words, part, run); piece >= 0; piece = take(words, part, run)) {
      perform(words, all, thread, part, piece, functionOf)
    }
  }
}

function perform (words, all, thread, part, piece, functionOf) {
  const [threads, pieces] = [words[THREADS], words[PIECES]] // read now: the next run may overwrite them once the last piece is done
  const items = (words[ITEMS] >>> 0) + words[ITEMS_HIGH] * HALF
  const [from, to] = [begin(0, items, threads, part), begin(0, items, threads, part + 1)]
  const [first, end] = [begin(from, to - from, pieces, piece), begin(from, to - from, pieces, piece + 1)]
  if (first < end) {
    try {
      const args = (words[ARGS] >>> 0) + 8 * words[WORDS] * thread
      const memory = all()
      const at = args / 4 + 2 * words[FIRST]
      memory[at] = first
      memory[at + 1] = first / HALF
      memory[at + 2] = end - first
      memory[at + 3] = (end - first) / HALF
      functionOf()(args)
    } catch (error) {
      if (Atomics.exchange(words, FAILED, 1) === 0) tell(words, error.message)
    }
  }
  if (Atomics.add(words, DONE, 1) + 1 === threads * pieces && Atomics.load(words, WAITING) === 1) Atomics.notify(words, DONE)
}

const textOf = (words) => new Uint8Array(words.buffer, words.byteOffset + 4 * (TEXT + 1), TEXT_BYTES)

function tell (words, message) {
  const text = new TextEncoder().encode(message).subarray(0, TEXT_BYTES)
  textOf(words).set(text)
  words[TEXT] = text.length
}

const told = (words) => new TextDecoder().decode(textOf(words).slice(0, words[TEXT]))

/** A function that returns the whole memory as words, in a new view if the memory has grown. */
function wordsOf (memory) {
  let words = new Int32Array(memory.buffer)
  return () => words.byteLength === memory.buffer.byteLength ? words : (words = new Int32Array(memory.buffer))
}

/** The main loop of a worker: waits for runs, and takes part in them. It never returns. */
function serve (memory, control) {
  const words = new Int32Array(memory.buffer, control, CONTROL)
  const all = wordsOf(memory)
  const modules = new Map() // exports of compiled modules by number, least recently used first

  function functionOf () {
    const number = words[MODULE]
    let exports = modules.get(number)
    if (exports === undefined) {
      const code = new Uint8Array(memory.buffer, words[CODE] >>> 0, words[LENGTH]).slice()
      exports = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } }).exports
      if (modules.size === MODULES) modules.delete(modules.keys().next().value)
    } else {
      modules.delete(number)
    }
    modules.set(number, exports)
    return exports[`k${words[KERNEL]}`]
  }

  let seen = Atomics.load(words, RUN)
  const thread = Atomics.add(words, READY, 1) + 1
  for (let looks = 1, since = performance.now(); ; looks++) {
    const run = Atomics.load(words, RUN)
    if (run !== seen) {
      seen = run
      if (thread < words[THREADS]) work(words, all, thread, run, functionOf)
    } else if (looks % LOOKS !== 0 || performance.now() - since < SPIN) {
      continue
    } else {
      Atomics.add(words, SLEEPERS, 1)
      Atomics.wait(words, RUN, seen)
      Atomics.sub(words, SLEEPERS, 1)
    }
    since = performance.now()
  }
}

/**
 * Starts workers, which together with the library's own thread make a pool.
 *
 * @param {WebAssembly.Memory} memory the shared memory
 * @param {number} control the address of the shared words
 * @param {object} workers start(message, died): starts a worker with a message; mayWait: whether this thread may block
 * @param {number} threads
 */
function startPool (memory, control, workers, threads) {
  const words = new Int32Array(memory.buffer, control, CONTROL).fill(0)
  const all = wordsOf(memory)
  let broken = false
  for (let i = 1; i < threads && !broken; i++) {
    broken = !workers.start({ memory, control }, () => { broken = true })
  }

  /** Waits until all pieces are done; throws if a thread is taken for dead. */
  function wait (total) {
    let [last, since] = [-1, performance.now()]
    for (let looks = 1; ; looks++) {
      const done = Atomics.load(words, DONE)
      if (done === total) return
      if (looks % LOOKS !== 0) continue
      const now = performance.now()
      if (done !== last) {
        [last, since] = [done, now]
      } else if (now - since > LOST) {
        broken = true
        throw new Error('a thread of the library has ended')
      } else if (workers.mayWait && now - since > WAIT) {
        Atomics.store(words, WAITING, 1)
        Atomics.wait(words, DONE, done, 1000)
        Atomics.store(words, WAITING, 0)
      }
    }
  }

  return {
    /** How many threads can share a run now. */
    ready: () => broken ? 1 : 1 + Atomics.load(words, READY),

    /**
     * Runs a kernel on several threads, this one among them.
     *
     * @param {object} kernel run: its function; module: number of its module; code, length: the module's bytes; kernel: its number in it
     * @param {number} args the address of the arguments of the first thread; the arguments of the others follow
     * @param {number} size 64-bit words of arguments of a thread
     * @param {number} first the index of the argument with the first item; the next argument is the number of items
     * @param {number} parts one for each thread
     * @param {number} pieces in each part
     * @param {number} items
     */
    share (kernel, args, size, first, parts, pieces, items) {
      const { module, code, length, kernel: number } = kernel
      words.set([module, code, length, number, args, size, first, parts, pieces, items, items / HALF], JOB)
      Atomics.store(words, DONE, 0)
      Atomics.store(words, FAILED, 0)
      const run = Atomics.load(words, RUN) + 1 & NUMBER
      for (let part = 0; part < parts; part++) Atomics.store(words, LEFT + LINE * part, wordOf(run, pieces, 0))
      Atomics.store(words, RUN, run)
      if (Atomics.load(words, SLEEPERS) > 0) Atomics.notify(words, RUN)
      work(words, all, 0, run, () => kernel.run)
      wait(parts * pieces)
      if (Atomics.load(words, FAILED) === 1) throw new Error(told(words))
    }
  }
}

module.exports = { startPool, serve, MOST_THREADS, CONTROL_BYTES }
