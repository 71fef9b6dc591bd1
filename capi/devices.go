package main

/*
#include <stdint.h>
*/
import "C"

import "polygrad/exec"

// devices lists the devices by PolyDeviceId: the name, and the device of exec that runs its kernels: chosen is that of POLY_DEVICE or
// the default, none means that this library cannot run them.
var devices = []struct{ name, backend string }{
	{"AUTO", chosen}, {"CPU", chosen}, {"INTERP", "interp"}, {"CUDA", none}, {"WASM_JIT", "wasm"},
	{"WEBGPU", none}, {"X64_JIT", "native"}, {"CLANG", "clang"},
}

const chosen, none = "", "none"

// deviceExecutor is the executor of a PolyDeviceId.
func deviceExecutor(device C.int) (*exec.Executor, error) {
	if device < 0 || int(device) >= len(devices) {
		return nil, badArg("device", "%d, expected 0 to %d", device, len(devices)-1)
	}
	d := devices[device]
	if d.backend == none {
		return nil, badArg("device", "%s cannot run kernels in this build", d.name)
	}
	e, err := executor(d.backend)
	if err != nil {
		return nil, &argError{"device", err}
	}
	if got := e.Device().Name(); d.backend != chosen && got != d.backend {
		return nil, badArg("device", "%s is not available in this process, whose kernels are %s", d.name, got)
	}
	return e, nil
}

//export go_poly_device_count
func go_poly_device_count() C.int { return C.int(len(devices)) }

//export go_poly_device_name
func go_poly_device_name(i C.int) *C.char {
	if i < 0 || int(i) >= len(devices) {
		fail("poly_device_name", badArg("i", "%d, expected 0 to %d", i, len(devices)-1))
		return nil
	}
	return static(devices[i].name)
}

//export go_poly_device_available
func go_poly_device_available(i C.int) C.int {
	if _, err := deviceExecutor(i); err != nil {
		return 0
	}
	return 1
}
