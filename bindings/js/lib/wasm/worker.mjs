/** The script of workers in a page: a worker that shares runs of kernels, or the thread of the GPU. */

import { serveGpu } from './gpu_worker.js'
import { serve } from './threads.js'

globalThis.onmessage = ({ data }) => data.gpu === undefined ? serve(data.memory, data.control) : serveGpu(data.gpu, globalThis)
