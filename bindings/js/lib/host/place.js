'use strict'
/** Node's download.js keeps files in a folder by itself. */

module.exports = { placeOf: undefined }
