'use strict'
/**
 * WebGPU on a thread of its own. What it gives comes by promises, for which the library's thread could not wait; for this thread it can,
 * through words of the memory that they share.
 */

const { Gpu, TOLD, openDevice, wordsOf } = require('./gpu.js')

// Words, by their places. The library's thread sends messages with numbers, and this one writes what became of them.
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

/** What the worker does: messages one after the other; find gives what the thread has of WebGPU. */
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
      // What makes pipelines does not wait for others: commands that launch come later.
      if (all()[at / 4] !== COMPILE) await Promise.all(gpu.pending)
      if (!gpu.isLost) gpu.perform(at, count)
    },
    wait: () => gpu.wait(),
    image: ({ offered, source, width, height }) => {
      gpu.offerImage(offered, source, width, height)
      source.close()
    },
    read: ({ buffer, parts }) => gpu.read(buffer, parts),
    // Others go on meanwhile.
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
        if (data.action === 'perform' || data.action === 'image') gpu?.keep(error) // who waits gets it
        else tell(words, error.message)
      }
      Atomics.store(words, FAILED, failed)
      Atomics.store(words, DONE, data.number)
      Atomics.notify(words, DONE)
    })
  }
}

const COMPILE = 4 // the command

module.exports = { serveGpu, told, DONE, FAILED, LOST, OPENED, LIMITS, GPU_CONTROL_BYTES }
