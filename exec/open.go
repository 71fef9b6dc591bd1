package exec

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"polygrad/core/lower"
	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/settings"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec/interp"
	"polygrad/exec/webgpu"
)

// CPU is the name of the device that runs kernels on the host.
const CPU = "cpu"

// Named is the value of POLY_DEVICE that a name stands for: for the empty name the setting of the environment or its default; for CPU the same, but
// the default if the setting is the GPU; other names stand for themselves.
func Named(name string) string {
	if name != "" && name != CPU {
		return name
	}
	if chosen := settings.Device.Get(); name == "" || chosen != GPU {
		return chosen
	}
	return settings.Device.Default
}

// GPU is the name of the device that runs kernels by WebGPU.
const GPU = "webgpu"

// Open makes the executor of a device: see Named.
func Open(name string) (*Executor, error) {
	if err := settings.Validate(dumps()...); err != nil {
		return nil, err
	}
	name = Named(name)
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

// GiveGPU has kernels of GPUs run on a device of the program from now on: its handles, and the file of their library, which the program has loaded.
// If gpu is 0 they run on a device of the library's choice. open is Open, or returns what that has returned.
func GiveGPU(library string, adapter, gpu uintptr, open func(name string) (*Executor, error)) error {
	g := webgpu.Given{Library: library, Adapter: adapter, Device: gpu}
	last := webgpu.Give(g)
	e, err := open(GPU)
	if err == nil {
		err = e.dev.(*webgpu.Device).Reopen(g)
	}
	if err != nil {
		webgpu.Give(last)
	}
	return err
}

// NewGraph makes a long-lived graph for requests: composed and simplified as tinygrad does if POLY_DEVICE is the reference.
func NewGraph() *uop.Graph {
	g := symbolic.NewGraph()
	if settings.Device.Get() == interp.Reference {
		g.AsTinygrad()
	}
	return g
}

// splitter is a device that may split float32 factors into three bfloat16.
type splitter interface{ SplitsF32() bool }

// dumps are the values of POLY_DUMP.
func dumps() []string {
	return slices.Concat([]string{"all", "plan", "nest", "x64", "wgsl", "beam"}, schedule.PassNames(), fuse.PassNames(), lower.PassNames())
}

// noSplit prints its notice once in a process.
var noSplit sync.Once
