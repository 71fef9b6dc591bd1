'use strict'
/**
 * The library's access to the GPU. If threads share the memory, a thread of its own uses the GPU, and the library's thread blocks until
 * that has results. Otherwise, or for a GPUDevice of the program, this thread uses the GPU, and results come through promises only.
 */

const { Gpu, TOLD, openDevice, described, wordsOf } = require('./gpu.js')
const { told, DONE, FAILED, LOST, OPENED, LIMITS, GPU_CONTROL_BYTES } = require('./gpu_worker.js')

const NOT_OPEN = "there is no device yet: await Device.init('webgpu') before"
const NO_WAIT = 'results come later here, and are waited for by await: toArrayAsync(), itemAsync() or tolistAsync(); ' +
  'in a page that is cross-origin isolated, and on a device that Device.init has opened itself, it can be read at once'

const OTHER_THREAD = 'the GPU is used on a thread of its own, whose buffers are not for this one: ' +
  "Device.init('webgpu', { device }) takes a GPUDevice of this thread"

/** A GPU on another thread. */
class Elsewhere {
  constructor (library) {
    this.library = library
    this.last = 0 // the number of the last message
    this.waits = 0 // number of promises in held
    const control = library.gpuControl
    this.words = new Int32Array(library.memory.buffer, control, GPU_CONTROL_BYTES / 4).fill(0)
    this.limitsOf = new Float64Array(library.memory.buffer, control + 4 * LIMITS, TOLD)
    this.worker = library.workers.gpu({ gpu: { memory: library.memory, control } })
    this.fetches = new Map() // [resolve, reject] by ticket
    this.worker.onmessage = ({ data: { ticket, error } }) => {
      const [resolve, reject] = this.fetches.get(ticket)
      this.fetches.delete(ticket)
      if (error === undefined) resolve()
      else reject(new Error(error))
    }
    this.worker.unref?.() // lets Node exit, unless a promise is held
  }

  /** Keeps Node from exiting until a promise is settled. */
  async held (promise) {
    this.worker.ref?.()
    this.waits++
    try {
      return await promise
    } finally {
      if (--this.waits === 0) this.worker.unref?.()
    }
  }

  post (message, transferred = []) {
    this.worker.postMessage({ ...message, number: ++this.last }, transferred)
    return this.last
  }

  /** Blocks until the worker has processed a message; throws the error of the message, if it failed. */
  finish (number) {
    const { words } = this
    for (let done; (done = Atomics.load(words, DONE)) - number < 0;) if (this.library.workers.mayWait) Atomics.wait(words, DONE, done)
    if (words[FAILED] !== 0) throw new Error(told(words))
  }

  /** finish, asynchronously. */
  async finishLater (number) {
    const { words } = this
    for (let done; (done = Atomics.load(words, DONE)) - number < 0;) {
      if (Atomics.waitAsync !== undefined) await Atomics.waitAsync(words, DONE, done, 100).value
      else await new Promise((resolve) => setTimeout(resolve, 1))
    }
    if (words[FAILED] !== 0) throw new Error(told(words))
  }

  async init (options) {
    await this.held(this.finishLater(this.post({ action: 'open', options })))
    this.options = options
    this.known()
  }

  known () {
    this.number = this.words[OPENED]
    this.name = told(this.words)
    this.limits = [...this.limitsOf]
  }

  get isLost () { return Atomics.load(this.words, LOST) === this.number }

  renew () {
    this.finish(this.post({ action: 'open', options: this.options }))
    this.known()
  }

  perform (at, count, wait) {
    const number = this.post({ action: 'perform', at, count })
    if (wait) this.finish(number)
    return number
  }

  get performed () { return Atomics.load(this.words, DONE) }
  wait () { this.finish(this.post({ action: 'wait' })) }
  read (buffer, parts) { this.finish(this.post({ action: 'read', buffer, parts })) }
  lose () { this.finish(this.post({ action: 'lose' })) }
  bufferOf () { throw new Error(OTHER_THREAD) }
  offer () { throw new Error(OTHER_THREAD) }

  offerImage (offered, source, width, height) {
    this.post({ action: 'image', offered, source, width, height }, [source])
  }

  fetch (buffer, at, bytes) {
    return this.held(new Promise((resolve, reject) => {
      const ticket = this.post({ action: 'fetch', ticket: this.last + 1, buffer, at, bytes })
      this.fetches.set(ticket, [resolve, reject])
    }))
  }
}

/** A GPU on this thread. */
class Here {
  constructor (library) {
    this.all = wordsOf(library.memory)
    this.number = 0
    this.performed = 0
  }

  async init ({ device, ...options }) {
    this.options = options
    this.given = device !== undefined
    this.use(this.given ? { device, ...described(device) } : await openDevice(options))
  }

  use ({ device, ...adapter }) {
    this.gpu = new Gpu(device, this.all, { ...adapter, mayWait: false })
    this.number++
    device.lost.then(() => {
      if (!this.given) openDevice(this.options).then((opened) => this.use(opened), () => {})
    })
  }

  get name () { return this.gpu.name }
  get limits () { return this.gpu.limits }
  get isLost () { return this.gpu.isLost }

  renew () {
    throw new Error("the device was lost, and there is no other one yet: await Device.init('webgpu') again")
  }

  perform (at, count) {
    this.gpu.perform(at, count)
    return ++this.performed
  }

  wait () { this.gpu.check() }
  read () { throw new Error(NO_WAIT) }
  lose () { this.gpu.device.destroy() }
  bufferOf (number) { return this.gpu.objects[number] }
  offer (number, buffer) { this.gpu.offer(number, buffer) }

  offerImage (number, source, width, height) {
    this.gpu.offerImage(number, source, width, height)
    source.close()
  }

  fetch (buffer, at, bytes) { return this.gpu.fetch(buffer, at, bytes) }
}

/**
 * The functions of the import module "polygrad" for WebGPU.
 *
 * @param {object} library see hostImports
 * @param {function(function()): number} tried runs a function, and returns 0, or 1 after an error, which it keeps for the library
 */
function gpuImports (library, tried) {
  let gpu = null
  let other = null // the GPU on another thread, if it was started
  let used = [] // what the library has opened: the GPU, and the number of its device
  let opened = 0 // how often the library has opened a device
  const isOf = (number) => number === opened && used[0] === gpu && used[1] === gpu.number && !gpu.isLost

  library.initGpu = async (options = {}) => {
    if (gpu !== null && !gpu.isLost && Object.keys(options).length === 0) return gpu.name
    const elsewhere = options.device === undefined && library.shared && library.workers?.gpu != null
    const next = elsewhere ? other ??= new Elsewhere(library) : gpu instanceof Here ? gpu : new Here(library)
    await next.init(options)
    gpu = next
    return gpu.name
  }

  /** initGpu, synchronously: only where this thread may block until a new thread has started. */
  function openNow () {
    if (!library.shared || !library.workers?.gpuAtOnce) throw new Error(NOT_OPEN)
    other ??= new Elsewhere(library)
    other.renew()
    gpu = other
  }

  /** Destroys the device, as if it had been lost: for tests. */
  library.loseGpu = () => gpu.lose()

  /** The GPUDevice, null if another thread uses it. */
  library.gpuDevice = () => gpu?.gpu?.device ?? null

  /** The GPUBuffer of the library's number. */
  library.gpuBuffer = (number) => gpu.bufferOf(number)

  let offers = 0

  /** Offers a GPUBuffer to the library; returns the number by which to adopt it. */
  library.offerBuffer = (buffer) => {
    gpu.offer(++offers, buffer)
    return offers
  }

  /** Offers a buffer with the pixels of an ImageBitmap, which is closed. */
  library.offerImage = (source, width, height) => {
    gpu.offerImage(++offers, source, width, height)
    return offers
  }

  let tickets = 0
  const fetches = new Map() // promises by ticket

  /** Waits for a readback of the library. */
  library.fetched = async (ticket) => {
    try {
      await fetches.get(ticket)
    } finally {
      fetches.delete(ticket)
    }
  }

  return {
    gpu_open (limits, name, room) {
      let number = 0
      tried(() => {
        if (gpu === null) openNow()
        else if (gpu.isLost) gpu.renew()
        new Float64Array(library.memory.buffer, limits >>> 0, TOLD).set(gpu.limits)
        const text = new TextEncoder().encode(gpu.name).subarray(0, room)
        new Uint8Array(library.memory.buffer, name >>> 0, room).set(text)
        used = [gpu, gpu.number]
        number = ++opened
      })
      return number
    },

    // Commands for a lost device are dropped: its objects are lost with it.
    gpu_perform: (number, at, count, wait) => isOf(number) ? gpu.perform(at >>> 0, count, wait === 1) : gpu?.performed ?? 0,
    gpu_performed: () => gpu?.performed ?? 0,
    gpu_wait: (number) => tried(() => { if (isOf(number)) gpu.wait() }),

    gpu_read: (number, buffer, at, count) => tried(() => {
      if (!isOf(number)) throw new Error('the device was lost')
      gpu.read(buffer, new Uint32Array(library.memory.buffer, at >>> 0, count).slice())
    }),

    gpu_fetch (number, buffer, at, bytes) {
      const fetch = isOf(number) ? gpu.fetch(buffer, at >>> 0, bytes) : Promise.reject(new Error('the device was lost'))
      fetch.catch(() => {}) // library.fetched reports the error
      fetches.set(++tickets, fetch)
      return tickets
    },

    gpu_lost: (number) => isOf(number) ? 0 : 1,

    gpu_lose (number) {
      if (isOf(number)) gpu.lose()
    }
  }
}

module.exports = { gpuImports }
