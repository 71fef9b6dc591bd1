'use strict'
/** Handles of the library: the context, what is given back and when, and memory of JavaScript that the library works on. */

const { lib, engine, find, fail, PolygradError } = require('./library.js')
const { pin, collector, takesPinned, atExit, nextTurn } = require('./host/node.js')
const { MAX_DIMS, get, put, shape: shapeOf } = require('./arguments.js')

const CTX = lib.poly_ctx_new()
if (CTX === 0) fail()
atExit(() => lib.poly_ctx_destroy(CTX))

// Functions that are called often take addresses, which need not be looked up at each call.
const releaseAt = find('poly_array_release_n', 'void', ['uintptr_t', 'int'])

// Giving back

const ROOM = 256
const gone = engine.block(8 * ROOM)
let count = 0

/** Remembers that a tensor's handle is to be given back, which is done for many at a time. Stale handles are ignored. */
function bury (handle) {
  put(gone.ints, count++, handle)
  if (count === ROOM) releaseDead()
}

/** Gives handles back: who computes or writes calls it before, for a tensor that is gone must not keep memory. */
function releaseDead () {
  const n = count
  count = 0
  if (n > 0) releaseAt(gone.address, n)
}

/** Gives back what was held by something that was collected, unless the library has stopped before. */
function whenCollected (give) {
  const collected = (held) => {
    if (engine.loading()) nextTurn().then(() => collected(held))
    else if (engine.running()) give(held)
  }
  return new FinalizationRegistry(collected)
}

const registry = whenCollected(bury)

/*
 * Node tells what was collected only between turns of the event loop, V8 does not know how much memory a handle stands for, and it
 * takes longer to register a tensor than to make it. So tensors are watched in groups, which are lists of them: the handles of a group
 * of which nothing is left are given back together. The members of a group that outlives a collection are registered one by one. One
 * tensor keeps the memory of its group, so a group ends when that is much.
 * When many tensors were made, or their memory has doubled, garbage is collected at once, also in a loop that never lets the event loop
 * turn.
 */
const GROUP = 64
const FEW = 20_000 // tensors
const MANY = 50_000 // tensors that nothing is computed of
const LITTLE = 3 * 2 ** 26 // bytes, less than the library keeps of freed memory
const LARGE = 2 ** 24 // bytes of a group

let groups = [] // of { ref, handles, pin, age }
let group, handles
let fresh = 0
let most = FEW
let after = 0
let lentBytes = 0 // of arrays that the library works on
let before // the bytes in use when the group began
let computations = 0

function newGroup () {
  group = []
  handles = []
  groups.push({ ref: new WeakRef(group), handles, pin: 0, age: 0 })
  before = memoryInUse()
}
newGroup()

/** Lets the handle of a tensor be given back when the tensor is collected. */
function own (tensor) {
  tensor._group = group
  group.push(tensor)
  if (handles.push(tensor._handle) === GROUP) {
    newGroup()
    if ((fresh += GROUP) > most + MANY) collect()
  }
}

// Something that is garbage: V8 tells of it when it has collected.
const garbage = whenCollected(() => {
  garbage.register({}, null)
  giveBack(1)
})
garbage.register({}, null)

/** Gives back what garbage held. Groups that are alive and were there in as many collections as said are registered by member. */
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

/** Collects garbage, and gives the handles of groups back of which nothing is left. */
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

/** What everything calls that computes or writes. */
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

// Memory that the library works on, by the token with which the library gives it back.

const lent = new Map()
const tokens = new Int32Array(2 * 64)
let lastToken = 0
let lentMost = 256
let lentAfter = 0

/** Takes back memory that no tensor uses any more. */
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

/** A tensor's handle, on the memory of a typed array if the library sees it, else with a copy. */
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

/** A tensor's handle, with a copy of the elements of a typed array. */
function copied (array, dtype, shape) {
  const handle = lib.poly_array_new(CTX, dtype.id, shapeOf(shape, 'shape'), shape.length, array, array.byteLength)
  return handle === 0 ? fail() : handle
}

/** Checks that lent memory is still where it was. */
function checkMemory () {
  for (const { array, length } of lent.values()) {
    if (array.byteLength !== length) throw new PolygradError('realize: memory that a tensor uses was transferred')
  }
}

const pinAt = find('poly_array_pin', 'uintptr_t', ['uintptr_t', 'uintptr_t', 'uintptr_t', 'int', 'uintptr_t'])
const pinned = engine.block(8 * (2 + MAX_DIMS)) // the address, whether it may be written, strides
const [ADDRESS, WRITABLE, STRIDES] = [0, 1, 2]

/**
 * The memory of a tensor as a typed array, null if its elements do not lie one after the other: known, if it is still that
 * memory, or a new one that keeps it.
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

// Nodes: symbolic sizes, and what a tensor stands for at a time.

const nodes = whenCollected((handle) => lib.poly_uop_release(CTX, handle))

/** The handle of a node, which is given back when its owner is collected. */
function ownNode (owner, handle) {
  if (handle === 0) fail()
  nodes.register(owner, handle, owner)
  return handle
}

/** Gives the handle of a node back. */
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

// Jobs of one context run one after the other: more threads that wait would only be occupied. Those of training and those that ask for
// values take turns, so that no step waits for a thousand requests.
const waiting = { values: [], training: [] }
let running = null

/** Lets the next job begin. */
function pass () {
  const other = running === 'training' ? 'values' : 'training'
  running = waiting[other].length > 0 ? other : waiting.values.length > 0 ? 'values' : waiting.training.length > 0 ? 'training' : null
  waiting[running]?.shift()()
}

// What jobs work on, which must not be collected before they are done.
const busy = new Set()

/**
 * Does something when it is its turn: begin returns a job of the library, whose end is waited for in another thread, or the promise
 * of something else. owner stays alive meanwhile.
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
        // Error texts stay in the thread of a call: one that failed is repeated here.
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

// What other objects than tensors hold.

const owners = whenCollected(([free, handle]) => free(handle))

/** Frees a handle when its owner is collected. */
function freeWith (owner, free, handle) {
  owners.register(owner, [free, handle], owner)
}

/** The owner has freed its handle itself. */
function freed (owner) {
  owners.unregister(owner)
}

module.exports = {
  CTX, freeWith, freed, bury, own, prepare, collect, share, copied, memoryOf, handlesOf, ownNode, dropNode, liveNodes, inTurn
}
