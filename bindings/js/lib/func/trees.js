'use strict'
/** Trees: leaves in nested arrays and plain objects. */

const { PolygradError } = require('../library.js')
const { isOptions, show } = require('../arguments.js')
const { Base } = require('../base.js')

/** The structure of a tree: its containers and keys, without the leaves. */
class Structure {
  /**
   * @param {string[] | null | undefined} keys the sorted keys of an object; null for an array
   * @param {number[]} [order] the index in keys of each key in the object's own order; structures compare equal regardless of it
   */
  constructor (keys, children, order) {
    this.keys = keys
    this.children = children
    this.order = order
    this.size = children.reduce((n, { size }) => n + size, 0)
  }

  equals (other) {
    return this.kind === other.kind && this.children.length === other.children.length &&
      (this.keys?.every((key, i) => key === other.keys[i]) ?? true) && this.children.every((c, i) => c.equals(other.children[i]))
  }

  get kind () {
    return this.keys === null ? 'array' : 'object'
  }

  /** Builds a tree of this structure from an iterator of leaves. */
  take (leaves) {
    const items = this.children.map((child) => child.take(leaves))
    return this.keys === null ? items : Object.fromEntries(this.order.map((i) => [this.keys[i], items[i]]))
  }

  build (leaves) {
    return this.take(leaves[Symbol.iterator]())
  }

  /** The path of each leaf as a JavaScript expression. */
  * paths (name) {
    for (const [i, child] of this.children.entries()) yield * child.paths(name + this.place(i))
  }

  /** The path step to child i: [0], .key or ["key"]. */
  place (i) {
    if (this.keys === null) return `[${i}]`
    return /^[\w$]+$/.test(this.keys[i]) && !/^\d/.test(this.keys[i]) ? `.${this.keys[i]}` : `[${JSON.stringify(this.keys[i])}]`
  }

  toString () {
    if (this.keys === null) return `[${this.children.join(', ')}]`
    return this.keys.length === 0 ? '{}' : `{ ${this.keys.map((key, i) => `${key}: ${this.children[i]}`).join(', ')} }`
  }
}

/** The structure of a leaf. */
class Leaf extends Structure {
  constructor () {
    super(null, [])
    this.size = 1
  }

  get kind () {
    return 'leaf'
  }

  take (leaves) {
    return leaves.next().value
  }

  * paths (name) {
    yield name
  }

  toString () {
    return '*'
  }
}

/** null or undefined: a tree without leaves. */
class Nothing extends Structure {
  constructor (value) {
    super(null, [])
    this.value = value
  }

  get kind () {
    return 'nothing'
  }

  take () {
    return this.value
  }

  toString () {
    return String(this.value)
  }
}

/** [keys, children, order] of a container, for Structure; null for a leaf. */
function childrenOf (tree) {
  if (tree instanceof Base) return null
  if (Array.isArray(tree)) return [null, tree]
  if (!isOptions(tree)) return null
  const own = Object.keys(tree)
  const keys = own.slice().sort()
  return [keys, keys.map((key) => tree[key]), own.map((key) => keys.indexOf(key))]
}

/** [leaves, structure] of a tree; what names the tree in errors. */
function flatten (tree, what) {
  const leaves = []
  const leaf = new Leaf()
  const onWay = new Set()
  const visit = (at) => {
    if (at == null) return new Nothing(at)
    const found = childrenOf(at)
    if (found === null) {
      leaves.push(at)
      return leaf
    }
    if (onWay.has(at)) throw new PolygradError(`${what}: it holds itself, expected a tree`)
    onWay.add(at)
    const [keys, items, order] = found
    const structure = new Structure(keys, Array.from(items, visit), order)
    onWay.delete(at)
    return structure
  }
  return [leaves, visit(tree)]
}

/** The leaves of a tree, checked to have a structure; like says in errors whose structure that is. */
function leavesLike (tree, structure, what, like) {
  const [leaves, found] = flatten(tree, what)
  if (!found.equals(structure)) throw new PolygradError(`${what}: a tree ${found}, expected ${structure} as ${like}`)
  return leaves
}

/** Expands a prefix tree to one value for each leaf of a structure: a leaf of the prefix holds for all leaves below it. */
function spread (prefix, structure, what) {
  const found = structure instanceof Leaf || prefix == null ? null : childrenOf(prefix)
  if (found === null) return Array(structure.size).fill(prefix)
  const [keys, items] = found
  const fits = structure.kind === (keys === null ? 'array' : 'object') && items.length === structure.children.length
  if (!fits || !(keys?.every((key, i) => key === structure.keys[i]) ?? true)) {
    throw new PolygradError(`${what}: ${shown(prefix)}, expected a tree like ${structure}, or its beginning`)
  }
  return structure.children.flatMap((child, i) => spread(items[i], child, what + structure.place(i)))
}

/** A tree as error messages show it. */
function shown (tree) {
  return Array.isArray(tree) ? show(tree) : String(flatten(tree, '')[1])
}

module.exports = { Leaf, Structure, flatten, leavesLike, spread }
