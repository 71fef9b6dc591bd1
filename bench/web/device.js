/** A GPUDevice with the adapter's highest limits, and with f16 and subgroups if it has them. */

const LIMITS = [
  'maxBufferSize', 'maxStorageBufferBindingSize', 'maxStorageBuffersPerShaderStage', 'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX'
]
const FEATURES = ['shader-f16', 'subgroups']

export async function openDevice () {
  const adapter = await globalThis.navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' })
  if (!adapter) throw new Error('this browser has no WebGPU, or finds no GPU')
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]))
  const requiredFeatures = FEATURES.filter((name) => adapter.features.has(name))
  return { device: await adapter.requestDevice({ requiredLimits, requiredFeatures }), info: adapter.info }
}
