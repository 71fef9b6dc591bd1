package exec

import (
	"fmt"
	"os"

	"polygrad/exec/clang"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
)

// Devices are the names that Open knows. The first one is the default.
var Devices = []string{"wasm", "interp", "clang"}

// Open makes the executor of a device. The empty name asks for the one that the
// environment variable POLY_DEVICE names, or else the default.
func Open(name string) (*Executor, error) {
	if name == "" {
		name = os.Getenv("POLY_DEVICE")
	}
	var d device.Device
	var err error
	switch name {
	case "", "wasm":
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
