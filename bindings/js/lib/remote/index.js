'use strict'
/** The library whole in a worker: what is called there answers later, and the program's own thread never waits. */

const { packed, unpacked } = require('./message.js')
const { start } = require('./start.js')

const ADDRESS = Symbol('polygrad.remote')

/** Errors of the worker have the classes of this thread, where it has them. */
const CLASSES = { TypeError, RangeError, SyntaxError, ReferenceError }

function errorOf ({ name, message, stack }) {
  const error = new (CLASSES[name] ?? Error)(message)
  return Object.assign(error, name in CLASSES ? { stack } : { name, stack })
}

/** Refuses what cannot go to a worker. */
function refuse (x) {
  const kinds = { function: `a function (${x.name})`, symbol: 'a symbol', object: `an object of ${x.constructor?.name}` }
  throw new TypeError(`${kinds[typeof x]} cannot go to the worker, which copies data: call it in a module that the worker loads: ` +
    'worker({ module })')
}

/** A worker, and the objects in it that the program refers to. */
class Connection {
  constructor (options) {
    this.last = 0
    this.waiting = new Map() // [resolve, reject] of what is read, by number
    this.ended = null
    this.dropped = new FinalizationRegistry((number) => this.send({ action: 'drop', numbers: [number] }))
    this.worker = start((message) => this.take(message), (error) => this.end(error))
    this.root = this.made({ action: 'begin', ...options })
  }

  send (message) {
    if (this.ended === null) this.worker.post(message)
  }

  /** Sends what makes an object, and returns it: its number is known before it is there. */
  made (message) {
    const number = ++this.last
    this.send({ ...message, number })
    return this.remote({ number })
  }

  /** What a number and a path of properties name in the worker. */
  remote (object, path = [], isSettled = false) {
    if (path.length === 0) this.dropped.register(object, object.number)
    return new Proxy(function remote () {}, new Handler({ connection: this, object, path, isSettled }))
  }

  read ({ object, path }) {
    if (this.ended !== null) return Promise.reject(this.ended)
    const number = ++this.last
    this.send({ action: 'read', number, of: object.number, path })
    this.worker.busy(true)
    return new Promise((resolve, reject) => this.waiting.set(number, [resolve, reject]))
  }

  take ({ number, value, error }) {
    const [resolve, reject] = this.waiting.get(number)
    this.waiting.delete(number)
    if (this.waiting.size === 0) this.worker.busy(false)
    if (error !== undefined) reject(errorOf(error))
    else resolve(unpacked(value, (name, path) => this.remote({ number: name }, path, true)))
  }

  /** Ends the worker: what is still waited for fails. */
  end (error) {
    if (this.ended !== null) return
    this.ended = error
    for (const [, reject] of this.waiting.values()) reject(error)
    this.waiting.clear()
    this.worker.stop()
  }
}

/** How an object of the worker behaves here: its properties are such objects, calls are sent, and await reads. */
class Handler {
  constructor (address) { this.address = address }

  message (action, args, path = this.address.path) {
    const { connection, object } = this.address
    const refer = (x) => x[ADDRESS]?.connection === connection ? [x[ADDRESS].object.number, x[ADDRESS].path] : refuse(x)
    return { action, of: object.number, path, args: args.map((x) => packed(x, refer)) }
  }

  get (_, name) {
    const { connection, object, path, isSettled } = this.address
    if (name === ADDRESS) return this.address
    if (typeof name === 'symbol') return undefined
    if (!['then', 'catch', 'finally'].includes(name)) return connection.remote(object, [...path, name])
    if (isSettled && path.length === 0) return undefined // it has been waited for
    return (...given) => connection.read(this.address)[name](...given)
  }

  set (_, name, value) {
    const { connection, path } = this.address
    connection.made(this.message('set', [value], [...path, name]))
    return true
  }

  apply (_, self, args) {
    return this.address.connection.made(this.message('call', args))
  }

  construct (_, args) {
    return this.address.connection.made(this.message('construct', args))
  }
}

/**
 * Starts a worker and gives the package as it is there: pg.Tensor, pg.nn and so on.
 * @param {object} [options]
 * @param {string | URL} [options.module] the address of a module of the user, which the worker loads, too: pg.module
 * @param {Record<string, string>} [options.settings] the settings POLY_… of the worker
 */
async function worker ({ module, settings = {}, ...unknown } = {}) {
  for (const name in unknown) throw new TypeError(`worker: unknown option ${name}, expected module, settings`)
  if (module !== undefined && typeof module !== 'string' && !(module instanceof URL)) {
    throw new TypeError(`worker: module: ${module}, expected the address of a module: new URL('./steps.js', import.meta.url)`)
  }
  const connection = new Connection({ settings, module: module === undefined ? undefined : String(module) })
  await connection.read({ object: connection.root[ADDRESS].object, path: ['version'] }) // what fails at loading fails here
  return connection.remote(connection.root[ADDRESS].object, [], true)
}

/** Ends the worker of an object; what is still waited for fails. */
function terminate (pg) {
  const address = pg?.[ADDRESS]
  if (address === undefined) throw new TypeError('terminate: expected what worker() gave')
  address.connection.end(new Error('the worker was terminated'))
}

module.exports = { worker, terminate }
