'use strict'
/** polygrad/jax: numpy, the functions of arrays. index.d.ts tells what they do. */

const { Base, describe } = require('../base.js')
const { types, toDType } = require('../dtype.js')
const { Tensor } = require('../tensor.js')
const { expressed } = require('../trace.js')
const { show, isComplex, isOptions } = require('../arguments.js')
const N = require('../numpy.js')
const func = require('../func/index.js')
const { Array: JaxArray, again, call, take, alive } = require('./array.js')
const { DType, typeOf: typeNamed, promoteTypes, finfo, iinfo } = require('./types.js')
const {
  arrayLike, casted, commonType, constant, defineAll, floating, inside, isFloat, isNumber, isWeak, kept, liftedOperation, listed, lowered,
  promoted, promotedTensors, renamed, results, shapeOf, tensorOf, wrapped
} = require('./call.js')
const { At } = require('./at.js')
const { state } = require('./jaxpr.js')
const { deviceOf, move } = require('./device.js')
const { linalg } = require('./linalg.js')
const { fft } = require('./fft.js')

const sizeOf = (x) => describe(x).shape.reduce((n, size) => n * size, 1)

/** An axis counted from the front. */
function axisOf (axis, ndim, who) {
  if (!Number.isInteger(axis)) throw new TypeError(`${who}: axis: ${show(axis)}, expected an integer`)
  if (ndim === 0) throw new RangeError(`${who}: axis: ${axis}, expected none for a scalar`)
  if (axis < -ndim || axis >= ndim) throw new RangeError(`${who}: axis: ${axis}, expected ${-ndim} to ${ndim - 1}`)
  return axis < 0 ? axis + ndim : axis
}

// Functions of one or two operands.

const UNARY = 'abs acos acosh asin asinh atan atanh bitwiseInvert cbrt ceil cos cosh deg2rad exp exp2 expm1 floor isfinite ' +
  'isinf isnan isneginf isposinf log log10 log1p log2 logicalNot rad2deg reciprocal sign signbit sin sinc sinh sqrt square tan tanh ' +
  'trunc i0'
const BINARY = 'add multiply divide floorDivide remainder fmod maximum minimum fmax fmin bitwiseAnd bitwiseOr bitwiseXor ' +
  'bitwiseLeftShift bitwiseRightShift less lessEqual greater greaterEqual equal notEqual logaddexp logaddexp2 copysign atan2 hypot ' +
  'heaviside logicalAnd logicalOr logicalXor pow floatPower divmod gcd lcm nextafter'

const unary = Object.fromEntries(UNARY.split(' ').map((name) => [`${name}(x:x)`, (x) => N[name](x)]))
const binary = Object.fromEntries(BINARY.split(' ').map((name) => [`${name}(x:n, y:n)`, (x, y) => N[name](...promoted([x, y]))]))

/** Rounding to decimals scales by integer powers of ten: 0.1 is not a floating-point number. */
function rounded (x, decimals = 0) {
  if (decimals === 0 || (!isFloat(x) && decimals > 0)) return isFloat(x) ? N.round(x) : x.cast(describe(x).dtype.name)
  const scale = 10 ** Math.abs(decimals)
  const down = decimals > 0 ? N.round(x.mul(scale)).div(scale) : N.round(floating(x).div(scale)).mul(scale)
  return down.cast(describe(x).dtype.name)
}

const elementwise = {
  ...unary,
  ...binary,
  // NumPy refuses bools, jax-js does not.
  'negative(x:x)': (x) => x.neg(),
  'subtract(x:n, y:n)': (x, y) => promoted([x, y]).reduce((a, b) => a.sub(b)),
  'bitwiseCount(x:x)': (x) => N.bitwiseCount(x).cast('int32'),
  'positive(x:x)': (x) => x,
  'rint(x:x)': (x) => N.round(floating(x)),
  'round(a:x, decimals?)': rounded,
  'modf(x:x)': (x) => N.modf(floating(x)),
  'frexp(x:x)': (x) => N.frexp(floating(x)),
  'ldexp(x1:x, x2:x)': (x, n) => N.ldexp(floating(x), n),
  'clip(a:n, min?:n, max?:n)': (a, min, max) => {
    if (min === undefined && max === undefined) return tensorOf(a)
    const [x, ...bounds] = promoted([a, ...[min, max].filter((bound) => bound !== undefined)])
    if (min !== undefined) return N.clip(x, bounds[0], max === undefined ? null : bounds[1])
    return N.clip(x, null, bounds[0] ?? null)
  },
  'nanToNum(x:x, options?:o)': (x, { nan = 0, posinf = null, neginf = null } = {}) => {
    const values = [nan, posinf, neginf]
    if (values.every((v) => !(v instanceof Base))) return N.nanToNum(x, { nan, posinf, neginf })
    const limits = isFloat(x) ? finfo(describe(x).dtype.name) : {}
    const [lost, above, below] = [nan, posinf ?? limits.max, neginf ?? limits.min]
    return N.isnan(x).where(lost, N.isposinf(x).where(above, N.isneginf(x).where(below, x)))
  },
  'where(cond:t, x:n, y:n)': (cond, x, y) => {
    return truth(cond).where(...promoted([x, y]))
  },
  'select(condlist:c, choicelist:l, defaultValue?:n)': (conditions, choices, fallback = 0) => {
    if (conditions.length !== choices.length || conditions.length === 0) {
      throw new TypeError(`select: choicelist: ${choices.length} arrays, expected ${conditions.length || 'one or more'} as condlist has`)
    }
    const [rest, ...values] = promotedTensors([fallback, ...choices])
    return conditions.map(tensorOf).reduceRight((found, cond, i) => truth(cond).where(values[i], found), rest)
  }
}

const truth = (x) => describe(x).dtype === types.bool ? x : x.ne(0)

// Reductions and scans.

const reduction = (f, isKept = () => false) => (a, axis, { keepdims = false } = {}) =>
  kept(a, (axis ?? shapeOf(a)).length === 0 && isKept(a), f(a, { axis: axis ?? null, keepdims }))
/** Reductions that are the identity if no axis is reduced; the NAN_FOLDS only for types without NaN. */
const FOLDS = 'sum prod max min any all'
const NAN_FOLDS = 'nansum nanprod nanmax nanmin'
const REDUCTIONS = 'mean ptp countNonzero nanmean median nanmedian'
const POSITIONS = 'argmax argmin nanargmax nanargmin'

/** The variance, about the given mean if there is one. */
function variance (x, axis, { mean, correction = 0, keepdims = false } = {}) {
  if (mean === undefined) return N.var_(x, { axis: axis ?? null, correction, keepdims })
  const off = floating(x).sub(mean)
  const sum = N.sum(off.mul(off), { axis: axis ?? null, keepdims })
  return sum.div(sizeOf(off) / Math.max(1, sizeOf(sum)) - correction)
}

/** A cumulative operation along an axis; without an axis it works on the flattened array. */
const scan = (f) => (a, axis, { includeInitial = false } = {}) =>
  kept(a, axis != null && sizeOf(a) === 0, axis == null ? f(a.flatten(), 0) : f(a, { axis, includeInitial }))
const cumulative = (f, who) => (a, { axis, includeInitial = false } = {}) => {
  const ndim = shapeOf(a).length
  if (axis == null && ndim > 1) throw new TypeError(`${who}: options.axis: not given, expected one for ${ndim} dimensions`)
  return kept(a, sizeOf(a) === 0, f(axis == null ? N.ravel(a) : a, { axis: axis ?? 0, includeInitial }))
}

/** The weighted average; the mean if there are no weights. */
function average (a, axis, { weights, keepdims = false } = {}) {
  if (weights === undefined) return N.mean(a, { axis: axis ?? null, keepdims })
  const [x, w] = [floating(a), floating(tensorOf(weights))]
  return N.average(x, { axis: axis ?? null, weights: w, keepdims })[0]
}

const reductions = {
  ...Object.fromEntries([[FOLDS, () => true], [NAN_FOLDS, (a) => !isFloat(a)], [REDUCTIONS], [POSITIONS]].flatMap(([names, isKept]) =>
    names.split(' ').map((name) => [`${name}(a:x, axis?, options?:o)`, reduction(N[name], isKept)]))),
  'var_(x:x, axis?, options?:o)': variance,
  'std(x:x, axis?, options?:o)': (...args) => variance(...args).sqrt(),
  ...Object.fromEntries(['nanvar', 'nanstd'].map((name) => [`${name}(x:x, axis?, options?:o)`, (x, axis, options = {}) =>
    N[name](x, { axis: axis ?? null, correction: options.correction ?? 0, keepdims: options.keepdims ?? false })])),
  'average(a:x, axis?, options?:o)': average,
  'cumsum(a:x, axis?)': scan(N.cumulativeSum),
  'cumprod(a:x, axis?)': scan(N.cumulativeProd),
  'nancumsum(a:x, axis?)': scan(N.nancumsum),
  'nancumprod(a:x, axis?)': scan(N.nancumprod),
  'cumulativeSum(x:x, options?:o)': cumulative(N.cumulativeSum, 'cumulativeSum'),
  'cumulativeProd(x:x, options?:o)': cumulative(N.cumulativeProd, 'cumulativeProd'),
  'cov(x:x, y?:x, options?:o)': (x, y, { rowvar = true } = {}) => N.cov(floating(x), { y: y ?? null, rowvar }),
  'corrcoef(x:x, y?:x)': (x, y) => N.corrcoef(floating(x), { y: y ?? null }),
  'trapezoid(y:x, x?:x, options?:o)': (y, x, { dx = 1, axis = -1 } = {}) => {
    if (x !== undefined || !(dx instanceof Base)) return N.trapezoid(floating(y), { x: x ?? dx, axis })
    const at = axisOf(axis, shapeOf(y).length, 'trapezoid')
    const [right, left] = ['1:', ':-1'].map((part) => y.getitem(...shapeOf(y).map((_, i) => i === at ? part : ':')))
    return N.sum(right.add(left).mul(dx).div(2), { axis: at })
  },
  'diff(a:x, n?, axis?, options?:o)': (a, n = 1, axis = -1, { prepend, append } = {}) => {
    const at = axisOf(axis, shapeOf(a).length, 'diff')
    const edge = (value) => {
      if (value === undefined) return null
      const t = value instanceof Base ? value : constant(value, describe(a).dtype)
      return shapeOf(t).length > 0 ? t : t.expand(shapeOf(a).map((size, i) => i === at ? 1 : size))
    }
    const isKept = prepend === undefined && append === undefined && (n === 0 || shapeOf(a)[at] === 0)
    return kept(a, isKept, N.diff(a, { axis: at, n, prepend: edge(prepend), append: edge(append) }))
  },
  'ediff1d(ary:x, options?:o)': (ary, { toEnd, toBegin } = {}) => {
    const { dtype } = describe(ary)
    const flat = (t) => (t instanceof Base ? t : constant(t)).flatten().cast(dtype.name)
    const found = [toBegin, N.diff(ary.flatten()), toEnd].filter((part) => part !== undefined).map(flat)
    return found.length === 1 ? found[0] : Tensor.cat(found)
  },
  'unwrap(p:x, discont?, axis?, period?)': (p, discont = null, axis = -1, period = 2 * Math.PI) =>
    kept(p, shapeOf(p).at(axis) <= 1, N.unwrap(p, { discont, axis, period })),
  'sort(a:x, axis!)': (a, axis = -1) => kept(a, shapeOf(a).at(axis) <= 1, N.sort(a, { axis })),
  'argsort(a:x, axis!)': (a, axis = -1) => N.argsort(a, { axis }),
  'isin(element:n, testElements:n, options?:o)': (element, test, { invert = false } = {}) => {
    const [x, values] = promotedTensors([element, test])
    return N.isin(x, values.flatten(), { invert })
  }
}

// Shapes.

/** Splits an array along an axis; sections may differ in size if uneven is true. */
function parts (who, a, indicesOrSections, axis, uneven) {
  const at = axisOf(axis, shapeOf(a).length, who)
  const size = shapeOf(a)[at]
  let ends
  if (Array.isArray(indicesOrSections)) ends = [...indicesOrSections.map((i) => i < 0 ? i + size : i), size]
  else {
    const n = indicesOrSections
    const what = `${who}: indicesOrSections: ${show(n)}`
    if (!Number.isInteger(n) || n < 1) throw new TypeError(`${what}, expected a positive integer or a list`)
    if (!uneven && size % n !== 0) throw new TypeError(`${what}, expected a divisor of ${size}, the size of axis ${at}`)
    ends = Array.from({ length: n }, (_, i) => (i + 1) * Math.floor(size / n) + Math.min(i + 1, size % n))
  }
  return ends.map((end, i) => {
    const bounds = [i === 0 ? 0 : Math.min(ends[i - 1], size), Math.min(end, size)]
    return a.shrink(shapeOf(a).map((n, k) => k === at ? [bounds[0], Math.max(...bounds)] : [0, n]))
  })
}

const splitAt = (who, least, axis) => [`${who}(a:x, indicesOrSections)`, (a, by) => {
  if (shapeOf(a).length < least) throw new TypeError(`${who}: a: ${shapeOf(a).length} dimensions, expected ${least} or more`)
  return parts(who, a, by, axis(shapeOf(a).length), false)
}]

/** An array reshaped to at least n dimensions. */
const atLeast = (x, n, pad) => {
  const shape = shapeOf(x)
  return shape.length >= n ? x : x.reshape(pad(shape, n - shape.length))
}
const front = (shape, n) => [...Array(n).fill(1), ...shape]
const joining = (who, adapt, axis) => [`${who}(xs:l)`, (xs) => {
  if (xs.length === 0) throw new TypeError(`${who}: xs: an empty list, expected one or more arrays`)
  const given = promotedTensors(xs).map(adapt)
  return joinedAlong(given, axis(shapeOf(given[0]).length))
}]
const joinedAlong = (xs, axis) => kept(xs[0], xs.length === 1, N.concat(xs, axis))

/** The amounts of padding before and behind each axis. */
function widths (width, ndim) {
  const negative = Object.values(isOptions(width) ? width : [width]).flat(2).find((n) => n < 0)
  if (negative !== undefined) throw new RangeError(`pad: width: ${show(width)}, expected integers of 0 or more`)
  const pair = (value) => Array.isArray(value) ? (value.length === 1 ? [value[0], value[0]] : value) : [value, value]
  if (typeof width === 'number') return Array(ndim).fill([width, width])
  if (Array.isArray(width)) {
    if (width.every((w) => typeof w === 'number')) return Array(ndim).fill(pair(width))
    if (width.length === 1) return Array(ndim).fill(pair(width[0]))
    if (width.length === ndim) return width.map(pair)
  } else if (isOptions(width)) {
    const found = Array(ndim).fill([0, 0])
    for (const [axis, w] of Object.entries(width)) found[axisOf(Number(axis), ndim, 'pad')] = pair(w)
    return found
  }
  throw new TypeError(`pad: width: ${show(width)}, expected an integer, a pair, a pair for each of ${ndim} axes or an object of axes`)
}

function broadcastShapes (...shapes) {
  const ndim = Math.max(0, ...shapes.map((shape) => shape.length))
  return Array.from({ length: ndim }, (_, i) => {
    const sizes = shapes.map((shape) => shape[i - ndim + shape.length] ?? 1)
    const size = sizes.find((n) => n !== 1) ?? 1
    if (sizes.some((n) => n !== 1 && n !== size)) {
      throw new TypeError(`broadcastShapes: shapes ${shapes.map((shape) => `[${shape}]`).join(', ')} do not fit together`)
    }
    return size
  })
}

const gridOf = (n, shape, axis) => Tensor.arange(n, { dtype: 'int32' }).reshape(shape.map((_, i) => i === axis ? n : 1))

/** A matrix with the elements of a vector on the k-th diagonal. */
function diagonalMatrix (v, k) {
  const n = sizeOf(v)
  const at = Math.abs(k)
  const square = n === 0 ? Tensor.zeros(0, 0, { dtype: describe(v).dtype.name }) : v.diag()
  return square.pad(k >= 0 ? [[0, at], [at, 0]] : [[at, 0], [0, at]])
}

const isOneAxis = (x, i, j) => i === j || Math.abs(i - j) === shapeOf(x).length

const shapes = {
  'reshape(x:x, shape)': (x, shape) => x.reshape(Array.isArray(shape) ? shape : [shape]),
  'ravel(a:x)': (a) => a.reshape([-1]),
  'transpose(x:x, perm?)': (x, perm) => x.permute(perm ?? [...shapeOf(x).keys()].reverse()),
  'matrixTranspose(a:x)': (a) => N.matrixTranspose(a),
  'moveaxis(x:x, src, dst)': (x, src, dst) => kept(x, isOneAxis(x, src, dst), N.moveaxis(x, src, dst)),
  'swapaxes(a:x, axis1, axis2)': (a, i, j) => kept(a, isOneAxis(a, i, j), N.swapaxes(a, i, j)),
  'expandDims(a:x, axis)': (a, axis) => N.expandDims(a, axis),
  'squeeze(a:x, axis?)': (a, axis) => axis == null ? a.squeeze() : N.squeeze(a, axis),
  'broadcastTo(a:x, shape)': (a, shape) => N.broadcastTo(a, shape),
  'flip(x:x, axis?)': (x, axis) => N.flip(x, axis ?? null),
  'flipud(x:x)': (x) => N.flip(x, axisOf(0, shapeOf(x).length, 'flipud')),
  'fliplr(x:x)': (x) => N.flip(x, 1),
  'rot90(m:x, k?, axes?)': (m, k = 1, axes = [0, 1]) => kept(m, k % 4 === 0, N.rot90(m, k, axes)),
  'roll(a:x, shift, axis?)': (a, shift, axis) => {
    const axes = axis == null ? [] : [axis].flat()
    const stays = axes.length > 0 && axes.every((at, i) => (Array.isArray(shift) ? shift[i] : shift) % shapeOf(a).at(at) === 0)
    return kept(a, stays, N.roll(a, shift, axis ?? null))
  },
  'repeat(a:x, repeats, axis?)': (a, repeats, axis) => kept(a, repeats === 1 && axis != null, N.repeat(a, repeats, axis ?? null)),
  'tile(a:x, reps)': (a, reps) => N.tile(a, reps),
  'pad(x:x, width)': (x, width) => x.pad(widths(width, shapeOf(x).length)),
  'split(a:x, indicesOrSections, axis?)': (a, by, axis = 0) => parts('split', a, by, axis, false),
  'arraySplit(a:x, indicesOrSections, axis?)': (a, by, axis = 0) => parts('arraySplit', a, by, axis, true),
  ...Object.fromEntries([
    splitAt('vsplit', 2, () => 0), splitAt('hsplit', 1, (n) => n === 1 ? 0 : 1), splitAt('dsplit', 3, () => 2),
    joining('vstack', (x) => atLeast(x, 2, (shape) => shape.length === 0 ? [1, 1] : [1, ...shape]), () => 0),
    joining('hstack', (x) => atLeast(x, 1, front), (n) => n === 1 ? 0 : 1),
    joining('dstack', (x) => atLeast(x, 3, (shape, n) => n === 1 ? [...shape, 1] : [1, ...(n === 3 ? [1] : shape), 1]), () => 2),
    joining('columnStack', (x) => atLeast(x, 2, (shape) => shape.length === 0 ? [1, 1] : [...shape, 1]), () => 1)
  ]),
  'concatenate(xs:l, axis?)': (xs, axis = 0) => joinedAlong(promotedTensors(xs), axis),
  'stack(xs:l, axis?)': (xs, axis = 0) => N.stack(promotedTensors(xs), axis),
  'unstack(x:x, axis?)': (x, axis = 0) => N.unstack(x, axis),
  'append(arr:n, values:n, axis?)': (arr, values, axis) => {
    const both = promotedTensors([arr, values])
    return axis == null ? N.concat(both.map((x) => x.flatten()), 0) : N.concat(both, axis)
  },
  'diagonal(a:x, offset?, axis1?, axis2?)': (a, offset = 0, axis1 = 0, axis2 = 1) => a.diagonal(offset, axis1, axis2),
  'diag(v:x, k?)': (v, k = 0) => {
    const ndim = shapeOf(v).length
    if (ndim !== 1 && ndim !== 2) throw new TypeError(`diag: v: ${ndim} dimensions, expected 1 or 2`)
    return ndim === 1 ? diagonalMatrix(v, k) : v.diagonal(k, 0, 1)
  },
  'diagflat(v:x, k?)': (v, k = 0) => diagonalMatrix(v.flatten(), k),
  'trace(a:x, offset?, axis1?, axis2?)': (a, offset = 0, axis1 = 0, axis2 = 1) => N.trace(a, offset, axis1, axis2),
  'tril(a:x, k?)': (a, k = 0) => N.tril(a, k),
  'triu(a:x, k?)': (a, k = 0) => N.triu(a, k),
  'take(a:x, indices:t, axis?)': (a, at, axis) => N.take(a, whole(at), axis ?? null),
  'takeAlongAxis(a:x, indices:t, axis?)': (a, at, axis = -1) => N.takeAlongAxis(a, whole(at), axis),
  'vander(x:x, options?:o)': (x, { n = null, increasing = false } = {}) => N.vander(x, n, increasing)
}

const whole = (x) => describe(x).dtype.isInt ? x : x.cast('int32')

// Products and polynomials.

/** einsum in both forms: a formula and arrays, or arrays each followed by the numbers of its axes. */
function einsum (...args) {
  let [formula, ...operands] = args
  if (typeof formula !== 'string') {
    const letter = (i) => String.fromCharCode(i < 26 ? 97 + i : 39 + i)
    const texts = []
    operands = []
    for (let i = 0; i + 1 < args.length; i += 2) {
      operands.push(args[i])
      texts.push(args[i + 1].map(letter).join(''))
    }
    formula = texts.join(',')
    const out = args.length % 2 === 1 ? args.at(-1).map(letter) : [...formula.replace(/,/g, '')]
      .filter((c, _, all) => all.indexOf(c) === all.lastIndexOf(c)).sort()
    formula += `->${out.join('')}`
  } else if (!formula.includes('->')) {
    const all = [...formula.replace(/[^A-Za-z]/g, '')]
    const out = [...new Set(all)].filter((c) => all.indexOf(c) === all.lastIndexOf(c)).sort()
    formula += `->${formula.includes('...') ? '...' : ''}${out.join('')}`
  }
  return Tensor.einsum(formula, ...promotedTensors(operands.map((x) => arrayLike(x, 'einsum: operands'))))
}

const product = (f) => (x, y) => f(...promotedTensors([x, y]))
const products = {
  'matmul(x:n, y:n)': product((x, y) => N.matmul(x, y)),
  'matvec(x1:n, x2:n)': product((x, y) => N.matvec(x, y)),
  'vecmat(x1:n, x2:n)': product((x, y) => N.vecmat(x, y)),
  'dot(x:n, y:n)': product((x, y) => shapeOf(x).length === 0 || shapeOf(y).length === 0 ? x.mul(y) : dotted(x, y)),
  'inner(x:n, y:n)': product((x, y) => shapeOf(x).length === 0 || shapeOf(y).length === 0
    ? x.mul(y)
    : N.tensordot(x, y, [-1], [-1])),
  'outer(x:n, y:n)': product((x, y) => x.reshape([-1, 1]).mul(y.reshape([-1]))),
  'tensordot(x:n, y:n, axes?)': (x, y, axes = 2) => {
    const both = promotedTensors([x, y])
    return Array.isArray(axes) ? N.tensordot(...both, ...axes.map((at) => Array.isArray(at) ? at : [at])) : N.tensordot(...both, axes)
  },
  'vdot(x:n, y:n)': product((x, y) => N.vecdot(x.flatten(), y.flatten())),
  'vecdot(x:n, y:n, options?:o)': (x, y, { axis = -1 } = {}) => N.vecdot(...promotedTensors([x, y]), axis),
  'cross(a:n, b:n, options?:o)': (a, b, { axisa = -1, axisb = -1, axisc = -1, axis } = {}) => {
    const [x, y] = promotedTensors([a, b])
    return crossed(N.moveaxis(x, axis ?? axisa, -1), N.moveaxis(y, axis ?? axisb, -1), axis ?? axisc)
  },
  'convolve(x:n, y:n, mode?)': (x, y, mode = 'full') => N.convolve(...promotedTensors([x, y]), mode),
  'correlate(x:n, y:n, mode?)': (x, y, mode = 'valid') => N.correlate(...promotedTensors([x, y]), mode),
  'polyval(p:n, x:n)': product((p, x) => N.polyval(p, x)),
  'polyadd(a1:n, a2:n)': product((p, q) => N.polyadd(p, q)),
  'polysub(a1:n, a2:n)': product((p, q) => N.polysub(p, q)),
  'polymul(a1:n, a2:n)': product((p, q) => N.polymul(p, q)),
  'polyder(p:x, m?)': (p, m = 1) => kept(floating(p), m === 0, N.polyder(floating(p), m))
}

const dotted = (x, y) => shapeOf(x).length <= 2 && shapeOf(y).length === 2
  ? N.matmul(x, y)
  : N.tensordot(x, y, [-1], [shapeOf(y).length === 1 ? 0 : -2])

/** The cross product along last axes of 2 or 3, moved to an axis; of two of 2 it is a scalar. */
function crossed (x, y, axis) {
  const [n, m] = [x, y].map((t) => shapeOf(t).at(-1))
  if (![2, 3].includes(n) || ![2, 3].includes(m)) throw new TypeError(`cross: vectors of ${n} and ${m} elements, expected 2 or 3`)
  const [a, b] = [x, y].map((t) => Array.from({ length: 3 }, (_, i) => i < shapeOf(t).at(-1) ? t.getitem('...', i) : null))
  const minor = (i, j) => {
    const terms = [[a[i], b[j], 1], [a[j], b[i], -1]].filter(([u, v]) => u !== null && v !== null)
    return terms.map(([u, v, sign]) => sign > 0 ? u.mul(v) : u.mul(v).neg()).reduce((s, t) => s.add(t))
  }
  if (n === 2 && m === 2) return minor(0, 1)
  return N.moveaxis(Tensor.stack([minor(1, 2), minor(2, 0), minor(0, 1)], -1), -1, axis)
}

// New arrays.

/** A new tensor as an array on a device. */
function placed (tensor, device, weak = false, number = null) {
  // In a printed expression a new array is a constant, so it is computed first.
  if (state.printing?.depth === expressed() && shapeOf(tensor).length > 0) tensor.realize()
  const made = new JaxArray(tensor, weak, number)
  if (device === undefined) return made
  made._device = deviceOf(device)
  move(tensor, made._device)
  return made
}

const creation = (who, make) => Object.defineProperty((...args) => make(...args), 'name', { value: who })
const sizes = (shape, who) => {
  const list = Array.isArray(shape) ? shape : [shape]
  if (list.every((n) => Number.isInteger(n) && n >= 0)) return list
  throw new TypeError(`${who}: shape: ${show(shape)}, expected integers of 0 or more`)
}

const needCount = (who, name, n) => {
  if (!Number.isInteger(n) || n < 0) throw new RangeError(`${who}: ${name}: ${show(n)}, expected an integer of 0 or more`)
}
/** A window function of M points. */
const taper = (who, make) => creation(who, (M) => {
  needCount(who, 'M', M)
  return new JaxArray(make(M))
})

/** An array of numbers, lists, a typed array or another array. */
function array (values, { shape, dtype, device } = {}) {
  const type = dtype === undefined ? undefined : typeNamed(dtype, 'array').name
  const options = { ...(type && { dtype: type }) }
  if (values instanceof JaxArray && String(shape ?? values.shape) === String(values.shape) && (type ?? values.dtype) === values.dtype) {
    return alive(values)
  }
  let tensor
  if (values instanceof JaxArray) tensor = call(() => take(values)._tensor.cast(type ?? values.dtype))
  // In a traced function a number becomes a constant of the graph.
  else if (isNumber(values) && expressed()) tensor = constant(values, types[type])
  else if (ArrayBuffer.isView(values)) tensor = new Tensor(values.slice(), options)
  else if (isNumber(values) || Array.isArray(values) || isComplex(values)) tensor = call(() => listed(values, 'array: values', options))
  else throw new TypeError(`array: values: ${show(values)}, expected numbers, lists of them, a typed array or an array`)
  if (shape !== undefined) tensor = tensor.reshape(sizes(shape, 'array'))
  const weak = typeof values === 'number' && type === undefined
  return placed(tensor, device, weak, weak ? values : null)
}

function filled (who, shape, value, dtype, device) {
  if (value instanceof JaxArray) {
    return call(() => {
      const t = take(value)._tensor
      return placed(N.broadcastTo(dtype === undefined ? t : t.cast(typeNamed(dtype, who).name), sizes(shape, who)), device)
    })
  }
  if (!isNumber(value)) throw new TypeError(`${who}: fillValue: ${show(value)}, expected a number, a boolean or an array`)
  const type = dtype === undefined ? (typeof value === 'boolean' ? 'bool' : 'float32') : typeNamed(dtype, who).name
  // A scalar of a number without a dtype is weakly typed, as the number is.
  const weak = dtype === undefined && typeof value === 'number' && shape.length === 0
  return placed(Tensor.full(sizes(shape, who), value, { dtype: type }), device, weak, weak ? value : null)
}

const like = (who, a, value, { dtype, shape, device } = {}) => call(() => {
  const x = arrayLike(a, `${who}: a`)
  const type = dtype ?? commonType([x]).name
  const made = filled(who, shape ?? shapeOf(tensorOf(x)), value, type, device)
  return Object.assign(made, { _weak: dtype === undefined && isWeak(x) })
})

/** num values at(i), computed in double precision. */
function spaced (who, num, at, dtype = 'float32', device) {
  needCount(who, 'num', num)
  return placed(new Tensor(Float64Array.from({ length: num }, (_, i) => at(i)), { dtype: typeNamed(dtype, who).name }), device)
}

const steps = (start, stop, num, endpoint) => {
  const step = (stop - start) / Math.max(1, endpoint ? num - 1 : num)
  return (i) => endpoint && i === num - 1 && num > 1 ? stop : start + i * step
}

const linspace = (start, stop, num = 50, endpoint = true, { dtype, device } = {}) =>
  spaced('linspace', num, steps(start, stop, num, endpoint), dtype, device)

function logspace (start, stop, num = 50, endpoint = true, base = 10, { dtype, device } = {}) {
  const at = steps(start, stop, num, endpoint)
  return spaced('logspace', num, (i) => base ** at(i), dtype, device)
}

function geomspace (start, stop, num = 50, endpoint = true, { dtype, device } = {}) {
  if (!(start * stop > 0)) throw new RangeError(`geomspace: start and stop: ${start} and ${stop}, expected numbers of one sign, not 0`)
  const at = steps(Math.log(Math.abs(start)), Math.log(Math.abs(stop)), num, endpoint)
  const ends = { 0: start, ...(endpoint && num > 1 && { [num - 1]: stop }) }
  return spaced('geomspace', num, (i) => ends[i] ?? Math.sign(start) * Math.exp(at(i)), dtype, device)
}

function arange (start, stop, step = 1, { dtype, device } = {}) {
  const [from, to] = stop === undefined ? [0, start] : [start, stop]
  for (const value of [from, to, step]) {
    if (!Number.isFinite(value)) throw new TypeError(`arange: ${show(value)}, expected finite numbers`)
  }
  if (step === 0) throw new RangeError('arange: step: 0, expected another number')
  const type = typeNamed(dtype ?? ([from, to, step].every(Number.isInteger) ? 'int32' : 'float32'), 'arange').name
  // For integer types the step is that between the first two truncated values, as in NumPy.
  const first = Math.trunc(from)
  if (Number.isInteger(from) && Number.isInteger(step) || type.startsWith('float')) {
    return placed(Tensor.arange(to, { start: from, step, dtype: type }), device)
  }
  const count = Tensor.arange(Math.max(0, Math.ceil((to - from) / step)), { dtype: 'int64' })
  return placed(count.mul(Math.trunc(from + step) - first).add(first).cast(type), device)
}

/** Without a dtype the result is weakly typed, as the number 1 is. */
function eye (numRows, numCols = numRows, { dtype, device } = {}) {
  const type = typeNamed(dtype ?? 'float32', 'eye').name
  return placed(Tensor.eye(numRows, numCols, { dtype: type }), device, dtype === undefined, dtype === undefined ? 1 : null)
}

const tri = (n, m = n, k = 0, { dtype = 'float32', device } = {}) =>
  placed(N.tril(Tensor.ones(...sizes([n, m], 'tri')), k).cast(typeNamed(dtype, 'tri').name), device)

function indices (dimensions, { dtype = 'int32', device, sparse = false } = {}) {
  const type = typeNamed(dtype, 'indices').name
  const grids = sizes(dimensions, 'indices').map((n, i) => gridOf(n, dimensions, i).cast(type))
  if (sparse) return grids.map((grid) => placed(grid, device))
  return placed(grids.length === 0 ? Tensor.zeros(0, { dtype: type }) : Tensor.stack(grids.map((grid) => grid.expand(dimensions))), device)
}

function fromfunction (f, shape, { dtype = 'float32', device } = {}) {
  const grids = sizes(shape, 'fromfunction').map((n, i) => {
    return gridOf(n, shape, i).expand(shape).cast(typeNamed(dtype, 'fromfunction').name)
  })
  const made = (tree) => {
    if (tree instanceof JaxArray) return tree
    if (isNumber(tree)) return array(tree)
    if (Array.isArray(tree) || isOptions(tree)) return inside(tree, made)
    throw new TypeError(`fromfunction: func returns ${show(tree)}, expected arrays or numbers`)
  }
  return made(f(...grids.map((grid) => placed(grid, device))))
}

/** Coordinates of a grid. */
function meshgrid (xs, { indexing = 'xy' } = {}) {
  if (indexing !== 'xy' && indexing !== 'ij') throw new RangeError(`meshgrid: indexing: ${show(indexing)}, expected xy or ij`)
  return call(() => {
    const given = xs.map((x, i) => tensorOf(arrayLike(x, `meshgrid: xs[${i}]`)))
    const wrong = given.findIndex((x) => shapeOf(x).length !== 1)
    if (wrong >= 0) throw new TypeError(`meshgrid: xs[${wrong}]: has ${shapeOf(given[wrong]).length} dimensions, expected 1`)
    const lengths = given.map(sizeOf)
    const order = indexing === 'xy' && given.length > 1 ? [1, 0, ...[...given.keys()].slice(2)] : [...given.keys()]
    const shape = order.map((i) => lengths[i])
    if (xs.length === 1 && xs[0] instanceof JaxArray) return [again(xs[0])]
    return given.map((x, i) => new JaxArray(x.reshape(shape.map((_, k) => order[k] === i ? lengths[i] : 1)).expand(shape)))
  })
}

const makers = {
  array,
  zeros: creation('zeros', (shape, { dtype, device } = {}) => filled('zeros', shape, 0, dtype, device)),
  ones: creation('ones', (shape, { dtype, device } = {}) => filled('ones', shape, 1, dtype, device)),
  full: creation('full', (shape, value, { dtype, device } = {}) => filled('full', shape, value, dtype, device)),
  zerosLike: creation('zerosLike', (a, options) => like('zerosLike', a, 0, options)),
  onesLike: creation('onesLike', (a, options) => like('onesLike', a, 1, options)),
  fullLike: creation('fullLike', (a, value, options) => like('fullLike', a, value, options)),
  eye,
  identity: creation('identity', (n, options) => eye(n, n, options)),
  arange,
  linspace,
  logspace,
  geomspace,
  tri,
  indices,
  fromfunction,
  meshgrid,
  bartlett: taper('bartlett', N.bartlett),
  blackman: taper('blackman', N.blackman),
  hann: taper('hann', N.hanning),
  diagIndices: creation('diagIndices', (n, ndim = 2) => Array.from({ length: ndim }, () => arange(n))),
  diagIndicesFrom: creation('diagIndicesFrom', (a) => call(() => {
    const shape = shapeOf(tensorOf(arrayLike(a, 'diagIndicesFrom: arr')))
    if (shape.length < 2 || shape.some((n) => n !== shape[0])) {
      throw new TypeError(`diagIndicesFrom: arr: shape [${shape}], expected two or more dimensions of one size`)
    }
    return shape.map(() => arange(shape[0]))
  }))
}

// Properties of arrays, and comparisons of whole arrays.

const peek = (x, what) => x instanceof JaxArray ? alive(x) : arrayLike(x, what)
const facts = {
  ndim: creation('ndim', (x) => shapeOf(tensorOf(peek(x, 'ndim: x'))).length),
  shape: creation('shape', (x) => shapeOf(tensorOf(peek(x, 'shape: x'))).slice()),
  size: creation('size', (a, axis) => {
    const shape = shapeOf(tensorOf(peek(a, 'size: a')))
    return axis === undefined ? shape.reduce((n, m) => n * m, 1) : shape[axisOf(axis, shape.length, 'size')]
  }),
  isscalar: creation('isscalar', (element) => isNumber(element) || (element instanceof JaxArray && element.ndim === 0)),
  broadcastShapes,
  promoteTypes,
  finfo,
  iinfo,
  resultType: creation('resultType', (...args) => {
    const [names, operands] = [args.filter((a) => typeof a === 'string'), args.filter((a) => typeof a !== 'string')]
    const stand = names.map((name) => constant(0, typeNamed(name, 'resultType')))
    return commonType([...stand, ...operands.map((x) => peek(x, 'resultType: args'))]).name
  }),
  allclose: creation('allclose', (actual, expected, { rtol = 1e-5, atol = 1e-8, equalNaN = false } = {}) => call(() => {
    const [a, b] = promotedTensors([actual, expected].map((x) => x instanceof JaxArray || isNumber(x)
      ? arrayLike(x, 'allclose')
      : new Tensor(lowered(x))))
    try {
      broadcastShapes(shapeOf(a), shapeOf(b))
    } catch {
      return false
    }
    return Boolean(N.isclose(a, b, { rtol, atol, equalNan: equalNaN }).all().item())
  }))
}

/** Functions that call a function of the user. */
const callers = {
  applyAlongAxis: creation('applyAlongAxis', (f, axis, x) => call(() => {
    const given = tensorOf(arrayLike(x, 'applyAlongAxis: x'))
    const at = axisOf(axis, shapeOf(given).length, 'applyAlongAxis')
    const one = (v) => results(f(wrapped(v, false)))
    const mapped = shapeOf(given).slice(1).reduce((g) => func.vmap(g), one)
    const out = mapped(N.moveaxis(given, at, -1))
    const batch = shapeOf(given).length - 1
    const moved = [...shapeOf(out).keys()].slice(batch)
    return new JaxArray(out.permute([...Array(at).keys(), ...moved, ...[...Array(batch).keys()].slice(at)]))
  })),
  applyOverAxes: creation('applyOverAxes', (f, a, axes) => {
    const ndim = facts.ndim(a)
    return axes.reduce((x, axis) => {
      const out = f(x, axisOf(axis, ndim, 'applyOverAxes'))
      return out.ndim === ndim ? out : table.expandDims(out, axisOf(axis, ndim, 'applyOverAxes'))
    }, a)
  }),
  einsum: creation('einsum', (...args) => call(() => {
    try {
      return wrapped(einsum(...args), false)
    } catch (error) {
      throw renamed(error, 'einsum')
    }
  })),
  broadcastArrays: creation('broadcastArrays', (...arrays) => call(() => {
    const given = arrays.map((x) => tensorOf(arrayLike(x, 'broadcastArrays: arrays')))
    const shape = broadcastShapes(...given.map(shapeOf))
    return given.map((x, i) => new JaxArray(N.broadcastTo(x, shape), isWeak(arrays[i])))
  }))
}

const comparisons = {
  'astype(a:n, dtype)': (a, dtype) => casted(tensorOf(a), typeNamed(dtype, 'astype')),
  'arrayEqual(a1:n, a2:n, options?:o)': (a, b, { equalNaN = false } = {}) => N.arrayEqual(...promotedTensors([a, b]), equalNaN),
  'arrayEquiv(a1:n, a2:n)': product((x, y) => {
    try {
      return x.eq(y).all()
    } catch {
      return constant(false)
    }
  })
}

/** Other names of functions. */
const ALIASES = {
  absolute: 'abs', arccos: 'acos', arccosh: 'acosh', arcsin: 'asin', arcsinh: 'asinh', arctan: 'atan', arctan2: 'atan2', arctanh: 'atanh',
  around: 'round', bitwiseNot: 'bitwiseInvert', invert: 'bitwiseInvert', leftShift: 'bitwiseLeftShift', rightShift: 'bitwiseRightShift',
  trueDivide: 'divide', power: 'pow', permuteDims: 'transpose', radians: 'deg2rad', degrees: 'rad2deg', concat: 'concatenate'
}

const table = { ...defineAll({ ...elementwise, ...reductions, ...shapes, ...products, ...comparisons }), ...makers, ...facts, ...callers }
for (const [name, other] of Object.entries(ALIASES)) table[name] = table[other]

/** Functions that jax.numpy has and jax-js lacks: those of the namespace numpy, on arrays. */
const others = Object.fromEntries(Object.keys(N).filter((name) => table[name] === undefined)
  .map((name) => [name, liftedOperation(name, N[name])]))

// Methods.

/** Converts an index item (a number, a list of bounds, null or an array) to one for tensors. */
function indexOf (item) {
  if (typeof item === 'number' || item === null) return item
  if (item instanceof JaxArray) {
    const t = take(item)._tensor
    return describe(t).dtype === types.bool ? t : whole(t)
  }
  if (Array.isArray(item) && item.length <= 2 && item.every(Number.isInteger)) {
    return item.length === 0 ? ':' : { start: item[0], ...(item.length === 2 && { stop: item[1] }) }
  }
  throw new TypeError(`slice: ${show(item)}, expected an integer, [], [start], [start, stop], null or an array of integers`)
}

const method = (name) => function (...args) {
  return table[name](this, ...args)
}

for (const [own, name] of Object.entries({
  neg: 'negative', add: 'add', mul: 'multiply', sub: 'subtract', div: 'divide', mod: 'fmod', greater: 'greater', less: 'less',
  equal: 'equal', notEqual: 'notEqual', greaterEqual: 'greaterEqual', lessEqual: 'lessEqual', sum: 'sum', prod: 'prod', mean: 'mean',
  min: 'min', max: 'max', all: 'all', any: 'any', transpose: 'transpose', reshape: 'reshape', astype: 'astype', diagonal: 'diagonal',
  flatten: 'ravel', ravel: 'ravel', sort: 'sort', argsort: 'argsort'
})) JaxArray.prototype[own] = method(name)

/** Checks that bounds are in order and within [0, size]. */
function needBounds (bounds, size) {
  const ends = bounds.map((at) => at < 0 ? at + size : at)
  const wrong = bounds.find((_, i) => !(ends[i] >= 0 && ends[i] <= size))
  if (wrong !== undefined) throw new RangeError(`slice: ${wrong} is out of range for an axis of ${size}, expected ${-size}..${size}`)
  if (ends[0] > ends[1]) throw new RangeError(`slice: [${bounds}]: begins behind its end`)
}

JaxArray.prototype.slice = function (...index) {
  return call(() => {
    const { shape } = alive(this)
    const axes = index.filter((item) => item !== null)
    if (axes.length > shape.length) throw new RangeError(`slice: ${axes.length} indices, expected at most ${shape.length}`)
    const items = index.map(indexOf)
    if (axes.every((item) => !(item instanceof JaxArray) || item.ndim === 1)) {
      axes.forEach((item, axis) => Array.isArray(item) && needBounds(item, shape[axis]))
    }
    return new JaxArray(take(this)._tensor.getitem(...items), this._weak)
  })
}

JaxArray.prototype.at = function (...index) {
  return new At(this, index, indexOf)
}

JaxArray.prototype.view = function (dtype) {
  return call(() => {
    const t = take(this)._tensor
    const type = dtype === undefined ? describe(t).dtype : toDType(dtype, 'view')
    return type === describe(t).dtype ? again(this) : new JaxArray(t.bitcast(type.name))
  })
}

JaxArray.prototype[Symbol.iterator] = function () {
  if (this.ndim === 0) throw new TypeError(`${this}: a scalar has no elements to go through`)
  return table.unstack(this)[Symbol.iterator]()
}

const constants = {
  e: Math.E,
  eulerGamma: 0.5772156649015329,
  inf: Infinity,
  nan: NaN,
  pi: Math.PI,
  newaxis: null,
  ...Object.fromEntries(Object.values(DType).map((name) => [name, name]))
}

const numpy = Object.freeze({ Array: JaxArray, DType, ...others, ...table, ...constants, linalg, fft })

module.exports = { numpy }
