package fuse

import (
	"slices"
	"strings"
	"testing"

	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// until runs the passes before one of them, on sums of rows and what is made of them.
func until(t *testing.T, pass string) *fuser {
	t.Helper()
	g := symbolic.NewGraph()
	in := func(dims ...int64) *uop.UOp {
		s := uop.ShapeOf(dims...)
		return g.NewBuffer("CPU", s.MaxNumel(), uop.Float32).Reshape(s)
	}
	x := in(64, 32)
	sums := x.ReduceAxes(uop.Add, 0).ContiguousOp()
	root, _, _, err := schedule.Normalize(symbolic.NewGraph(), g.Sink(nil, in(64, 32).Base().Store(x.Mul(sums.Expand(x.Shape())).Mul(sums.ReduceAxes(uop.Max, 1).Expand(x.Shape())).Reshape(uop.ShapeOf(64*32)))))
	if err != nil {
		t.Fatal(err)
	}
	f := &fuser{root: root, o: For(Machine{Lanes: 16, Threads: 2, L1: 32 << 10, L2: 1 << 20, L3: 4 << 20})}
	for i := range Passes {
		if Passes[i].Name == pass {
			return f
		}
		f.current = Passes[i].Name
		if _, err := Passes[i].Do(f); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Every invariant holds for what the passes make, and sees what they might break.
func TestInvariantsSeeBrokenStates(t *testing.T) {
	var seen []string
	for _, c := range []struct {
		before     string
		invariants []invariant
		breaks     func(f *fuser)
		want       string
	}{
		{"store pads", tensorGraph, func(f *fuser) { f.root = f.root.Src[0] }, "the root is"},
		{"store pads", tensorGraph, func(f *fuser) { f.root = f.root.Graph().Sink(nil, slices.Concat(f.root.Src, f.root.Src)...) }, "of 2 sources"},
		{"producers", runnable, func(f *fuser) { f.groups[0].kernels = nil }, "a group of the kernels []"},
		{"producers", runnable, func(f *fuser) { f.groups[0].body, f.groups[0].kernel = nil, nil }, "neither a body nor a kernel"},
		{"producers", runnable, func(f *fuser) { f.groups[0].reads.add(9) }, "it reads"},
		{"producers", runnable, func(f *fuser) {
			b := *f.groups[0].body
			b.loops = nil
			f.groups[0].body = &b
		}, "in loops that the body does not have"},
		{"producers", runnable, func(f *fuser) { f.groups = append(f.groups, f.groups[0], groupOf(f.groups[0].body, []int{7})) }, "have the range"},
		{"producers", runnable, func(f *fuser) {
			g := f.groups[0]
			st := g.body.stores[0]
			load := st.at.Src[0].IndexBy(st.index().AddInt(1))
			b := &body{stores: []store{{st.slot, st.at, st.value.Add(load), st.loops}}, loops: g.body.loops}
			f.groups[0] = groupOf(b, g.kernels)
		}, "reads what other iterations write"},
		{"producers", runnable, func(f *fuser) { slices.Reverse(f.groups) }, "which nothing has written"},
		{"producers", runnable, func(f *fuser) {
			f.groups[0].kernels, f.groups[1].kernels = f.groups[1].kernels, f.groups[0].kernels
		}, "needs to run after"},
		{"producers", runnable, func(f *fuser) { f.groups = f.groups[:1] }, "which nothing writes"},
		{"place", emitted, func(f *fuser) { f.groups[0].kernel = nil }, "is no kernel"},
		{"place", emitted, func(f *fuser) { k := *f.groups[0].kernel; k.Bufs = append(k.Bufs, 0); f.groups[0].kernel = &k }, "is not in the kernel"},
		{"place", emitted, func(f *fuser) {
			k := *f.groups[0].kernel
			r := k.AST.Find(func(u *uop.UOp) bool { return u.Op == uop.Range })
			k.AST = replace(k.AST, map[*uop.UOp]*uop.UOp{r: numbered(r, 9)})
			f.groups[0].kernel = &k
		}, "none with the number"},
		{"", placed, func(f *fuser) { f.s.ArenaBytes = 0 }, "the arena at 0"},
		{"", placed, func(f *fuser) {
			k := &f.s.Kernels[0]
			for range 2 {
				k.Bufs = append(k.Bufs, len(f.s.Slots))
				f.s.Slots = append(f.s.Slots, schedule.Slot{DType: uop.Float32, Size: 1, Input: -1, Output: -1})
			}
		}, "overlap while both are alive"},
		{"", placed, func(f *fuser) {
			f.s.Slots, f.changed = append(f.s.Slots, schedule.Slot{DType: uop.Float32, Input: -1, Output: -1}), true
		}, "no kernel uses the temporary"},
	} {
		f := until(t, c.before)
		check := func() error {
			for _, i := range c.invariants {
				if err := i.Check(f); err != nil {
					seen = append(seen, i.Name)
					return err
				}
			}
			return nil
		}
		if err := check(); err != nil {
			t.Errorf("before pass %q: %v", c.before, err)
		}
		c.breaks(f)
		if err := check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, expected one with %q", err, c.want)
		}
	}
	for _, i := range slices.Concat(tensorGraph, runnable, emitted, placed) {
		if !slices.Contains(seen, i.Name) {
			t.Errorf("nothing breaks %q", i.Name)
		}
	}
}
