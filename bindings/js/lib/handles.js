'use strict'
/** Handles of the library: the context, when handles are released, and typed arrays whose memory the library uses in place. */

const { lib, engine, find, fail, PolygradError } = require('./library.js')
const { pin, collector, takesPinned, atExit, nextTurn } = require('./host/node.js')
const { MAX_DIMS, get, put, shape: shapeOf } = require('./arguments.js')

const CTX = lib.poly_ctx_new()
if (CTX === 0) fail()
atExit(() => lib.poly_ctx_destroy(CTX))

// Functions that are called often take plain addresses, so a call need not look up the address of a typed array.
const releaseAt = find('poly_array_release_n', 'void', ['uintptr_t', 'int'])

// Releasing

const ROOM = 256
const gone = engine.block(8 * ROOM)
let count = 0

/** Queues the handle of a dead tensor; handles are released in batches of ROOM. Stale handles are ignored. */
function bury (handle) {
  put(gone.ints, count++, handle)
  if (count === ROOM) releaseDead()
}

/** Releases the queued handles. It is called before everything that computes or writes: a dead tensor must not keep memory. */
function releaseDead () {
  const n = count
  count = 0
  if (n > 0) releaseAt(gone.address, n)
}

/** A FinalizationRegistry that calls give(held) when an object was collected, unless the library has stopped. */
function whenCollected (give) {
  const collected = (held) => {
    if (engine.loading()) nextTurn().then(() => collected(held))
    else if (engine.running()) give(held)
  }
  return new FinalizationRegistry(collected)
}

const registry = whenCollected(bury)

/*
 * Node runs finalizers only between turns of the event loop, V8 does not know how much memory a handle stands for, and it takes longer
 * to register a tensor than to make it. So tensors are put into groups (arrays of tensors): when a group is collected as a whole, its
 * handles are released together. The members of a group that survives a collection are registered one by one. One live tensor keeps
 * the memory of its whole group, so a group is closed when that memory is large.
 * When many tensors were made since the last collection, or the memory in use has doubled, garbage is collected at once, so that a
 * loop that never returns to the event loop frees memory, too.
 */
const GROUP = 64
const FEW = 20_000 // tensors between two collections, at least
const MANY = 50_000 // so many more are allowed while nothing is computed
const LITTLE = 3 * 2 ** 26 // bytes of growth that start no collection; less than the library keeps of freed memory
const LARGE = 2 ** 24 // bytes after which a group is closed

let groups = [] // of { ref, handles, pin, age }
let group, handles
let fresh = 0
let most = FEW
let after = 0
let lentBytes = 0 // bytes of the typed arrays that the library uses in place
let before // the bytes in use when the current group began
let computations = 0

function newGroup () {
  group = []
  handles = []
  groups.push({ ref: new WeakRef(group), handles, pin: 0, age: 0 })
  before = memoryInUse()
}
newGroup()

/** Adds a tensor to the current group, so that its handle is released when the tensor is collected. */
function own (tensor) {
  tensor._group = group
  group.push(tensor)
  if (handles.push(tensor._handle) === GROUP) {
    newGroup()
    if ((fresh += GROUP) > most + MANY) collect()
  }
}

// A sentinel that is garbage from the start: its finalizer tells that V8 has collected.
const garbage = whenCollected(() => {
  garbage.register({}, null)
  giveBack(1)
})
garbage.register({}, null)

/** Releases the handles of dead groups. The members of groups that have survived so many collections are registered one by one. */
function giveBack (collections) {
  newGroup()
  groups = groups.filter((entry) => {
    const left = entry.ref.deref()
    if (left === undefined) {
      entry.handles.forEach(bury)
      if (entry.pin !== 0) lib.poly_array_unpin(entry.pin)
    } else if (entry.pin === 0 && entry.age++ >= collections) {
      for (const tensor of left) registry.register(tensor, tensor._handle)
      left.length = 0
    }
    return left !== undefined
  })
  releaseDead()
  after = Math.min(after, memoryInUse())
}

let collectGarbage, endTurn

function memoryInUse () {
  return lib.poly_array_memory() + lentBytes
}

/** Collects garbage, and releases the handles of dead groups. */
function collect () {
  if (collectGarbage === undefined) [collectGarbage, endTurn] = collector()
  endTurn()
  collectGarbage()
  giveBack(0)
  takeBack()
  fresh = 0
  most = Math.max(FEW, GROUP * groups.length)
  after = memoryInUse()
}

/** Must be called before everything that computes or writes: releases handles, and collects garbage if there is much. */
function prepare () {
  releaseDead()
  if (takesPinned) checkMemory()
  if (fresh > most) collect()
  if ((++computations & 7) !== 0) return
  const used = memoryInUse()
  if (used > after + Math.max(after, LITTLE)) {
    collect()
  } else if (used > before + LARGE) {
    newGroup()
  }
}

// Typed arrays whose memory the library uses in place, by the token with which the library returns them.

const lent = new Map()
const tokens = new Int32Array(2 * 64)
let lastToken = 0
let lentMost = 256
let lentAfter = 0

/** Forgets the typed arrays that no tensor uses any more. */
function takeBack () {
  for (let n = 64; n === 64;) {
    n = lib.poly_array_released(CTX, tokens, 64)
    for (let i = 0; i < n; i++) {
      const token = get(tokens, i)
      lentBytes -= lent.get(token)?.length ?? 0
      lent.delete(token)
    }
  }
  lentMost = 2 * lent.size + 256
  lentAfter = lentBytes
}

/** The handle of a new tensor that shares the memory of a typed array if the library can address it, and copies it otherwise. */
function share (array, dtype, shape) {
  if (engine.address(array) === null) return copied(array, dtype, shape)
  if (lent.size > lentMost || lentBytes > lentAfter + Math.max(lentAfter, LITTLE)) {
    prepare()
    takeBack()
  }
  const token = ++lastToken
  const { byteLength } = pin(array)
  lent.set(token, { array, length: byteLength })
  lentBytes += byteLength
  const data = byteLength > 0 ? array : null
  const handle = lib.poly_array_share(CTX, dtype.id, shapeOf(shape, 'shape'), shape.length, data, byteLength, token)
  if (handle !== 0) return handle
  lent.delete(token)
  lentBytes -= byteLength
  return fail()
}

/** The handle of a new tensor with a copy of the elements of a typed array. */
function copied (array, dtype, shape) {
  const handle = lib.poly_array_new(CTX, dtype.id, shapeOf(shape, 'shape'), shape.length, array, array.byteLength)
  return handle === 0 ? fail() : handle
}

/** Checks that no typed array which the library uses in place was detached by a transfer. */
function checkMemory () {
  for (const { array, length } of lent.values()) {
    if (array.byteLength !== length) throw new PolygradError('realize: memory that a tensor uses was transferred')
  }
}

const pinAt = find('poly_array_pin', 'uintptr_t', ['uintptr_t', 'uintptr_t', 'uintptr_t', 'int', 'uintptr_t'])
const pinned = engine.block(8 * (2 + MAX_DIMS)) // the address, whether it may be written, strides
const [ADDRESS, WRITABLE, STRIDES] = [0, 1, 2]

/**
 * The memory of a tensor as a typed array; null if it is read-only or its elements are not contiguous. known, the array of an earlier call
 * or null, is returned if it is still that memory; otherwise a new array, which pins the memory while the array is alive.
 */
function memoryOf (handle, shape, dtype, n, known) {
  const at = pinned.address
  const held = pinAt(handle, at + 8 * ADDRESS, at + 8 * STRIDES, MAX_DIMS, at + 8 * WRITABLE)
  if (held === 0) fail()
  const { ints } = pinned
  const from = get(ints, ADDRESS)
  if (known !== null && known.length === n * dtype.parts && engine.address(known) === from) {
    lib.poly_array_unpin(held)
    return known
  }
  let next = 1
  let regular = ints[2 * WRITABLE] !== 0
  for (let i = shape.length - 1; i >= 0; i--) {
    regular &&= shape[i] === 1 || get(ints, STRIDES + i) === next
    next *= shape[i]
  }
  if (!regular) {
    lib.poly_array_unpin(held)
    return null
  }
  const array = engine.view(dtype.Array, from, n * dtype.parts)
  groups.push({ ref: new WeakRef(engine.lifeOf(array)), handles: [], pin: held, age: 0 })
  return pin(array)
}

/** The handles of tensors, or other owners of one, as an array for C. */
function handlesOf (owners, out = new Int32Array(2 * owners.length)) {
  for (let i = 0; i < owners.length; i++) {
    const handle = owners[i]._handle
    if (handle === 0) throw new PolygradError('the tensor was disposed')
    put(out, i, handle)
  }
  return out
}

// Graph nodes: symbolic sizes, and the nodes of tensors.

const nodes = whenCollected((handle) => lib.poly_uop_release(CTX, handle))

/** Returns the handle of a node, and releases it when owner is collected. */
function ownNode (owner, handle) {
  if (handle === 0) fail()
  nodes.register(owner, handle, owner)
  return handle
}

/** Releases the handle of a node at once. */
function dropNode (owner, handle) {
  nodes.unregister(owner)
  lib.poly_uop_release(CTX, handle)
}

/** The number of nodes that the library keeps for this thread of JavaScript. */
function liveNodes () {
  releaseDead()
  return lib.poly_ctx_live_nodes(CTX)
}

// Jobs

// Jobs of one context run one after the other: further waiting threads would only be blocked. Jobs of training and jobs that read values
// alternate, so that a training step does not wait for a thousand queued reads.
const waiting = { values: [], training: [] }
let running = null

/** Starts the next job: of the other kind than the last one if such a job waits. */
function pass () {
  const other = running === 'training' ? 'values' : 'training'
  running = waiting[other].length > 0 ? other : waiting.values.length > 0 ? 'values' : waiting.training.length > 0 ? 'training' : null
  waiting[running]?.shift()()
}

// Objects that jobs in progress use, held here so that they are not collected.
const busy = new Set()

/**
 * Waits in the queue of its kind, then calls begin, which returns a job of the library or a promise, and waits for that (for a job in
 * another thread). owner is kept alive until then.
 */
async function inTurn (owner, begin, kind = 'values') {
  busy.add(owner)
  try {
    await new Promise((resolve) => {
      waiting[kind].push(resolve)
      if (running === null) pass()
    })
    try {
      prepare()
      const job = begin()
      if (typeof job !== 'number') return await job
      if (job === 0) fail()
      try {
        // The library keeps error texts per thread: a call that failed is repeated here to get its text.
        if (await engine.async(lib.poly_job_wait, [job, -1]) !== 0 && lib.poly_job_wait(job, -1) !== 0) fail()
      } finally {
        lib.poly_job_release(job)
      }
    } finally {
      pass()
    }
  } finally {
    busy.delete(owner)
  }
}

// Handles of objects that are not tensors.

const owners = whenCollected(([free, handle]) => free(handle))

/** Frees a handle when its owner is collected. */
function freeWith (owner, free, handle) {
  owners.register(owner, [free, handle], owner)
}

/** Cancels freeWith: the owner has freed its handle itself. */
function freed (owner) {
  owners.unregister(owner)
}

module.exports = {
  CTX, freeWith, freed, bury, own, prepare, collect, share, copied, memoryOf, handlesOf, ownNode, dropNode, liveNodes, inTurn
}
