'use strict'
/** Names of tensors in state dicts: snake_case, as in Python, R and PyTorch. */

const snake = (name) => name.replace(/^_/, '').replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

module.exports = { snake }
