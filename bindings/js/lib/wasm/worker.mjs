/** A worker of a page: one that shares runs of kernels, or that of the GPU. */

import { serveGpu } from './gpu_worker.js'
import { serve } from './threads.js'

globalThis.onmessage = ({ data }) => data.gpu === undefined ? serve(data.memory, data.control) : serveGpu(data.gpu, globalThis)
