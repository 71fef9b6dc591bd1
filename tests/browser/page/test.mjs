/** What tests take from node:test: they run one after the other, and each tells its result on the console. */

import { tell, textOf } from './tell.mjs'

const query = new URLSearchParams(location.search)
// Of the parts of a test one in so many is run, and which one.
const [every, offset] = ['every', 'offset'].map((name) => Number(query.get(name)))
const registered = []

/** What a test gets: it may have parts, and things to do when it has ended. */
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

/** Runs a test, which counts unless its parts do; gives whether all went well. */
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

/** Runs the tests that were registered; those in an object of names and reasons are left out, and must be there. */
export async function run (leftOut) {
  const missing = new Set(Object.keys(leftOut))
  for (const [name, fn] of registered) {
    if (!missing.delete(name)) await once(name, fn)
  }
  for (const name of missing) tell({ end: name, error: 'it is left out of the tests in browsers, but there is no such test', ms: 0 })
  tell({ done: registered.length })
}
