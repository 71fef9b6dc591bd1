'use strict'
/** The names of tensors in states: those that Python, R and PyTorch give them. */

// Marks classes of the package, whose properties are renamed; the names of other objects are their users'.
const OF_PACKAGE = Symbol('polygrad.names')

const snake = (name) => name.replace(/^_/, '').replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

module.exports = { OF_PACKAGE, snake }
