'use strict'
/**
 * Which tensors exist.
 *
 * A write must find the tensors that are to be computed from what is overwritten, and those that show
 * it. While a tidy runs it knows the tensors that were made in it; all others are noted here by weak
 * references, and looked up only then.
 */

/** The tensors of each tidy that runs. */
const scopes = []

// Tensors not examined yet, tensors without values, and the others.
let recent = []
let lazy = []
let settled = []
let limit = 1024

/** Notes a tensor that is new, or that stands for another node from now on. */
function note (tensor) {
  recent.push(new WeakRef(tensor))
  if (recent.length + settled.length > limit) {
    everyTensor()
    limit = 1024 + 2 * (lazy.length + settled.length)
  }
}

/** Sorts the noted tensors and returns those without values. */
function sort () {
  const found = new Set()
  const kept = []
  for (const some of [lazy, recent]) {
    for (const ref of some) {
      const tensor = ref.deref()
      if (tensor === undefined || tensor.isDisposed || found.has(tensor)) continue
      if (tensor._node.data !== null) {
        settled.push(ref)
      } else {
        found.add(tensor)
        kept.push(ref)
      }
    }
  }
  lazy = kept
  recent = []
  return found
}

/** All tensors that have no values yet. */
function lazyTensors () {
  const found = sort()
  for (const some of scopes) for (const tensor of some) if (!tensor.isDisposed && tensor._node.data === null) found.add(tensor)
  return found
}

/** All tensors that were not disposed. */
function everyTensor () {
  const found = sort()
  settled = settled.filter((ref) => {
    const tensor = ref.deref()
    if (tensor === undefined || tensor.isDisposed || found.has(tensor)) return false
    found.add(tensor)
    return true
  })
  for (const some of scopes) for (const tensor of some) if (!tensor.isDisposed) found.add(tensor)
  return found
}

module.exports = { scopes, note, lazyTensors, everyTensor }
