'use strict'
/** polygrad/loaders: renaming of weights to the names of another program. */

const { isOptions, show } = require('../arguments.js')

const KINDS = ['exact', 'prefix', 'suffix', 'substring']

const camel = (key) => key.replace(/_+([a-zA-Z0-9])/g, (_, c) => c.toUpperCase())
const snake = (key) => key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)

/** Rules that rename weights. */
class WeightMapper {
  constructor (params = {}) {
    if (!isOptions(params)) throw new TypeError(`WeightMapper: params: ${show(params)}, expected an object`)
    for (const [key, value] of Object.entries(params)) {
      const fits = key === 'autoCamelCase' ? typeof value === 'boolean' : KINDS.includes(key) && isOptions(value)
      if (!fits) throw new TypeError(`WeightMapper: params: ${key}: ${show(value)}, expected ${KINDS.join(', ')} and autoCamelCase`)
    }
    this._maps = KINDS.map((kind) => Object.entries(params[kind] ?? {}))
    this._camel = params.autoCamelCase ?? false
  }

  /** Renames by an exact rule if there is one, else by the first prefix rule, the first suffix rule and all rules for parts of the name. */
  mapKey (key) {
    return this._mapped(key, this._maps, camel)
  }

  /** Applies the rules in reverse: the name that mapKey renames to key. */
  unmapKey (key) {
    return this._mapped(key, this._maps.map((rules) => rules.map(([from, to]) => [to, from])), snake)
  }

  _mapped (key, [exact, prefix, suffix, substring], spelled) {
    if (typeof key !== 'string') throw new TypeError(`WeightMapper: key: ${show(key)}, expected a text`)
    const whole = exact.find(([from]) => from === key)
    if (whole !== undefined) return whole[1]
    let name = key
    const begin = prefix.find(([from]) => name.startsWith(from))
    if (begin !== undefined) name = begin[1] + name.slice(begin[0].length)
    const end = suffix.find(([from]) => name.endsWith(from))
    if (end !== undefined) name = name.slice(0, name.length - end[0].length) + end[1]
    for (const [from, to] of substring) if (from !== '') name = name.replaceAll(from, to)
    return this._camel ? spelled(name) : name
  }

  mapObject (obj) {
    return Object.fromEntries(Object.entries(obj).map(([key, value]) => [this.mapKey(key), value]))
  }

  unmapObject (obj) {
    return Object.fromEntries(Object.entries(obj).map(([key, value]) => [this.unmapKey(key), value]))
  }
}

module.exports = { WeightMapper }
