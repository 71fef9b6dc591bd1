'use strict'
/** Layers, optimizers, and what a training loop needs beside them. */

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
