package parity

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/rewrite"
	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec/interp"
	"polygrad/tests/element"
	"polygrad/tests/parity/dump"
)

// memory holds the buffers of one run, one per slot of the schedule.
type memory [][]byte

func (m memory) ptr(slot int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(m[slot])) }

// aligned is zeroed memory that starts at a multiple of 8 bytes.
func aligned(bytes int64) []byte {
	return unsafe.Slice((*byte)(element.Memory(uop.Uint8, bytes)), bytes)
}

// newMemory lays out the slots as the schedule planned: temporaries lie in one arena and may overlap.
func newMemory(s *schedule.Schedule) memory {
	m := make(memory, len(s.Slots))
	arena := aligned(s.ArenaBytes)
	for i, sl := range s.Slots {
		n := sl.Size * int64(sl.DType.Itemsize())
		if sl.Input < 0 && sl.Output < 0 {
			m[i] = arena[sl.Offset : sl.Offset+n]
		} else {
			m[i] = aligned(n)
		}
	}
	return m
}

// fill writes the inputs of the case into the buffers that the reference schedule names after them. What a COPY brings
// from elsewhere are inputs too, or the state of the random number generator.
func (m memory) fill(s *schedule.Schedule, ref *dump.Case) error {
	if len(s.Kernels) != len(ref.Schedule) {
		return fmt.Errorf("%d items in the schedule, tinygrad has %d", len(s.Kernels), len(ref.Schedule))
	}
	inputs := map[string]*dump.Input{}
	for i := range ref.Case.Inputs {
		inputs["in:"+ref.Case.Inputs[i].Name] = &ref.Case.Inputs[i]
	}
	filled := make([]bool, len(m))
	for i, item := range ref.Schedule {
		k := s.Kernels[i]
		if len(k.Bufs) != len(item.Bufs) || (item.Op == "COPY") != (k.AST.Op == uop.Copy) {
			return fmt.Errorf("item %d of the schedule is %s with %d buffers, tinygrad has %s with %d", i, k.AST.Op, len(k.Bufs), item.Op, len(item.Bufs))
		}
		for j, id := range item.Bufs {
			slot := k.Bufs[j]
			if item.Op == "COPY" && j == 1 && inputs[id] == nil {
				id = item.Bufs[0]
			}
			if filled[slot] || s.Slots[slot].Input < 0 {
				continue
			}
			filled[slot] = true
			switch in := inputs[id]; {
			case in != nil:
				v, err := in.Numbers()
				if err != nil {
					return err
				}
				for e, f := range v {
					element.Put(m.ptr(slot), int64(e), s.Slots[slot].DType, uop.Float(f))
				}
			case item.Op == "COPY":
				for e, f := range seeds(len(m[slot])/4, ref) {
					element.Put(m.ptr(slot), int64(e), s.Slots[slot].DType, uop.Float(f))
				}
			}
		}
	}
	return nil
}

// seeds is the state of tinygrad's random number generator after manual_seed(1337): the low word of the SHA-256 of four
// zero bytes with the seed, or, in one element, the count of numbers drawn so far.
func seeds(n int, ref *dump.Case) []float64 {
	if n == 1 {
		return []float64{drawn(ref.TensorGraph)}
	}
	sum := sha256.Sum256(make([]byte, 4))
	return []float64{float64(binary.BigEndian.Uint32(sum[28:])), 1337}
}

// drawn is how many random numbers a graph draws: the constant c in counter + c * -1, where the counter is copied.
func drawn(list []dump.Node) float64 {
	for _, n := range list {
		if n.Op != "ADD" || n.DType != "uint" || list[n.Src[0]].Op != "COPY" || list[n.Src[1]].Op != "MUL" {
			continue
		}
		c := list[list[n.Src[1]].Src[0]]
		for c.Op == "RESHAPE" || c.Op == "EXPAND" {
			c = list[c.Src[0]]
		}
		if c.Op == "CONST" {
			f, _ := strconv.ParseFloat(*c.Arg, 64)
			return f
		}
	}
	return 0
}

// evaluate runs the kernels of a schedule in the interpreter and reads its outputs.
func evaluate(s *schedule.Schedule, progs []*lower.Program, ref *dump.Case) ([]dump.Output, error) {
	m := newMemory(s)
	if err := m.fill(s, ref); err != nil {
		return nil, err
	}
	next := 0
	for i, k := range s.Kernels {
		if k.AST.Op == uop.Copy {
			copy(m[k.Bufs[0]], m[k.Bufs[1]])
			continue
		}
		if err := launch(progs[next], k, m, ref.VarVals); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		next++
	}
	outs := make([]dump.Output, len(s.Outputs))
	for i, o := range s.Outputs {
		v := &viewer{m, s, o.Slot, ref}
		a, err := v.read(o.Value)
		if err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		for e := range a.numel() {
			outs[i].Values = append(outs[i].Values, dump.Value(element.Get(unsafe.Pointer(unsafe.SliceData(a.data)), int64(e), a.dt)))
		}
	}
	return outs, nil
}

func launch(p *lower.Program, k schedule.Kernel, m memory, vars map[string]int64) error {
	code, err := interp.Compile(p.Name, p.Linear)
	if err != nil {
		return err
	}
	var bufs []unsafe.Pointer
	for _, g := range p.Globals {
		bufs = append(bufs, m.ptr(k.Bufs[g]))
	}
	var vals []int64
	for _, v := range p.Vars {
		if name := v.Arg.(uop.VarArg).Name; name != lower.ThreadVar {
			vals = append(vals, vars[name])
		}
	}
	return code.Run(bufs, vals)
}

// viewer reads an output: movement operations on a buffer.
type viewer struct {
	m    memory
	s    *schedule.Schedule
	slot int
	ref  *dump.Case
}

// array is a tensor in row-major order.
type array struct {
	dt    *uop.DType
	shape []int64
	data  []byte
}

func (a array) numel() int {
	n := int64(1)
	for _, d := range a.shape {
		n *= d
	}
	return int(n)
}

func (v *viewer) read(u *uop.UOp) (array, error) {
	shape, err := v.sizes(u.Shape())
	if err != nil {
		return array{}, err
	}
	a := array{u.DType, shape, nil}
	switch u.Op {
	case uop.ConstOp:
		a.data = aligned(int64(a.dt.Itemsize()))
		element.Put(unsafe.Pointer(unsafe.SliceData(a.data)), 0, a.dt, u.ConstVal())
		return a, nil
	case uop.Param, uop.Buffer:
		slot := v.slot
		for i, s := range v.s.Slots {
			if slot < 0 && u.Op == uop.Param && s.Input == int(u.Arg.(uop.Num)) {
				slot = i
			}
		}
		if slot < 0 {
			a.data, err = v.unused(u)
			return a, err
		}
		a.data = v.m[slot]
		return a, nil
	}
	if len(u.Src) == 0 {
		return a, fmt.Errorf("%s in a view", u)
	}
	in, err := v.read(u.Src[0])
	if err != nil {
		return a, err
	}
	if u.Op == uop.Reshape || u.Op == uop.Bitcast {
		a.data = in.data
		return a, nil
	}
	from, err := v.mover(u, in.shape)
	if err != nil {
		return a, err
	}
	size := a.dt.Itemsize()
	a.data = aligned(int64(a.numel() * size))
	at, source := make([]int64, len(shape)), make([]int64, len(in.shape))
	for e := range a.numel() {
		rest := int64(e)
		for d := len(shape) - 1; d >= 0; d-- {
			at[d], rest = rest%shape[d], rest/shape[d]
		}
		if !from(at, source) {
			continue
		}
		k := int64(0)
		for d, x := range source {
			k = k*in.shape[d] + x
		}
		copy(a.data[e*size:(e+1)*size], in.data[int(k)*size:])
	}
	return a, nil
}

// unused is an input that no kernel uses: the only one with as many elements as the buffer has.
func (v *viewer) unused(buf *uop.UOp) ([]byte, error) {
	var data []byte
	for i := range v.ref.Case.Inputs {
		in := &v.ref.Case.Inputs[i]
		used := slices.ContainsFunc(v.ref.Buffers, func(b dump.Buffer) bool { return b.ID == "in:"+in.Name })
		vals, err := in.Numbers()
		if err != nil {
			return nil, err
		}
		if used || int64(len(vals)) != buf.Size() {
			continue
		}
		if data != nil {
			return nil, fmt.Errorf("%s could be any of several inputs that no kernel uses", buf)
		}
		data = aligned(int64(len(vals) * buf.DType.Itemsize()))
		for e, f := range vals {
			element.Put(unsafe.Pointer(unsafe.SliceData(data)), int64(e), buf.DType, uop.Float(f))
		}
	}
	if data == nil {
		return nil, fmt.Errorf("%s is no input", buf)
	}
	return data, nil
}

// mover gives the place of an element in the source of a movement operation; false where it is padding.
func (v *viewer) mover(u *uop.UOp, in []int64) (func(at, source []int64) bool, error) {
	each := func(f func(d int, x int64) int64) func(at, source []int64) bool {
		return func(at, source []int64) bool {
			for d, x := range at {
				source[d] = f(d, x)
				if source[d] < 0 || source[d] >= in[d] {
					return false
				}
			}
			return true
		}
	}
	switch u.Op {
	case uop.Permute:
		order := u.Arg.(uop.Nums)
		return func(at, source []int64) bool {
			for d, o := range order {
				source[o] = at[d]
			}
			return true
		}, nil
	case uop.Expand:
		return each(func(d int, x int64) int64 { return min(x, in[d]-1) }), nil
	case uop.Flip:
		flags := u.Arg.(uop.Flags)
		return each(func(d int, x int64) int64 {
			if flags[d] {
				return in[d] - 1 - x
			}
			return x
		}), nil
	case uop.Pad, uop.Shrink:
		begins := make(uop.Shape, len(in))
		for d, p := range u.MovementPairs() {
			begins[d] = p.Lo
		}
		lo, err := v.sizes(begins)
		if err != nil {
			return nil, err
		}
		sign := int64(1)
		if u.Op == uop.Pad {
			sign = -1
		}
		return each(func(d int, x int64) int64 { return x + sign*lo[d] }), nil
	}
	return nil, fmt.Errorf("%s in a view", u)
}

// sizes gives symbolic sizes their values.
func (v *viewer) sizes(s uop.Shape) ([]int64, error) {
	out := make([]int64, len(s))
	for i, d := range s {
		if !d.Symbolic() {
			out[i] = d.N
			continue
		}
		m := rewrite.Map{}
		for _, u := range d.U.Toposort() {
			if u.Op == uop.DefineVar {
				m[u] = u.IntLike(v.ref.VarVals[u.Arg.(uop.VarArg).Name])
			} else if u.Op == uop.Bind {
				m[u] = u.Src[0]
			}
		}
		c := symbolic.Simplify(rewrite.Substitute(d.U, m))
		if c.Op != uop.ConstOp {
			return nil, fmt.Errorf("size %s has no value", d)
		}
		out[i] = c.ConstVal().I()
	}
	return out, nil
}
