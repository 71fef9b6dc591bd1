'use strict'
/**
 * Threads that share runs of kernels. A run is cut into parts, one for each thread, and parts into pieces. A thread takes the pieces
 * of its own part first, so that it meets the same memory in one run after the other, then those that are left of the others.
 * Everything that they say to each other stands in words of the memory that they share: the thread that asks for a run does not
 * return to its event loop meanwhile.
 */

// Words, by their places. Those that several threads write have a cache line of their own.
const RUN = 0 // the number of the last run, which workers wait for
const DONE = 16 // pieces of it that are finished
const READY = 32 // workers that run
const SLEEPERS = 48 // workers that wait
const WAITING = 64 // whether the thread that asked waits
const FAILED = 80 // whether a piece has failed
const JOB = 96 // a run: its thread writes it while no piece is left
const [MODULE, CODE, LENGTH, KERNEL, ARGS, WORDS, FIRST, THREADS, PIECES, ITEMS, ITEMS_HIGH] = Array.from({ length: 11 }, (_, i) => JOB + i)
const LEFT = 112 // for each part the pieces that nobody has taken: the number of the run, the end, and the next one
const LINE = 16
const MOST_THREADS = 32
const TEXT = LEFT + LINE * MOST_THREADS // the error of a piece: its length, and UTF-8
const TEXT_BYTES = 1024
const CONTROL = TEXT + 1 + TEXT_BYTES / 4
const CONTROL_BYTES = 4 * CONTROL

const SPIN = 0.05 // milliseconds for which a worker looks for the next run before it sleeps: to wake a thread takes longer than a short run
const WAIT = 0.1 // and the thread that asked for the end of one
const LOOKS = 64 // between two readings of the clock
const LOST = 60_000 // milliseconds after which a thread that finishes no piece has ended
const MODULES = 256 // that a worker keeps
const HALF = 2 ** 32

const wordOf = (run, end, next) => run << 10 | end << 5 | next
const NUMBER = (1 << 22) - 1 // of a run

/** Takes a piece of a part of a run; -1 if none is left. */
function take (words, part, run) {
  const at = LEFT + LINE * part
  for (;;) {
    const word = Atomics.load(words, at)
    const next = word & 31
    if (word >>> 10 !== run || next >= (word >>> 5 & 31)) return -1
    if (Atomics.compareExchange(words, at, word, word + 1) === word) return next
  }
}

/** Where share i of n equal ones of the count from first on begins. */
const begin = (first, count, n, i) => first + Math.floor(count / n) * i + Math.min(i, count % n)

/**
 * A thread's share of a run: the pieces of its own part, then what is left of the others.
 *
 * @param {Int32Array} words those that the threads share
 * @param {function(): Int32Array} all the whole memory
 * @param {number} thread the number of the thread
 * @param {number} run
 * @param {function(): function(number)} functionOf the function of the run
 */
function work (words, all, thread, run, functionOf) {
  const threads = words[THREADS] // of a later run already, if nothing can be taken
  for (let i = 0; i < threads; i++) {
    const part = (thread + i) % threads
    for (let piece = take(words, part, run); piece >= 0; piece = take(words, part, run)) {
      perform(words, all, thread, part, piece, functionOf)
    }
  }
}

function perform (words, all, thread, part, piece, functionOf) {
  const [threads, pieces] = [words[THREADS], words[PIECES]] // once the last piece is done they belong to the next run
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

/** A function that gives the whole memory, which may have grown, as words. */
function wordsOf (memory) {
  let words = new Int32Array(memory.buffer)
  return () => words.byteLength === memory.buffer.byteLength ? words : (words = new Int32Array(memory.buffer))
}

/** What a worker does until it is ended: it waits for runs, and does its share of them. */
function serve (memory, control) {
  const words = new Int32Array(memory.buffer, control, CONTROL)
  const all = wordsOf(memory)
  const modules = new Map() // what they export, the one that was used last at the end

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
 * The thread of the library, and workers that it starts.
 *
 * @param {WebAssembly.Memory} memory which they share
 * @param {number} control the address of their words
 * @param {object} workers start(message, died): starts one, which gets the message; mayWait: whether this thread may wait
 * @param {number} threads
 */
function startPool (memory, control, workers, threads) {
  const words = new Int32Array(memory.buffer, control, CONTROL).fill(0)
  const all = wordsOf(memory)
  let broken = false
  for (let i = 1; i < threads && !broken; i++) {
    broken = !workers.start({ memory, control }, () => { broken = true })
  }

  /** Waits until all pieces are done. */
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
     * @param {object} kernel run: its function; module: number of its module, code and length: where that lies, kernel: its number there
     * @param {number} args the address of the arguments of the first thread, those of the others follow
     * @param {number} size words of the arguments of a thread
     * @param {number} first which of them is the first item; the next one is the number of items
     * @param {number} parts one for each thread
     * @param {number} pieces of each part
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
