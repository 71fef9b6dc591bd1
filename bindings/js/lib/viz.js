'use strict'
/** Views of a computation: its graph, its kernels, their code and their times. */

const { lib, taken, constants: c, PolygradError } = require('./library.js')
const { CTX, handlesOf } = require('./handles.js')
const { handleOf } = require('./base.js')
const { Tensor } = require('./tensor.js')
const { CompiledTrainingStep } = require('./nn/step.js')
const { TinyJit } = require('./jit.js')
const { choice, named, show } = require('./arguments.js')

const FORMATS = {
  text: c.POLY_VIEW_TEXT, json: c.POLY_VIEW_JSON, dot: c.POLY_VIEW_DOT, svg: c.POLY_VIEW_SVG, code: c.POLY_VIEW_CODE
}

/** Calls call(nodes, count) with the nodes of tensors for C; the node of a computed tensor is the one from which it was computed. */
function withNodes (name, tensors, call) {
  const all = Array.isArray(tensors) ? tensors : [tensors]
  if (all.length === 0) throw new TypeError(`${name}: no tensors, expected at least one`)
  const nodes = []
  try {
    for (const tensor of all) {
      if (!(tensor instanceof Tensor)) throw new TypeError(`${name}: ${show(tensor)}, expected a Tensor`)
      nodes.push({ _handle: lib.poly_array_origin(handleOf(tensor)) })
    }
    return call(handlesOf(nodes), nodes.length)
  } finally {
    for (const node of nodes) lib.poly_uop_release(CTX, node._handle)
  }
}

function graph (tensors, options = {}) {
  const { format } = named('graph', [options], { format: 'text' })
  const number = choice(FORMATS, format, 'graph: format')
  return withNodes('graph', tensors, (nodes, n) => taken(lib.poly_view_graph(CTX, nodes, n, number)))
}

/** The program of a compiled step or a TinyJit; null for anything else. */
function programOf (what) {
  if (what instanceof CompiledTrainingStep) return what._program
  if (!(what instanceof TinyJit)) return null
  if (what.captured === null) throw new PolygradError('kernels: the TinyJit has no program before its second call')
  return what.captured._program
}

function kernels (what, options = {}) {
  const { format, runs } = named('kernels', [options], { format: 'text', runs: 0 })
  const number = choice(FORMATS, format, 'kernels: format')
  if (!Number.isInteger(runs)) throw new TypeError(`kernels: runs: ${show(runs)}, expected an integer`)
  const program = programOf(what)
  if (program !== null) return taken(lib.poly_view_function(program.handle, runs, number))
  return withNodes('kernels', what, (nodes, n) => taken(lib.poly_view_kernels(CTX, nodes, n, null, null, 0, runs, number)))
}

const camel = (key) => key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
const renamed = (record) => Object.fromEntries(Object.entries(record).map(([key, value]) => [camel(key), value]))

class Profile {
  constructor (records) {
    Object.assign(this, renamed(records))
    this.kernels = records.kernels.map(renamed)
  }

  /** The sum of the fastest runs of all kernels, in seconds. */
  get seconds () {
    return this.kernels.reduce((sum, kernel) => sum + kernel.seconds, 0)
  }

  /** The tables. */
  toString () {
    return this.text
  }
}

/** Times each kernel of tensors, a compiled step or a TinyJit. */
function profile (what, options = {}) {
  const { runs } = named('profile', [options], { runs: 20 })
  return new Profile(JSON.parse(kernels(what, { runs, format: 'json' })))
}

module.exports = { graph, kernels, profile, Profile }
