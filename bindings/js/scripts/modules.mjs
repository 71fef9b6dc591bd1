/**
 * The package's files are CommonJS, which Node of every version takes. For browsers each is rewritten as a module: what a bundler
 * puts together out of modules has no wrappers, and leaves out what nobody uses.
 */

import fs from 'node:fs'
import path from 'node:path'
import { parse } from 'acorn'

// Files that export one value, which they make.
const VALUES = /\/engine\/index\.js$/

/** The text of a name or a text between quotes that names a property. */
const keyOf = (node) => node.type === 'Identifier' ? node.name : String(node.value)

/** What a call of require names, null for anything else. */
function requiredBy (node) {
  const is = node?.type === 'CallExpression' && node.callee.name === 'require' && node.arguments[0]?.type === 'Literal'
  return is ? node.arguments[0].value : null
}

/** The import that takes the place of `const … = require(…)`. */
function importOf ({ id }, from) {
  const names = id.type === 'Identifier'
    ? `${from.startsWith('.') && !VALUES.test(from) ? '* as ' : ''}${id.name}` // what is not ours exports itself as default
    : `{ ${id.properties.map(({ key, value }) => `${keyOf(key)} as ${value.name}`).join(', ')} }`
  return `import ${names} from ${JSON.stringify(from)}`
}

const SCRIPT = { ecmaVersion: 2022, sourceType: 'script', allowHashBang: true, allowReturnOutsideFunction: true }
const parsed = (text) => parse(text, SCRIPT).body

/** What `module.exports = …` of a file gives, as the properties of an object; null if it is something else. */
function exportedBy (body) {
  const whole = body.map(({ expression: e }) => e).find((e) => e?.type === 'AssignmentExpression' && e.left.object?.name === 'module')
  return whole?.right.properties ?? null
}

/** The names of all that a file exports. */
export function namesOf (file) {
  return exportedBy(parsed(fs.readFileSync(file, 'utf8'))).flatMap((p) => p.type === 'SpreadElement'
    ? namesOf(path.join(path.dirname(file), requiredBy(p.argument)))
    : keyOf(p.key))
}

/** The names of the properties of an object of a file. */
export function namesIn (file, object) {
  const declared = parsed(fs.readFileSync(file, 'utf8')).flatMap((s) => s.type === 'VariableDeclaration' ? s.declarations : [])
  return declared.find(({ id }) => id.name === object).init.properties.map((p) => keyOf(p.key))
}

/** A module that is exported under a name, as an object of its names: bundlers keep all of a module whose namespace is a value. */
function objectOf ({ id: { name } }, from, file) {
  const names = namesOf(path.join(path.dirname(file), from))
  return `import { ${names.map((key) => `${key} as ${name}_${key}`).join(', ')} } from ${JSON.stringify(from)}\n` +
    `const ${name} = { ${names.map((key) => `${key}: ${name}_${key}`).join(', ')} }`
}

/** The exports that take the place of `module.exports = …`. */
function exportsOf (value, text) {
  const from = requiredBy(value)
  if (from !== null) return `export * from ${JSON.stringify(from)}`
  const whole = value.properties.filter((p) => p.type === 'SpreadElement')
    .map(({ argument }) => `export * from ${JSON.stringify(requiredBy(argument))}`)
  const own = value.properties.filter((p) => p.type === 'Property')
  const names = own.filter((p) => p.shorthand).map((p) => p.key.name)
  const values = own.filter((p) => !p.shorthand).map((p) => {
    const name = keyOf(p.key)
    const method = p.method ? `({ ${text.slice(p.start, p.end)} }).${name}` : text.slice(p.value.start, p.value.end)
    return `const exported_${name} = ${method}\nexport { exported_${name} as ${name} }`
  })
  return [...whole, ...values, `export { ${names.join(', ')} }`].join('\n')
}

/** What takes the place of a statement at the top of a file, null if it stays. */
function rewritten (statement, text, exported, file) {
  if (statement.directive === 'use strict') return ''
  if (statement.type === 'ClassDeclaration') {
    // Errors and texts of tensors say the names of classes, which a bundler shortens.
    const { id, body, start, end } = statement
    return `${text.slice(start, body.start + 1)}static name = '${id.name}';${text.slice(body.start + 1, end)}`
  }
  if (statement.type === 'VariableDeclaration') {
    const froms = statement.declarations.map(({ init }) => requiredBy(init))
    if (froms.includes(null)) return null
    return statement.declarations.map((declared, i) => {
      return exported.has(declared.id.name) && !VALUES.test(froms[i]) ? objectOf(declared, froms[i], file) : importOf(declared, froms[i])
    }).join('\n')
  }
  const { left, right } = statement.expression?.type === 'AssignmentExpression' ? statement.expression : {}
  if (left?.type !== 'MemberExpression') return null
  if (left.object.name === 'exports') return `export const ${left.property.name} = ${text.slice(right.start, right.end)}`
  return left.object.name === 'module' ? exportsOf(right, text) : null
}

/** A file of CommonJS as a module. It must import at its top and by name, and export at its end. */
export function toModule (text, name) {
  const body = parsed(text)
  const exported = new Set(exportedBy(body)?.map(({ shorthand, key }) => shorthand ? key.name : null))
  let out = ''
  let at = 0
  for (const statement of body) {
    const now = rewritten(statement, text, exported, name)
    if (now === null) continue
    out += text.slice(at, statement.start) + now
    at = statement.end
  }
  out += text.slice(at)
  const { body: made } = parse(out, { ecmaVersion: 2022, sourceType: 'module', allowHashBang: true })
  const kept = made.map(({ start, end }) => out.slice(start, end))
    .find((statement) => /^(?!import |export )[^'"`/]*(?<![.\w])(require\(|module\.exports)/.test(statement))
  if (kept !== undefined) throw new Error(`${name}: ${kept.slice(0, 80)}: a module cannot be made of it`)
  return out
}
