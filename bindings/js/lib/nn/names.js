'use strict'
/** The names of tensors in states: those that Python, R and PyTorch give them. */

const snake = (name) => name.replace(/^_/, '').replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

module.exports = { snake }
