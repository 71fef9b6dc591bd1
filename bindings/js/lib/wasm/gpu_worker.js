'use strict'
/**
 * WebGPU on a thread of its own. WebGPU returns promises, on which the library's thread could not block; on this thread it can, through
 * words of the shared memory.
 */

const { Gpu, TOLD, openDevice, wordsOf } = require('./gpu.js')

// Indices of the shared words. The library's thread sends numbered messages, and this thread writes their outcome.
const DONE = 0 // the number of the last message that was done
const FAILED = 1 // whether it failed
const LOST = 2 // the number of the last device that was lost
const OPENED = 3 // the number of the last device that was opened
const TEXT = 4 // an error or a name: its length, and UTF-8
const TEXT_BYTES = 4096
const LIMITS = TEXT + 2 + TEXT_BYTES / 4 // numbers of 64 bits
const GPU_CONTROL_BYTES = 4 * LIMITS + 8 * TOLD

function tell (words, message) {
  const text = new TextEncoder().encode(message).subarray(0, TEXT_BYTES)
  new Uint8Array(words.buffer, words.byteOffset + 4 * (TEXT + 1), TEXT_BYTES).set(text)
  words[TEXT] = text.length
}

const told = (words) => new TextDecoder().decode(new Uint8Array(words.buffer, words.byteOffset + 4 * (TEXT + 1), words[TEXT]).slice())

/** Processes messages one after the other; find returns the thread's GPU object (navigator.gpu). */
function serveGpu ({ memory, control }, port, find = () => globalThis.navigator?.gpu) {
  const words = new Int32Array(memory.buffer, control, GPU_CONTROL_BYTES / 4)
  const all = wordsOf(memory)
  let gpu = null

  const actions = {
    async open ({ options }) {
      const { device, ...described } = await openDevice(options, await find())
      gpu = new Gpu(device, all, { ...described, mayWait: true })
      const number = Atomics.add(words, OPENED, 1) + 1
      device.lost.then(() => Atomics.store(words, LOST, number))
      new Float64Array(memory.buffer, control + 4 * LIMITS, TOLD).set(gpu.limits)
      tell(words, gpu.name)
    },
    async perform ({ at, count }) {
      // Commands that compile pipelines need not wait for pending ones; all others do, since they may launch them.
      if (all()[at / 4] !== COMPILE) await Promise.all(gpu.pending)
      if (!gpu.isLost) gpu.perform(at, count)
    },
    wait: () => gpu.wait(),
    image: ({ offered, source, width, height }) => {
      gpu.offerImage(offered, source, width, height)
      source.close()
    },
    read: ({ buffer, parts }) => gpu.read(buffer, parts),
    // Not awaited: later messages are processed during the readback.
    fetch ({ ticket, buffer, at, bytes }) {
      const answer = (error) => port.postMessage({ ticket, error })
      gpu.fetch(buffer, at, bytes).then(() => answer(), ({ message }) => answer(message))
    },
    async lose () {
      gpu.device.destroy()
      await gpu.device.lost
    }
  }

  let before = Promise.resolve()
  port.onmessage = ({ data }) => {
    before = before.then(async () => {
      let failed = 0
      try {
        await actions[data.action](data)
      } catch (error) {
        failed = 1
        if (data.action === 'perform' || data.action === 'image') gpu?.keep(error) // thrown by the next check
        else tell(words, error.message)
      }
      Atomics.store(words, FAILED, failed)
      Atomics.store(words, DONE, data.number)
      Atomics.notify(words, DONE)
    })
  }
}

const COMPILE = 4 // the number of the command compilePipeline

module.exports = { serveGpu, told, DONE, FAILED, LOST, OPENED, LIMITS, GPU_CONTROL_BYTES }
