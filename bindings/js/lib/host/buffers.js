'use strict'
/** Tensors that share a GPUBuffer with the program, and tensors of images. */

/* global GPUBufferUsage, OffscreenCanvas, createImageBitmap */

const { lib, engine, fail, PolygradError } = require('../library.js')
const { CTX } = require('../handles.js')
const { made, handleOf, tidy } = require('../base.js')
const { toDType } = require('../dtype.js')
const { named, list, show, shape: shapeOf } = require('../arguments.js')
const { ROW } = require('../wasm/gpu.js')

const PIXEL = 4 // bytes

/** Calls f; errors of WebGPU become PolygradErrors of the function who. */
function onGpu (who, f) {
  if (engine.offerBuffer === undefined) throw new PolygradError(`${who}: there are no GPUBuffers here: WebGPU is used by way of a library`)
  try {
    return f()
  } catch (error) {
    if (error instanceof PolygradError || error instanceof TypeError || error instanceof RangeError) throw error
    throw new PolygradError(`${who}: ${error.message}`)
  }
}

/** A tensor on a buffer that was offered to the library under a number. */
function adopted (number, dtype, shape, offset, room) {
  const handle = lib.poly_array_of_gpu_buffer(CTX, dtype.id, shapeOf(shape, 'shape'), shape.length, number, offset, room)
  if (handle === 0) fail()
  return made(handle)
}

/** Methods for the class of tensors. */
const methods = {
  gpuBuffer () {
    return onGpu('gpuBuffer', () => {
      const number = lib.poly_array_gpu_buffer(handleOf(this))
      if (number === 0) fail()
      return engine.gpuBuffer(number)
    })
  }
}

const statics = {
  fromGpuBuffer (buffer, options = {}) {
    return onGpu('fromGpuBuffer', () => {
      const { shape, dtype, offset } = named('fromGpuBuffer', [options], { shape: null, dtype: 'float32', offset: 0 })
      if (!Number.isInteger(buffer?.usage) || !Number.isInteger(buffer.size)) {
        throw new TypeError(`fromGpuBuffer: buffer: ${show(buffer)}, expected a GPUBuffer`)
      }
      const needed = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST
      if ((buffer.usage & needed) !== needed) {
        throw new TypeError(`fromGpuBuffer: buffer: its usage is ${buffer.usage}, expected STORAGE, COPY_SRC and COPY_DST (${needed})`)
      }
      const type = toDType(dtype, 'fromGpuBuffer')
      const room = buffer.size - offset
      const sizes = shape === null ? [Math.floor(room / type.size)] : list(shape)
      return adopted(engine.offerBuffer(buffer), type, sizes, offset, room)
    })
  },

  async fromImage (source) {
    const bitmap = await createImageBitmap(source).catch((error) => {
      throw new TypeError(`fromImage: source: ${show(source)}, expected a canvas, an ImageBitmap or a video frame: ${error.message}`)
    })
    const { width, height } = bitmap
    if (this.zeros(0).device !== 'WEBGPU') return fromPixels(this, bitmap)
    return onGpu('fromImage', () => {
      const pitch = Math.ceil(PIXEL * width / ROW) * ROW
      return tidy(() => {
        const rows = adopted(engine.offerImage(bitmap, width, height), toDType('uint8'), [height, pitch], 0, height * pitch)
        return rows.shrink([[0, height], [0, PIXEL * width]]).reshape([height, width, PIXEL])
      })
    })
  }
}

/** A tensor of the pixels of an ImageBitmap, read through a canvas. */
function fromPixels (Tensor, bitmap) {
  const { width, height } = bitmap
  const context = new OffscreenCanvas(width, height).getContext('2d')
  context.drawImage(bitmap, 0, 0)
  bitmap.close()
  const { data } = context.getImageData(0, 0, width, height)
  return new Tensor(new Uint8Array(data.buffer), { shape: [height, width, PIXEL] })
}

/** Adds the methods to the class of tensors. */
function withBuffers (Tensor) {
  for (const [to, from] of [[Tensor.prototype, methods], [Tensor, statics]]) {
    for (const name of Object.keys(from)) Object.defineProperty(to, name, { value: from[name], writable: true, configurable: true })
  }
}

module.exports = { withBuffers }
