// Package nest compiles the linear lists of lower to loop nests. A plan decides which loops are tiled, reordered, vectorized and
// unrolled, and which operands are packed; emission follows the plan.
package nest

import (
	"errors"
	"fmt"
	"os"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/emit"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/settings"
	"polygrad/core/uop"
)

// Compile compiles the linear list of a kernel for a machine.
func Compile(name string, list []*uop.UOp, m ir.Machine) (*ir.Kernel, error) {
	k, _, err := CompileAs(name, list, m, "")
	return k, err
}

// CompileAs compiles the linear list of a kernel for a machine with a given choice of layout, and returns the chosen layout.
func CompileAs(name string, list []*uop.UOp, m ir.Machine, c plan.Choice) (k *ir.Kernel, l plan.Layout, err error) {
	wanted, err := c.Knobs()
	if err != nil {
		return nil, nil, fmt.Errorf("nest.CompileAs: kernel %s: %w", name, err)
	}
	k, l, err = build(name, list, m, wanted, false)
	if err != nil && m.Lanes > 1 && !(errors.As(err, new(defect)) && settings.Check.On()) {
		// A kernel that cannot be planned is emitted without vectors. POLY_CHECK=1 reports plans that contradict themselves or cannot be
		// emitted instead: they are defects.
		k, l, err = build(name, list, m, wanted, true)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("nest.CompileAs: kernel %s: %w", name, err)
	}
	if settings.Dump.Get() == "nest" {
		k.Dump(os.Stderr)
	}
	return k, l, nil
}

// defect is an internal error: a plan that contradicts itself or cannot be emitted.
type defect struct{ error }

func build(name string, list []*uop.UOp, m ir.Machine, wanted []plan.Knobs, plain bool) (*ir.Kernel, plan.Layout, error) {
	f, err := analysis.New(list)
	if err != nil {
		return nil, nil, err
	}
	p, err := plan.Make(f, m, wanted, plain || m.Invocations && !plan.Spreadable(f, m))
	if err != nil {
		return nil, nil, err
	}
	if settings.Dump.Get() == "plan" {
		fmt.Fprintf(os.Stderr, "kernel %s: %s", name, p)
	}
	if err := p.Check(); err != nil {
		return nil, nil, defect{err}
	}
	k, err := emit.Kernel(name, p)
	if err != nil {
		return nil, nil, defect{err}
	}
	return k, p.Layout, nil
}

// OnlineRows is the number of rows of a block of online softmax, which stores no rows.
const OnlineRows = plan.OnlineRows

// Online reports whether a kernel is compiled as online softmax: the rows between its two products need no memory.
func Online(list []*uop.UOp, m ir.Machine) bool {
	f, err := analysis.New(list)
	return err == nil && plan.Online(f, m)
}

// Cycles estimates how many cycles a run of the linear list of a kernel takes one thread, and how many of them are for lanes that are loaded,
// stored or moved one by one; ok is false if that is not known.
func Cycles(list []*uop.UOp, m ir.Machine) (all, lanes float64, ok bool) {
	f, err := analysis.New(list)
	if err != nil {
		return 0, 0, false
	}
	p, err := plan.Make(f, m, nil, false)
	if err != nil {
		return 0, 0, false
	}
	k, err := emit.Kernel("", p)
	if err != nil {
		return 0, 0, false
	}
	return k.Cycles(&m)
}
