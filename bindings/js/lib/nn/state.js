'use strict'
/** The tensors that an object holds, by name. */

const { PolygradError } = require('../library.js')
const { Tensor } = require('../tensor.js')
const { named, record, string, show } = require('../arguments.js')
const { warn } = require('../host/node.js')
const { snake } = require('./names.js')

function getStateDict (object, prefix = '') {
  const found = new Map()
  collect(object, string(prefix, 'getStateDict: prefix'), found, new Set())
  return Object.fromEntries(found) // __proto__ is a name as all others
}

/** A key of an object or a Map as a name. */
function keyOf (key) {
  return typeof key === 'string' ? key : show(key)
}

function collect (object, prefix, found, onWay) {
  if (object instanceof Tensor) {
    found.set(prefix, object)
    return
  }
  if (typeof object !== 'object' || object === null || ArrayBuffer.isView(object) || onWay.has(object)) return
  onWay.add(object)
  for (const [key, item] of object instanceof Map ? object : Object.entries(object)) {
    // Properties of the package's own classes get snake_case names; names of the user's objects are kept.
    const name = object._ofPackage === true ? snake(key) : keyOf(key)
    collect(item, prefix === '' ? name : `${prefix}.${name}`, found, onWay)
  }
  onWay.delete(object)
}

function getParameters (object) {
  return [...new Set(Object.values(getStateDict(object)).filter((t) => t.requiresGrad !== false && t.isFloatingPoint()))]
}

function loadStateDict (model, stateDict, ...args) {
  const { strict, verbose } = named('loadStateDict', args, { strict: true, verbose: true })
  const own = getStateDict(model)
  const state = stateDict instanceof Map ? Object.fromEntries(stateDict) : record(stateDict, 'loadStateDict: stateDict')
  // Names in camelCase, as the properties have them, are accepted, too.
  const nameOf = (key) => [key, key.split('.').map(snake).join('.')].find((name) => Object.hasOwn(own, name)) ?? key
  const given = Object.fromEntries(Object.entries(state).map(([key, value]) => [nameOf(key), value]))
  const missing = Object.keys(own).filter((name) => !Object.hasOwn(given, name))
  if (strict && missing.length > 0) throw new PolygradError(`loadStateDict: missing [${missing}]`)
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(own, name))
  if (verbose && unknown.length > 0) warn(`loadStateDict: the model has no [${unknown}]`)
  const pairs = Object.entries(given).filter(([name]) => Object.hasOwn(own, name)).map(([name, value]) => {
    const target = own[name]
    const typed = ArrayBuffer.isView(value) ? { shape: target.shape } : {}
    return [name, target, value instanceof Tensor ? value : new Tensor(value, { dtype: target.dtype, ...typed })]
  })
  for (const [name, target, value] of pairs) {
    if (String(value.shape) !== String(target.shape) && [String(value.shape), String(target.shape)].sort().join(' ') !== ' 1') {
      throw new PolygradError(`Shape mismatch in layer \`${name}\`: Expected shape [${target.shape}], ` +
        `but found [${value.shape}] in state dict.`)
    }
  }
  for (const [, target, value] of pairs) target.assign(value.reshape(target.shape).cast(target.dtype))
}

module.exports = { getStateDict, getParameters, loadStateDict }
