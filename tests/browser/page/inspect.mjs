/** A shim of node:util: inspect. */

const custom = Symbol.for('nodejs.util.inspect.custom')
const OPTIONS = { depth: 2, breakLength: 80 }

function entriesOf (value, level) {
  if (value instanceof Map) return [...value].map(([k, v]) => `${level(k)} => ${level(v)}`)
  if (value instanceof Set) return [...value].map(level)
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) return Array.from(value, level)
  return Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key))
    .map((key) => `${typeof key === 'symbol' ? `[${String(key)}]` : /^\w+$/.test(key) ? key : JSON.stringify(key)}: ${level(value[key])}`)
}

/** A value as a text, by its own method nodejs.util.inspect.custom if it has one. */
export function inspect (value, given = {}) {
  const options = { ...OPTIONS, ...given }
  const at = (item, depth, above) => {
    if (typeof item === 'string') return `'${item}'`
    if (typeof item === 'bigint') return `${item}n`
    if (typeof item === 'function') return item.name === '' ? '[Function]' : `[Function: ${item.name}]`
    if (typeof item !== 'object' || item === null) return Object.is(item, -0) ? '-0' : String(item)
    if (typeof item[custom] === 'function') return item[custom](depth, options)
    if (item instanceof Error) return `[${item.name}: ${item.message}]`
    if (above.includes(item)) return '[Circular]'
    const name = item.constructor?.name ?? '[Object: null prototype]'
    if (depth < 0) return `[${name}]`
    const parts = entriesOf(item, (part) => at(part, depth - 1, [...above, item]))
    const [open, close] = Array.isArray(item) || ArrayBuffer.isView(item) ? '[]' : '{}'
    const size = ArrayBuffer.isView(item) ? `(${item.length})` : ''
    const head = name === 'Object' || name === 'Array' ? '' : `${name}${size} `
    return parts.length === 0 ? `${head}${open}${close}` : `${head}${open} ${parts.join(', ')} ${close}`
  }
  return at(value, options.depth, [])
}
inspect.custom = custom
