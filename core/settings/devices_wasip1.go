package settings

// devices are the values of POLY_DEVICE, the default one first.
var devices = OneOf{"wasm", "webgpu", "interp", "reference"}
