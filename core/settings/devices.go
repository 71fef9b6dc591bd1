//go:build !wasip1

package settings

// devices are the values of POLY_DEVICE, the default one first.
var devices = OneOf{"native", "wasm", "webgpu", "interp", "clang", "reference"}
