'use strict'
/** Files as memory that is read when it is used: readFileSync takes 2 GiB at most, and needs memory for all of it. */

const fs = require('node:fs')
const { koffi, PolygradError } = require('./library.js')
const { given } = require('./hf_folder.js')

const PROT_READ = 1
const MAP_PRIVATE = 2
const FAILED = -1

const libc = koffi.load(null)
const mmap = libc.func('mmap', 'intptr_t', ['intptr_t', 'size_t', 'int', 'int', 'int', 'int64_t'])
const munmap = libc.func('munmap', 'int', ['intptr_t', 'size_t'])

/** A file in memory: its address and the number of its bytes. */
function map (file) {
  const fd = fs.openSync(file)
  try {
    const length = fs.fstatSync(fd).size
    if (length === 0) return { address: 0, length }
    const address = mmap(0, length, PROT_READ, MAP_PRIVATE, fd, 0)
    if (address === FAILED) throw new PolygradError(`${file} cannot be mapped into memory`)
    return { address, length }
  } finally {
    fs.closeSync(fd)
  }
}

/** Calls a function with files in memory, which is given back after that; what is wrong with one is an error of an argument. */
function withMapped (what, files, fn) {
  const maps = []
  try {
    for (const file of files) maps.push(given(what, () => map(file)))
    return fn(maps)
  } finally {
    for (const { address, length } of maps) if (length > 0) munmap(address, length)
  }
}

module.exports = { withMapped }
