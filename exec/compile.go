package exec

import (
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
	var fresh, elsewhere []*uop.UOp
	seen := map[*uop.UOp]bool{}
	for i, k := range sched.Kernels {
		asts[i] = e.asts.Import(k.AST)
		if e.kernels[asts[i]] == nil && !seen[asts[i]] {
			seen[asts[i]] = true
			if dt, _ := missingType(e.dev.Target(), asts[i]); dt != nil {
				elsewhere = append(elsewhere, asts[i])
			} else {
				fresh = append(fresh, asts[i])
			}
		}
	}
	progs, err := lowerAll(fresh, e.dev.Target())
	if err != nil {
		return nil, err
	}
	if len(progs) > 0 {
		code, err := e.dev.Compile(progs)
		if err != nil {
			return nil, err
		}
		e.keepKernels(fresh, progs, code)
	}
	progs, code, err := e.compileForHost(elsewhere)
	if err != nil {
		return nil, err
	}
	e.keepKernels(elsewhere, progs, code)
	out := make([]*kernel, len(asts))
	for i, ast := range asts {
		out[i] = e.kernels[ast]
	}
	return out, nil
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
