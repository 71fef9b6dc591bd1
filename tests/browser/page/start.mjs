/** Runs the test file that the query of the URL names. */

import { tell, textOf } from './tell.mjs'

const query = new URLSearchParams(location.search)
Object.assign(globalThis.POLYGRAD ??= {}, JSON.parse(query.get('settings') ?? '{}'))
try {
  const { run } = await import(query.get('file'))
  await run(JSON.parse(query.get('leftOut')))
} catch (error) {
  tell({ end: '(file)', error: textOf(error), ms: 0 })
  tell({ done: 0 })
}
