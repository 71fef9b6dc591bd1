/** Where a page computes: on the processor, or on the GPU, if the browser has WebGPU. */

import { Device } from './polygrad.js'

/** Offers the GPU in a list of choices, and chooses it unless a processor does its work. Pages that are not isolated wait for no GPU. */
export async function offerDevices (list) {
  if (!globalThis.crossOriginIsolated) return
  const adapter = await globalThis.navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null)
  if (!adapter) return
  const { vendor, architecture, isFallbackAdapter } = adapter.info
  list.append(new Option(`GPU (${[vendor, architecture].filter(Boolean).join(' ') || 'WebGPU'})`, 'webgpu'))
  list.disabled = false
  if (!isFallbackAdapter && !/swiftshader|llvmpipe/i.test(architecture)) list.value = 'webgpu'
}

/** Lets what follows be computed where the list says; if the GPU does not open, on the processor. */
export async function useChosen (list) {
  try {
    if (list.value === 'webgpu') await Device.init('webgpu')
  } catch (error) {
    console.warn(error.message)
    list.value = 'cpu'
  }
  Device.default = list.value
}
