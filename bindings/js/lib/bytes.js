'use strict'
/** Files from the network as bytes. */

const { contents } = require('./download.js')
const { placeOf } = require('./host/place.js')
const { named, show } = require('./arguments.js')

/** The bytes at a URL. */
async function download (...args) {
  const { url, gunzip, cache, onProgress } = named('download', args, { url: undefined, gunzip: false, cache: true, onProgress: null })
  if (onProgress !== null && typeof onProgress !== 'function') {
    throw new TypeError(`download: onProgress: ${show(onProgress)}, expected a function`)
  }
  return contents('download', url, { gunzip, cache, onProgress: onProgress ?? undefined, placeOf: cache ? placeOf : undefined })
}

module.exports = { download }
