'use strict'
/** Wrapping functions of tensors as functions of arrays: conversion, type promotion, and errors. */

const { PolygradError } = require('../library.js')
const { Base, describe } = require('../base.js')
const { types } = require('../dtype.js')
const { Tensor } = require('../tensor.js')
const { isComplex, isOptions, show } = require('../arguments.js')
const { Array: JaxArray, again, alive, take, call, apart } = require('./array.js')
const { joined } = require('./types.js')

const shapeOf = (tensor) => describe(tensor).shape
const isFloat = (tensor) => describe(tensor).dtype.isFloat
const floating = (tensor) => isFloat(tensor) ? tensor : tensor.cast('float32')
const isNumber = (value) => typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'

/** A scalar tensor that is a constant in the graph. */
const constant = (value, dtype) => Tensor.full([], value, dtype === undefined ? {} : { dtype: dtype.name })

/** An array-like argument: an array, a number or a boolean as it is; a list, a typed array or a complex number becomes an array. */
function arrayLike (value, what) {
  if (value instanceof JaxArray) return take(value)
  if (isNumber(value)) return value
  if (Array.isArray(value) || ArrayBuffer.isView(value) || isComplex(value)) return new JaxArray(listed(value, what))
  throw new TypeError(`${what}: ${show(value)}, expected an array, a number or a boolean`)
}

/** The tensor of a list; errors name the argument what. */
function listed (values, what, options) {
  try {
    return new Tensor(lowered(values), options)
  } catch (error) {
    if (error instanceof PolygradError) throw Object.assign(new TypeError(error.message.replace(/^Tensor: data/, what)), { cause: error })
    throw error
  }
}

const tensorOf = (value) => value instanceof JaxArray ? value._tensor : value instanceof Base ? value : constant(value)
const isWeak = (value) => value instanceof JaxArray ? value._weak : typeof value === 'number'

/** The value of a weakly typed operand, NaN if it is not known. */
const numberOf = (value) => value instanceof JaxArray ? value._number ?? NaN : value

const typeOf = (value) => typeof value === 'boolean'
  ? types.bool
  : typeof value === 'bigint' ? types.int64 : describe(tensorOf(value)).dtype

/** The type to which a weakly typed number and an operand of a type are promoted. */
function typeWith (number, type) {
  if (type.isFloat || type.isComplex) return type
  if (!Number.isInteger(number)) return types.float32
  if (type !== types.bool) return type
  return number < 0 ? types.int32 : types.uint32
}

/** The type to which operands are promoted. */
function commonType (operands) {
  const strong = operands.filter((operand) => !isWeak(operand))
  if (strong.length === 0) return types.float32
  const type = strong.map(typeOf).reduce(joined)
  return operands.filter(isWeak).reduce((found, operand) => typeWith(numberOf(operand), found), type)
}

/** Operands promoted to one type, as tensors or numbers; the first one is a tensor. */
function promoted (operands) {
  const type = commonType(operands)
  return operands.map((operand, i) => {
    if (isNumber(operand)) return i === 0 || typeof operand !== 'number' ? constant(operand, type) : operand
    return casted(tensorOf(operand), type)
  })
}

/** Operands promoted to one type, as tensors. */
const promotedTensors = (operands) => {
  const type = commonType(operands)
  return operands.map((operand) => isNumber(operand) ? constant(operand, type) : casted(tensorOf(operand), type))
}

const casted = (tensor, type) => describe(tensor).dtype === type ? tensor : tensor.cast(type.name)

/** Maps the items of a list or an object; returns anything else unchanged. */
function inside (tree, f) {
  if (Array.isArray(tree)) return tree.map((item) => f(item))
  return isOptions(tree) ? Object.fromEntries(Object.entries(tree).map(([key, item]) => [key, f(item)])) : tree
}

/** A result with its tensors wrapped as arrays. */
const wrapped = (result, weak) => result instanceof Base
  ? new JaxArray(result, weak && isFloat(result))
  : inside(result, (item) => wrapped(item, weak))

/**
 * Conversions of arguments, by a letter: x becomes a tensor, n stays an array or a number, l is a list of n; in o, an object of options,
 * arrays become tensors; an argument without a letter is not converted. t is x and c is l, but they do not decide whether the result is
 * weakly typed.
 */
const TAKERS = {
  x: (value, what) => tensorOf(arrayLike(value, what)),
  t: (value, what) => tensorOf(arrayLike(value, what)),
  n: arrayLike,
  l: (value, what) => {
    if (!Array.isArray(value)) throw new TypeError(`${what}: ${show(value)}, expected a list of arrays`)
    return value.map((item, i) => arrayLike(item, `${what}[${i}]`))
  },
  c: (value, what) => TAKERS.l(value, what),
  o: (value, what) => {
    if (!isOptions(value)) throw new TypeError(`${what}: ${show(value)}, expected an object of options`)
    return Object.fromEntries(Object.entries(value)
      .map(([key, item]) => [key, item instanceof JaxArray ? take(item)._tensor : item]))
  }
}

/**
 * Makes a function of arrays from a function of tensors.
 *
 * @param {string} title its name, and in parentheses its parameters, each with a letter of TAKERS: add(x:n, y:n). A ? makes a parameter
 *   optional (null or absent). Scalars have no axes: for them a given axis? or axis! is an error, and so is an axis! that is absent
 * @param {Function} f the function of tensors
 */
function define (title, f) {
  const [, name, list] = /^(\w+)\((.*)\)$/.exec(title)
  const parameters = list === '' ? [] : list.split(', ').map((text) => {
    const [, own, mark, letter] = /^(\w+)([?!])?(?::(\w))?$/.exec(text)
    const like = 'xnl'.includes(letter ?? '-')
    const isAxis = mark === '!' || (mark === '?' && own === 'axis')
    const takes = TAKERS[letter]
    return { what: `${name}: ${own}`, optional: mark === '?', takes, like, isList: letter === 'l', isAxis, always: mark === '!' }
  })
  const fn = (...args) => call(() => {
    let weak = parameters.some(({ like }) => like)
    const given = parameters.map(({ what, optional, takes, like, isList, isAxis, always }, i) => {
      const value = args[i]
      if (isAxis && isScalar(args[0]) && (value === undefined ? always : value !== null && value.length !== 0)) {
        throw new RangeError(`${what}: ${show(value ?? -1)}, expected none for a scalar`)
      }
      if (takes === undefined && value === undefined && !optional && !always) throw new TypeError(`${what}: not given`)
      if (takes === undefined || (optional && value == null)) return value === null && optional ? undefined : value
      if (like) weak &&= isList && Array.isArray(value) ? value.every(isWeak) : isWeak(value)
      return takes(value, what)
    })
    try {
      const found = f(...given)
      return unchanged(found, args[0]) ?? wrapped(found, weak)
    } catch (error) {
      throw renamed(error, name)
    }
  })
  return Object.defineProperty(Object.assign(fn, { dispose: nothing }), 'name', { value: name })
}

/** The first argument again, if a function returns its tensor unchanged; undefined otherwise. */
function unchanged (tensor, given) {
  const array = Array.isArray(given) ? given[0] : given
  return array instanceof JaxArray && array._tensor === tensor ? again(array) : undefined
}

/** The operand x in place of the result out, if isKept says that the elements are equal, and type and shape are equal; else out. */
function kept (x, isKept, out) {
  if (!isKept) return out
  const [a, b] = [describe(x), describe(out)]
  return a.dtype === b.dtype && String(a.shape) === String(b.shape) ? x : out
}

const isScalar = (x) => isNumber(x) || (x instanceof JaxArray && x.ndim === 0)

/** dispose() of functions: some functions of jax-js are compiled and can be disposed; here they hold nothing. */
function nothing () {}

/** Turns a PolygradError, about shapes and types that do not fit, into a TypeError of the function name. */
function renamed (error, name) {
  if (!(error instanceof PolygradError)) return error
  const text = error.message.startsWith(`${name}: `) ? error.message : `${name}: ${error.message}`
  return Object.assign(new TypeError(text.replace(/: (?:\w+\.)?\w+: (?=.*: )/, ': ')), { cause: error })
}

/** Applies define to a table of functions by title; returns them by name. */
function defineAll (table) {
  return Object.fromEntries(Object.entries(table).map(([title, f]) => [title.slice(0, title.indexOf('(')), define(title, f)]))
}

/** A tree of arguments with arrays replaced by their tensors, and functions of arrays by functions of tensors. */
function lowered (tree) {
  if (tree instanceof JaxArray) return take(tree)._tensor
  return typeof tree === 'function' ? loweredFunction(tree) : inside(tree, lowered)
}

/** The result of a function of arrays, with arrays replaced by their tensors. */
const results = (tree) => tree instanceof JaxArray ? alive(tree)._tensor : inside(tree, results)

/** Turns a function of arrays into a function of tensors. */
function loweredFunction (f) {
  return (...args) => results(apart(() => f(...args.map((arg) => wrapped(arg, false)))))
}

/** Turns a function of trees of tensors and of functions of tensors into one of arrays. */
function lifted (f) {
  const fn = (...args) => call(() => wrapped(f(...args.map(lowered)), false))
  return Object.defineProperty(fn, 'name', { value: f.name })
}

/** Turns an operation whose first operand is a tensor into a function of arrays. */
function liftedOperation (name, f) {
  const fn = (x, ...args) => call(() => {
    const first = Array.isArray(x) ? lowered(x) : tensorOf(arrayLike(x, `${name}: x`))
    try {
      return wrapped(f(first, ...args.map(lowered)), false)
    } catch (error) {
      throw renamed(error, name)
    }
  })
  return Object.defineProperty(fn, 'name', { value: name })
}

module.exports = {
  arrayLike, casted, commonType, constant, define, defineAll, floating, inside, isFloat, isNumber, isWeak, kept, lifted, liftedOperation,
  listed, lowered, promoted, promotedTensors, renamed, results, shapeOf, tensorOf, typeOf, wrapped
}
