/** A shim of node:path. */

function join (...parts) {
  const whole = []
  for (const part of parts.join('/').split('/')) {
    if (part === '..') whole.pop()
    else if (part !== '.' && part !== '') whole.push(part)
  }
  return `/${whole.join('/')}`
}

export default { join }
