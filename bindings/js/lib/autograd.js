'use strict'
/**
 * Gradients: which nodes they are asked for, and how they cross computed nodes.
 *
 * A computed node stands in the graph as a leaf and remembers the lazy node that it came from. So
 * the graph below a loss may be in pieces. The gradient with respect to such a leaf is the seed for
 * the piece that it came from, and the chain rule is applied from piece to piece.
 */

const { lib, fail, constants: c } = require('./library.js')
const { CTX, GraphNode, handles } = require('./graph.js')
const { get } = require('./arguments.js')

/** The node that a computed node came from, or the node itself. */
function lazy (node) {
  return node.origin ?? node
}

/** The nodes below root with respect to which a tensor wants a gradient. */
function owners (root) {
  const found = new Set()
  const seen = new Set([root])
  const stack = [root]
  while (stack.length > 0) {
    const node = stack.pop()
    if (node.owner !== null) found.add(lazy(node))
    for (const other of node.origin === null ? node.source : [node.origin]) {
      if (other.tracked && !seen.has(other)) {
        seen.add(other)
        stack.push(other)
      }
    }
  }
  return [...found]
}

/**
 * The gradients of the sum of root, weighted by seed, with respect to targets: lazy nodes, null for
 * a target that root does not depend on. With everywhere, the way to a target may lead through nodes
 * that are not tracked.
 */
function differentiate (root, seed, targets, everywhere) {
  const wanted = new Set(targets.map(lazy))
  const total = new Map()
  const seeds = new Map()
  if (seed !== null) seeds.set(root, seed)
  for (const piece of pieces(root, everywhere)) {
    const start = lazy(piece)
    const at = visible(start, everywhere).filter((n) => wanted.has(n) || n.origin !== null)
    if (at.length === 0) continue
    gradients(start, seeds.get(piece) ?? null, at).forEach((gradient, i) => {
      if (wanted.has(at[i])) accumulate(total, at[i], gradient)
      if (at[i].origin !== null) accumulate(seeds, at[i], gradient)
    })
  }
  return targets.map((t) => total.get(lazy(t)) ?? null)
}

/** root and the computed nodes that it depends on, each before those it depends on. */
function pieces (root, everywhere) {
  const order = []
  const seen = new Set()
  const stack = [[root, false]]
  while (stack.length > 0) {
    const [node, done] = stack.pop()
    if (done) {
      order.push(node)
    } else if (!seen.has(node)) {
      seen.add(node)
      stack.push([node, true])
      for (const n of visible(lazy(node), everywhere)) if (n.origin !== null) stack.push([n, false])
    }
  }
  return order.reverse()
}

/** The nodes of the piece that ends in start; computed nodes are its leaves. */
function visible (start, everywhere) {
  const seen = new Set([start])
  const stack = [start]
  while (stack.length > 0) {
    for (const node of stack.pop().source) {
      if ((node.tracked || everywhere) && !seen.has(node)) {
        seen.add(node)
        stack.push(node)
      }
    }
  }
  return [...seen]
}

function gradients (root, seed, targets) {
  const out = new Int32Array(2 * targets.length)
  if (lib.poly_grad_many(CTX, root.handle, seed === null ? 0 : seed.handle, handles(targets), targets.length, out) !== 0) fail()
  const source = seed === null ? [root] : [root, seed]
  return targets.map((_, i) => new GraphNode(get(out, i), source, null, true))
}

function accumulate (sums, node, gradient) {
  const known = sums.get(node)
  if (known !== undefined) {
    const handle = lib.poly_binary(CTX, c.POLY_ADD, known.handle, gradient.handle)
    if (handle === 0) fail()
    gradient = new GraphNode(handle, [known, gradient], null, true)
  }
  sums.set(node, gradient)
}

module.exports = { lazy, owners, differentiate }
