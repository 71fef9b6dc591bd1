'use strict'
/** hub.js in a browser, which has no folders. */

const { PolygradError } = require('../library.js')

async function downloadHf () {
  throw new PolygradError('downloadHf: a page has no folders: fetch config.json and the safetensors files, and give them to loadHfBytes')
}

module.exports = { downloadHf }
