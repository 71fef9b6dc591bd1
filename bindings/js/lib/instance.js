'use strict'
/** Models with memory of their own: forward, training and saving without Tensors. */

const { lib, engine, fail, PolygradError } = require('./library.js')
const { Device } = require('./device.js')
const { utf8 } = require('./host/node.js')
const { HANDLE, count, tidy } = require('./base.js')
const { Tensor } = require('./tensor.js')
const { freeWith, freed } = require('./handles.js')
const { Shown } = require('./shown.js')
const { named, get, number, string, record, show } = require('./arguments.js')
const { floatsAt, taken, bytesOf } = require('./memory.js')

const ROLES = ['param', 'input', 'target', 'output', 'aux']
const OPTIMIZERS = ['none', 'sgd', 'adam', 'adamw']
const MAX_DIMS = 8
const MAX_ENDS = 64

// Keeps an instance alive as long as an array on its memory, or any array that was derived from one.
const owners = new WeakMap()

class Instance extends Shown {
  static _getters = ['shapes', 'roles']

  /** Instances are made by Instance.mlp and its relatives. */
  constructor (handle, by) {
    if (by !== HANDLE) throw new TypeError(`Instance: ${show(handle)}: use Instance.mlp, fromBundle and so on`)
    if (handle === 0) fail()
    super()
    this._handle = handle
    freeWith(this, lib.poly_instance_free, handle)
    this._buffers = new Map()
    this._shared = false
    /** The end-of-text tokens of a model that loadHf has read. */
    const ends = new Int32Array(MAX_ENDS)
    this.eosTokenIds = Array.from(ends.subarray(0, Math.max(0, lib.poly_instance_ends(handle, ends, MAX_ENDS))))
    const dims = new Int32Array(2 * MAX_DIMS)
    const n = new Int32Array(2)
    for (let i = 0; i < lib.poly_instance_buf_count(handle); i++) {
      const rank = lib.poly_instance_buf_shape(handle, i, dims, MAX_DIMS)
      const view = () => floatsAt(lib.poly_instance_buf_data(handle, i, n), get(n, 0))
      let memory = null
      const keep = (made) => (engine.live && owners.set(engine.lifeOf(memory = made), this), made)
      this._buffers.set(lib.poly_instance_buf_name(handle, i), {
        shape: Array.from({ length: rank }, (_, k) => get(dims, k)),
        role: ROLES[lib.poly_instance_buf_role(handle, i)],
        get data () { return memory ?? keep(view()) } // once it was read, a GPU copies the elements for each run
      })
    }
    // Settles when the last call in another thread has ended: such calls run one after the other.
    this._turn = Promise.resolve()
  }

  // Construction

  static mlp (config) {
    return fromConfig(lib.poly_mlp_instance, config)
  }

  /** An ensemble of perceptrons that share weights; nEnsemble is their number. */
  static tabm (config) {
    return fromConfig(lib.poly_tabm_instance, config)
  }

  /** A neural additive model: nFeatures, hiddenSizes, activation, nOutputs, …. */
  static nam (config) {
    return fromConfig(lib.poly_nam_instance, config)
  }

  static fromIr (ir, weights = null) {
    const graph = bytesOf(ir, 'fromIr: ir')
    const values = weights === null ? null : bytesOf(weights, 'fromIr: weights')
    return new Instance(lib.poly_instance_from_ir(graph, graph.length, values, values === null ? 0 : values.length), HANDLE)
  }

  static fromBundle (data) {
    const bytes = bytesOf(data, 'fromBundle: data')
    return new Instance(lib.poly_instance_from_bundle(bytes, bytes.length), HANDLE)
  }

  // What it holds

  get params () {
    this._shared = true
    return this._pick((buffer) => buffer.role === 'param', (buffer) => buffer.data)
  }

  get buffers () {
    this._shared = true
    return this._pick(() => true, (buffer) => buffer.data)
  }

  get shapes () {
    return this._pick(() => true, (buffer) => buffer.shape.slice())
  }

  /** What each array is for: param, input, target, output or aux. */
  get roles () {
    return this._pick(() => true, (buffer) => buffer.role)
  }

  _pick (wanted, of) {
    this._alive()
    return Object.fromEntries([...this._buffers].filter(([, b]) => wanted(b)).map(([name, b]) => [name, of(b)]))
  }

  _alive () {
    if (this._handle === 0) throw new PolygradError('the instance was disposed')
    return this._handle
  }

  // Running

  /** Packs named inputs and targets as records for C: pointers to a name and to its numbers. */
  _bind (fn, arrays, partial) {
    const entries = Object.entries(record(arrays, `${fn}: arrays`)).map(([name, value]) => {
      const buffer = this._buffers.get(name)
      if (buffer === undefined || (buffer.role !== 'input' && buffer.role !== 'target')) {
        const takes = [...this._buffers].filter(([, b]) => b.role === 'input' || b.role === 'target').map(([n]) => n)
        throw new PolygradError(`${fn}: ${show(name)} is not an input of the model, expected one of ${takes.join(', ')}`)
      }
      return [utf8(`${name}\0`), floats(`${fn}: ${name}`, value, buffer.shape, partial)]
    })
    return { records: engine.words(entries.flat()), n: entries.length }
  }

  /** A call of an entry point, for _now or _later: the function of the library, its arguments, and what makes the result. */
  _entry (fn, entry, arrays, partial) {
    const held = this._bind(fn, arrays, partial)
    const args = [this._alive(), string(entry, `${fn}: entry`), held.records, held.n]
    return { who: fn, fn: lib.poly_instance_call, args, held, done: () => this._outputs() }
  }

  _outputs () {
    return this._pick((buffer) => buffer.role === 'output', (buffer) => buffer.data.slice())
  }

  _gradients (fn, entry, arrays) {
    const to = string(entry, `${fn}: entry`)
    const held = this._bind(fn, arrays, false)
    const loss = new Float32Array(1)
    const done = () => {
      const n = new Int32Array(2)
      const names = Object.keys(this._pick((buffer) => buffer.role === 'param', () => null))
      const grads = names.map((name, i) => {
        const grad = floatsAt(lib.poly_instance_param_grad(this._handle, i, n), get(n, 0))
        return [name, grad.length > 0 ? grad.slice() : new Float32Array(count(this._buffers.get(name).shape))]
      })
      return [loss[0], Object.fromEntries(grads)]
    }
    const args = [this._alive(), to, held.records, held.n, loss]
    return { who: 'valueAndGrad', fn: lib.poly_instance_value_and_grad, args, held, done }
  }

  _step (fn, arrays) {
    const held = this._bind(fn, arrays, false)
    const loss = new Float32Array(1)
    const args = [this._alive(), held.records, held.n, loss]
    return { who: 'trainStep', fn: lib.poly_instance_train_step, args, held, done: () => loss[0] }
  }

  // Each operation twice: synchronous, and in another thread

  forward (inputs = {}) {
    return this._now(this._entry('forward', 'forward', inputs, true))
  }

  async forwardAsync (inputs = {}) {
    return this._later(this._entry('forwardAsync', 'forward', inputs, true))
  }

  call (entry, arrays = {}) {
    return this._now(this._entry('call', entry, arrays, false))
  }

  async callAsync (entry, arrays = {}) {
    return this._later(this._entry('callAsync', entry, arrays, false))
  }

  valueAndGrad (arrays = {}, entry = 'loss') {
    return this._now(this._gradients('valueAndGrad', entry, arrays))
  }

  async valueAndGradAsync (arrays = {}, entry = 'loss') {
    return this._later(this._gradients('valueAndGradAsync', entry, arrays))
  }

  trainStep (arrays = {}) {
    return this._now(this._step('trainStep', arrays))
  }

  async trainStepAsync (arrays = {}) {
    return this._later(this._step('trainStepAsync', arrays))
  }

  _now ({ who, fn, args, done }) {
    const status = fn(...args)
    if (status < 0) fail(who)
    return done(status)
  }

  /** Runs a call in another thread. The library keeps error texts per thread: a call that failed is repeated here to get its text. */
  async _later (call) {
    const before = this._turn
    let release
    this._turn = new Promise((resolve) => { release = resolve })
    try {
      await before
      // If the instance was disposed meanwhile, the library reports the stale handle.
      const status = await engine.async(call.fn, call.args)
      return status >= 0 ? call.done(status) : this._now(call)
    } finally {
      release()
    }
  }

  setDevice (name) {
    const known = Device.available()
    if (typeof name !== 'string' || !known.includes(name.toUpperCase())) {
      throw new RangeError(`setDevice: ${show(name)} is not available, expected one of ${known.join(', ')}`)
    }
    if (lib.poly_instance_set_device(this._alive(), Device.number(name)) !== 0) fail()
  }

  /** Chooses how trainStep changes parameters: none, sgd, adam or adamw. */
  setOptimizer (...args) {
    const { kind, ...options } = named('setOptimizer', args,
      { kind: undefined, lr: 0.01, beta1: 0.9, beta2: 0.999, eps: 1e-8, weightDecay: 0 })
    const i = OPTIMIZERS.indexOf(kind)
    if (i < 0) throw new RangeError(`setOptimizer: kind: ${show(kind)}, expected one of ${OPTIMIZERS.join(', ')}`)
    const values = Object.entries(options).map(([name, value]) => number(value, `setOptimizer: ${name}`))
    if (lib.poly_instance_set_optimizer(this._alive(), i, ...values) !== 0) fail()
  }

  // Bytes

  _bytes (fn) {
    const n = new Int32Array(1)
    const address = fn(this._alive(), n)
    return taken(address, n[0])
  }

  exportIr () {
    return this._bytes(lib.poly_instance_export_ir)
  }

  exportWeights () {
    return this._bytes(lib.poly_instance_export_weights)
  }

  saveBundle () {
    return this._bytes(lib.poly_instance_save_bundle)
  }

  importWeights (data, ...args) {
    const { strict } = named('importWeights', args, { strict: true })
    const bytes = bytesOf(data, 'importWeights: data')
    const read = strict ? lib.poly_instance_load_weights : lib.poly_instance_import_weights
    if (read(this._alive(), bytes, bytes.length) !== 0) fail()
  }

  get notes () {
    const text = lib.poly_instance_notes(this._alive())
    if (text === null) fail()
    return text.split('\n').filter((line) => line !== '')
  }

  dispose () {
    if (this._handle === 0) return
    if (!this._shared) {
      lib.poly_instance_free(this._handle)
      freed(this)
    }
    this._handle = 0
    this._buffers.clear()
  }

  [Symbol.dispose] () {
    this.dispose()
  }
}

/** Makes an instance from settings, which go to the library as JSON with snake_case keys. */
function fromConfig (make, config = {}) {
  const keys = Object.entries(record(config, 'config'))
    .map(([name, value]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value])
  const text = JSON.stringify(Object.fromEntries(keys), (_, value) => typeof value === 'bigint' ? Number(value) : value)
  return new Instance(make(text, utf8(text).length), HANDLE)
}

/** An input as a Float32Array of a shape. If partial is true, a smaller input is padded with zeros at the end of each axis. */
function floats (what, value, shape, partial) {
  const n = count(shape)
  if (value instanceof Float32Array && value.length === n) return value
  return tidy(() => {
    const given = value instanceof Tensor ? value : inputOf(what, value)
    if (given.numel() === n) return given.float().toArray()
    if (!partial) throw new PolygradError(`${what}: shape [${given.shape}], expected [${shape}]`)
    if (given.ndim !== shape.length || given.shape.some((size, i) => size > shape[i])) {
      throw new PolygradError(`${what}: shape [${given.shape}], expected at most [${shape}]`)
    }
    return given.float().padTo(shape).toArray()
  })
}

function inputOf (what, value) {
  try {
    return new Tensor(value, ArrayBuffer.isView(value) ? {} : { dtype: 'float32' })
  } catch (error) {
    error.message = error.message.replace('Tensor: data', what)
    throw error
  }
}

module.exports = { Instance }
