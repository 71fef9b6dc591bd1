'use strict'
/** The script of worker threads in Node: a worker that shares runs of kernels, or the thread of the GPU. */

const { workerData: { memory, control, gpu, port, place } } = require('node:worker_threads')
const { serveGpu } = require('./gpu_worker.js')
const { serve } = require('./threads.js')

let found = null // the GPU object, kept from being collected

/** The WebGPU of npm's package webgpu (Dawn). */
async function dawn () {
  const { create, globals } = await import(place).catch(({ message }) => {
    throw new Error(`npm's package webgpu cannot be loaded; npm install webgpu, or POLY_WEBGPU is the place of its index.js: ${message}`)
  })
  Object.assign(globalThis, globals)
  return found ??= create([])
}

if (gpu === undefined) serve(memory, control)
else serveGpu(gpu, port, dawn)
