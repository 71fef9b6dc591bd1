'use strict'
/** Devices that run kernels. */

const { lib, engine, fail, PolygradError } = require('./library.js')
const { CTX } = require('./handles.js')
const { environment } = require('./host/node.js')
const { show } = require('./arguments.js')

const names = Array.from({ length: lib.poly_device_count() }, (_, i) => lib.poly_device_name(i))
const KINDS = ['CPU', 'CUDA', 'WEBGPU']

let current = environment.POLY_DEVICE === 'webgpu' ? 'WEBGPU' : 'CPU'

/** A name in capitals, '' for other values. */
function upperCase (name) {
  return typeof name === 'string' ? name.toUpperCase() : ''
}

/** What the library can compute on. */
const Device = {
  get default () { return current },
  set default (name) {
    const device = Device.canonicalize(name)
    if (lib.poly_ctx_set_device(CTX, Device.number(device)) !== 0) fail()
    current = device
  },
  get DEFAULT () { return current },
  set DEFAULT (name) { Device.default = name },

  async init (name, options = {}) {
    const device = Device.canonicalize(name)
    if (device === 'WEBGPU') await engine.initGpu?.(options).catch(({ message }) => { throw new PolygradError(`Device.init: ${message}`) })
    return Device.require(device)
  },

  canonicalize (name) {
    if (name == null) return current
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

  cudaAvailable: () => Device.available().includes('CUDA'),

  number (name) {
    const i = names.indexOf(upperCase(name))
    if (i < 0) throw new RangeError(`device: ${show(name)} is unknown, expected one of ${names.join(', ')}`)
    return i
  },

  available: () => names.filter((_, i) => lib.poly_device_available(i) === 1)
}

module.exports = { Device }
