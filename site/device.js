/** The choice of a page's device: the CPU, or the GPU if the browser has WebGPU. */

import { Device } from './polygrad.js'

const KEY = 'polygrad-device' // what the reader chose, for all pages
const threads = globalThis.crossOriginIsolated ? globalThis.navigator.hardwareConcurrency : 1

/** { name, isFast } of the GPU, not fast where a software renderer emulates it; { reason } if there is none. */
async function gpuOf () {
  if (!globalThis.crossOriginIsolated) return { reason: 'a page that is not isolated waits for no GPU' }
  const adapter = await globalThis.navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null)
  if (!adapter) return { reason: globalThis.navigator.gpu ? 'WebGPU finds no GPU' : 'this browser has no WebGPU' }
  const { vendor, architecture, isFallbackAdapter } = adapter.info
  const name = [vendor, architecture].filter(Boolean).join(' ') || 'WebGPU'
  return { name, isFast: !isFallbackAdapter && !/swiftshader|llvmpipe/i.test(architecture) }
}

/**
 * Lets the reader choose where the page computes, by a list at the end of its first row, which shows it, too. What is computed later is
 * computed there.
 *
 * @param {function()} changed is called when the reader has chosen
 */
export async function offerDevices (changed) {
  const list = Object.assign(document.createElement('select'), { id: 'device', disabled: true })
  list.append(new Option(`processor, ${threads} thread${threads > 1 ? 's' : ''}`, 'cpu'))
  const note = Object.assign(document.createElement('span'), { id: 'no-gpu', className: 'quiet' })
  const label = document.createElement('label')
  label.append('on the ', list)
  document.querySelector('.row').append(label, note)

  /** Makes the chosen device the default, or the CPU if the GPU does not open. */
  const use = async () => {
    note.textContent = ''
    try {
      if (list.value === 'webgpu') await Device.init('webgpu')
    } catch (error) {
      note.textContent = error.message
      list.value = 'cpu'
    }
    Device.default = list.value
  }

  const { name, isFast, reason } = await gpuOf()
  if (name === undefined) {
    note.textContent = `no GPU: ${reason}`
    return
  }
  list.append(new Option(`GPU: ${name}`, 'webgpu'))
  list.disabled = false
  list.value = globalThis.localStorage?.getItem(KEY) ?? (isFast ? 'webgpu' : 'cpu')
  list.addEventListener('change', async () => {
    globalThis.localStorage?.setItem(KEY, list.value)
    await use()
    changed()
  })
  await use()
}
