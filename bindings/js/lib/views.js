'use strict'
/**
 * Views of tensors, and writing.
 *
 * A view shows elements of another tensor, its root, in another order or shape. A root that has been
 * computed is memory: what is written to it, or through one of its views, counts for all of them.
 * Everything else that was made of a tensor has the value of that time: tensors that are not computed
 * yet, but need what is about to be overwritten, are computed first.
 *
 * A root without memory is not written. The tensors that stand for it, and its views, stand for the
 * new value from then on. So it is also for tensors with gradients and while a trace runs.
 */

const { lib, fail } = require('./library.js')
const { CTX, GraphNode, describe, compute, count } = require('./graph.js')
const { everyTensor, lazyTensors } = require('./live.js')
const { trackedBy } = require('./base.js')
const { MAX_DIMS, get } = require('./arguments.js')
const trace = require('./trace.js')

/** The node that a node is a view of, which may be itself. */
function root (node) {
  while (node.shows && lib.poly_is_view(CTX, node.handle, node.source[0].handle) === 1) node = node.source[0]
  return node
}

/** A view of one node as the same view of another one. */
function moved (node, before, after) {
  if (node === before) return after
  const handle = lib.poly_move_view(CTX, node.handle, before.handle, after.handle)
  if (handle === 0) fail()
  const made = new GraphNode(handle, [after], null, after.tracked)
  made.shows = true
  return made
}

/** Lets the tensors that stand for a node, and its views, stand for another one. */
function standFor (before, after) {
  trace.changed(before, after)
  const settled = before.data !== null || before.isInput
  for (const tensor of settled ? everyTensor() : lazyTensors()) {
    const node = tensor._node
    if (node !== before && !(node.shows && root(node) === before)) continue
    const now = moved(node, before, after)
    if (!trace.tracing()) {
      tensor._bind(now)
      continue
    }
    if (node === before && before.owner === tensor) {
      now.owner = tensor
      now.tracked = true
    }
    trace.change(tensor, now)
  }
}

/** Lets a tensor, and what it is a view of, stand for a new value of its shape and type. */
function put (tensor, value) {
  const node = tensor._node
  const base = root(node)
  if (node !== base) {
    const handle = lib.poly_set_view(CTX, node.handle, base.handle, value.handle)
    if (handle === 0) fail()
    value = new GraphNode(handle, [node, value], null, trackedBy([node, value]))
  }
  standFor(base, value)
}

/** The computed node that has the value of a node, null if there is none any more. */
function memoryOf (node) {
  const kept = node.memory?.deref()
  return kept === undefined || kept.cell.handle === 0 ? null : kept
}

/** The root of a tensor; the tensor is made to show its memory if there is some. */
function findMemory (tensor) {
  const base = root(tensor._node)
  const kept = memoryOf(base)
  if (kept === null) return base
  tensor._bind(moved(tensor._node, base, kept))
  return kept
}

/** Whether the values of a tensor are there: its own, or those that it is a view of. */
function isThere (tensor) {
  if (tensor._node.data !== null) return true
  findMemory(tensor)
  return tensor._node.data !== null || isShown(tensor._node)
}

/** The root of a tensor, computed: the tensor shows its memory then. */
function settleRoot (tensor) {
  const base = findMemory(tensor)
  if (base.data !== null) return base
  const [made] = compute([base])
  standFor(base, made)
  return made
}

/** Forgets how memory came about that is written to: no gradient flows on from there. */
function cutHistory (node) {
  if (node.origin === null) return
  const { origin } = node
  node.origin = null
  node.tracked = node.owner !== null || null
  origin.drop()
}

// How a node depends on memory: directly, or by a node that was computed into it.
const DIRECTLY = 1
const ONCE = 2

/**
 * The lazy tensors that need the memory of nodes, by what is to be computed for them: the root of those that show
 * one root, so that they still do. Views of the memory need nothing, and views of a lazy node that was computed into
 * some are made its views.
 */
function readersOf (bases) {
  const targets = new Set(bases)
  const ways = new Map(bases.map((base) => [base, DIRECTLY]))
  const groups = new Map()
  for (const tensor of lazyTensors()) {
    const node = tensor._node
    const way = wayOf(node, targets, ways)
    if (way === 0) continue
    const base = root(node)
    if (targets.has(base)) continue
    const kept = memoryOf(base)
    if (kept !== null && ((way & DIRECTLY) !== 0 || targets.has(kept))) {
      tensor._bind(moved(node, base, kept))
    } else if ((way & DIRECTLY) !== 0) {
      if (groups.has(base)) groups.get(base).push(tensor)
      else groups.set(base, [tensor])
    }
  }
  return new Map(Array.from(groups, ([base, tensors]) => [tensors.length > 1 ? base : tensors[0]._node, tensors]))
}

/** Computes the lazy tensors that need memory which is about to be overwritten. */
function keepReaders (bases) {
  const readers = readersOf(bases)
  if (readers.size > 0) bind(readers, compute([...readers.keys()]))
}

/** How a node depends on targets; ways is what is known of others. */
function wayOf (start, targets, ways) {
  const stack = [start]
  while (stack.length > 0) {
    const node = stack[stack.length - 1]
    if (!ways.has(node)) {
      const missing = node.source.filter((s) => !ways.has(s))
      if (missing.length > 0) {
        stack.push(...missing)
        continue
      }
      const known = targets.has(memoryOf(node)) ? ONCE : 0
      ways.set(node, node.source.reduce((way, s) => way | ways.get(s), known))
    }
    stack.pop()
  }
  return ways.get(start)
}

/** Lets tensors stand for the computed nodes, or views of them, if they do not stand for something else by now. */
function bind (tensors, nodes) {
  let i = 0
  for (const [node, waiting] of tensors) {
    const showing = waiting.filter((t) => !t.isDisposed && (t._node === node || root(t._node) === node))
    const bound = showing.map((tensor) => moved(tensor._node, node, nodes[i]))
    showing.forEach((tensor, k) => tensor._bind(bound[k]))
    i++
  }
}

/**
 * Prepares that a value is written into the memory of a tensor: returns the lazy tensors that have to
 * be computed with it, and what is to be done when that is over; null if there is nothing to write.
 */
function prepare (tensor, value) {
  cutHistory(settleRoot(tensor))
  const base = root(tensor._node)
  const readers = readersOf([base])
  const source = value._node
  let same = readers.get(source) ?? []
  if (source.tracked || same.some((other) => other._node !== source)) same = []
  else readers.delete(source)
  return {
    nodes: [...readers.keys()],
    done (nodes) {
      bind(readers, nodes)
      // The value was computed from what is gone, and is now what has been written.
      for (const other of same) {
        const handle = lib.poly_contiguous(CTX, tensor._node.handle)
        if (handle === 0) fail()
        other._bind(new GraphNode(handle, [tensor._node], null, tensor._node.tracked))
      }
    }
  }
}

/** Where the elements of a node lie in memory: { data, strides, offset }, by elements; null if they are not there. */
function layoutOf (node) {
  const { shape } = describe(node)
  if (node.data !== null) {
    return { data: node.data, strides: shape.map((_, i) => count(shape.slice(i + 1))), offset: 0 }
  }
  if (!isShown(node)) return null
  if (node.data !== null) return layoutOf(node)
  const { data } = root(node)
  if (lib.poly_view_layout(CTX, node.handle, root(node).handle, strides, shape.length, offset) !== 1) return null
  return { data, strides: shape.map((_, i) => get(strides, i)), offset: get(offset, 0) }
}

const strides = new Int32Array(2 * MAX_DIMS)
const offset = new Int32Array(2)

/** Whether a node is a view of memory: nothing is to be computed. If its elements lie one after the other it gets its data. */
function isShown (node) {
  if (!node.shows) return false
  const base = root(node)
  if (base === node || base.data === null) return false
  const { shape, dtype } = describe(node)
  if (lib.poly_view_layout(CTX, node.handle, base.handle, strides, shape.length, offset) !== 1) return count(shape) > 0
  let step = 1
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] !== 1 && get(strides, i) !== step) return true
    step *= shape[i]
  }
  const { buffer, byteOffset } = base.data
  node.data = new dtype.Array(buffer, byteOffset + get(offset, 0) * dtype.Array.BYTES_PER_ELEMENT, count(shape))
  return true
}

module.exports = { root, standFor, put, prepare, keepReaders, cutHistory, isThere, layoutOf }
