/** A shim of node:test: tests run sequentially, and each reports its result on the console. */

import { tell, textOf } from './tell.mjs'

const query = new URLSearchParams(location.search)
// Of the subtests of a test those whose index is offset modulo every are run.
const [every, offset] = ['every', 'offset'].map((name) => Number(query.get(name)))
const registered = []

/** The context of a test, with its subtests and its hooks after the end. */
class Context {
  constructor (name) {
    this.name = name
    this.parts = 0
    this.broken = 0
    this.ends = []
  }

  async test (name, ...rest) {
    if (this.parts++ % every !== offset % every) return
    if (!await once(`${this.name} > ${name}`, rest.at(-1))) this.broken++
  }

  after (end) {
    this.ends.push(end)
  }
}

/** Runs a test, and returns whether it and its subtests passed; a test with subtests is itself reported only if it throws. */
async function once (name, fn) {
  const context = new Context(name)
  const start = performance.now()
  tell({ begin: name })
  let error = null
  const note = (thrown) => { error ??= textOf(thrown) }
  try {
    await fn(context)
  } catch (thrown) {
    note(thrown)
  }
  for (const end of context.ends) {
    try {
      await end()
    } catch (thrown) {
      note(thrown)
    }
  }
  if (context.parts === 0 || error !== null) tell({ end: name, error, ms: performance.now() - start })
  return error === null && context.broken === 0
}

export default function test (name, ...rest) {
  if (rest.length === 1 || !rest[0].skip) registered.push([name, rest.at(-1)])
}

/** Runs the registered tests but those in leftOut (name: reason); a name there without a test is a failure. */
export async function run (leftOut) {
  const missing = new Set(Object.keys(leftOut))
  for (const [name, fn] of registered) {
    if (!missing.delete(name)) await once(name, fn)
  }
  for (const name of missing) tell({ end: name, error: 'it is left out of the tests in browsers, but there is no such test', ms: 0 })
  tell({ done: registered.length })
}
