'use strict'
/**
 * Devices by the names of jax-js: cpu is the library's interpreter, wasm its compiled kernels (native code in Node, WebAssembly in
 * browsers). An array that was put on no device is computed on the default one, or on the device of the arrays with which it is combined.
 */

const { lib, engine, fail } = require('../library.js')
const { CTX } = require('../handles.js')
const { handleOf } = require('../base.js')
const { show } = require('../arguments.js')
const { Device } = require('../device.js')

const devices = Object.freeze(['cpu', 'wasm', 'webgpu', 'webgl'])
const available = ['cpu', 'wasm'] // and webgpu, once it is open
const LIBRARY = { cpu: 'INTERP', wasm: 'CPU', webgpu: 'WEBGPU' }

if (Device.default === 'WEBGPU') available.push('webgpu')

/** The name of a device of the library, null for the default one. */
const nameOf = (name) => Object.keys(LIBRARY).find((own) => LIBRARY[own] === (name ?? Device.default)) ?? 'wasm'

/** Puts a tensor on a device. */
function move (tensor, device) {
  if (lib.poly_array_move(handleOf(tensor), Device.number(LIBRARY[device])) !== 0) fail()
  return tensor
}

/** A device that is there; the default one for undefined. */
function deviceOf (device) {
  if (device === undefined) return nameOf(null)
  if (!devices.includes(device)) throw new RangeError(`device: ${show(device)}, expected one of ${devices.join(', ')}`)
  if (!available.includes(device)) {
    const what = device === 'webgpu' ? "await init('webgpu') before" : `expected one of ${available.join(', ')}`
    throw new TypeError(`device: ${device} is not available: ${what}`)
  }
  return device
}

function defaultDevice (device) {
  if (device !== undefined && lib.poly_ctx_set_device(CTX, Device.number(LIBRARY[deviceOf(device)])) !== 0) fail()
  return nameOf(null)
}

async function init (...devicesToInit) {
  for (const device of devicesToInit) {
    if (!devices.includes(device)) throw new RangeError(`init: ${show(device)}, expected one of ${devices.join(', ')}`)
  }
  const wanted = (device) => devicesToInit.length === 0 || devicesToInit.includes(device)
  if (wanted('webgpu') && !available.includes('webgpu')) {
    await Device.init('webgpu').then(() => available.push('webgpu'), () => {}) // on failure webgpu is not in the result
  }
  return available.filter(wanted)
}

function getWebGPUDevice () {
  const device = available.includes('webgpu') ? engine.gpuDevice?.() ?? null : null
  if (device !== null) return device
  const why = available.includes('webgpu') ? 'the GPU is used on a thread of its own' : 'webgpu is not available'
  throw new TypeError(`getWebGPUDevice: ${why}: Device.init('webgpu', { device }) takes one of the program`)
}

module.exports = { nameOf, move, devices, defaultDevice, deviceOf, getWebGPUDevice, init }
