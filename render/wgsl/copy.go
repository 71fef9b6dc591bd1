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

// EnableHalves is the directive for arrays of f16.
const EnableHalves = "enable f16;\n"

// TestHalves converts numbers of f16 to f32, and these back.
const TestHalves = EnableHalves + `@group(0) @binding(0) var<storage, read_write> numbers: array<f16>;
@group(0) @binding(1) var<storage, read_write> wide: array<f32>;
@group(0) @binding(2) var<storage, read_write> narrow: array<f16>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let x = f32(numbers[id.x]);
  wide[id.x] = x;
  narrow[id.x] = f16(x);
}
`
