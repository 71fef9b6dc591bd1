package exec

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"polygrad/core/lower"
	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/settings"
	"polygrad/exec/clang"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/native"
	"polygrad/exec/wasm"
)

// devices are the values of POLY_DEVICE.
var devices = map[string]func() (device.Device, error){
	"native":         openNative,
	"wasm":           func() (device.Device, error) { return wasm.New(), nil },
	"interp":         func() (device.Device, error) { return interp.New(), nil },
	"clang":          clang.New,
	interp.Reference: func() (device.Device, error) { return interp.NewReference(), nil },
}

// Open makes the executor of a device. The empty name selects POLY_DEVICE, or else the default.
func Open(name string) (*Executor, error) {
	if err := settings.Validate(dumps()...); err != nil {
		return nil, err
	}
	if name == "" {
		name = settings.Device.Get()
	}
	open := devices[name]
	if open == nil {
		return nil, fmt.Errorf("exec.Open: unknown device %q, expected %v", name, settings.Device.Values)
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	if s, ok := d.(splitter); settings.F32.Get() == "bf16x3" && (!ok || !s.SplitsF32()) {
		noSplit.Do(func() {
			fmt.Fprintf(os.Stderr, "polygrad: POLY_F32=bf16x3 needs native code on a processor with AMX; products stay exact\n")
		})
	}
	return New(d), nil
}

// AsTinygrad reports whether graphs are to be composed as tinygrad composes them: POLY_DEVICE is the reference.
func AsTinygrad() bool { return settings.Device.Get() == interp.Reference }

// splitter is a device that may split float32 factors into three bfloat16.
type splitter interface{ SplitsF32() bool }

// dumps are the values of POLY_DUMP.
func dumps() []string {
	return slices.Concat([]string{"all", "plan", "nest", "x64", "beam"}, schedule.PassNames(), fuse.PassNames(), lower.PassNames())
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

// Notices printed once in a process.
var noNative, noSplit sync.Once
