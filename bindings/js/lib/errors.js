'use strict'
/** The errors of the package. */

/** An error that the library reports and that is not about the type or the range of an argument. */
class PolygradError extends Error {
  /** @param {string} message what went wrong: function, argument, given, expected */
  constructor (message) {
    super(message)
    this.name = 'PolygradError'
  }
}

/** A function that cannot be captured, or a call that does not match the captured one. */
class JitError extends PolygradError {
  constructor (message) {
    super(message)
    this.name = 'JitError'
  }
}

module.exports = { PolygradError, JitError }
