// Package replay runs the linear lists of the reference data through a code
// generator and compares the results with the recorded ones. It tests the last
// stage of the compiler alone, on lists that are known to be right.
package replay

import (
	"fmt"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec/device"
	"polygrad/tests/element"
	"polygrad/tests/parity/dump"
)

// tolerance is the relative error allowed per dtype; types that are not listed must be exact.
var tolerance = map[*uop.DType]float64{uop.Float16: 2e-3, uop.BFloat16: 1.6e-2, uop.Float32: 1e-5, uop.Float64: 1e-10}

// Case is a case of the reference data with its kernels, ready to be compiled.
type Case struct {
	*dump.Case
	Programs []*lower.Program
}

// Load reads a case.
func Load(path string) (*Case, error) {
	read, err := dump.ReadCase(path)
	if err != nil {
		return nil, err
	}
	c := &Case{Case: read}
	for i, k := range read.Kernels {
		list, err := dump.Load(symbolic.NewGraph(), k.Linear)
		if err != nil {
			return nil, fmt.Errorf("%s: kernel %d: %w", path, i, err)
		}
		c.Programs = append(c.Programs, &lower.Program{Name: k.Name, Linear: list})
	}
	return c, nil
}

// Lowered is the case with lists of scalars, made of the same kernels for devices that lay loops out by themselves.
func (c *Case) Lowered(target *lower.Target) (*Case, error) {
	out := &Case{Case: c.Case}
	for i, k := range c.Kernels {
		ast, err := dump.Root(symbolic.NewGraph(), k.AST)
		if err != nil {
			return nil, fmt.Errorf("%s: kernel %d: %w", c.Name, i, err)
		}
		p, err := lower.Lower(ast, target)
		if err != nil {
			return nil, fmt.Errorf("%s: kernel %d: %w", c.Name, i, err)
		}
		out.Programs = append(out.Programs, p)
	}
	return out, nil
}

// Recorded reports whether the data has all inputs: values that come from Python it does not have.
func (c *Case) Recorded() bool {
	for _, b := range c.Buffers {
		if b.Device == "PYTHON" {
			return false
		}
	}
	return true
}

// memory is a buffer of a case.
type memory struct {
	dt  *uop.DType
	ptr unsafe.Pointer
}

// Run runs the compiled kernels in the order of the schedule and compares the outputs.
func (c *Case) Run(kernels []device.Kernel) error {
	mem, err := c.allocate()
	if err != nil {
		return err
	}
	for i, item := range c.Schedule {
		if item.Kernel == nil { // a COPY fills an input, which has its values already
			continue
		}
		bufs := make([]unsafe.Pointer, len(item.Bufs))
		for j, id := range item.Bufs {
			bufs[j] = mem[id].ptr
		}
		args, vars := c.arguments(c.Programs[*item.Kernel].Linear, bufs)
		if err := kernels[*item.Kernel].(device.HostKernel).Run(args, vars); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	views, err := c.viewed()
	if err != nil {
		return err
	}
	for i, o := range c.Outputs {
		if m, ok := mem[fmt.Sprintf("out:%d", i)]; ok && !views[i] {
			if err := m.compare(o); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
	}
	return nil
}

// viewed marks the outputs that show their buffer in another order of elements.
func (c *Case) viewed() ([]bool, error) {
	sink, err := dump.Root(symbolic.NewGraph(), c.TensorGraph)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(sink.Src))
	for i, s := range sink.Src {
		for ; uop.GroupMovement.Has(s.Op); s = s.Src[0] {
			out[i] = out[i] || s.Op != uop.Reshape
		}
	}
	return out, nil
}

func (c *Case) allocate() (map[string]memory, error) {
	mem := map[string]memory{}
	for _, b := range c.Buffers {
		dt, err := uop.ParseDType(b.DType)
		if err != nil {
			return nil, err
		}
		mem[b.ID] = memory{dt, element.Memory(dt, b.Size)}
	}
	for _, in := range c.Case.Case.Inputs {
		m, ok := mem["in:"+in.Name]
		if !ok {
			continue
		}
		vals, err := in.Numbers()
		if err != nil {
			return nil, err
		}
		for j, v := range vals {
			element.Put(m.ptr, int64(j), m.dt, uop.Float(v))
		}
	}
	return mem, nil
}

// arguments are what a kernel takes: its buffers, and the values of its variables except the number of the thread.
func (c *Case) arguments(list []*uop.UOp, bufs []unsafe.Pointer) (args []unsafe.Pointer, vars []int64) {
	for _, u := range list {
		switch u.Op {
		case uop.Param:
			args = append(args, bufs[u.Arg.(uop.Num)])
		case uop.DefineVar:
			if v := u.Arg.(uop.VarArg); v.Name != lower.ThreadVar {
				vars = append(vars, c.VarVals[v.Name])
			}
		}
	}
	return args, vars
}

func (m memory) compare(o dump.Output) error {
	want, step := o.Values, 1
	if want == nil {
		want = o.Sample
		step = o.Stride
	}
	for i, w := range want {
		at := i * step
		got, exp := element.Get(m.ptr, int64(at), m.dt).F(), w.Const().F()
		if !element.Close(got, exp, tolerance[m.dt]) {
			return fmt.Errorf("element %d is %v, expected %v", at, got, exp)
		}
	}
	return nil
}
