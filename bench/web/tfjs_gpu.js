/** TensorFlow.js with its backend for WebGPU. */

import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-backend-webgpu'

/** Lets it compute on the GPU, and gives its device. */
export async function gpu () {
  await tf.setBackend('webgpu')
  await tf.ready()
  return tf.backend().device
}

/** Submits what waits for more to be submitted with it. */
export function flush () {
  const backend = tf.backend()
  backend.ensureCommandEncoderReady()
  backend.endComputePassEncoder()
  backend.submitQueue()
}
