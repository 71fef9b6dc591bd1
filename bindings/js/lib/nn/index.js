'use strict'
/** Layers, optimizers, and what a training loop needs beside them. */

module.exports = {
  ...require('./layers.js'),
  ...require('./optim.js'),
  ...require('./state.js'),
  ...require('./step.js')
}
