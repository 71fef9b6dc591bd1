'use strict'
/**
 * Tensors, gradients and a compiler behind one native library. Modules import names from this file as well: Node finds those of an
 * object literal of names and of spread calls of require.
 *
 * What users call is described where its types are declared: index.d.ts, and the .d.ts files in lib.
 */

const { lib, PolygradError, JitError } = require('./lib/library.js')
const { Tensor } = require('./lib/tensor.js')
const { withBuffers } = require('./lib/host/buffers.js')
const { dtypes } = require('./lib/dtype.js')
const { SymInt, Variable } = require('./lib/variable.js')
const { TinyJit } = require('./lib/jit.js')
const { Device } = require('./lib/device.js')
const { liveNodes } = require('./lib/handles.js')
const { Instance } = require('./lib/instance.js')
const { download } = require('./lib/bytes.js')
const nn = require('./lib/nn/index.js')
const hf = require('./lib/hf.js')
const random = require('./lib/random.js')
const lax = require('./lib/lax.js')
const special = require('./lib/special.js')
const linalg = require('./lib/linalg.js')
const fft = require('./lib/fft.js')
const numpy = require('./lib/numpy.js')
const func = require('./lib/func/index.js')
const { encode } = require('./lib/safetensors.js')
const viz = require('./lib/viz.js')
const { internals } = require('./lib/internals.js')
withBuffers(Tensor)
const safetensors = { decode: (file) => nn.safeLoad.call('decode', file), encode }
const version = lib.poly_version()

module.exports = {
  Tensor,
  Variable,
  SymInt,
  TinyJit,
  JitError,
  PolygradError,
  Device,
  dtypes,
  random,
  lax,
  special,
  linalg,
  fft,
  numpy,
  func,
  nn,
  ...require('./lib/nn/index.js'),
  Instance,
  hf,
  ...require('./lib/hf.js'),
  download,
  safetensors,
  viz,
  liveNodes,
  internals,
  version
}
