//go:build !wasip1

package exec

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"polygrad/core/settings"
	"polygrad/exec/clang"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/native"
	"polygrad/exec/wasm"
	"polygrad/exec/webgpu"
)

// devices are the values of POLY_DEVICE.
var devices = map[string]func() (device.Device, error){
	"native":         openNative,
	"wasm":           func() (device.Device, error) { return wasm.New(), nil },
	"interp":         func() (device.Device, error) { return interp.New(), nil },
	"clang":          clang.New,
	"webgpu":         webgpu.New,
	interp.Reference: func() (device.Device, error) { return interp.NewReference(), nil },
}

// openNative opens the native device, or the portable one where native code is not available. It prints a notice, once, unless
// POLY_CPU selects the portable device.
func openNative() (device.Device, error) {
	d, err := native.New()
	if !errors.Is(err, native.ErrUnavailable) {
		return d, err
	}
	if settings.CPU.Get() != "wasm" {
		noNative.Do(func() { fmt.Fprintf(os.Stderr, "polygrad: %v; kernels are WebAssembly\n", err) })
	}
	return wasm.New(), nil
}

// noNative prints its notice once in a process.
var noNative sync.Once
