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
)

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
