'use strict'
/** The worker of Node that has the library. */

const { parentPort } = require('node:worker_threads')
const { serve } = require('./serve.js')

async function load (settings) {
  Object.assign(process.env, settings)
  return require('../../index.js')
}

parentPort.on('message', serve((message) => parentPort.postMessage(message), load, (url) => import(url)))
