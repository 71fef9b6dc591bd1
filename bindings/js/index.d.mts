/** The types of the ES module: those of the CommonJS one. */
export * from './index.js'
import * as polygrad from './index.js'
export default polygrad
