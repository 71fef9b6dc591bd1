'use strict'
/** polygrad/loaders: files of NumPy, .npy and .npz, as typed arrays. */

const { show } = require('../arguments.js')

/** Typed arrays by the kinds and sizes of NumPy. Types that JavaScript lacks are their bits. */
const TYPES = {
  b1: Uint8Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, i8: BigInt64Array,
  u8: BigUint64Array, f2: globalThis.Float16Array ?? Uint16Array, f4: Float32Array, f8: Float64Array
}
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] // \x93NUMPY
const [STORED, DEFLATED] = [0, 8]
const [LOCAL, ENTRY, END] = [0x04034b50, 0x02014b50, 0x06054b50]

function bytesOf (who, data) {
  if (data instanceof Uint8Array) return data
  if (data instanceof ArrayBuffer) return new Uint8Array(data)
  throw new TypeError(`${who}: data: ${show(data)}, expected bytes`)
}

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The elements of a tensor in columns, in rows. */
function inRows (data, shape) {
  const out = new data.constructor(data.length)
  const index = shape.map(() => 0)
  const strides = shape.map((_, i) => shape.slice(0, i).reduce((n, size) => n * size, 1))
  for (let k = 0; k < data.length; k++) {
    out[k] = data[index.reduce((at, i, axis) => at + i * strides[axis], 0)]
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0
  }
  return out
}

/** The tensor of a .npy file: { dtype, shape, data }, in the order of rows. */
function parseNpy (given, who = 'npy.parse') {
  const bytes = bytesOf(who, given)
  const refuse = (text) => { throw new TypeError(`${who}: data: ${text}`) }
  if (bytes.length < 10 || !MAGIC.every((byte, i) => bytes[i] === byte)) refuse('it does not begin as a .npy file')
  const isLong = bytes[6] > 1
  if (bytes[6] < 1 || bytes[6] > 3) refuse(`version ${bytes[6]}, expected 1 to 3`)
  const start = isLong ? 12 : 10
  if (bytes.length < start) refuse('it ends within the header')
  const length = isLong ? viewOf(bytes).getUint32(8, true) : viewOf(bytes).getUint16(8, true)
  if (length > bytes.length - start) refuse(`a header of ${length} bytes in a file of ${bytes.length}`)
  const header = new TextDecoder().decode(bytes.subarray(start, start + length))
  const found = (regex, what) => regex.exec(header)?.[1] ?? refuse(`no ${what} in the header ${show(header.trim())}`)
  const type = found(/'descr': *'([^']*)'/, 'descr of numbers')
  const isColumns = found(/'fortran_order': *(True|False)/, 'fortran_order') === 'True'
  const shape = found(/'shape': *\(([\d, ]*)\)/, 'shape').split(',').map((size) => size.trim()).filter((size) => size !== '').map(Number)
  const [order, name] = [type[0], type.slice(1)]
  const Kind = Object.hasOwn(TYPES, name) ? TYPES[name] : refuse(`the type ${type}, expected one of ${Object.keys(TYPES).join(', ')}`)
  if (!'<>|='.includes(order)) refuse(`the type ${type}`)
  const count = shape.reduce((n, size) => n * size, 1)
  const size = count * Kind.BYTES_PER_ELEMENT
  const rest = bytes.subarray(start + length)
  if (rest.length < size) refuse(`${rest.length} bytes of elements, expected ${size} for the shape [${shape}]`)
  const own = rest.slice(0, size)
  if (order === '>') for (let i = 0; i < size; i += Kind.BYTES_PER_ELEMENT) own.subarray(i, i + Kind.BYTES_PER_ELEMENT).reverse()
  const data = new Kind(own.buffer)
  return { dtype: name, shape, data: isColumns && shape.length > 1 ? inRows(data, shape) : data }
}

/** What is in packed bytes: they are read as a gzip file, since Node 18 has no 'deflate-raw', which checks them, too. */
async function inflated (bytes, size, sum, refuse) {
  const start = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff)
  const file = new globalThis.Blob([start, bytes, Uint32Array.of(sum, size)])
  const stream = file.stream().pipeThrough(new globalThis.DecompressionStream('gzip'))
  const parts = []
  let length = 0
  try {
    for await (const part of stream) {
      length += part.length
      if (length > size) break
      parts.push(part)
    }
  } catch (error) {
    refuse(error.message)
  }
  if (length !== size) refuse(`it does not expand to the ${size} bytes that the archive says`)
  const out = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

/** The tensors of a .npz file by their names. */
async function parseNpz (given) {
  const bytes = bytesOf('npz.parse', given)
  const view = viewOf(bytes)
  const refuse = (text) => { throw new TypeError(`npz.parse: data: ${text}`) }
  let end = bytes.length - 22
  while (end >= 0 && end >= bytes.length - 22 - 0xffff && view.getUint32(end, true) !== END) end--
  if (end < 0 || view.getUint32(end, true) !== END) refuse('it is no ZIP archive')
  const count = view.getUint16(end + 10, true)
  let at = view.getUint32(end + 16, true)
  const tensors = {}
  for (let i = 0; i < count; i++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== ENTRY) refuse(`the directory ends at entry ${i} of ${count}`)
    const method = view.getUint16(at + 10, true)
    const [sum, packed, size] = [16, 20, 24].map((k) => view.getUint32(at + k, true))
    const [nameLength, extra, comment] = [28, 30, 32].map((k) => view.getUint16(at + k, true))
    const local = view.getUint32(at + 42, true)
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength))
    at += 46 + nameLength + extra + comment
    if (local + 30 > bytes.length || view.getUint32(local, true) !== LOCAL) refuse(`${name} is not where the directory says`)
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
    if (start + packed > bytes.length) refuse(`${name} ends within its bytes`)
    const own = bytes.subarray(start, start + packed)
    if (method !== STORED && method !== DEFLATED) refuse(`${name} is packed by method ${method}, expected stored or deflated`)
    const file = method === STORED ? own : await inflated(own, size, sum, (text) => refuse(`${name}: ${text}`))
    tensors[name.replace(/\.npy$/, '')] = parseNpy(file, `npz.parse: ${name}`)
  }
  return tensors
}

module.exports = { npy: { parse: parseNpy }, npz: { parse: parseNpz } }
