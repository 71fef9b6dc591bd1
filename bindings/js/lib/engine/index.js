'use strict'
/** What runs the library. */

module.exports = require('./native.js')
