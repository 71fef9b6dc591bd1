package schedule

import (
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// A loop over elements leaves out those that keep their values: the elements up to the number of the iteration, or from there on.
func TestWithoutUnchanged(t *testing.T) {
	const n = 8
	g := symbolic.NewGraph()
	param := func(i int) *uop.UOp {
		return g.New(uop.Param, uop.Float32.Ptr(n, uop.Global), nil, uop.Num(i), nil)
	}
	x, y := param(0), param(1)
	r, j := g.Range(uop.N(n), uop.AxisLoop, 0), g.Variable("j", uop.Int(0), uop.Int(n-1), uop.Int32)
	long := g.Variable("j", uop.Int(0), uop.Int(n), uop.Int32)
	later := func(v *uop.UOp) *uop.UOp { return v.Lt(r.Cast(uop.Int32)) }
	for _, c := range []struct {
		name      string
		condition *uop.UOp
		otherwise *uop.UOp
		across    loopsAcross
		shorter   bool
	}{
		{"later elements", later(j), x.IndexBy(r), nil, true},
		{"earlier elements", r.Cast(uop.Int32).Lt(j), x.IndexBy(r), nil, true},
		{"elements of a reversed loop", j.Neg().AddInt(n - 1).Lt(r.Cast(uop.Int32)), x.IndexBy(r), nil, true},
		{"elements that are computed", y.IndexBy(j.Cast(uop.IndexT)).Cast(uop.Int32).Lt(r.Cast(uop.Int32)), x.IndexBy(r), nil, false},
		{"more iterations than elements", later(long), x.IndexBy(r), nil, false},
		{"elements of another state", later(j), y.IndexBy(r), nil, false},
		{"a batch", later(j), x.IndexBy(r), loopsAcross{r: nil}, false},
		{"numbers that are 0 or 1", j.Cast(uop.Bool).Lt(r.Cast(uop.Bool)), x.IndexBy(r), nil, false},
	} {
		kernel := g.Sink(nil, x.IndexPtr(r).Store(c.condition.Where(y.IndexBy(r), c.otherwise)).EndRanges(r))
		end := withoutUnchanged(kernel, "j", c.across).Src[0]
		length := end.Src[1].Src[0]
		if shorter := length.Op != uop.ConstOp; shorter != c.shorter {
			t.Errorf("%s: a shorter loop is %v, expected %v:\n%s", c.name, shorter, c.shorter, end.Dump())
		}
		if lo, hi := length.Bounds(); c.shorter && (lo != uop.Int(0) || hi != uop.Int(n-1) || end.Find(func(u *uop.UOp) bool { return u.Op == uop.Where }) != nil) {
			t.Errorf("%s: %s to %s elements, or a choice of them:\n%s", c.name, lo, hi, end.Dump())
		}
	}
}

// A conjunction leaves out rows and columns, and a sum the terms that are 0, for comparisons in either direction.
func TestShorterSumsAndConjunctions(t *testing.T) {
	const n = 16
	g := symbolic.NewGraph()
	param := func(i int) *uop.UOp { return g.New(uop.Param, uop.Float32.Ptr(n*n, uop.Global), nil, uop.Num(i), nil) }
	x, y := param(0), param(1)
	zero := g.Const(uop.Float32, uop.Float(0))
	j := g.Variable("j", uop.Int(0), uop.Int(n-1), uop.Int32)
	from := j.Idiv(g.Const(uop.Int32, uop.Int(8))).MulInt(8)
	lengths := func(kernel *uop.UOp) (out []*uop.UOp) {
		for _, u := range withoutUnchanged(kernel, "j", nil).Toposort() {
			if u.Op == uop.Range {
				out = append(out, u.Src[0])
			}
			if u.Op == uop.Where {
				t.Errorf("a choice is left:\n%s", kernel.Dump())
			}
		}
		return out
	}
	r, c := g.Range(uop.N(n), uop.AxisLoop, 0), g.Range(uop.N(n), uop.AxisLoop, 1)
	at := r.MulInt(n).Add(c)
	notBefore := func(r *uop.UOp) *uop.UOp { return r.Cast(uop.Int32).Lt(from).Not() }
	both := notBefore(r).And(notBefore(c)).Where(y.IndexBy(at), x.IndexBy(at))
	k := g.Range(uop.N(n), uop.AxisReduceT, 1)
	term := y.IndexBy(r.MulInt(n).Add(k))
	sum := func(v *uop.UOp) *uop.UOp { return x.IndexPtr(r).Store(v.ReduceOver(uop.Add, k)).EndRanges(r) }
	for _, test := range []struct {
		name   string
		kernel *uop.UOp
		loops  int
	}{
		{"rows and columns", x.IndexPtr(at).Store(both).EndRanges(r, c), 2},
		{"terms from a position on", sum(notBefore(k).Where(term, zero)), 1},
		{"0 before a position", sum(k.Cast(uop.Int32).Lt(from).Where(zero, term)), 1},
	} {
		shorter := 0
		for _, length := range lengths(g.Sink(nil, test.kernel)) {
			if lo, hi := length.Bounds(); length.Op != uop.ConstOp && lo == uop.Int(n-8) && hi == uop.Int(n) {
				shorter++
			}
		}
		if shorter != test.loops {
			t.Errorf("%s: %d loops of 8 to 16 iterations, expected %d", test.name, shorter, test.loops)
		}
	}
	// A loop of two sums stays, also where the other loop of one of them is its own.
	own := g.Range(uop.N(n), uop.AxisReduceT, 2)
	both = notBefore(k).Where(term.Mul(y.IndexBy(own)), zero).ReduceOver(uop.Add, k, own).Add(term.ReduceOver(uop.Add, k))
	if shared := g.Sink(nil, x.IndexPtr(r).Store(both).EndRanges(r)); withoutUnchanged(shared, "j", nil) != shared {
		t.Error("a loop of two sums is shorter in one of them")
	}
	maximum := g.Sink(nil, x.IndexPtr(r).Store(notBefore(k).Where(term, zero).ReduceOver(uop.Max, k)).EndRanges(r))
	if withoutUnchanged(maximum, "j", nil) != maximum {
		t.Error("a maximum leaves out terms that are 0")
	}
}

// The kernels of a loop get shorter loops; a kernel outside of the loop does not, nor do kernels of a device without such loops.
func TestShortened(t *testing.T) {
	const n = 8
	g := symbolic.NewGraph()
	x, y := g.New(uop.Param, uop.Float32.Ptr(n, uop.Global), nil, uop.Num(0), nil), g.New(uop.Param, uop.Float32.Ptr(n, uop.Global), nil, uop.Num(1), nil)
	r, j := g.Range(uop.N(n), uop.AxisLoop, 0), g.Variable("j", uop.Int(0), uop.Int(n-1), uop.Int32)
	kernel := g.Sink(nil, x.IndexPtr(r).Store(j.Lt(r.Cast(uop.Int32)).Where(y.IndexBy(r), x.IndexBy(r))).EndRanges(r))
	for _, merge := range []bool{false, true} {
		s := &Schedule{Kernels: []Kernel{{AST: kernel}, {AST: kernel}, {AST: kernel}}, Loops: []Loop{{First: 1, Last: 3, Variable: j.Arg.(uop.VarArg), Count: n, While: -1}}}
		(&repeatScheduler{s: s, merge: merge}).shortened(0)
		for i, k := range s.Kernels {
			if shorter := k.AST != kernel; shorter != (merge && i > 0) {
				t.Errorf("merge %v, kernel %d: a shorter loop is %v", merge, i, shorter)
			}
		}
	}
}

// A loop of zero or one iterations would count as one iteration: the WHERE stays for elements below a variable of 0 or 1, and behind n-2 or n-1.
func TestShortenedToOne(t *testing.T) {
	const n = 8
	g := symbolic.NewGraph()
	x, y := g.New(uop.Param, uop.Float32.Ptr(n, uop.Global), nil, uop.Num(0), nil), g.New(uop.Param, uop.Float32.Ptr(n, uop.Global), nil, uop.Num(1), nil)
	r, j := g.Range(uop.N(n), uop.AxisLoop, 0), g.Variable("j", uop.Int(0), uop.Int(1), uop.Int32)
	row := r.Cast(uop.Int32)
	for _, chosen := range []*uop.UOp{row.Lt(j), j.AddInt(n - 2).Lt(row)} {
		kernel := g.Sink(nil, x.IndexPtr(r).Store(chosen.Where(y.IndexBy(r), x.IndexBy(r))).EndRanges(r))
		if short := withoutUnchanged(kernel, "j", nil); short != kernel {
			t.Errorf("a loop that may not run at all became one of one iteration:\n%s", short.Dump())
		}
	}
}

// A batch that is computed side by side may have one element each of a small state, such as a pivot, if another state has enough for vectors.
func TestBatches(t *testing.T) {
	const batch = 20
	g := symbolic.NewGraph()
	param := func(i int) *uop.UOp {
		return g.New(uop.Param, uop.Float32.Ptr(batch*64, uop.Global), nil, uop.Num(i), nil)
	}
	rows, pivot := param(0), param(1)
	for _, c := range []struct {
		name  string
		width int64
		want  int64
	}{{"rows and a pivot", 64, batch}, {"too few elements for vectors", 3, 1}} {
		b, r := g.Range(uop.N(batch), uop.AxisLoop, 0), g.Range(uop.N(c.width), uop.AxisLoop, 1)
		at := b.MulInt(c.width).Add(r)
		kernels := []Kernel{
			{AST: g.Sink(nil, pivot.IndexPtr(b).Store(rows.IndexBy(b.MulInt(c.width))).EndRanges(b)), Bufs: []int{0, 1}},
			{AST: g.Sink(nil, rows.IndexPtr(at).Store(rows.IndexBy(at).Mul(pivot.IndexBy(b))).EndRanges(b, r)), Bufs: []int{0, 1}},
		}
		if got, _ := (&Schedule{}).batchOf(kernels, map[int]bool{0: true, 1: true}); got != c.want {
			t.Errorf("%s: a batch of %d, expected %d", c.name, got, c.want)
		}
	}
}
