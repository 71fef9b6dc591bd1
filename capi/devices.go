package main

/*
#include <stdint.h>
*/
import "C"

// devices lists the devices by their PolyDeviceId: the name, and the device of
// exec that runs its kernels ("" where none of this library does).
var devices = []struct{ name, backend string }{
	{"AUTO", "wasm"}, {"CPU", "wasm"}, {"INTERP", "interp"}, {"CUDA", ""}, {"WASM_JIT", "wasm"},
	{"WEBGPU", ""}, {"X64_JIT", "native"}, {"CLANG", "clang"},
}

//export go_poly_device_count
func go_poly_device_count() C.int { return C.int(len(devices)) }

//export go_poly_device_name
func go_poly_device_name(i C.int) *C.char {
	if i < 0 || int(i) >= len(devices) {
		fail("poly_device_name", wrong("i", "%d, expected 0 to %d", i, len(devices)-1))
		return nil
	}
	return static(devices[i].name)
}

//export go_poly_device_available
func go_poly_device_available(i C.int) C.int {
	if i < 0 || int(i) >= len(devices) || devices[i].backend == "" {
		return 0
	}
	if _, err := executor(devices[i].backend); err != nil {
		return 0
	}
	return 1
}
