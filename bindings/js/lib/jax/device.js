'use strict'
/** Devices by the names of jax-js. Kernels of cpu and wasm are those of the library: of this processor in Node, WebAssembly in browsers. */

const { show } = require('../arguments.js')

const devices = Object.freeze(['cpu', 'wasm', 'webgpu', 'webgl'])
const AVAILABLE = ['cpu', 'wasm']

let current = 'wasm'

/** A device that is there; the default one for undefined. */
function deviceOf (device) {
  if (device === undefined) return current
  if (!devices.includes(device)) throw new RangeError(`device: ${show(device)}, expected one of ${devices.join(', ')}`)
  if (!AVAILABLE.includes(device)) throw new TypeError(`device: ${device} is not available, expected one of ${AVAILABLE.join(', ')}`)
  return device
}

function defaultDevice (device) {
  if (device !== undefined) current = deviceOf(device)
  return current
}

async function init (...devicesToInit) {
  for (const device of devicesToInit) {
    if (!devices.includes(device)) throw new RangeError(`init: ${show(device)}, expected one of ${devices.join(', ')}`)
  }
  return AVAILABLE.filter((device) => devicesToInit.length === 0 || devicesToInit.includes(device))
}

function getWebGPUDevice () {
  throw new TypeError(`getWebGPUDevice: webgpu is not available, the devices are ${AVAILABLE.join(' and ')}`)
}

module.exports = { devices, defaultDevice, deviceOf, getWebGPUDevice, init }
