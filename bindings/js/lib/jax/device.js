'use strict'
/**
 * Devices by the names of jax-js. Kernels of cpu and wasm are those of the library: of this processor in Node, WebAssembly in browsers.
 * Arrays that were put on no device are computed on the default one, or on that of the arrays that they are combined with.
 */

const { show } = require('../arguments.js')
const { Device } = require('../device.js')

const devices = Object.freeze(['cpu', 'wasm', 'webgpu', 'webgl'])
const available = ['cpu', 'wasm'] // and webgpu, once it is open

let host = 'wasm' // by which of its two names the host is the default device
if (Device.default === 'WEBGPU') available.push('webgpu')

/** The name of a device of the library, null for the default one. */
const nameOf = (name) => (name ?? Device.default) === 'WEBGPU' ? 'webgpu' : host

/** The library's name of a device. */
const libraryName = (device) => device === 'webgpu' ? 'webgpu' : 'cpu'

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
  if (device !== undefined) {
    if (deviceOf(device) !== 'webgpu') host = device
    Device.default = libraryName(device)
  }
  return nameOf(null)
}

async function init (...devicesToInit) {
  for (const device of devicesToInit) {
    if (!devices.includes(device)) throw new RangeError(`init: ${show(device)}, expected one of ${devices.join(', ')}`)
  }
  const wanted = (device) => devicesToInit.length === 0 || devicesToInit.includes(device)
  if (wanted('webgpu') && !available.includes('webgpu')) {
    await Device.init('webgpu').then(() => available.push('webgpu'), () => {}) // it is not in the result then
  }
  return available.filter(wanted)
}

function getWebGPUDevice () {
  const why = available.includes('webgpu') ? 'the GPU is used on a thread of its own' : 'webgpu is not available'
  throw new TypeError(`getWebGPUDevice: ${why}: Device.init('webgpu', { device }) takes one of the program`)
}

module.exports = { nameOf, libraryName, devices, defaultDevice, deviceOf, getWebGPUDevice, init }
