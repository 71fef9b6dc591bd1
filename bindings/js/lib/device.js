'use strict'
/** Devices that run kernels. */

const { lib, engine, fail, PolygradError } = require('./library.js')
const { CTX } = require('./handles.js')
const { show } = require('./arguments.js')

const names = Array.from({ length: lib.poly_device_count() }, (_, i) => lib.poly_device_name(i))
const KINDS = ['CPU', 'CUDA', 'WEBGPU']

/** A name in capitals, '' for other values. */
function upperCase (name) {
  return typeof name === 'string' ? name.toUpperCase() : ''
}

/** What the library can compute on. */
const Device = {
  get default () { return names[lib.poly_ctx_device(CTX)] },
  set default (name) {
    if (lib.poly_ctx_set_device(CTX, Device.number(Device.canonicalize(name))) !== 0) fail()
  },
  get DEFAULT () { return Device.default },
  set DEFAULT (name) { Device.default = name },

  async init (name, options = {}) {
    const device = Device.canonicalize(name)
    if (device === 'WEBGPU') await engine.initGpu?.(options).catch(({ message }) => { throw new PolygradError(`Device.init: ${message}`) })
    return Device.require(device)
  },

  canonicalize (name) {
    if (name == null) return Device.default
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

  /** Puts the array of a handle on a device. */
  move: (handle, name) => lib.poly_array_move(handle, Device.number(Device.require(name))) === 0 || fail(),

  cudaAvailable: () => Device.available().includes('CUDA'),

  number (name) {
    const i = names.indexOf(upperCase(name))
    if (i < 0) throw new RangeError(`device: ${show(name)} is unknown, expected one of ${names.join(', ')}`)
    return i
  },

  name: (number) => names[number],

  available: () => names.filter((_, i) => lib.poly_device_available(i) === 1)
}

module.exports = { Device }
