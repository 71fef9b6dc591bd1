/** What tests take from node:fs: files of the checkout, which the server of the tests has. */

import { Buffer } from 'buffer'

function readFileSync (file, encoding) {
  const request = new XMLHttpRequest()
  request.open('GET', file, false)
  request.overrideMimeType('text/plain; charset=x-user-defined') // byte by byte
  request.send()
  if (request.status !== 200) throw new Error(`no such file: ${file}`)
  const bytes = Buffer.from(request.responseText, 'latin1')
  return encoding === undefined ? bytes : bytes.toString(encoding)
}

export default { readFileSync }
