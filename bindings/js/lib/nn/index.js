'use strict'
/** Layers, optimizers, and tools for training loops. */

const { Sequential } = require('./layer.js')
const { Optimizer, OptimizerGroup } = require('./optimizer.js')
const { LRScheduler, LambdaLR, SequentialLR } = require('./scheduler.js')

module.exports = {
  ...require('./layers.js'),
  Sequential,
  ...require('./attention.js'),
  Optimizer,
  OptimizerGroup,
  ...require('./optim.js'),
  LRScheduler,
  ...require('./schedules.js'),
  LambdaLR,
  SequentialLR,
  ...require('./clip.js'),
  ...require('./state.js'),
  ...require('./files.js'),
  ...require('./step.js')
}
