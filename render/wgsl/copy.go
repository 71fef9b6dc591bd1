package wgsl

import "fmt"

// Copy is a shader that copies the words of binding 1 to those of binding 0, as many as the latter has: WebGPU's own copies cannot
// be between parts of one buffer.
var Copy = fmt.Sprintf(`// copy
@group(0) @binding(0) var<storage, read_write> into: array<u32>;
@group(0) @binding(1) var<storage, read_write> source: array<u32>;

@compute @workgroup_size(%d)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.y * groups.x * %du + id.x;
  if (i < arrayLength(&into)) { into[i] = source[i]; }
}
`, Workgroup, Workgroup)
