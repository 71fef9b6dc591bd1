package main

import (
	"cmp"
	"slices"

	"polygrad/exec"
)

// devices lists the devices by PolyDeviceId: the name, and the device of exec that runs its kernels. chosen is the device of POLY_DEVICE or the
// default one; exec.CPU is the same, unless that is a GPU; none is a device whose kernels this library cannot run.
var devices = []struct{ name, backend string }{
	{"AUTO", chosen}, {"CPU", exec.CPU}, {"INTERP", "interp"}, {"CUDA", none}, {"WASM_JIT", "wasm"},
	{"WEBGPU", "webgpu"}, {"X64_JIT", "native"}, {"CLANG", "clang"},
}

const chosen, none = "", "none"

// deviceExecutor is the executor of a PolyDeviceId.
func deviceExecutor(device int32) (*exec.Executor, error) {
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
	if got := e.Device().Name(); d.backend != chosen && d.backend != exec.CPU && got != d.backend {
		return nil, badArg("device", "%s is not available in this process, whose kernels are %s", d.name, got)
	}
	return e, nil
}

// deviceNumber is the PolyDeviceId of a device of exec: CPU for the device of the environment, unless it is a GPU.
func deviceNumber(backend string) int32 {
	if backend == chosen && exec.Named("") != exec.GPU {
		backend = exec.CPU
	}
	return int32(slices.IndexFunc(devices, func(d struct{ name, backend string }) bool { return d.backend == cmp.Or(backend, exec.GPU) }))
}

func poly_ctx_set_device(ctx uintptr, device int32) int32 {
	return status("poly_ctx_set_device", ctx, func(c *context) error {
		if _, err := deviceExecutor(device); err != nil {
			return err
		}
		c.waitJobs()
		c.device = devices[device].backend
		c.vars.ExecutorChanged()
		return nil
	})
}

func poly_ctx_device(ctx uintptr) (device int32) {
	withContext("poly_ctx_device", ctx, func(c *context) error {
		device = deviceNumber(c.device)
		return nil
	}, func() { device = -1 })
	return device
}

func poly_device_count() int32 { return int32(len(devices)) }

func poly_device_name(i int32) *byte {
	if i < 0 || int(i) >= len(devices) {
		fail("poly_device_name", badArg("i", "%d, expected 0 to %d", i, len(devices)-1))
		return nil
	}
	return static(devices[i].name)
}

func poly_device_available(i int32) int32 {
	if _, err := deviceExecutor(i); err != nil {
		return 0
	}
	return 1
}

func poly_webgpu_init(library *byte, adapter, gpu int64) int32 {
	return withoutContext("poly_webgpu_init", -1, func() (int32, error) {
		switch {
		case gpu == 0:
			library, adapter = nil, 0
		case library == nil:
			return -1, badArg("library", "is NULL, expected the file of the library of the device")
		case adapter == 0:
			return -1, badArg("adapter", "is 0, expected the adapter of the device")
		}
		if err := exec.GiveGPU(goString(library), uintptr(adapter), uintptr(gpu), executor); err != nil {
			return -1, err
		}
		return 0, nil
	})
}
