'use strict'
/** Collective operations along a named axis of vmap: psum, all_gather and others. */

const { Tensor } = require('../tensor.js')
const { Base } = require('../base.js')
const { integer, named, show } = require('../arguments.js')
const { flatten } = require('./trees.js')
const { along } = require('./expr.js')

/** Applies f to the leaves of a tree, as tensors; returns a tree of the results. */
function mapped (who, f, tree) {
  const [leaves, structure] = flatten(tree, `${who}: x`)
  return structure.build(leaves.map((leaf) => f(leaf instanceof Base ? leaf : new Tensor(leaf))))
}

const namesOf = (axisName) => Array.isArray(axisName) ? axisName : [axisName]

/** all_gather of a tensor. */
const every = (who, axisName, x) => along(who, 'all_gather', axisName, x)

function psum (x, axisName) {
  return mapped('psum', (t) => namesOf(axisName).reduce((sum, name) => along('psum', 'psum', name, sum), t), x)
}

function sizeOf (who, axisName) {
  return namesOf(axisName).reduce((size, name) => size * every(who, name, new Tensor(0)).shape[0], 1)
}

function axisSize (axisName) {
  return sizeOf('axisSize', axisName)
}

function axisIndex (axisName) {
  return along('axisIndex', 'axis_index', axisName, new Tensor(0))
}

function pmean (x, axisName) {
  const count = sizeOf('pmean', axisName)
  return mapped('pmean', (t) => namesOf(axisName).reduce((sum, name) => along('pmean', 'psum', name, sum), t).div(count), x)
}

function pmax (x, axisName) {
  return mapped('pmax', (t) => every('pmax', axisName, t).max(0), x)
}

function pmin (x, axisName) {
  return mapped('pmin', (t) => every('pmin', axisName, t).min(0), x)
}

function allGather (x, axisName, ...options) {
  const { axis, tiled } = named('allGather', options, { axis: 0, tiled: false })
  integer(axis, 'allGather: axis')
  if (typeof tiled !== 'boolean') throw new TypeError(`allGather: tiled: ${show(tiled)}, expected true or false`)
  return mapped('allGather', (t) => {
    const all = every('allGather', axisName, t)
    const n = t.shape.length + (tiled ? 0 : 1)
    if (axis < -n || axis >= n) throw new RangeError(`allGather: axis: ${axis}, expected ${-n} to ${n - 1}`)
    const at = axis < 0 ? axis + n : axis
    const order = [...all.shape.keys()].slice(1)
    const moved = all.permute([...order.slice(0, at), 0, ...order.slice(at)])
    return tiled ? moved.reshape(t.shape.map((size, i) => i === at ? size * all.shape[0] : size)) : moved
  }, x)
}

function ppermute (x, axisName, perm) {
  const count = sizeOf('ppermute', axisName)
  const inRange = (i) => Number.isInteger(i) && i >= 0 && i < count
  if (!Array.isArray(perm) || !perm.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(inRange))) {
    throw new TypeError(`ppermute: perm: ${show(perm)}, expected pairs of numbers from 0 to ${count - 1}`)
  }
  const from = new Map(perm.map(([source, target]) => [target, source]))
  return mapped('ppermute', (t) => {
    const all = every('ppermute', axisName, t)
    const rows = Array.from({ length: count }, (_, i) => from.has(i) ? all.getitem(from.get(i)) : t.zerosLike())
    return along('ppermute', 'own', axisName, Tensor.stack(rows))
  }, x)
}

module.exports = { allGather, axisIndex, axisSize, pmax, pmean, pmin, ppermute, psum }
