'use strict'
/** polygrad/loaders: files of NumPy, .npy and .npz, as typed arrays. */

const { isOptions, show } = require('../arguments.js')

/** Typed arrays by NumPy's type codes. Types that JavaScript lacks are kept as bit patterns, complex numbers as interleaved pairs. */
const TYPES = {
  b1: Uint8Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, i8: BigInt64Array,
  u8: BigUint64Array, f2: globalThis.Float16Array ?? Uint16Array, f4: Float32Array, f8: Float64Array, c8: Float32Array, c16: Float64Array
}
const partsOf = (name) => name[0] === 'c' ? 2 : 1
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] // \x93NUMPY
const [STORED, DEFLATED, ENCRYPTED] = [0, 8, 1]
const [LOCAL, ENTRY, END, END64, LOCATOR64] = [0x04034b50, 0x02014b50, 0x06054b50, 0x06064b50, 0x07064b50]
const MOST32 = 2 ** 32 - 1

function bytesOf (who, data) {
  if (data instanceof Uint8Array) return data
  if (data instanceof ArrayBuffer) return new Uint8Array(data)
  throw new TypeError(`${who}: data: ${show(data)}, expected bytes`)
}

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
const isSize = (n) => Number.isSafeInteger(n) && n >= 0
const isShape = (shape) => Array.isArray(shape) && shape.every(isSize)

/** Reorders elements from column-major to row-major order; each element consists of so many parts. */
function inRows (data, shape, parts) {
  const out = new data.constructor(data.length)
  const index = shape.map(() => 0)
  const strides = shape.map((_, i) => shape.slice(0, i).reduce((n, size) => n * size, parts))
  for (let k = 0; k < data.length; k += parts) {
    const from = index.reduce((at, i, axis) => at + i * strides[axis], 0)
    for (let part = 0; part < parts; part++) out[k + part] = data[from + part]
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0
  }
  return out
}

/** The members of a header, the text of a Python dict, as unparsed texts by key. */
function membersOf (header, refuse) {
  const whole = /^\s*\{(.*)\}\s*$/s.exec(header) ?? refuse(`the header ${show(header.trim())}, expected a dict`)
  const member = /\s*(?:'(\w+)'|"(\w+)")\s*:\s*('[^']*'|"[^"]*"|\w+|\([^()]*\)|\[.*\])\s*(,|$)/y
  const members = {}
  const text = whole[1].trim()
  while (member.lastIndex < text.length) {
    const [, single, double, value] = member.exec(text) ?? refuse(`the header ${show(header.trim())}, expected a dict`)
    members[single ?? double] = value
  }
  const names = Object.keys(members).sort().join(', ')
  if (names !== 'descr, fortran_order, shape') refuse(`a header of ${names || 'nothing'}, expected descr, fortran_order, shape`)
  return members
}

/** Parses the type, byte order, element order and shape in a header. Python 2 wrote sizes as 3L. */
function descriptionOf (header, refuse) {
  const { descr, fortran_order: order, shape: sizes } = membersOf(header, refuse)
  const [, bytes, name] = /^['"]([<>|=]?)(\w+)['"]$/.exec(descr) ?? []
  if (!Object.hasOwn(TYPES, name ?? '')) refuse(`the type ${descr}, expected one of ${Object.keys(TYPES).join(', ')}`)
  if (order !== 'True' && order !== 'False') refuse(`fortran_order ${order}, expected True or False`)
  if (!/^\(\s*(\d+L?\s*,\s*(\d+L?\s*(,\s*\d+L?\s*)*,?\s*)?)?\)$/.test(sizes)) refuse(`the shape ${sizes}, expected a tuple of sizes`)
  const shape = (sizes.match(/\d+/g) ?? []).map(Number)
  if (!isShape(shape)) refuse(`the shape ${sizes}, expected a tuple of sizes`)
  return { name, isSwapped: bytes === '>', isColumns: order === 'True', shape }
}

/** Parses a .npy file: { dtype, shape, data } in row-major order. */
function parseNpy (given, who = 'npy.parse') {
  const bytes = bytesOf(who, given)
  const refuse = (text) => { throw new TypeError(`${who}: data: ${text}`) }
  if (bytes.length < 10 || !MAGIC.every((byte, i) => bytes[i] === byte)) refuse('it does not begin as a .npy file')
  if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] !== 0) refuse(`version ${bytes[6]}.${bytes[7]}, expected 1.0 to 3.0`)
  const isLong = bytes[6] > 1
  const start = isLong ? 12 : 10
  if (bytes.length < start) refuse('it ends within the header')
  const length = isLong ? viewOf(bytes).getUint32(8, true) : viewOf(bytes).getUint16(8, true)
  if (length > bytes.length - start) refuse(`a header of ${length} bytes in a file of ${bytes.length}`)
  const { name, isSwapped, isColumns, shape } = descriptionOf(new TextDecoder().decode(bytes.subarray(start, start + length)), refuse)
  const Kind = TYPES[name]
  const size = shape.reduce((n, m) => n * m, Kind.BYTES_PER_ELEMENT * partsOf(name))
  const rest = bytes.subarray(start + length)
  if (!(size <= rest.length)) refuse(`${rest.length} bytes of elements, expected ${size} for the shape [${shape}]`)
  const own = rest.slice(0, size)
  if (isSwapped) for (let i = 0; i < size; i += Kind.BYTES_PER_ELEMENT) own.subarray(i, i + Kind.BYTES_PER_ELEMENT).reverse()
  const data = new Kind(own.buffer)
  return { dtype: name, shape, data: isColumns && shape.length > 1 ? inRows(data, shape, partsOf(name)) : data }
}

/** Formats a tensor as a .npy file. The type is dtype, by default that of the typed array. */
function formatNpy (tensor) {
  const refuse = (text) => { throw new TypeError(`npy.format: tensor: ${text}`) }
  const { data, shape, dtype } = isOptions(tensor) ? tensor : refuse(`${show(tensor)}, expected { shape, data }`)
  const name = dtype ?? Object.keys(TYPES).find((key) => key !== 'b1' && data instanceof TYPES[key])
  if (!Object.hasOwn(TYPES, name ?? '')) refuse(`the type ${show(dtype)}, expected one of ${Object.keys(TYPES).join(', ')}`)
  if (!(data instanceof TYPES[name])) refuse(`the data ${show(data)}, expected ${TYPES[name].name}`)
  if (!isShape(shape)) refuse(`the shape ${show(shape)}, expected sizes`)
  const count = shape.reduce((n, m) => n * m, partsOf(name))
  if (data.length !== count) refuse(`${data.length} numbers, expected ${count} for the shape [${shape}]`)
  const order = TYPES[name].BYTES_PER_ELEMENT === 1 ? '|' : '<'
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ')
  const text = `{'descr': '${order}${name}', 'fortran_order': False, 'shape': (${sizes}), }`
  const start = Math.ceil((11 + text.length) / 64) * 64 // the offset of the elements, a multiple of 64
  const bytes = new Uint8Array(start + data.byteLength).fill(0x20, 0, start)
  bytes.set([...MAGIC, 1, 0])
  viewOf(bytes).setUint16(8, start - 10, true)
  bytes.set(new TextEncoder().encode(text), 10)
  bytes[start - 1] = 0x0a
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), start)
  return bytes
}

const REMAINDERS = Int32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1
  return byte
})

/** The CRC-32 of ZIP archives. */
function sumOf (bytes) {
  let sum = -1
  for (let i = 0; i < bytes.length; i++) sum = REMAINDERS[(sum ^ bytes[i]) & 0xff] ^ (sum >>> 8)
  return ~sum >>> 0
}

/** Decompresses deflated bytes: they are wrapped as a gzip file, since Node 18 has no 'deflate-raw'. */
async function inflated (bytes, { size, sum }, refuse) {
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

/** Locates the central directory. before is the number of bytes that precede the archive in the file: it shifts all offsets. */
function directoryOf (view, refuse) {
  let end = view.byteLength - 22
  const isEnd = () => view.getUint32(end, true) === END && view.getUint16(end + 20, true) === view.byteLength - 22 - end
  while (end >= 0 && end >= view.byteLength - 22 - 0xffff && !isEnd()) end--
  if (end < 0 || !isEnd()) refuse('it is no ZIP archive')
  let count = view.getUint16(end + 10, true)
  let [size, from] = [12, 16].map((k) => view.getUint32(end + k, true))
  let behind = end
  if (end >= 20 + 56 && view.getUint32(end - 20, true) === LOCATOR64) {
    behind = end - 20 - 56
    if (view.getUint32(behind, true) !== END64) refuse('its end for long archives is not where it should be')
    ;[count, size, from] = [32, 40, 48].map((k) => Number(view.getBigUint64(behind + k, true)))
  }
  const before = behind - size - from
  if (!(before >= 0)) refuse(`a directory of ${size} bytes at ${from} in a file of ${view.byteLength}`)
  return { count, from, before, behind }
}

/** Replaces the sizes and the offset of an entry that do not fit 32 bits by those of its ZIP64 extra field, which follows the name. */
function widen (entry, view, from, to, refuse) {
  const wide = ['size', 'packed', 'local'].filter((key) => entry[key] === MOST32)
  for (let at = from; wide.length > 0 && at + 4 <= to;) {
    const length = view.getUint16(at + 2, true)
    if (view.getUint16(at, true) !== 1) at += 4 + length
    else if (length < 8 * wide.length || at + 4 + length > to) break
    else return wide.forEach((key, i) => { entry[key] = Number(view.getBigUint64(at + 4 + 8 * i, true)) })
  }
  if (wide.length > 0) refuse(`the directory lacks the long sizes of ${entry.name}`)
}

/** The entries of the central directory. */
function * entriesOf (bytes, refuse) {
  const view = viewOf(bytes)
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  const { count, from, before, behind } = directoryOf(view, refuse)
  let at = from + before
  for (let i = 0; i < count; i++) {
    const isThere = at + 46 <= behind && view.getUint32(at, true) === ENTRY
    const [nameLength, extra, comment] = isThere ? [28, 30, 32].map((k) => view.getUint16(at + k, true)) : []
    const [start, next] = [at + 46 + nameLength, at + 46 + nameLength + extra + comment]
    if (!(next <= behind)) refuse(`the directory ends at entry ${i} of ${count}`)
    const [flags, method] = [8, 10].map((k) => view.getUint16(at + k, true))
    const [sum, packed, size, local] = [16, 20, 24, 42].map((k) => view.getUint32(at + k, true))
    const path = bytes.subarray(at + 46, start)
    const entry = { name: utf8.decode(path), path, flags, method, sum, packed, size, local }
    widen(entry, view, start, start + extra, refuse)
    entry.local += before
    yield entry
    at = next
  }
  if (at !== behind) refuse(`the directory has more than its ${count} entries`)
}

/** The decompressed and verified bytes of an entry. */
async function contentOf (bytes, entry, refuse) {
  const view = viewOf(bytes)
  const { path, flags, method, sum, packed, size, local } = entry
  if (local + 30 > bytes.length || view.getUint32(local, true) !== LOCAL) refuse('it is not where the directory says')
  const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
  const isSame = view.getUint16(local + 26, true) === path.length && path.every((byte, i) => bytes[local + 30 + i] === byte)
  if (!isSame) refuse('it has another name than the directory says')
  if (start + packed > bytes.length) refuse('it ends within its bytes')
  if ((flags & ENCRYPTED) !== 0) refuse('it is encrypted')
  if (method !== STORED && method !== DEFLATED) refuse(`it is packed by method ${method}, expected stored or deflated`)
  const own = bytes.subarray(start, start + packed)
  if (method === STORED && packed !== size) refuse(`${packed} bytes, expected the ${size} that the archive says`)
  const content = method === STORED ? own : await inflated(own, entry, refuse)
  if (sumOf(content) !== sum) refuse('its checksum is not that of the archive')
  return content
}

/** The tensors of a .npz file by their names. */
async function parseNpz (given) {
  const bytes = bytesOf('npz.parse', given)
  const refuse = (text) => { throw new TypeError(`npz.parse: data: ${text}`) }
  const tensors = new Map()
  for (const entry of entriesOf(bytes, refuse)) {
    const content = await contentOf(bytes, entry, (text) => refuse(`${entry.name}: ${text}`))
    tensors.set(entry.name.replace(/\.npy$/, ''), parseNpy(content, `npz.parse: ${entry.name}`))
  }
  return Object.fromEntries(tensors)
}

module.exports = { npy: { parse: parseNpy, format: formatNpy }, npz: { parse: parseNpz } }
