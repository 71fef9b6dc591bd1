package exec

import (
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
	"polygrad/exec/webgpu"
)

// devices are the values of POLY_DEVICE.
var devices = map[string]func() (device.Device, error){
	"wasm":           func() (device.Device, error) { return wasm.New(), nil },
	"interp":         func() (device.Device, error) { return interp.New(), nil },
	"webgpu":         webgpu.New,
	interp.Reference: func() (device.Device, error) { return interp.NewReference(), nil },
}
