package lower_test

import (
	"strings"
	"testing"

	"polygrad/core/lower"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

func vecadd(n int64) *uop.UOp {
	return elementwise(n, uop.Float32, []*uop.DType{uop.Float32, uop.Float32}, func(x ...*uop.UOp) *uop.UOp { return x[0].Add(x[1]) })
}

func opNames(list []*uop.UOp) string {
	names := make([]string, len(list))
	for i, u := range list {
		names[i] = u.Op.String()
	}
	return strings.Join(names, " ")
}

func TestLowerVecadd(t *testing.T) {
	plain := lower.Clang()
	plain.Optimize = false
	p, err := lower.Lower(vecadd(8), plain)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := opNames(p.Linear), "PARAM PARAM PARAM CONST RANGE INDEX LOAD INDEX LOAD INDEX ADD STORE END SINK"; got != want {
		t.Errorf("list is %s, expected %s", got, want)
	}
	if p.Threads != 1 || len(p.Vars) != 0 || len(p.Globals) != 3 || len(p.Outs) != 1 || p.Outs[0] != 0 || len(p.Ins) != 2 {
		t.Errorf("threads %d, vars %v, globals %v, outs %v, ins %v", p.Threads, p.Vars, p.Globals, p.Outs, p.Ins)
	}
}

func TestLowerSpreadsWorkOverThreads(t *testing.T) {
	target := lower.Clang()
	target.Threads = 2
	p, err := lower.Lower(vecadd(1<<20), target)
	if err != nil {
		t.Fatal(err)
	}
	if p.Threads != 2 || len(p.Vars) != 1 || p.Vars[0].Arg.(uop.VarArg).Name != lower.ThreadVar {
		t.Errorf("threads %d, vars %v, expected 2 threads with %s", p.Threads, p.Vars, lower.ThreadVar)
	}
}

func TestHooksSeeThePassesInOrder(t *testing.T) {
	for _, optimize := range []bool{false, true} {
		target := lower.Clang()
		target.Optimize = optimize
		var seen, want []string
		if _, err := lower.Lower(vecadd(8), target, func(pass string, sink *uop.UOp) { seen = append(seen, pass) }); err != nil {
			t.Fatal(err)
		}
		for _, p := range lower.Passes {
			if (p.Required || optimize) && (p.Needed == nil || p.Needed(target)) {
				want = append(want, p.Name)
			}
		}
		if strings.Join(seen, ",") != strings.Join(want, ",") {
			t.Errorf("passes %v, expected %v", seen, want)
		}
	}
}

func TestLowerRefusesWhatIsNoKernel(t *testing.T) {
	g := symbolic.NewGraph()
	for _, u := range []*uop.UOp{g.ConstInt(3), g.Sink(nil, g.ConstInt(3))} {
		if _, err := lower.Lower(u, lower.Clang()); err == nil || !strings.Contains(err.Error(), "expected a SINK") {
			t.Errorf("lowering %s: error %v, expected one that says that a SINK is needed", u, err)
		}
	}
}

func TestErrorsNameThePassAndTheKernel(t *testing.T) {
	// A range for groups of threads, which the target does not have.
	g := symbolic.NewGraph()
	r := g.Range(uop.N(8), uop.AxisLocal, 0)
	buf := g.New(uop.Param, uop.Float32.Ptr(8, uop.Global), nil, uop.Num(0), nil)
	ast := g.Sink(uop.KernelInfo{Name: "groups"}, buf.IndexPtr(r).Store(buf.IndexBy(r).Sqrt()).EndRanges(r))
	plain := lower.Clang()
	plain.Optimize = false
	_, err := lower.Lower(ast, plain)
	for _, part := range []string{"lower.Lower", "groups", "add gpudims", "LOCAL"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not name %q", err, part)
		}
	}
}

func TestLoweringDoesNotChangeTheGraphOfItsKernel(t *testing.T) {
	ast := vecadd(8)
	before, n := ast.Dump(), ast.Graph().Len()
	if _, err := lower.Lower(ast, lower.Clang()); err != nil {
		t.Fatal(err)
	}
	if ast.Dump() != before || ast.Graph().Len() != n {
		t.Error("lowering changed the graph that the kernel lives in")
	}
}

func TestGatedStoresAreBracketed(t *testing.T) {
	g := symbolic.NewGraph()
	r := g.Range(uop.N(8), uop.AxisLoop, 0)
	out := g.New(uop.Param, uop.Float32.Ptr(5, uop.Global), nil, uop.Num(0), nil)
	in := g.New(uop.Param, uop.Float32.Ptr(8, uop.Global), nil, uop.Num(1), nil)
	ast := g.Sink(uop.KernelInfo{Name: "first five"}, out.IndexPtr(r.Valid(r.LtInt(5))).Store(in.IndexBy(r)).EndRanges(r))
	p, err := lower.Lower(ast, lower.Clang())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(opNames(p.Linear), "IF STORE ENDIF") {
		t.Errorf("list is %s, expected IF STORE ENDIF in it", opNames(p.Linear))
	}
}

func TestKernelsOfOneGraphAreLoweredSideBySide(t *testing.T) {
	ast, target := vecadd(1<<12), lower.Clang()
	lists := make(chan string, 8)
	for range cap(lists) {
		go func() {
			p, err := lower.Lower(ast, target)
			if err != nil {
				lists <- err.Error()
				return
			}
			lists <- opNames(p.Linear)
		}()
	}
	first := <-lists
	for range cap(lists) - 1 {
		if l := <-lists; l != first {
			t.Errorf("list is %s, expected %s", l, first)
		}
	}
}
