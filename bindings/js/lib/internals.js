'use strict'
/** Internals for the compatibility modules, such as jax, beside the public names: in browsers these modules are files of their own. */

const { lib, engine, fail } = require('./library.js')
const { taken } = require('./memory.js')
const { CTX, freeWith } = require('./handles.js')
const { Base, describe, count, made, handleOf } = require('./base.js')
const { types, toDType } = require('./dtype.js')
const { read } = require('./data.js')
const { isComplex, isOptions, show } = require('./arguments.js')
const { inspect } = require('./host/node.js')
const { arrived } = require('./host/arrival.js')
const { operation, call } = require('./call.js')
const { expressed, tracing } = require('./trace.js')

const internals = {
  lib, engine, fail, Base, describe, count, made, handleOf, types, toDType, isComplex, isOptions, show, inspect, arrived, expressed,
  tracing, operation, call, CTX, freeWith, taken, read
}

module.exports = { internals }
