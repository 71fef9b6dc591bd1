'use strict'
/** Programs that are written for @jax-js/jax, on tensors of polygrad. index.d.ts tells what the names do. */

const { Array: JaxArray, consumes, setOwnership } = require('./array.js')
const { DType } = require('./types.js')
const { numpy } = require('./numpy.js')
const { lax } = require('./lax.js')
const { nn, scipySpecial } = require('./nn.js')
const { random } = require('./random.js')
const { tree } = require('./tree.js')
const { ClosedJaxpr, Jaxpr } = require('./jaxpr.js')
const { devices, defaultDevice, getWebGPUDevice, init } = require('./device.js')
const { profiler, setDebug } = require('./debug.js')
const {
  blockUntilReady, checkpoint, devicePut, evalShape, grad, hessian, hvp, jacfwd, jacrev, jit, jvp, linearize, makeJaxpr, valueAndGrad, vjp,
  vmap
} = require('./transforms.js')

module.exports = {
  Array: JaxArray,
  ClosedJaxpr,
  DType,
  Jaxpr,
  blockUntilReady,
  checkpoint,
  consumes,
  defaultDevice,
  devicePut,
  devices,
  evalShape,
  getWebGPUDevice,
  grad,
  hessian,
  hvp,
  init,
  jacfwd,
  jacobian: jacrev,
  jacrev,
  jit,
  jvp,
  lax,
  linearize,
  makeJaxpr,
  nn,
  numpy,
  profiler,
  random,
  scipySpecial,
  setDebug,
  setOwnership,
  tree,
  valueAndGrad,
  vjp,
  vmap
}
