'use strict'
/** The whole library in a worker: calls return proxies at once, values are awaited, and the program's own thread never blocks. */

const { packed, unpacked } = require('./message.js')
const { start } = require('./start.js')

const ADDRESS = Symbol('polygrad.remote')

/** Error classes that errors of the worker keep in this thread. */
const CLASSES = { TypeError, RangeError, SyntaxError, ReferenceError }

function errorOf ({ name, message, stack }) {
  const error = new (CLASSES[name] ?? Error)(message)
  return Object.assign(error, name in CLASSES ? { stack } : { name, stack })
}

/** Throws for a value that cannot be sent to a worker. */
function refuse (x) {
  const kinds = { function: `a function (${x.name})`, symbol: 'a symbol', object: `an object of ${x.constructor?.name}` }
  throw new TypeError(`${kinds[typeof x]} cannot go to the worker, which copies data: call it in a module that the worker loads: ` +
    'worker({ module })')
}

/** A connection to a worker, with proxies of objects that live there. */
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

  /** Sends a message that makes an object, and returns its proxy at once: this side chooses the object's number. */
  made (message) {
    const number = ++this.last
    this.send({ ...message, number })
    return this.remote({ number })
  }

  /** A proxy of the object with a number in the worker, or of a property of it at the end of a path. */
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

  /** Ends the worker; pending reads are rejected. */
  end (error) {
    if (this.ended !== null) return
    this.ended = error
    for (const [, reject] of this.waiting.values()) reject(error)
    this.waiting.clear()
    this.worker.stop()
  }
}

/** The handler of proxies: a property is another proxy, calls and assignments are sent, and await reads the value. */
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
    if (isSettled && path.length === 0) return undefined // the result of an await must not be thenable again
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
 * Starts a worker and returns a proxy of the package in it: pg.Tensor, pg.nn and so on.
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
  await connection.read({ object: connection.root[ADDRESS].object, path: ['version'] }) // errors of loading are thrown here
  return connection.remote(connection.root[ADDRESS].object, [], true)
}

/** Ends the worker of a proxy; pending reads are rejected. */
function terminate (pg) {
  const address = pg?.[ADDRESS]
  if (address === undefined) throw new TypeError('terminate: expected what worker() gave')
  address.connection.end(new Error('the worker was terminated'))
}

module.exports = { worker, terminate }
