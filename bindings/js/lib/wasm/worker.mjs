/** A worker of a page that shares runs of kernels. */

import { serve } from './threads.js'

globalThis.onmessage = ({ data }) => serve(data.memory, data.control)
