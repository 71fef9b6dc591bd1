//go:build linux && amd64 && cgo

package native

import (
	"polygrad/core/lower"
	"polygrad/exec/device"
	"polygrad/render/x64"
)

// For is the device for a processor with features f only.
func For(f x64.Features) device.Device { return &Device{lower.Native(), machine(f), f} }
