'use strict'
/** Tensors, gradients and a compiler behind one native library. */

const { lib, PolygradError, JitError } = require('./lib/library.js')
const { Tensor } = require('./lib/tensor.js')
const { dtypes } = require('./lib/dtype.js')
const { SymInt, Variable } = require('./lib/variable.js')
const { TinyJit } = require('./lib/jit.js')
const { Device } = require('./lib/device.js')
const { liveNodes } = require('./lib/handles.js')
const { Instance } = require('./lib/instance.js')
const nn = require('./lib/nn/index.js')
const hf = require('./lib/hf.js')
const safetensors = require('./lib/safetensors.js')
const viz = require('./lib/viz.js')

module.exports = {
  Tensor,
  Variable,
  SymInt,
  TinyJit,
  JitError,
  PolygradError,
  Device,
  dtypes,
  nn,
  ...nn,
  Instance,
  hf,
  ...hf,
  safetensors,
  viz,
  /** The number of nodes that the library keeps for this thread, for leak tests. */
  liveNodes,
  /** The version of the library that was loaded. */
  version: lib.poly_version()
}
