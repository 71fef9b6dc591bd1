'use strict'
/**
 * The JavaScript side of the graph: nodes that hold handles of the library.
 *
 * A Tensor is a variable; what it stands for is a GraphNode, which never changes. A GraphNode keeps
 * alive what its value is computed from: the nodes it was made of and, at the leaves, typed arrays
 * whose memory the library reads without copying.
 */

const { markAsUntransferable } = require('node:worker_threads')
const { lib, koffi, fail, PolygradError } = require('./library.js')
const { byId } = require('./dtype.js')
const { MAX_DIMS, get, put, shape: shapeOf } = require('./arguments.js')

const CTX = lib.poly_ctx_new()
if (CTX === 0) fail()
process.on('exit', () => lib.poly_ctx_destroy(CTX))

const { poly_describe, poly_buffer_host, poly_uop_release_n } = lib

// Handles of collected nodes, released in batches.
const RELEASE_AT = 256
const dead = new Int32Array(2 * RELEASE_AT)
let deadCount = 0

/** Gives the handles of nodes that are gone back to the library. */
function releaseDead () {
  if (deadCount > 0) poly_uop_release_n(CTX, dead, deadCount)
  deadCount = 0
}

function bury (cell) {
  if (cell.handle === 0) return
  put(dead, deadCount++, cell.handle)
  cell.handle = 0
  if (deadCount === RELEASE_AT) releaseDead()
}

// A cell and its node share the handle, so that it is given back once: by dispose or by the collector.
const registry = new FinalizationRegistry(bury)

// Nodes that were made since a tidy began; null outside of one. Those that do not outlive it are never
// registered: the registry keeps a record of each dead node until the event loop turns.
let fresh = null

/** Begins to keep account of the nodes that are made; returns what endNodes needs. */
function beginNodes () {
  const outer = fresh
  fresh = []
  return outer
}

/** Gives back the nodes that were made since beginNodes and that no tensor or node needs. */
function endNodes (outer) {
  const mine = fresh
  fresh = outer
  for (let i = mine.length - 1; i >= 0; i--) {
    const node = mine[i]
    if (node.users === 0) {
      node.release()
    } else if (node.cell.handle === 0) {
      continue
    } else if (outer !== null) {
      outer.push(node)
    } else {
      // It often ends in another tidy: then it is taken out of the registry again.
      registry.register(node, node.cell, node.cell)
      node.cell.known = true
    }
  }
}

/** A node of the graph. */
class GraphNode {
  /**
   * @param {number} handle the library's handle, given back when the node is disposed or collected
   * @param {GraphNode[]} source the nodes whose memory the value is computed from
   * @param {object|null} data the value as a typed array, of a node that has been computed or is a leaf
   * @param {boolean|null} tracked whether a gradient may be asked for through this node; null if nobody has said
   */
  constructor (handle, source, data, tracked) {
    this.handle = handle
    this.source = source
    this.data = data
    this.tracked = tracked
    /** The lazy node that a computed one came from, for gradients. */
    this.origin = null
    /** The tensor that receives the gradient with respect to this node. */
    this.owner = null
    /** Whether the node may be a view of its only source. */
    this.shows = false
    /** A reference to the computed node that has the value of this one, null if there was none. */
    this.memory = null
    /** Whether the node stands for an argument of a function that is being captured. */
    this.isInput = false
    /** Shape and type, cached on first use. */
    this.shape = null
    this.dtype = null
    /** Tensors and nodes that need this one. */
    this.users = 0
    this.cell = { handle, known: false }
    if (fresh === null) registry.register(this, this.cell)
    else fresh.push(this)
    for (let i = 0; i < source.length; i++) source[i].users++
  }

  /** One user less; without users the handle is given back. */
  drop () {
    if (--this.users === 0) this.release()
  }

  /** Gives the handle back. */
  release () {
    if (this.cell.handle === 0) return
    if (this.cell.known) registry.unregister(this.cell)
    bury(this.cell)
    this.handle = 0
    this.data = null
    for (const node of this.source) node.drop()
    if (this.origin !== null) this.origin.drop()
  }
}

// Reads the size of an axis that is no number; set by variable.js, which stands on this module.
let readSize = null

function setSizeReader (read) {
  readSize = read
}

const sizes = new Int32Array(2 * MAX_DIMS)
const typeNumber = new Int32Array(1)

/** Finds out the shape and the type of a node. */
function describe (node) {
  if (node.shape !== null) return node
  const n = poly_describe(CTX, node.handle, sizes, MAX_DIMS, typeNumber)
  if (n < 0) fail()
  const shape = new Array(n)
  let symbolic = false
  for (let i = 0; i < n; i++) {
    shape[i] = get(sizes, i)
    symbolic ||= shape[i] < 0
  }
  node.shape = symbolic ? shape.map((size, i) => size < 0 ? readSize(node, i) : size) : shape
  node.dtype = byId[typeNumber[0]]
  return node
}

// A set that gets all new leaves while a function is traced; null otherwise.
let madeLeaves = null

/** Puts all leaves that are made from now on into a set; null ends that. */
function recordLeaves (set) {
  madeLeaves = set
}

/** Makes a node on the memory of a typed array. */
function leaf (array, dtype, shape) {
  const handle = poly_buffer_host(CTX, dtype.id, shapeOf(shape, 'shape'), shape.length, array, array.byteLength)
  if (handle === 0) fail()
  const node = new GraphNode(handle, [], array, null)
  node.shape = shape
  node.dtype = dtype
  if (madeLeaves !== null) madeLeaves.add(node)
  return node
}

/** Keeps the memory of a typed array, which the user sees, from being moved to another thread. */
function pin (array) {
  if (array.buffer instanceof ArrayBuffer) markAsUntransferable(array.buffer)
  return array
}

// Node 21 to 23 let ArrayBuffer.prototype.transfer take pinned memory away.
const takesPinned = (() => {
  const buffer = new ArrayBuffer(8)
  markAsUntransferable(buffer)
  try {
    buffer.transfer?.()
  } catch {}
  return buffer.byteLength === 0
})()

/** Checks that the memory that nodes are computed from is still where it was. */
function checkMemory (nodes) {
  if (!takesPinned) return
  const seen = new Set(nodes)
  for (const node of seen) {
    if (node.data !== null && node.data.length === 0 && count(node.shape) > 0) {
      throw new PolygradError('realize: memory that a tensor uses was transferred')
    }
    for (const other of node.source) seen.add(other)
  }
}

/** The handles of nodes as an array for C. */
function handles (nodes) {
  const out = new Int32Array(2 * nodes.length)
  for (let i = 0; i < nodes.length; i++) put(out, i, nodes[i].handle)
  return out
}

/** The addresses of typed arrays as an array for C. */
function addresses (arrays) {
  const out = new BigUint64Array(arrays.length)
  for (let i = 0; i < arrays.length; i++) if (arrays[i].byteLength > 0) out[i] = koffi.address(arrays[i])
  return out
}

/** The number of elements that the memory of a shape has room for: symbolic sizes as the largest they can be. */
function count (shape) {
  let n = 1
  for (let i = 0; i < shape.length; i++) n *= typeof shape[i] === 'number' ? shape[i] : shape[i].max
  return n
}

/** A new array for the value of a node. */
function roomFor (node) {
  const { dtype, shape } = describe(node)
  const n = count(shape)
  try {
    return new dtype.Array(n)
  } catch (error) {
    throw new PolygradError(`realize: a tensor of shape [${shape}] takes ${n * dtype.Array.BYTES_PER_ELEMENT} bytes: ${error.message}`)
  }
}

/** A strong reference with the interface of a WeakRef. */
class Kept {
  constructor (node) {
    this._node = node
  }

  deref () {
    return this._node
  }
}

/** The call that computes nodes into new arrays and then writes updates into the memory of targets. */
class Computation {
  constructor (nodes, targets, updates) {
    this.held = [...nodes, ...targets, ...updates]
    checkMemory(this.held)
    this.nodes = nodes
    this.arrays = nodes.map(roomFor)
    this.leaves = new Int32Array(2 * nodes.length)
    this.args = [CTX, handles(nodes), addresses(this.arrays), nodes.length, this.leaves]
    this.fn = lib.poly_realize_into
    if (targets.length > 0) {
      this.fn = lib.poly_update
      this.args.push(handles(targets), handles(updates), targets.length)
    }
  }

  /** Computes, and returns the computed nodes, which have their data and remember where they came from. */
  run () {
    if (this.fn(...this.args) !== 0) fail()
    return this.done()
  }

  /** The same in another thread, as a promise. */
  async runAsync () {
    for (const node of this.held) node.users++
    try {
      await later(this.fn === lib.poly_update ? lib.poly_update_async : lib.poly_realize_async, this.args, this)
      return this.done()
    } finally {
      for (const node of this.held) node.drop()
    }
  }

  done () {
    return this.nodes.map((node, i) => {
      const computed = new GraphNode(get(this.leaves, i), [], this.arrays[i], node.tracked === false ? false : null)
      computed.shape = node.shape
      computed.dtype = node.dtype
      if (madeLeaves !== null) madeLeaves.add(computed)
      // A weak reference keeps its target until the event loop turns; a tidy ends it before that.
      node.memory = fresh === null ? new WeakRef(computed) : new Kept(computed)
      if (node.tracked && node.dtype.isFloat) {
        computed.origin = node
        node.users++
        computed.tracked = true
        computed.owner = node.owner
      }
      return computed
    })
  }
}

// Jobs of one context run one after the other: more than one at a time would only occupy threads.
let turn = Promise.resolve()

// What jobs work on, which must not be collected before they are done.
const busy = new Set()

/** Calls a function of the library in another thread. */
function inThread (fn, args) {
  return new Promise((resolve, reject) => {
    fn.async(...args, (error, result) => error ? reject(error) : resolve(result))
  })
}

/**
 * Starts a job of the library, in another thread because that may compile, and waits for its end in
 * one too; owner stays alive meanwhile. Error texts stay in the thread of a call, so that a call that
 * failed is repeated here, where it fails again.
 */
async function later (start, args, owner, prepare) {
  const before = turn
  let done
  turn = new Promise((resolve) => { done = resolve })
  busy.add(owner)
  let job = 0
  try {
    await before
    prepare?.()
    job = await inThread(start, args) || start(...args)
    if (job === 0) fail()
    if (await inThread(lib.poly_job_wait, [job, -1]) !== 0 && lib.poly_job_wait(job, -1) !== 0) fail()
  } finally {
    lib.poly_job_release(job)
    busy.delete(owner)
    done()
  }
}

/** Computes nodes into new arrays, then writes updates into the memory of targets. */
function compute (nodes, targets = [], updates = []) {
  return new Computation(nodes, targets, updates).run()
}

/** compute in another thread. */
function computeAsync (nodes, targets = [], updates = []) {
  return new Computation(nodes, targets, updates).runAsync()
}

/** The number of nodes that the library keeps for this thread of JavaScript. */
function liveNodes () {
  releaseDead()
  return lib.poly_ctx_live_nodes(CTX)
}

module.exports = {
  CTX, GraphNode, beginNodes, endNodes, describe, leaf, pin, handles, addresses, count, roomFor, compute, computeAsync, inThread, later,
  checkMemory, liveNodes, setSizeReader, recordLeaves
}
