package exec

import (
	"slices"

	"polygrad/core/lower"
	"polygrad/core/schedule"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// kernel is a compiled kernel with the data of a launch. It keeps no reference to its graph.
type kernel struct {
	code device.Kernel
	// globals are its PARAMs, outs the PARAMs that it stores to.
	globals, outs []int
	// vars are its variables.
	vars []uop.VarArg
	// bytes is its size.
	bytes int64
}

func newKernel(p *lower.Program, code device.Kernel) *kernel {
	k := &kernel{code: code, globals: p.Globals, outs: p.Outs, bytes: bytesOf(code)}
	for _, v := range p.Vars {
		if a := v.Arg.(uop.VarArg); a.Name != lower.ThreadVar {
			k.vars = append(k.vars, a)
		}
	}
	return k
}

// compile finds or makes the kernels of a schedule. New ones are lowered in parallel and compiled together.
func (e *Executor) compile(sched *schedule.Schedule) ([]*kernel, error) {
	asts := make([]*uop.UOp, len(sched.Kernels))
	var fresh []*uop.UOp
	seen := map[*uop.UOp]bool{}
	for i, k := range sched.Kernels {
		asts[i] = e.asts.Import(k.AST)
		if e.kernels[asts[i]] == nil && !seen[asts[i]] {
			seen[asts[i]] = true
			fresh = append(fresh, asts[i])
		}
	}
	fresh, progs, code, err := e.compileAll(fresh)
	if err != nil {
		return nil, err
	}
	e.keepKernels(fresh, progs, code)
	out := make([]*kernel, len(asts))
	for i, ast := range asts {
		out[i] = e.kernels[ast]
	}
	return out, nil
}

// compileAll compiles kernels for the device or, if it lacks one of their types, for the host. It returns them in the order of their programs.
func (e *Executor) compileAll(asts []*uop.UOp) ([]*uop.UOp, []*lower.Program, []device.Kernel, error) {
	var here, elsewhere []*uop.UOp
	for _, ast := range asts {
		if dt, _ := missingType(e.dev.Target(), ast); dt != nil {
			elsewhere = append(elsewhere, ast)
		} else {
			here = append(here, ast)
		}
	}
	progs, err := lowerAll(here, e.dev.Target())
	if err != nil {
		return nil, nil, nil, err
	}
	var code []device.Kernel
	if len(progs) > 0 {
		if code, err = e.dev.Compile(progs); err != nil {
			return nil, nil, nil, err
		}
	}
	more, theirs, err := e.compileForHost(elsewhere)
	if err != nil {
		return nil, nil, nil, err
	}
	return slices.Concat(here, elsewhere), slices.Concat(progs, more), slices.Concat(code, theirs), nil
}

func (e *Executor) keepKernels(asts []*uop.UOp, progs []*lower.Program, code []device.Kernel) {
	for i, ast := range asts {
		k := newKernel(progs[i], code[i])
		e.kernels[ast] = k
		e.code += k.bytes
	}
}

// lowerAll lowers kernels on all processors.
func lowerAll(asts []*uop.UOp, target *lower.Target) ([]*lower.Program, error) {
	progs, errs := make([]*lower.Program, len(asts)), make([]error, len(asts))
	device.Each(len(asts), func(i int) { progs[i], errs[i] = lower.Lower(asts[i], target) })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return progs, nil
}
