package device

import (
	"slices"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/uop"
)

// fewRowsKernel is a kernel with code for few rows and for many, whose number is the value of a variable.
type fewRowsKernel struct {
	few, many HostKernel
	at        int // of the variable
	most      int64
}

// Run runs the kernel.
func (k *fewRowsKernel) Run(bufs []unsafe.Pointer, vars []int64) error {
	if vars[k.at] <= k.most {
		return k.few.Run(bufs, vars)
	}
	return k.many.Run(bufs, vars)
}

// CompileByRows compiles programs. A program whose number of rows is a variable that may be small is compiled twice: for few rows and for many.
func CompileByRows(progs []*lower.Program, compile func([]*lower.Program) ([]Kernel, error)) ([]Kernel, error) {
	all, twice := slices.Clone(progs), map[int]*fewRowsKernel{}
	for i, p := range progs {
		f := nest.ForFewRows(p.Linear)
		if f == nil {
			continue
		}
		at := 0
		for _, v := range p.Vars {
			switch v.Arg.(uop.VarArg).Name {
			case f.Variable:
				twice[i] = &fewRowsKernel{at: at, most: f.Most}
			case lower.ThreadVar:
				continue
			}
			at++
		}
		few := *p
		few.Linear = f.List
		all = append(all, &few)
	}
	kernels, err := compile(all)
	if err != nil {
		return nil, err
	}
	few := kernels[len(progs):]
	for i := range progs {
		if k := twice[i]; k != nil {
			k.few, k.many, few = few[0].(HostKernel), kernels[i].(HostKernel), few[1:]
			kernels[i] = k
		}
	}
	return kernels[:len(progs)], nil
}
