package lower_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/lower/opt"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec/interp"
	"polygrad/tests/element"
	"polygrad/tests/parity/dump"
)

// grouped is a target that runs kernels as small workgroups.
func grouped(optimize bool) *lower.Target {
	t := lower.Clang()
	t.Optimize, t.Groups = optimize, &opt.Groups{Shared: 4 << 10, Items: 64, Counts: [3]int64{9, 7, 1 << 20}, Sizes: [3]int64{32, 8, 4}}
	return t
}

// arguments are random buffers and variables for a kernel: equal ones for equal seeds.
type arguments struct {
	bufs  []unsafe.Pointer
	types []*uop.DType // pointers, with their sizes
	vars  map[string]int64
}

func newArguments(ast *uop.UOp, seed uint64) *arguments {
	a := &arguments{vars: map[string]int64{}}
	r := rand.New(rand.NewPCG(seed, 1))
	params := map[int]*uop.UOp{}
	for _, u := range ast.Toposort() {
		switch u.Op {
		case uop.Param:
			params[int(u.Arg.(uop.Num))] = u
		case uop.DefineVar:
			v := u.Arg.(uop.VarArg)
			a.vars[v.Name] = v.Min.I() + r.Int64N(v.Max.I()-v.Min.I()+1)
		}
	}
	for slot := range len(params) {
		dt := params[slot].DType
		mem := element.Memory(dt.Base(), dt.Size)
		for i := range dt.Size {
			v := uop.Int(r.Int64N(9))
			if dt.Base().IsFloat() {
				v = uop.Float(float64(r.Int64N(33)-16) / 8)
			}
			element.Put(mem, i, dt.Base(), v.Truncate(dt.Base()))
		}
		a.bufs, a.types = append(a.bufs, mem), append(a.types, dt)
	}
	return a
}

// run runs a lowered kernel.
func (a *arguments) run(t *testing.T, p *lower.Program) {
	t.Helper()
	k, err := interp.Compile(p.Name, p.Linear)
	if err != nil {
		t.Fatal(err)
	}
	var bufs []unsafe.Pointer
	var vars []int64
	for _, u := range p.Linear {
		switch u.Op {
		case uop.Param:
			bufs = append(bufs, a.bufs[u.Arg.(uop.Num)])
		case uop.DefineVar:
			vars = append(vars, a.vars[u.Arg.(uop.VarArg).Name])
		}
	}
	if err := k.Run(bufs, vars); err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
}

// same compares the buffers of two runs.
func (a *arguments) same(t *testing.T, want *arguments, name string) {
	t.Helper()
	for n, dt := range a.types {
		tol := map[*uop.DType]float64{uop.Float16: 1e-2, uop.BFloat16: 4e-2}[dt.Base()]
		for i := range dt.Size {
			got, want := element.Get(a.bufs[n], i, dt.Base()), element.Get(want.bufs[n], i, dt.Base())
			if !got.Same(want) && !(dt.Base().IsFloat() && element.Close(got.F(), want.F(), max(1e-4, tol))) {
				t.Fatalf("%s: buffer %d, element %d is %s, without workgroups %s", name, n, i, got, want)
			}
		}
	}
}

// Kernels of random programs mean the same in workgroups that random choices make.
func TestRandomWorkgroupsKeepMeaning(t *testing.T) {
	var kernels []json.RawMessage
	if err := dump.Read("testdata/random.json.gz", &kernels); err != nil {
		t.Fatal(err)
	}
	plain := lower.Clang()
	plain.Optimize = false
	choices := []uop.OptOp{uop.OptLocal, uop.OptLocal, uop.OptGroup, uop.OptGroupTop, uop.OptUpcast, uop.OptUnroll}
	used := map[uop.OptOp]int{}
	for n, k := range kernels {
		if n%3 > 0 || testing.Short() && n%9 > 0 {
			continue
		}
		var optimize bool
		var nodes, linear []dump.Node
		if err := json.Unmarshal(k, &[]any{&optimize, &nodes, &linear}); err != nil {
			t.Fatal(err)
		}
		ast, err := dump.Root(symbolic.NewGraph(), nodes)
		if err != nil {
			t.Fatal(err)
		}
		want := newArguments(ast, uint64(n))
		p, err := lower.Lower(ast, plain)
		if err != nil {
			t.Fatal(err)
		}
		want.run(t, p)
		r := rand.New(rand.NewPCG(uint64(n), 2))
		target := grouped(true)
		// What one choice does to the loops the next one sees, so each is tried on top of those that were taken.
		var taken []uop.Opt
		for range 6 {
			o := uop.Opt{Op: choices[r.IntN(len(choices))], Axis: r.IntN(3), Arg: []int{0, 2, 3, 4, 5, 8}[r.IntN(6)]}
			info := ast.Arg.(uop.KernelInfo)
			info.HasOpts, info.OptsToApply = true, append(slices.Clone(taken), o)
			if _, err := lower.Lower(ast.WithArg(info), target); err == nil {
				taken = append(taken, o)
			} else if !strings.Contains(err.Error(), "opt: the choice does not fit") {
				t.Fatalf("kernel %d with %v: %v", n, info.OptsToApply, err)
			}
		}
		info := ast.Arg.(uop.KernelInfo)
		info.HasOpts, info.OptsToApply = true, taken
		if p, err = lower.Lower(ast.WithArg(info), target); err != nil {
			t.Fatal(err)
		}
		got := newArguments(ast, uint64(n))
		got.run(t, p)
		got.same(t, want, p.Name)
		for _, o := range taken {
			used[o.Op]++
		}
	}
	for _, op := range choices {
		if used[op] == 0 {
			t.Errorf("no kernel took %s", op)
		}
	}
}

// rowSums is out[i] = sum of in[i, j] over j, for n rows: a number or a variable.
func rowSums(g *uop.Graph, n uop.Sint, width int64) *uop.UOp {
	rows, cols := g.Range(n, uop.AxisLoop, 0), g.Range(uop.N(width), uop.AxisReduceT, 1)
	param := func(slot, size int64) *uop.UOp {
		return g.New(uop.Param, uop.Float32.Ptr(size, uop.Global), nil, uop.Num(slot), nil)
	}
	in := param(1, n.Max()*width).IndexBy(rows.MulInt(width).Add(cols))
	out := param(0, n.Max()).IndexPtr(rows)
	return g.Sink(uop.KernelInfo{Name: "rows"}, out.Store(in.ReduceOver(uop.Add, cols)).EndRanges(rows))
}

// Numbers of rows that fit in no dimensions exactly, or that are known at launch only, are cut into dimensions all the
// same: what is too many stores nothing.
func TestLaunchesOfAnySize(t *testing.T) {
	for _, n := range []int64{1, 7, 64, 67, 251, 1009} {
		for _, known := range []bool{true, false} {
			g := symbolic.NewGraph()
			size := uop.N(n)
			if !known {
				size = uop.S(g.Variable("n", uop.Int(1), uop.Int(n+1), uop.IndexT))
			}
			ast := rowSums(g, size, 48)
			plain := lower.Clang()
			plain.Optimize = false
			p, err := lower.Lower(ast, plain)
			if err != nil {
				t.Fatal(err)
			}
			want, got := newArguments(ast, 1), newArguments(ast, 1)
			want.run(t, p)
			if p, err = lower.Lower(ast, grouped(true)); err != nil {
				t.Fatal(err)
			}
			if ops := opNames(p.Linear); !strings.Contains(ops, "BARRIER") || !strings.Contains(ops, "SPECIAL") {
				t.Errorf("%d rows: no work is shared in %s", n, ops)
			}
			got.run(t, p)
			got.same(t, want, p.Name)
		}
	}
}

// A launch that fits in no dimensions is refused, as is a barrier in a loop.
func TestLaunchErrors(t *testing.T) {
	many := symbolic.NewGraph()
	tooMany := rowSums(many, uop.N(1<<36), 1)
	g := symbolic.NewGraph()
	outer, inner := g.Range(uop.N(4), uop.AxisLoop, 0), g.Range(uop.N(8), uop.AxisGroupReduce, 1)
	in := g.New(uop.Param, uop.Float32.Ptr(32, uop.Global), nil, uop.Num(1), nil).IndexBy(outer.MulInt(8).Add(inner))
	out := g.New(uop.Param, uop.Float32.Ptr(4, uop.Global), nil, uop.Num(0), nil).IndexPtr(outer)
	looped := g.Sink(uop.KernelInfo{Name: "loop"}, out.Store(in.ReduceOver(uop.Add, inner)).EndRanges(outer))
	for _, c := range []struct {
		ast      *uop.UOp
		optimize bool
		want     string
	}{
		{tooMany, true, "do not fit in dimensions of [9 7 1048576]"},
		{looped, false, "a barrier stands in the loop"},
	} {
		if _, err := lower.Lower(c.ast, grouped(c.optimize)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, expected one with %q", err, c.want)
		}
	}
}
