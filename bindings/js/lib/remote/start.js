'use strict'
/** Starts a worker of Node. */

const path = require('node:path')
const { Worker } = require('node:worker_threads')

function start (take, failed) {
  const worker = new Worker(path.join(__dirname, 'worker.js'))
  worker.on('message', take)
  worker.on('error', failed)
  worker.on('exit', (code) => failed(new Error(`the worker ended with code ${code}`)))
  worker.unref()
  return {
    post: (message) => worker.postMessage(message),
    busy: (is) => is ? worker.ref() : worker.unref(), // Node may exit while no read is pending
    stop: () => worker.terminate()
  }
}

module.exports = { start }
