'use strict'
/** Layers, optimizers, and tools for training loops. */

module.exports = {
  ...require('./layers.js'),
  ...require('./recurrent.js'),
  ...require('./attention.js'),
  ...require('./optim.js'),
  ...require('./schedules.js'),
  ...require('./clip.js'),
  ...require('./state.js'),
  ...require('./files.js'),
  ...require('./step.js')
}
