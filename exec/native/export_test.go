//go:build linux && amd64 && cgo

package native

import (
	"polygrad/core/lower"
	"polygrad/exec/device"
	"polygrad/render/x64"
)

// For is the device for a processor with features f only, which uses all of them, and splits F32 if it is to.
func For(f x64.Features, split bool) device.Device {
	m := machine(f)
	m.DotBF16 = f.AMX || f.BF16
	m.SplitF32 = split
	return &Device{target: lower.Native(), machine: m, features: f}
}
