// Package replay runs the linear lists of the reference data through a code
// generator and compares the results with the recorded ones. It tests the last
// stage of the compiler alone, on lists that are known to be right.
package replay

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"unsafe"

	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// Kernel runs compiled code on one pointer per PARAM and the values of the
// DEFINE_VARs in list order, without the thread number core_id.
type Kernel func(bufs []unsafe.Pointer, vars []int64) error

// Compile makes a kernel from a linear list.
type Compile func(name string, list []*uop.UOp) (Kernel, error)

// Tolerance is the relative error allowed per dtype; types that are not listed must be exact.
var Tolerance = map[*uop.DType]float64{uop.Float16: 2e-3, uop.BFloat16: 1.6e-2, uop.Float32: 1e-5, uop.Float64: 1e-10}

// All runs every case of a folder (golden, cases, opt) below root as a sub-test.
func All(t *testing.T, root, set string, compile Compile) {
	names, err := dump.Names(filepath.Join(root, set))
	if err != nil || len(names) == 0 {
		t.Fatalf("no reference data in %s: %v", filepath.Join(root, set), err)
	}
	for _, name := range names {
		t.Run(set+"/"+name, func(t *testing.T) {
			c, err := dump.ReadCase(filepath.Join(root, set, name+".json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range c.Buffers {
				if b.Device == "PYTHON" {
					t.Skip("the case copies values from Python that are not recorded")
				}
			}
			if err := Case(c, compile); err != nil {
				t.Error(err)
			}
		})
	}
}

// memory is a buffer of a case.
type memory struct {
	dt   *uop.DType
	data []uint64 // 8-byte cells keep every element type aligned
}

func (m *memory) ptr() unsafe.Pointer { return unsafe.Pointer(&m.data[0]) }

// Case runs the kernels of one case in order and compares its outputs.
func Case(c *dump.Case, compile Compile) error {
	mem, err := allocate(c)
	if err != nil {
		return err
	}
	for i, item := range c.Schedule {
		bufs := make([]unsafe.Pointer, len(item.Bufs))
		for j, id := range item.Bufs {
			bufs[j] = mem[id].ptr()
		}
		if item.Kernel == nil { // a COPY fills an input, which has its values already
			continue
		}
		if err := run(c, c.Kernels[*item.Kernel], bufs, compile); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	views, err := viewed(c)
	if err != nil {
		return err
	}
	for i, o := range c.Outputs {
		if m := mem[fmt.Sprintf("out:%d", i)]; m != nil && !views[i] {
			if err := compare(m, o); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
	}
	return nil
}

// viewed marks the outputs that show their buffer in another order of elements.
func viewed(c *dump.Case) ([]bool, error) {
	sink, err := dump.Root(uop.NewScratch(), c.TensorGraph)
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

func allocate(c *dump.Case) (map[string]*memory, error) {
	mem := map[string]*memory{}
	for _, b := range c.Buffers {
		dt, err := uop.ParseDType(b.DType)
		if err != nil {
			return nil, err
		}
		mem[b.ID] = &memory{dt, make([]uint64, (b.Size*int64(dt.Itemsize())+7)/8+2)}
	}
	for _, in := range c.Case.Inputs {
		m := mem["in:"+in.Name]
		if m == nil {
			continue
		}
		vals, err := in.Numbers()
		if err != nil {
			return nil, err
		}
		for j, v := range vals {
			Write(m.ptr(), j, m.dt, v)
		}
	}
	return mem, nil
}

// run compiles and runs a kernel.
func run(c *dump.Case, k dump.Kernel, bufs []unsafe.Pointer, compile Compile) error {
	list, err := dump.Load(uop.NewScratch(), k.Linear)
	if err != nil {
		return err
	}
	kern, err := compile("k", list)
	if err != nil {
		return err
	}
	var args []unsafe.Pointer
	for _, u := range list {
		if u.Op == uop.Param {
			args = append(args, bufs[u.Arg.(uop.Num)])
		}
	}
	var vars []int64
	for _, u := range list {
		if u.Op == uop.DefineVar {
			if v := u.Arg.(uop.VarArg); v.Name != "core_id" {
				vars = append(vars, c.VarVals[v.Name])
			}
		}
	}
	return kern(args, vars)
}

func compare(m *memory, o dump.Output) error {
	want, step := o.Values, 1
	if want == nil {
		want = o.Sample
		step = o.Stride
	}
	tol := Tolerance[m.dt]
	for i, w := range want {
		at := i * step
		got, exp := Read(m.ptr(), at, m.dt), w.Const().F()
		if got == exp || got != got && exp != exp {
			continue
		}
		if !(math.Abs(got-exp) <= tol*math.Max(1, math.Max(math.Abs(got), math.Abs(exp)))) {
			return fmt.Errorf("element %d is %v, expected %v", at, got, exp)
		}
	}
	return nil
}

// Write stores a number as element i of a buffer.
func Write(p unsafe.Pointer, i int, d *uop.DType, v float64) {
	at := unsafe.Add(p, i*d.Itemsize())
	switch d {
	case uop.Float64:
		*(*float64)(at) = v
	case uop.Float32:
		*(*float32)(at) = float32(v)
	case uop.Float16:
		*(*uint16)(at) = uop.FloatToHalf(v)
	case uop.BFloat16:
		*(*uint16)(at) = uop.FloatToBF16(v)
	case uop.Int64:
		*(*int64)(at) = int64(v)
	case uop.Uint64:
		*(*uint64)(at) = uint64(v)
	case uop.Int32, uop.Uint32:
		*(*int32)(at) = int32(int64(v))
	case uop.Int16, uop.Uint16:
		*(*int16)(at) = int16(int64(v))
	default:
		*(*int8)(at) = int8(int64(v))
	}
}

// Read is element i of a buffer as a number.
func Read(p unsafe.Pointer, i int, d *uop.DType) float64 {
	at := unsafe.Add(p, i*d.Itemsize())
	switch d {
	case uop.Float64:
		return *(*float64)(at)
	case uop.Float32:
		return float64(*(*float32)(at))
	case uop.Float16:
		return float64(uop.HalfToFloat(*(*uint16)(at)))
	case uop.BFloat16:
		return float64(uop.BF16ToFloat(*(*uint16)(at)))
	case uop.Int64:
		return float64(*(*int64)(at))
	case uop.Uint64:
		return float64(*(*uint64)(at))
	case uop.Int32:
		return float64(*(*int32)(at))
	case uop.Uint32:
		return float64(*(*uint32)(at))
	case uop.Int16:
		return float64(*(*int16)(at))
	case uop.Uint16:
		return float64(*(*uint16)(at))
	case uop.Int8:
		return float64(*(*int8)(at))
	}
	return float64(*(*uint8)(at))
}
