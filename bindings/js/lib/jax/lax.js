'use strict'
/** polygrad/jax: lax, the operations of XLA. index.d.ts tells what the functions do. */

const X = require('../lax.js')
const special = require('../special.js')
const func = require('../func/index.js')
const { show } = require('../arguments.js')
const { expressed, tracing } = require('../trace.js')
const { PolygradError } = require('../library.js')
const { Array: JaxArray, call } = require('./array.js')
const { typeOf: typeNamed } = require('./types.js')
const {
  arrayLike, defineAll, floating, kept, lifted, liftedOperation, promotedTensors, results, shapeOf, tensorOf, wrapped
} = require('./call.js')
const { laxLinalg } = require('./linalg.js')

/** Images and kernels in one type. */
const pair = (f) => (lhs, rhs, ...rest) => f(...promotedTensors([lhs, rhs]), ...rest)

/** Images and kernels in one type, with a stride for each axis that is neither of batches nor of channels. */
const strided = (f) => pair((lhs, rhs, strides, ...rest) => {
  const axes = shapeOf(lhs).length - 2
  const fits = !Array.isArray(strides) || strides.length === axes
  if (!fits) throw new PolygradError(`strides: ${show(strides)}, expected one for each of ${axes} axes`)
  return f(lhs, rhs, strides, ...rest)
})

const convolution = strided((lhs, rhs, strides, padding, { lhsDilation, rhsDilation, featureGroupCount = 1 } = {}) =>
  X.convGeneralDilated(lhs, rhs, {
    windowStrides: strides,
    padding: padding === 'SAME_LOWER' ? lowerPadding(lhs, rhs, strides, lhsDilation, rhsDilation) : flatten(padding),
    ...given({ lhsDilation, rhsDilation }),
    featureGroupCount
  }))

const flatten = (padding) => Array.isArray(padding) ? padding.flat() : padding

/** Padding SAME_LOWER, which keeps sizes: the greater half of an odd amount is in front. */
function lowerPadding (lhs, rhs, strides, lhsDilation = [], rhsDilation = []) {
  return shapeOf(lhs).slice(2).map((n, i) => {
    const size = (n - 1) * (lhsDilation[i] ?? 1) + 1
    const window = (shapeOf(rhs)[i + 2] - 1) * (rhsDilation[i] ?? 1) + 1
    const all = Math.max(0, (Math.ceil(size / strides[i]) - 1) * strides[i] + window - size)
    return [Math.ceil(all / 2), Math.floor(all / 2)]
  }).flat()
}

/** The padding of a transposed convolution, as padding of the dilated image. */
function transposedPadding (padding, rhs, rhsDilation = []) {
  if (!Array.isArray(padding)) return padding
  return padding.flatMap((ends, i) => ends.map((n) => (shapeOf(rhs)[i + 2] - 1) * (rhsDilation[i] ?? 1) - n))
}

/** Settings without those that are undefined. */
const given = (settings) => Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

const own = defineAll({
  'bitcastConvertType(x:x, newDtype)': (x, dtype) => kept(x, true, x.bitcast(typeNamed(dtype, 'bitcastConvertType').name)),
  'conv(lhs:n, rhs:n, windowStrides, padding)': convolution,
  'convWithGeneralPadding(lhs:n, rhs:n, windowStrides, padding, lhsDilation?, rhsDilation?)':
    (lhs, rhs, strides, padding, lhsDilation, rhsDilation) => convolution(lhs, rhs, strides, padding, { lhsDilation, rhsDilation }),
  'convGeneralDilated(lhs:n, rhs:n, windowStrides, padding, options?:o)': convolution,
  'convTranspose(lhs:n, rhs:n, strides, padding, options?:o)':
    strided((lhs, rhs, strides, padding, { rhsDilation, transposeKernel = false } = {}) =>
      X.convTranspose(lhs, rhs, {
        strides, padding: transposedPadding(padding, rhs, rhsDilation), ...given({ rhsDilation }), transposeKernel
      })),
  'dot(lhs:n, rhs:n, options?:o)': pair((lhs, rhs, {
    lhsContractingDims = [], rhsContractingDims = [], lhsBatchDims = [], rhsBatchDims = []
  } = {}) => X.dotGeneral(lhs, rhs, { lhsContractingDims, rhsContractingDims, lhsBatchDims, rhsBatchDims })),
  'erf(x:x)': (x) => special.erf(floating(x)),
  'erfc(x:x)': (x) => special.erfc(floating(x)),
  'stopGradient(x:x)': (x) => expressed() || tracing() ? x.detach() : x,
  'topK(x:x, k, axis?)': (x, k, axis = -1) => {
    const [values, indices] = X.topK(x, k, axis)
    return [values, indices.cast('int32')]
  }
})

/** Applies computation to each window, given as an array. Windows begin windowStrides elements apart, by default 1. */
function reduceWindow (operand, computation, windowDimensions, windowStrides) {
  if (typeof computation !== 'function') throw new TypeError(`reduceWindow: computation: ${show(computation)}, expected a function`)
  return call(() => {
    const x = tensorOf(arrayLike(operand, 'reduceWindow: operand'))
    const ndim = shapeOf(x).length
    if (!Array.isArray(windowDimensions) || windowDimensions.length > ndim) {
      throw new TypeError(`reduceWindow: windowDimensions: ${show(windowDimensions)}, expected a size for each of ${ndim} axes`)
    }
    const lead = ndim - windowDimensions.length
    const strides = windowStrides ?? windowDimensions.map(() => 1)
    let windows = x
    windowDimensions.forEach((size, i) => { windows = windows.unfold(lead + i, size, strides[i]) })
    const batch = shapeOf(windows).slice(0, ndim)
    const flat = windows.reshape([-1, ...windowDimensions])
    const out = func.vmap((w) => results(computation(wrapped(w, false))))(flat)
    return new JaxArray(out.reshape([...batch, ...shapeOf(out).slice(1)]))
  })
}

/** Functions of func that take functions of arrays. */
const CONTROL = ['scan', 'whileLoop', 'foriLoop', 'map', 'cond', 'switch', 'associativeScan']
const table = { ...own, reduceWindow }
for (const name of Object.keys(X).filter((key) => table[key] === undefined)) {
  table[name] = CONTROL.includes(name) ? lifted(X[name]) : liftedOperation(name, X[name])
}

const lax = Object.freeze({ ...table, linalg: laxLinalg })

module.exports = { lax }
