'use strict'
/** Executes the library's WebGPU commands, which are encoded as 32-bit words in its memory, on a device of this thread. */

/* global GPUBufferUsage, GPUMapMode, GPUShaderStage, GPUTextureUsage */

const USES = () => [
  GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
  GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
  GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST
]

// The limits and optional features that a device is opened with, and that the library is told.
const LIMITS = [
  'maxStorageBuffersPerShaderStage', 'maxComputeWorkgroupsPerDimension', 'maxBufferSize', 'maxStorageBufferBindingSize',
  'minStorageBufferOffsetAlignment', 'maxComputeWorkgroupStorageSize', 'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX'
]
const FEATURES = ['shader-f16', 'subgroups']
const TOLD = LIMITS.length + FEATURES.length + 1
const TAKES_SHARED = globalThis.process?.versions?.node === undefined // writeBuffer accepts shared memory, except Dawn's in Node
const ROW = 256 // the alignment in bytes of the rows of an image in a buffer

const asText = (bytes) => new TextDecoder().decode(bytes.slice()) // TextDecoder does not accept shared memory

/** The commands by number: each reads its operands from words[i] on, and returns the index of the next command. */
const COMMANDS = [
  function allocateBuffer (gpu, words, i) {
    gpu.objects[words[i]] = gpu.device.createBuffer({ size: words[i + 1], usage: gpu.uses[words[i + 2]] })
    return i + 3
  },
  function freeBuffer (gpu, words, i) {
    const buffer = gpu.objects[words[i]]
    if (!gpu.fetching.has(buffer)) buffer.destroy()
    gpu.objects[words[i]] = null
    return i + 1
  },
  function writeBuffer (gpu, words, i) {
    const bytes = words[i + 2]
    gpu.write(gpu.objects[words[i]], words[i + 1], 4 * (i + 3), bytes)
    return i + 3 + Math.ceil(bytes / 4)
  },
  function writeMemory (gpu, words, i) {
    gpu.write(gpu.objects[words[i]], words[i + 1], words[i + 3], words[i + 2])
    return i + 4
  },
  function compilePipeline (gpu, words, i) {
    const bytes = words[i + 3]
    const code = asText(new Uint8Array(words.buffer, 4 * (i + 4), bytes))
    gpu.objects[words[i]] = gpu.pipeline(code, words[i + 1], words[i + 2] === 1)
    return i + 4 + Math.ceil(bytes / 4)
  },
  drop,
  function makeGroup (gpu, words, i) {
    const { layout } = gpu.objects[words[i + 1]]
    const entries = Array.from({ length: words[i + 2] }, (_, n) => {
      const [buffer, offset, size] = words.subarray(i + 3 + 3 * n)
      return { binding: n, resource: { buffer: gpu.objects[buffer], offset, size } }
    })
    gpu.objects[words[i]] = gpu.device.createBindGroup({ layout, entries })
    return i + 3 + 3 * entries.length
  },
  drop,
  function launchGroup (gpu, words, i) {
    gpu.launch(gpu.objects[words[i]], gpu.objects[words[i + 1]], words[i + 2], words[i + 3])
    return i + 4
  },
  function copyBuffer (gpu, words, i) {
    const [to, toOffset, from, fromOffset, bytes] = words.subarray(i, i + 5)
    gpu.endPass()
    gpu.encoding().copyBufferToBuffer(gpu.objects[from], fromOffset, gpu.objects[to], toOffset, bytes)
    return i + 5
  },
  function submitList (gpu, words, i) {
    gpu.endPass()
    if (gpu.encoder !== null) gpu.device.queue.submit([gpu.encoder.finish()])
    gpu.encoder = null
    return i
  },
  function adoptBuffer (gpu, words, i) {
    gpu.objects[words[i]] = gpu.offered.get(words[i + 1])
    gpu.offered.delete(words[i + 1])
    return i + 2
  },
  drop // forgets an adopted buffer without destroying it: the program may still use it
]

function drop (gpu, words, i) {
  gpu.objects[words[i]] = null
  return i + 1
}

/** A device, and the objects that were made on it. */
class Gpu {
  /**
   * @param {GPUDevice} device
   * @param {function(): Uint32Array} memory returns the library's whole memory as words
   * @param {object} options name: of the adapter; isCPU: whether it is a software renderer; features: the FEATURES that the device has;
   *   mayWait: whether pipelines may be compiled asynchronously, because the caller waits for them before later commands
   */
  constructor (device, memory, { name, isCPU, features, mayWait }) {
    Object.assign(this, { device, memory, name, isCPU, features, mayWait, objects: [], encoder: null, pass: null, last: null })
    this.uses = USES()
    this.layouts = new Map()
    this.pending = new Set() // promises of pipelines that are being compiled
    this.fetching = new Set() // buffers with a readback in progress
    this.offered = new Map() // buffers that the library will adopt, by number
    this.error = null // the first error since the last check
    this.isLost = false
    device.addEventListener('uncapturederror', ({ error }) => this.keep(error))
    device.lost.then(({ message }) => {
      this.isLost = true
      this.keep(new Error(`the device was lost: ${message}`))
    })
  }

  /** The values of LIMITS, FEATURES and isCPU, as numbers. */
  get limits () {
    const flags = [...FEATURES.map((name) => this.features.includes(name)), this.isCPU]
    return [...LIMITS.map((name) => this.device.limits[name]), ...flags.map(Number)]
  }

  keep (error) {
    this.error ??= error.message
  }

  /** Throws the first error since the last check. */
  check () {
    const { error } = this
    this.error = null
    if (error !== null) throw new Error(error)
  }

  /** Executes the commands in count words from the address at on. */
  perform (at, count) {
    const words = this.memory()
    const end = at / 4 + count
    for (let i = at / 4; i < end;) i = COMMANDS[words[i]](this, words, i + 1)
  }

  /** Copies bytes from the address at of the memory to a buffer. */
  write (buffer, offset, at, bytes) {
    const from = new Uint8Array(this.memory().buffer, at, bytes)
    this.device.queue.writeBuffer(buffer, offset, TAKES_SHARED ? from : from.slice())
  }

  /** The cached bind group layout and pipeline layout of kernels with a number of storage buffers, and a uniform buffer or none. */
  layout (buffers, uniform) {
    const key = 2 * buffers + uniform
    let known = this.layouts.get(key)
    if (known === undefined) {
      const entries = Array.from({ length: buffers + uniform }, (_, binding) => {
        return { binding, visibility: GPUShaderStage.COMPUTE, buffer: { type: binding < buffers ? 'storage' : 'uniform' } }
      })
      const layout = this.device.createBindGroupLayout({ entries })
      known = { layout, pipelines: this.device.createPipelineLayout({ bindGroupLayouts: [layout] }) }
      this.layouts.set(key, known)
    }
    return known
  }

  pipeline (code, buffers, uniform) {
    const { layout, pipelines } = this.layout(buffers, Number(uniform))
    const description = { layout: pipelines, compute: { module: this.device.createShaderModule({ code }), entryPoint: 'main' } }
    const made = { layout, pipeline: null }
    if (!this.mayWait) {
      made.pipeline = this.device.createComputePipeline(description)
      return made
    }
    const promise = this.device.createComputePipelineAsync(description)
      .then((pipeline) => { made.pipeline = pipeline }, (error) => this.keep(error))
      .finally(() => this.pending.delete(promise))
    this.pending.add(promise)
    return made
  }

  encoding () {
    this.encoder ??= this.device.createCommandEncoder()
    return this.encoder
  }

  launch ({ pipeline }, group, x, y) {
    if (pipeline === null) return // its compilation has failed, and the error was kept
    this.pass ??= this.encoding().beginComputePass()
    if (pipeline !== this.last) this.pass.setPipeline(this.last = pipeline)
    this.pass.setBindGroup(0, group)
    this.pass.dispatchWorkgroups(x, y)
  }

  endPass () {
    this.pass?.end()
    this.pass = this.last = null
  }

  /** Offers a buffer, which the library then adopts by a number. */
  offer (number, buffer) {
    this.offered.set(number, buffer)
  }

  /** Copies the pixels of an image (rows of RGBA bytes) into a new buffer, and offers it by a number; returns the bytes per row. */
  offerImage (number, source, width, height) {
    const bytesPerRow = Math.ceil(4 * width / ROW) * ROW
    const { device } = this
    const usage = GPUTextureUsage.COPY_SRC | GPUTextureUsage.COPY_DST | GPUTextureUsage.RENDER_ATTACHMENT
    const texture = device.createTexture({ size: [width, height], format: 'rgba8unorm', usage })
    device.queue.copyExternalImageToTexture({ source }, { texture }, [width, height])
    const buffer = device.createBuffer({ size: bytesPerRow * height, usage: this.uses[0] })
    const encoder = device.createCommandEncoder()
    encoder.copyTextureToBuffer({ texture }, { buffer, bytesPerRow }, [width, height])
    device.queue.submit([encoder.finish()])
    texture.destroy()
    this.offer(number, buffer)
    return bytesPerRow
  }

  /** Waits until all submitted work is done. */
  async wait () {
    await Promise.all(this.pending)
    await this.device.queue.onSubmittedWorkDone()
    this.check()
  }

  /** Copies parts of a buffer to memory after all submitted work is done; parts has the offset, bytes and address of each. */
  async read (number, parts) {
    const buffer = this.objects[number]
    let end = 0
    for (let i = 0; i < parts.length; i += 3) end = Math.max(end, Math.ceil((parts[i] + parts[i + 1]) / 4) * 4)
    this.check()
    await buffer.mapAsync(GPUMapMode.READ, 0, end)
    const bytes = new Uint8Array(buffer.getMappedRange(0, end))
    const memory = new Uint8Array(this.memory().buffer)
    for (let i = 0; i < parts.length; i += 3) {
      const [from, size, to] = parts.slice(i, i + 3)
      memory.set(bytes.subarray(from, from + size), to)
    }
    buffer.unmap()
    this.check()
  }

  /** Reads the first bytes of a buffer that the library frees meanwhile: it is destroyed after the readback. */
  async fetch (number, at, bytes) {
    const buffer = this.objects[number]
    this.fetching.add(buffer)
    try {
      await this.read(number, [0, bytes, at])
    } finally {
      this.fetching.delete(buffer)
      buffer.destroy()
    }
  }
}

/** Why there is no WebGPU here. */
function absent () {
  if (globalThis.isSecureContext === false) return 'pages have WebGPU only by https: or from localhost'
  return 'this browser or program has no WebGPU (navigator.gpu), or it is switched off'
}

/** The FEATURES that an adapter or a device has. Kernels with subgroups need subgroup_id, which older browsers lack. */
function featuresOf ({ features }, gpu = globalThis.navigator?.gpu) {
  return FEATURES.filter((name) => features.has(name) && (name !== 'subgroups' || gpu?.wgslLanguageFeatures?.has('subgroup_id')))
}

/** Opens a device with the highest limits and all used features of the adapter that matches options. */
async function openDevice (options = {}, gpu = globalThis.navigator?.gpu) {
  if (gpu === undefined) throw new Error(absent())
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance', ...options })
  if (adapter === null) throw new Error('there is no GPU that WebGPU can use')
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]))
  const requiredFeatures = featuresOf(adapter, gpu)
  return { device: await adapter.requestDevice({ requiredLimits, requiredFeatures }), ...described(adapter, gpu) }
}

/** The name of an adapter or of a device's adapter, whether it is a software renderer, and the FEATURES that it has. */
function described (of, gpu) {
  const { vendor = '', architecture = '', device = '', description = '', isFallbackAdapter = false } = of.info ?? of.adapterInfo ?? {}
  const name = description || [vendor, architecture, device].filter((text) => text !== '').join(' ') || 'unknown'
  return { name, isCPU: isFallbackAdapter || /swiftshader|llvmpipe|lavapipe/i.test(name), features: featuresOf(of, gpu) }
}

/** A function that returns the whole memory as words, in a new view if the memory has grown. */
function wordsOf (memory) {
  let words = new Uint32Array(memory.buffer)
  return () => words.buffer === memory.buffer && words.byteLength > 0 ? words : (words = new Uint32Array(memory.buffer))
}

module.exports = { Gpu, ROW, TOLD, openDevice, described, wordsOf }
