package exec

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"polygrad/exec/clang"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/native"
	"polygrad/exec/wasm"
)

// Devices are the names that Open knows. The first one is the default.
var Devices = []string{"native", "wasm", "interp", "clang"}

// Open makes the executor of a device. The empty name asks for the one that the
// environment variable POLY_DEVICE names, or else the default.
func Open(name string) (*Executor, error) {
	if name == "" {
		name = os.Getenv("POLY_DEVICE")
	}
	var d device.Device
	var err error
	switch name {
	case "", "native":
		d, err = openNative()
	case "wasm":
		d = wasm.New()
	case "interp":
		d = interp.New()
	case "clang":
		d, err = clang.New()
	default:
		err = fmt.Errorf("exec.Open: unknown device %q, expected one of %v", name, Devices)
	}
	if err != nil {
		return nil, err
	}
	return New(d), nil
}

// openNative opens the native device, or the portable one where there is no native code. Unless POLY_CPU asks for
// that, a notice says so, once.
func openNative() (device.Device, error) {
	d, err := native.New()
	if !errors.Is(err, native.ErrUnavailable) {
		return d, err
	}
	if os.Getenv("POLY_CPU") != "wasm" {
		notice.Do(func() { fmt.Fprintf(os.Stderr, "polygrad: %v; kernels are WebAssembly\n", err) })
	}
	return wasm.New(), nil
}

var notice sync.Once
