/** Measures the peak throughput of a GPU: FMAs of float32, and memory bandwidth. */

/* global GPUBufferUsage */

const WORKGROUP = 256
const GROUPS = 2048
const CHAINS = 8 // independent chains of FMAs in a thread, to hide their latency
const BYTES = 1 << 26 // copied by a launch
const LEAST = 50 // milliseconds of a timed run, at least
const RUNS = 5

const names = Array.from({ length: CHAINS }, (_, i) => `x${i}`)
const MULTIPLY_ADDS = `
@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> times: array<u32>;
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let m = vec4<f32>(0.5) + out[id.x] * 1e-9;
${names.map((name, i) => `  var ${name} = vec4<f32>(f32(id.x + ${i}u));`).join('\n')}
  for (var i = 0u; i < times[0]; i++) {
${names.map((name) => `    ${name} = fma(${name}, m, m);`).join('\n')}
  }
  out[id.x] = ${names.join(' + ')};
}`
const COPY = `
@group(0) @binding(0) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> source: array<vec4<f32>>;
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = source[id.x]; }`

/** A function that dispatches a shader a number of times, and resolves to the milliseconds until all are complete. */
function timed (device, code, buffers, groups) {
  const module = device.createShaderModule({ code })
  const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } })
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }))
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries })
  return async (launches) => {
    const start = performance.now()
    const encoder = device.createCommandEncoder()
    const pass = encoder.beginComputePass()
    pass.setPipeline(pipeline)
    pass.setBindGroup(0, group)
    for (let i = 0; i < launches; i++) pass.dispatchWorkgroups(groups)
    pass.end()
    device.queue.submit([encoder.finish()])
    await device.queue.onSubmittedWorkDone()
    return performance.now() - start
  }
}

/** The peak rate of work, the amount done by one launch, per millisecond. */
async function most (run, work) {
  let launches = 1
  while (await run(launches) < LEAST && launches < 1 << 12) launches *= 2
  let least = Infinity
  for (let i = 0; i < RUNS; i++) least = Math.min(least, await run(launches))
  return work * launches / least
}

/** The peak in GFLOP/s, and in GB/s of reads and writes together. */
export async function peakOf (device) {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST
  const buffers = [BYTES, BYTES, 16].map((size) => device.createBuffer({ size, usage }))
  const [out, source, times] = buffers
  const iterations = 256
  device.queue.writeBuffer(times, 0, Uint32Array.of(iterations))
  const flops = 2 * 4 * CHAINS * iterations * GROUPS * WORKGROUP
  const rate = await most(timed(device, MULTIPLY_ADDS, [out, times], GROUPS), flops)
  const bytes = await most(timed(device, COPY, [out, source], BYTES / 16 / WORKGROUP), 2 * BYTES)
  for (const buffer of buffers) buffer.destroy()
  return { flops: rate / 1e6, bytes: bytes / 1e6 }
}
