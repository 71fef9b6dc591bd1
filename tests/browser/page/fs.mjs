/** A shim of node:fs: reads files of the checkout from the tests' server. */

import { Buffer } from 'buffer'

function readFileSync (file, encoding) {
  const request = new XMLHttpRequest()
  request.open('GET', file, false)
  request.overrideMimeType('text/plain; charset=x-user-defined') // one character per byte
  request.send()
  if (request.status !== 200) throw new Error(`no such file: ${file}`)
  const bytes = Buffer.from(request.responseText, 'latin1')
  return encoding === undefined ? bytes : bytes.toString(encoding)
}

export default { readFileSync }
