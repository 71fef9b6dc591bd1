'use strict'
/** The worker's side: makes the calls that a program sends, and keeps their results. */

const { packed, unpacked } = require('./message.js')

/** An error as a message. */
function told (error) {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
  return { name, message, stack }
}

/**
 * Serves a program.
 * @param {(message: object) => void} post sends a message
 * @param {(settings: object) => Promise<object>} load gives the exports of the package
 * @param {(url: string) => Promise<object>} include gives the exports of a module of the user
 * @returns {(message: object) => void} the handler of incoming messages
 */
function serve (post, load, include) {
  const kept = new Map() // promises of results, by number
  const failures = new Map() // errors of calls that no read has reported, by number
  let fresh = -1 // the next number for an object that is first named by this side

  /** The value at the end of a path from the object of a number, and its owner, the object before the last step. */
  async function find (number, path) {
    let owner
    let value = await kept.get(number)
    for (const [i, name] of path.entries()) {
      if (value === null || value === undefined) {
        throw new TypeError(`${path.slice(0, i + 1).join('.')}: ${path[i - 1] ?? 'the result'} is ${value}`)
      }
      owner = value
      value = value[name]
    }
    return { owner, value }
  }

  /** The function that a message calls, its owner and its arguments, once the calls that produce them have ended. */
  async function prepare ({ of, path, args }, kind) {
    const waited = []
    args.forEach((arg) => unpacked(arg, (...name) => waited.push(find(...name))))
    const [{ owner, value }, ...found] = await Promise.all([find(of, path), ...waited])
    if (kind !== undefined && typeof value !== 'function') throw new TypeError(`${path.join('.') || 'the result'} is no ${kind}`)
    return { owner, value, given: args.map((arg) => unpacked(arg, () => found.shift().value)) }
  }

  const actions = {
    async begin ({ settings, module }) {
      const exports = await load(settings)
      return module === undefined ? exports : { ...exports, module: await include(module) }
    },
    async call (message) {
      const { owner, value, given } = await prepare(message, 'function')
      return Reflect.apply(value, owner, given)
    },
    async construct (message) {
      const { value, given } = await prepare(message, 'class')
      return Reflect.construct(value, given)
    },
    async set (message) {
      const { owner, given } = await prepare(message)
      owner[message.path.at(-1)] = given[0]
    }
  }

  /** Answers a read with a value, or with the error of a call that produces it, or of an earlier call whose error was not reported yet. */
  async function read ({ number, of, path }) {
    try {
      const { value } = await find(of, path)
      const [lost] = failures.values()
      if (lost !== undefined) throw lost
      post({ number, value: packed(value, (x) => [kept.set(fresh, Promise.resolve(x)) && fresh--, []]) })
    } catch (error) {
      for (const [call, lost] of failures) if (lost === error) failures.delete(call)
      post({ number, error: told(error) })
    }
  }

  return (message) => {
    if (message.action === 'drop') for (const number of message.numbers) kept.delete(number)
    else if (message.action === 'read') read(message)
    else {
      const result = actions[message.action](message)
      kept.set(message.number, result)
      result.catch((error) => failures.set(message.number, error))
    }
  }
}

module.exports = { serve }
