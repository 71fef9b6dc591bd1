'use strict'
/** The functions of the library, and the translation of its errors. */

const engine = require('./engine/index.js')
const { PROTOTYPES, constants } = require('./prototypes.js')
const { PolygradError, JitError } = require('./errors.js')

const { find } = engine

/** The functions of the library by name, each looked up when it is first used. */
const lib = {}
for (const [name, [result, args]] of Object.entries(PROTOTYPES)) {
  Object.defineProperty(lib, name, {
    configurable: true,
    enumerable: true,
    get () {
      const value = find(name, result, args)
      Object.defineProperty(lib, name, { value, enumerable: true })
      return value
    }
  })
}

/** The library's message about the last failed call of this thread, in JavaScript's names; who overrides the name of the function. */
function said (who) {
  const text = lib.poly_last_error() || 'the library reported no error'
  return text.replace(CALLED, (_, method, argument, rest) => {
    const words = rest.replace(WORDS, (word) => word.startsWith('"') ? word : camel(word))
    return `${camel(method)}: ${(!method.startsWith('optim.') && NAMES[argument]) || camel(argument)}: ${words}`
  })
    .replace('poly_hf_open: path: ', 'loadHf: folder: ')
    .replace(FUNCTION, (_, method) => `${who ?? METHODS[method] ?? camel(method)}: `)
    .replace(/(?<=^\w+: )[a-z]+(_[a-z]+)+(?=[:[])/, camel)
}

/**
 * Throws the last error of the library: a RangeError, a TypeError or a JitError if the message says so, a
 * PolygradError otherwise.
 */
function fail (who) {
  const text = said(who)
  if (/out of (range|bounds)|: -?[\d.e+-]+, expected -?[\d.]+ (to -?[\d.]+$|or more)/.test(text)) throw new RangeError(text)
  if (TRACED.test(text)) throw new JitError(text)
  const inner = /internal error|forked|stale|\b[A-Z_]+: got "/.test(text) // the last is an environment variable
  if (!inner && (/\btype\b/.test(text) || EXPECTED.test(text))) throw new TypeError(text)
  throw new PolygradError(text)
}

// Messages about operations and functions of the library begin with a C name, which is replaced by that of the method.
const CALLED =
  /^poly_(?:array_call|optim_new|array_binary(?:_number)?): arg(?:ument)?s: (\w+(?:\.\w+)??)(?:\.forward)?: (\w+(?:\[\d+\])?): ([^]*)/
const WORDS = /"[^"]*"|\b[a-z]+(?:_[a-z0-9]+)+\b/g
const NAMES = { Y: 'target', b1: 'betas', b2: 'betas' }
const FUNCTION =
  /^poly_(?:(?:array|optim|function|generator|instance|size)_)?(?:call: args: )?(\w+?(?:\.\w+)?)(?:_n|_async)?: (?:arguments: )?/
const METHODS = {
  bind_var: 'bind',
  ctx_set_device: 'Device.default',
  define_var: 'Variable',
  hf_load_as: 'loadHfBytes',
  hf_open: 'loadHf',
  load_weights: 'importWeights',
  mlp_instance: 'mlp',
  nam_instance: 'nam',
  new: 'Generator',
  pin: 'data',
  read: 'toArray',
  require_grad: 'requiresGrad',
  safetensors_encode: 'encode',
  seed: 'manualSeed',
  set: 'setitem',
  set_grad: 'grad',
  tabm_instance: 'tabm'
}

// A traced function asks for a value, or for something that is not possible while tracing.
const TRACED = /while .* traces the function|inside of /

// Messages about an argument of the wrong kind, which become TypeErrors.
const EXPECTED =
  /expected (one of .*|(a (tensor|number|bool|text|data type)|an integer|integers|axes|numbers|sizes|an index)( or a (number|text))?$)/

/** Converts a snake_case name of the library to camelCase. */
function camel (name) {
  return name.replace(/_$/, '').replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
}

/** Reads a text that the library has allocated, and frees it. */
function taken (address) {
  if (address === null) fail()
  const text = engine.text(address)
  engine.free(address)
  return text
}

module.exports = { lib, engine, find, constants, PolygradError, JitError, camel, said, fail, taken }
