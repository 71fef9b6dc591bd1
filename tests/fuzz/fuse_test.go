package fuzz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"polygrad/core/schedule/fuse"
	"polygrad/core/settings"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	run "polygrad/exec"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
	"polygrad/tests/element"
	"polygrad/tests/guard"
)

// merging is a device for which kernels are merged, as freely as they can be.
type merging struct{ device.Device }

func (merging) Fusion() fuse.Options {
	return fuse.Options{RowBytes: 1 << 20, BlockBytes: 256, MinBlock: 1, MinRows: 1, SmallWork: 1 << 20, MaxBuffers: 32, MinScratch: 2, Machine: fuse.Machine{Lanes: 64}}
}

func mergers() []*run.Executor {
	return []*run.Executor{run.New(interp.New()), run.New(merging{interp.New()}), run.New(merging{wasm.New()})}
}

// TestMergedKernelsAgree compares programs whose kernels are merged with the interpreter on kernels as they are.
func TestMergedKernelsAgree(t *testing.T) {
	checkAll(t, mergers(), Generate, *seeds)
}

// attention is what rows of one matrix say of those of a second, in parts that add up to 1 or nearly so, times a third.
func attention(q, k, v *uop.UOp, shares bool) *uop.UOp {
	n, m := q.Shape()[0].N, q.Shape()[1].N
	spread := func(u *uop.UOp, axis int) *uop.UOp {
		shape := []int64{n, n, m}
		small := slices.Clone(shape)
		small[axis] = 1
		return u.Reshape(uop.ShapeOf(small...)).Expand(uop.ShapeOf(shape...))
	}
	scores := spread(q, 1).Mul(spread(k, 0)).ReduceAxes(uop.Add, 2).Reshape(uop.ShapeOf(n, n))
	e := scores.Sub(scores.ReduceAxes(uop.Max, 1).Expand(scores.Shape())).Exp2()
	if shares {
		e = e.Mul(e.ReduceAxes(uop.Add, 1).Recip().Expand(scores.Shape()))
	}
	parts := e.Reshape(uop.ShapeOf(n, n, 1)).Expand(uop.ShapeOf(n, n, m))
	return parts.Mul(spread(v, 0)).ReduceAxes(uop.Add, 1).Reshape(uop.ShapeOf(n, m))
}

// rows makes a random program of the kind that kernels are merged in: values of one size are combined element by element
// and with sums and maxima along their axes, some are assigned to their inputs.
func rows(g *uop.Graph, seed uint64) []*uop.UOp {
	r := rand.New(rand.NewPCG(seed, 0x726f7773))
	sizes := []int64{1, 2, 3, 8, 16, 24}
	dims := []int64{sizes[r.IntN(6)], sizes[r.IntN(6)], sizes[r.IntN(6)]}
	shapes := []uop.Shape{uop.ShapeOf(dims...), uop.ShapeOf(dims[0]*dims[1], dims[2]), uop.ShapeOf(dims[0], dims[1]*dims[2])}
	var stores, inputs, vals []*uop.UOp
	for range 1 + r.IntN(3) {
		b := g.NewBuffer("CPU", dims[0]*dims[1]*dims[2], uop.Float32)
		inputs = append(inputs, b)
		vals = append(vals, b)
	}
	pick := func(s uop.Shape) *uop.UOp { return vals[r.IntN(len(vals))].Reshape(s) }
	half := func(u *uop.UOp) *uop.UOp { return u.Mul(u.ConstLike(uop.Float(0.5))) }
	for range 3 + r.IntN(8) {
		s := shapes[r.IntN(len(shapes))]
		v := pick(s)
		switch r.IntN(8) {
		case 0:
			v = v.Sub(pick(s))
		case 1:
			v = half(v).Sin()
		case 2:
			v = v.Mul(v).Mul(v.ConstLike(uop.Float(-1))).Exp2()
		case 3, 4, 5:
			axis := r.IntN(len(s))
			n := s[axis].N
			red := v.ReduceAxes([]uop.Op{uop.Add, uop.Max}[r.IntN(2)], axis).Expand(s)
			v = half(pick(s).Add(red.Mul(red.ConstLike(uop.Float(1 / float64(n))))))
			if r.IntN(4) == 0 {
				vals = append(vals, half(red))
			}
		case 6:
			if t := inputs[r.IntN(len(inputs))]; r.IntN(2) == 0 {
				v = t.AssignTo(half(v).Reshape(t.Shape()))
				stores = append(stores, v)
			}
		case 7:
			if len(s) == 2 {
				v = half(attention(v, pick(s), pick(s), r.IntN(2) == 0))
			}
		}
		vals = append(vals, v.Reshape(uop.ShapeOf(dims[0]*dims[1]*dims[2])))
	}
	for _, v := range vals[max(len(inputs), len(vals)-3):] {
		b := g.NewBuffer("CPU", v.Size(), uop.Float32)
		stores = append(stores, b.Store(v))
	}
	return stores
}

// TestMergedRowsAgree is TestMergedKernelsAgree for programs with many kernels to merge.
func TestMergedRowsAgree(t *testing.T) {
	kernels := checkRows(t, append(mergers(), run.New(merging{newBounded(t)})), rows)
	t.Logf("%d kernels became %d", kernels[0], kernels[1])
	if kernels[1] >= kernels[0] {
		t.Errorf("%d kernels, %d before they were merged", kernels[1], kernels[0])
	}
}

// expanded makes sums over some axes of products whose factors, functions of inputs, are the same along some axes.
func expanded(g *uop.Graph, seed uint64) []*uop.UOp {
	r := rand.New(rand.NewPCG(seed, 0x65787061))
	sizes := []int64{1, 5, 20, 32}
	full := uop.ShapeOf(sizes[1+r.IntN(3)], sizes[r.IntN(4)], 32, sizes[1+r.IntN(3)])
	var v *uop.UOp
	for range 2 + r.IntN(2) {
		shape := slices.Clone(full)
		for i := range shape {
			if r.IntN(2) == 0 {
				shape[i] = uop.N(1)
			}
		}
		x := g.NewBuffer("CPU", shape.MaxNumel(), uop.Float32).Reshape(shape)
		if r.IntN(2) == 0 {
			x = x.Sin()
		}
		if x = x.Expand(full); v != nil {
			x = v.Mul(x)
		}
		v = x
	}
	var axes []int
	for i := range full {
		if r.IntN(2) == 0 {
			axes = append(axes, i)
		}
	}
	v = v.ReduceAxes(uop.Add, axes...)
	return []*uop.UOp{g.NewBuffer("CPU", v.Size(), uop.Float32).Store(v)}
}

// TestSumsOfExpandedFactorsAgree is TestMergedKernelsAgree for sums that factors are taken out of.
func TestSumsOfExpandedFactorsAgree(t *testing.T) { checkRows(t, mergers(), expanded) }

// checkRows compares the devices on programs that a generator makes. It counts the kernels of each.
func checkRows(t *testing.T, devs []*run.Executor, program func(g *uop.Graph, seed uint64) []*uop.UOp) (kernels []int) {
	t.Helper()
	t.Setenv(settings.Check.Name, "1")
	kernels = make([]int, len(devs))
	failed := 0
	for seed := range ofToday(t, *seeds, 1) {
		var want [][]float64
		for i, e := range devs {
			g := symbolic.NewGraph()
			got, n, err := runOnce(e, g.Sink(nil, program(g, seed)...))
			if err != nil {
				// Some ASSIGNs of a buffer that is read before and after are refused, and then by all.
				if i > 0 && want != nil {
					t.Errorf("seed %d: %s: %v", seed, e.Device().Name(), err)
				}
				continue
			}
			kernels[i] += n
			if i == 0 {
				want = got
			} else if err := differ(want, got); err != nil {
				t.Errorf("seed %d: %s: %v", seed, e.Device().Name(), err)
				failed++
			}
		}
		if failed >= *most {
			t.Fatal("too many failures")
		}
	}
	return kernels
}

// runOnce runs a request on numbers that depend on the buffers' places only.
func runOnce(e *run.Executor, sink *uop.UOp) (all [][]float64, kernels int, err error) {
	step, err := e.Compile(sink)
	if err != nil {
		return nil, 0, err
	}
	var binds []run.Binding
	var blocks []*guard.Block
	for i, b := range step.Buffers() {
		n := int64(b.Arg.(uop.Num))
		m, err := guard.New(int(4*n), guard.Side(i%2), 0)
		if err != nil {
			return nil, 0, err
		}
		defer m.Free()
		for j := range n {
			element.Put(m.Pointer(), j, uop.Float32, uop.Float(float64((int64(i)*7+j*13)%31)/16-1))
		}
		binds, blocks = append(binds, run.Binding{Buffer: b, Ptr: m.Pointer()}), append(blocks, m)
	}
	if err := step.Run(binds, nil); err != nil {
		return nil, 0, err
	}
	for i, m := range blocks {
		if err := m.Check(); err != nil {
			return nil, 0, fmt.Errorf("beside buffer %d: %w", i, err)
		}
	}
	for _, b := range binds {
		vals := make([]float64, b.Buffer.Arg.(uop.Num))
		for j := range vals {
			vals[j] = element.Get(b.Ptr, int64(j), uop.Float32).F()
		}
		all = append(all, vals)
	}
	return all, step.Kernels(), nil
}

func differ(want, got [][]float64) error {
	for i := range want {
		for j := range want[i] {
			if !element.Close(want[i][j], got[i][j], 1e-3) {
				return fmt.Errorf("buffer %d, element %d is %g, expected %g", i, j, got[i][j], want[i][j])
			}
		}
	}
	return nil
}
