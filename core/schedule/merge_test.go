package schedule

import (
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// A loop over elements, of which those up to the number of the iteration, or from there on, keep their values, leaves them out.
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

// Each kernel of a loop of several is shorter, one beside it is not, nor one of a device without such loops.
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

// A loop of at most one iteration counts as one of one: elements below a variable of 0 or 1 are still chosen, and those behind n-2 or n-1.
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
