/** TensorFlow.js on its WebGPU backend. */

import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-backend-webgpu'

/** Selects the WebGPU backend, and returns its GPUDevice. */
export async function gpu () {
  await tf.setBackend('webgpu')
  await tf.ready()
  return tf.backend().device
}

/** Submits the dispatches that the backend has batched. */
export function flush () {
  const backend = tf.backend()
  backend.ensureCommandEncoderReady()
  backend.endComputePassEncoder()
  backend.submitQueue()
}
