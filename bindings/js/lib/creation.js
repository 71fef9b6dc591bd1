'use strict'
/** Constructors of tensors whose signatures the generated methods do not cover. All of them are lazy. */

const { lib, fail } = require('./library.js')
const { CTX } = require('./handles.js')
const { ofNode } = require('./base.js')
const { Operation, finish } = require('./call.js')
const { SymInt } = require('./variable.js')
const { Indexing } = require('./indexing.js')
const { named, integer, number, isOptions } = require('./arguments.js')
const { toDType } = require('./dtype.js')

const CREATION = { dtype: null, device: null, requiresGrad: null }
const FULL = new Operation('full', 'shape fillValue dtype:d')
const ARANGE = new Operation('arange', 'start stop step dtype:d')
const TYPES = { number: 'float32', boolean: 'bool', bigint: 'int64' }

class Creation extends Indexing {
  static full (...args) {
    const { shape, fillValue, dtype, ...options } = named('full', args, { shape: undefined, fillValue: undefined, ...CREATION })
    return finish(FULL.one(undefined, [shape, fillValue, dtype ?? TYPES[typeof fillValue]]), options)
  }

  static empty (...args) {
    return this.zeros(...args)
  }

  emptyLike (...args) {
    return this.zerosLike(...args)
  }

  constLike (b) {
    return this.fullLike(b)
  }

  static arange (...args) {
    const { stop, start, step, dtype, ...options } = named('arange', args, { stop: undefined, start: 0, step: 1, ...CREATION })
    const values = [start, stop, step]
    const symbolic = values.some((v) => v instanceof SymInt)
    const names = ['start', 'stop', 'step']
    values.forEach((v, i) => v instanceof SymInt || number(v, `arange: ${names[i]}`))
    const type = dtype ?? (symbolic || values.every(Number.isInteger) ? 'int32' : 'float32')
    const tensor = symbolic
      ? ofNode(lib.poly_arange_size(CTX, toDType(type, 'arange').id, ...values.map((v, i) => integer(v, `arange: ${names[i]}`))))
      : ARANGE.one(undefined, [...values, type])
    return finish(tensor, options)
  }

  static manualSeed (...args) {
    const { seed } = named('manualSeed', args, { seed: 0 })
    const bits = BigInt.asUintN(64, typeof seed === 'bigint' ? seed : BigInt(integer(seed, 'manualSeed: seed')))
    if (lib.poly_seed(CTX, bits) !== 0) fail()
  }

  static randint (...args) {
    const [low, high, shape, ...rest] = args
    const ofRange = Array.isArray(shape) && (rest.length === 0 || isOptions(rest[0]))
    return super.randint(...(ofRange ? [shape, { low, high, ...rest[0] }] : args))
  }
}

module.exports = { Creation, CREATION }
