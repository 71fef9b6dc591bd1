'use strict'
/** A worker of Node that shares runs of kernels. */

const { workerData } = require('node:worker_threads')
const { serve } = require('./threads.js')

serve(workerData.memory, workerData.control)
