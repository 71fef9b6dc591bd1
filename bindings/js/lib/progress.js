'use strict'
/** The progress of a download, on one line of the standard error. */

const { process } = require('./host/node.js')

const PAUSE = 200 // milliseconds between two lines
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

/** A number of bytes with a unit. */
function inUnits (n) {
  let unit = 0
  for (; n >= 1000 && unit < UNITS.length - 1; unit++) n /= 1000
  return `${unit === 0 ? n : n.toFixed(1)} ${UNITS[unit]}`
}

/** The progress line of one file. Bytes from an earlier attempt do not count for the speed. */
class ProgressLine {
  constructor (name) {
    this._name = name
    this._begun = null
    this._last = 0
  }

  /** Writes the line, unless the last one is less than PAUSE old. */
  show (have, total) {
    const now = performance.now()
    this._begun ??= [now, have]
    if (now - this._last < PAUSE && have !== total) return
    this._last = now
    const [since, from] = this._begun
    const speed = now > since ? `, ${inUnits(Math.round((have - from) / (now - since) * 1000))}/s` : ''
    const share = total ? `${Math.floor(have / total * 100)}% of ${inUnits(total)}` : inUnits(have)
    process.stderr.write(`\r${this._name}: ${share}${speed}\x1b[K`)
  }

  /** Ends the line, if there is one. */
  end () {
    if (this._begun !== null) process.stderr.write('\n')
  }
}

module.exports = { ProgressLine }
