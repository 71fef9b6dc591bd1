'use strict'
/** polygrad/jax: trees of arrays. index.d.ts tells what the functions do. */

const { isOptions, show } = require('../arguments.js')
const { Array: JaxArray } = require('./array.js')

const NodeType = Object.freeze({ Array: 'Array', Object: 'Object', Leaf: 'Leaf' })

/** The structure of a tree. */
class JsTreeDef {
  constructor (nodeType, nodeMetadata, childTreedefs) {
    this.nodeType = nodeType
    /** The keys of an object, in its own order. */
    this.nodeMetadata = nodeMetadata
    this.childTreedefs = childTreedefs
  }

  get size () {
    return this.nodeType === NodeType.Leaf ? 1 : this.childTreedefs.reduce((n, child) => n + child.size, 0)
  }

  equals (other) {
    return this.nodeType === other.nodeType && String(this.nodeMetadata) === String(other.nodeMetadata) &&
      this.childTreedefs.length === other.childTreedefs.length && this.childTreedefs.every((c, i) => c.equals(other.childTreedefs[i]))
  }

  toString (root = true) {
    const items = this.childTreedefs.map((child) => child.toString(false))
    let text = '*'
    if (this.nodeType === NodeType.Array) text = `[${items.join(', ')}]`
    else if (this.nodeType === NodeType.Object) text = `{${items.map((item, i) => `${this.nodeMetadata[i]}: ${item}`).join(', ')}}`
    return root ? `JsTreeDef(${text})` : text
  }
}

JsTreeDef.leaf = new JsTreeDef(NodeType.Leaf, null, [])

/** [leaves, structure] of a tree. Everything except lists and plain objects is a leaf, also null. */
function flatten (tree) {
  const found = []
  const visit = (at) => {
    if (Array.isArray(at)) return new JsTreeDef(NodeType.Array, null, at.map(visit))
    if (!(at instanceof JaxArray) && isOptions(at)) {
      const keys = Object.keys(at)
      return new JsTreeDef(NodeType.Object, keys, keys.map((key) => visit(at[key])))
    }
    found.push(at)
    return JsTreeDef.leaf
  }
  const definition = visit(tree)
  return [found, definition]
}

const leaves = (tree) => flatten(tree)[0]
const structure = (tree) => flatten(tree)[1]

function unflatten (treedef, values) {
  const rest = values[Symbol.iterator]()
  const build = (at) => {
    if (at.nodeType === NodeType.Leaf) {
      const { done, value } = rest.next()
      if (done) throw new TypeError(`tree.unflatten: leaves: fewer than the ${treedef.size} of ${treedef}`)
      return value
    }
    const items = at.childTreedefs.map(build)
    return at.nodeType === NodeType.Array ? items : Object.fromEntries(at.nodeMetadata.map((key, i) => [key, items[i]]))
  }
  const built = build(treedef)
  if (!rest.next().done) throw new TypeError(`tree.unflatten: leaves: more than the ${treedef.size} of ${treedef}`)
  return built
}

function map (fn, tree, ...rest) {
  if (typeof fn !== 'function') throw new TypeError(`tree.map: fn: ${show(fn)}, expected a function`)
  const [first, definition] = flatten(tree)
  const others = rest.map((other, i) => {
    const [own, found] = flatten(sorted(other, tree))
    if (!found.equals(definition)) throw new TypeError(`tree.map: rest[${i}]: ${structure(other)}, expected ${definition}`)
    return own
  })
  return unflatten(definition, first.map((leaf, i) => fn(leaf, ...others.map((items) => items[i]))))
}

/** A tree whose objects have their keys in the order of another tree, for the keys that both have. */
function sorted (tree, like) {
  if (Array.isArray(tree) && Array.isArray(like)) return tree.map((item, i) => sorted(item, like[i]))
  if (tree instanceof JaxArray || !isOptions(tree) || !isOptions(like)) return tree
  const keys = [...Object.keys(like).filter((key) => Object.hasOwn(tree, key)),
    ...Object.keys(tree).filter((key) => !Object.hasOwn(like, key))]
  return Object.fromEntries(keys.map((key) => [key, sorted(tree[key], like[key])]))
}

function ref (tree) {
  return map((leaf) => leaf instanceof JaxArray ? leaf.ref : leaf, tree)
}

function dispose (tree) {
  if (tree == null) return
  for (const leaf of leaves(tree)) if (leaf instanceof JaxArray) leaf.dispose()
}

const tree = Object.freeze({ NodeType, JsTreeDef, dispose, flatten, leaves, map, ref, structure, unflatten })

module.exports = { tree, JsTreeDef, flatten, unflatten }
