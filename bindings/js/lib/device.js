'use strict'
/** Devices that run kernels. */

const { lib, PolygradError } = require('./library.js')
const { show } = require('./arguments.js')

const names = Array.from({ length: lib.poly_device_count() }, (_, i) => lib.poly_device_name(i))
const KINDS = ['CPU', 'CUDA', 'WEBGPU']

/** A name in capitals, '' for other values. */
function upperCase (name) {
  return typeof name === 'string' ? name.toUpperCase() : ''
}

/** What the library can compute on. */
const Device = {
  DEFAULT: 'CPU',

  canonicalize (name) {
    if (name == null) return Device.DEFAULT
    const upper = upperCase(name).split(':')[0]
    if (!KINDS.includes(upper)) throw new RangeError(`device: ${show(name)} is unknown, expected one of ${KINDS.join(', ')}`)
    return upper
  },

  /** The name of a device, which must be available. */
  require (name) {
    const device = Device.canonicalize(name)
    if (device !== 'CPU' && !lib.poly_device_available(names.indexOf(device))) {
      throw new PolygradError(`device: ${device} is not available in this process`)
    }
    return device
  },

  cudaAvailable () {
    return Device.available().includes('CUDA')
  },

  number (name) {
    const i = names.indexOf(upperCase(name))
    if (i < 0) throw new RangeError(`device: ${show(name)} is unknown, expected one of ${names.join(', ')}`)
    return i
  },

  available () {
    return names.filter((_, i) => lib.poly_device_available(i) === 1)
  }
}

module.exports = { Device }
