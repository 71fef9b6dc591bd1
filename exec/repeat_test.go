package exec

import (
	"slices"
	"testing"
	"unsafe"

	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/uop"
)

// source is the i-th source of a REPEAT in its body.
func (b *bench) source(i, n int64) *uop.UOp {
	return b.g.New(uop.Param, uop.Float32, []*uop.UOp{b.g.ShapeArg(uop.ShapeOf(n)), b.g.DeviceOp("CPU")}, uop.Num(i), nil)
}

// bound is a buffer whose memory is that of a slice.
func (b *bench) bound(x []float32) *uop.UOp {
	u := b.g.NewBuffer("CPU", int64(len(x)), uop.Float32)
	b.b = append(b.b, Binding{u, unsafe.Pointer(unsafe.SliceData(x)), int64(len(x) * 4), nil})
	return u
}

// Writes of one statement see what was there before it, those of the next one what it wrote. What a loop changes is a copy.
func TestRepeatStatements(t *testing.T) {
	b := newBench(t)
	u, v := b.floats(0, 1), b.floats(1, 2)
	p, q := b.source(0, 2), b.source(1, 2)
	first, second := p.Store(q), q.Store(p.Add(q))
	for _, c := range []struct {
		statements []*uop.UOp
		want       []float32
	}{
		{[]*uop.UOp{b.g.Sink(nil, first, second)}, []float32{8 + 0, 21 + 1}}, // Fibonacci's numbers
		{[]*uop.UOp{b.g.Sink(nil, first), b.g.Sink(nil, second)}, []float32{32 + 0, 64 + 1}},
	} {
		r := b.g.RepeatOn(uop.RepeatArg{Variable: "step", Count: 6, States: 2}, c.statements, []*uop.UOp{u, v}, nil)
		got := make([]float32, 2)
		dst := b.bound(got)
		b.run(dst.Store(r[0].Add(u)))
		b.expect(got, c.want...)
	}
}

// A loop that changes nothing.
func TestRepeatNothing(t *testing.T) {
	b := newBench(t)
	p := b.source(0, 2)
	body := b.g.Sink(nil, p.AssignTo(p.Alu(uop.Max, p)))
	r := b.g.RepeatOn(uop.RepeatArg{Variable: "step", Count: 3, States: 1}, []*uop.UOp{body}, []*uop.UOp{b.floats(1, 2)}, nil)
	x := make([]float32, 2)
	b.run(b.bound(x).Store(r[0]))
	b.expect(x, 1, 2)
}

// Two states that are exchanged.
func TestRepeatExchange(t *testing.T) {
	b := newBench(t)
	p, q := b.source(0, 2), b.source(1, 2)
	exchange := b.g.Sink(nil, p.Store(q), q.Store(p))
	r := b.g.RepeatOn(uop.RepeatArg{Variable: "step", Count: 3, States: 2}, []*uop.UOp{exchange}, []*uop.UOp{b.floats(1, 2), b.floats(3, 4)}, nil)
	x, y := make([]float32, 2), make([]float32, 2)
	b.run(b.bound(x).Store(r[0]), b.bound(y).Store(r[1]))
	b.expect(x, 3, 4)
	b.expect(y, 1, 2)
}

// A loop in a loop, both with their variable in offsets of views: y[i] = x[0] + … + x[i], of values that are needed after it, too.
func TestRepeatNested(t *testing.T) {
	const n = 5
	b := newBench(t)
	variable := func(name string) uop.Sint {
		return uop.S(b.g.Variable(name, uop.Int(0), uop.Int(n-1), uop.IndexT))
	}
	at := func(x *uop.UOp, i uop.Sint) *uop.UOp { return x.Shrink([]uop.Pair{{Lo: i, Hi: i.Add(uop.N(1))}}) }
	i, j := variable("outer"), variable("inner")
	total := b.source(0, 1)
	add := b.g.Sink(nil, total.AssignTo(total.Add(at(b.source(1, n), j).Mul(at(b.source(2, n), j)))))
	window := b.source(2, 2*n).Shrink([]uop.Pair{{Lo: uop.N(n - 1).Sub(i), Hi: uop.N(2*n - 1).Sub(i)}})
	zero := b.g.DeviceConst(uop.Float32, uop.Float(0), "CPU", uop.Shape{}).Reshape(uop.ShapeOf(1))
	inner := b.g.RepeatOn(uop.RepeatArg{Variable: "inner", Count: n, States: 1}, []*uop.UOp{add}, []*uop.UOp{zero}, []*uop.UOp{b.source(1, n), window})
	body := b.g.Sink(nil, at(b.source(0, n), i).AssignTo(inner[0]))
	x := b.floats(1, 2, 3, 4, 5)
	squares := x.Mul(x).ContiguousOp()
	chosen := b.floats(1, 1, 1, 1, 1, 0, 0, 0, 0, 0)
	r := b.g.RepeatOn(uop.RepeatArg{Variable: "outer", Count: n, States: 1}, []*uop.UOp{body}, []*uop.UOp{x}, []*uop.UOp{squares, chosen})
	got := make([]float32, n)
	dst := b.bound(got)
	b.run(dst.Store(r[0].Add(squares)))
	b.expect(got, 1+1, 5+4, 14+9, 30+16, 55+25)
	// An ASSIGN takes effect after the loop that reads its target.
	b.run(x.AssignTo(r[0]))
	b.run(dst.Store(x))
	b.expect(got, 1, 5, 14, 30, 55)
}

// ASSIGNs of one statement see what was there before it even where each reads what another one changes.
func TestRepeatCircle(t *testing.T) {
	b := newBench(t)
	p, q, o := b.source(0, 2), b.source(1, 2), b.source(2, 2)
	for _, c := range []struct {
		writes []*uop.UOp
		want   [3][]float32
	}{
		{[]*uop.UOp{p.AssignTo(q), q.AssignTo(p)}, [3][]float32{{3, 4}, {1, 2}, {5, 6}}},
		{[]*uop.UOp{p.AssignTo(p.Add(q)), q.AssignTo(p)}, [3][]float32{{9, 14}, {5, 8}, {5, 6}}},
		{[]*uop.UOp{p.AssignTo(p.Add(q).Add(o)), q.AssignTo(p.Add(q)), o.AssignTo(p.Add(o))}, [3][]float32{{47, 64}, {32, 44}, {34, 46}}},
	} {
		states := []*uop.UOp{b.floats(1, 2), b.floats(3, 4), b.floats(5, 6)}
		r := b.g.RepeatOn(uop.RepeatArg{Variable: "step", Count: 3, States: 3}, []*uop.UOp{b.g.Sink(nil, c.writes...)}, states, nil)
		for i, want := range c.want {
			got := make([]float32, 2)
			b.run(b.bound(got).Store(r[i]))
			b.expect(got, want...)
		}
	}
}

// A batch of loops whose steps need loops over elements: those of a batch are computed one after the other, by one kernel, unless a
// step reads elements of another one of the batch.
func TestRepeatBatch(t *testing.T) {
	const batch, rows, lanes, count = 4, 12, 16, 5
	for _, c := range []struct {
		name string
		view func(x *uop.UOp) *uop.UOp
		of   func(i int) int
	}{
		{"own elements", func(x *uop.UOp) *uop.UOp { return x }, func(i int) int { return i }},
		{"elements of the last one first", func(x *uop.UOp) *uop.UOp { return x.Flip([]bool{true, false, false}) }, func(i int) int { return batch - 1 - i }},
		{"elements of the first three in turn", func(x *uop.UOp) *uop.UOp { // the first two are their own
			three := uop.ShapeOf(3, rows, lanes)
			x = x.Shrink([]uop.Pair{{Hi: three[0]}, {Hi: three[1]}, {Hi: three[2]}}).Reshape(uop.ShapeOf(1, 3, rows, lanes)).Expand(uop.ShapeOf(2, 3, rows, lanes))
			return x.Reshape(uop.ShapeOf(6, rows, lanes)).Shrink([]uop.Pair{{Hi: uop.N(batch)}, {Hi: three[1]}, {Hi: three[2]}})
		}, func(i int) int { return i % 3 }},
	} {
		b := newBench(t)
		s := uop.ShapeOf(batch, rows, lanes)
		p, q := b.source(0, batch*rows*lanes), b.source(1, batch*rows*lanes)
		i := uop.S(b.g.Variable("step", uop.Int(0), uop.Int(count-1), uop.IndexT))
		row := p.Reshape(s).Shrink([]uop.Pair{{Hi: uop.N(batch)}, {Lo: i, Hi: i.Add(uop.N(1))}, {Hi: uop.N(lanes)}}).Expand(s)
		row = c.view(row)
		statements := []*uop.UOp{b.g.Sink(nil, q.Reshape(s).AssignTo(row)), b.g.Sink(nil, p.Reshape(s).AssignTo(p.Reshape(s).Add(q.Reshape(s))))}
		x, want := make([]float32, batch*rows*lanes), make([]float32, batch*rows*lanes)
		for k := range x {
			x[k] = float32(k * 7 % 11)
			want[k] = x[k]
		}
		for step := range count {
			before := slices.Clone(want)
			for k := range want {
				want[k] += before[(c.of(k/(rows*lanes))*rows+step)*lanes+k%lanes]
			}
		}
		first := b.bound(x)
		r := b.g.RepeatOn(uop.RepeatArg{Variable: "step", Count: count, States: 2}, statements, []*uop.UOp{first, first.Mul(first)}, nil)
		got := make([]float32, len(x))
		to := b.bound(got)
		b.run(to.Store(r[0]))
		b.expect(got, want...)
		o := fuse.For(fuse.Machine{Lanes: 16, Threads: 1, L1: 1 << 15, L2: 1 << 20, L3: 1 << 25})
		scheduled, _, err := portable("test", b.g.Sink(nil, to.Store(r[0])), &o)
		if err != nil {
			t.Fatal(err)
		}
		blocks := slices.ContainsFunc(scheduled.Kernels, func(k schedule.Kernel) bool {
			outer := k.AST.Src[0].EndedRanges()
			inOrder := k.AST.Find(func(u *uop.UOp) bool { return u.Op == uop.Range && u.RangeID().Type == uop.AxisPrefix }) != nil
			return inOrder && len(outer) == 1 && outer[0].RangeID().Type == uop.AxisLoop && outer[0].Src[0].IsConst(uop.Int(batch))
		})
		if blocks != (c.name == "own elements") {
			t.Errorf("%s: a kernel goes through the loops of a batch one after the other: %v", c.name, blocks)
		}
	}
}
