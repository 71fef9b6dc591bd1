package lower_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec/interp"
	"polygrad/tests/element"
	"polygrad/tests/parity/dump"
)

// memory makes the buffers of a kernel with small numbers in them, the same each time.
func memory(ast *uop.UOp) []unsafe.Pointer {
	var bufs []unsafe.Pointer
	for _, u := range ast.Toposort() {
		if u.Op != uop.Param {
			continue
		}
		slot := int(u.Arg.(uop.Num))
		for len(bufs) <= slot {
			bufs = append(bufs, element.Memory(uop.Uint8, 0))
		}
		bufs[slot] = fill(u.DType.Base(), u.DType.Size, uint64(slot))
	}
	return bufs
}

func fill(dt *uop.DType, n int64, seed uint64) unsafe.Pointer {
	r := rand.New(rand.NewPCG(seed, 7))
	p := element.Memory(dt, n)
	for i := range n {
		c := uop.Int(r.Int64N(7))
		if dt.IsFloat() {
			c = uop.Float(r.Float64()*4 - 1)
		}
		element.Put(p, i, dt, c)
	}
	return p
}

// closeTo compares two numbers of a type with the tolerance of a few roundings.
func closeTo(dt *uop.DType, a, b uop.Const) bool {
	tol := map[*uop.DType]float64{uop.Float64: 1e-10, uop.Float32: 2e-4, uop.Float16: 2e-2, uop.BFloat16: 1e-1}[dt]
	return a.Same(b) || dt.IsFloat() && element.Close(a.F(), b.F(), tol)
}

// run interprets a program on fresh memory.
func run(t *testing.T, where string, p *lower.Program) []unsafe.Pointer {
	t.Helper()
	k, err := interp.Compile(p.Name, p.Linear)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	bufs := memory(p.AST)
	var vars []int64
	for _, v := range p.Vars {
		if v.Arg.(uop.VarArg).Name != lower.ThreadVar {
			vars = append(vars, v.Vmax().I())
		}
	}
	if err := k.Run(bufs, vars); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	return bufs
}

// TestTargetsAgree runs every reference kernel as lowered for each target and compares the memory afterwards with that
// of the kernel that was lowered plainly.
func TestTargetsAgree(t *testing.T) {
	plain := lower.Clang()
	plain.Optimize, plain.Devectorize = false, 0
	threads := lower.Clang()
	threads.Threads = 2
	bare := lower.Clang()
	bare.Missing = []*uop.DType{uop.Int64, uop.Uint64, uop.Float16, uop.BFloat16}
	// Every kernel goes to native and, in turn, to one of the others.
	native := lower.Native()
	others := []map[string]*lower.Target{
		{"native": native, "clang": lower.Clang()}, {"native": native, "clang with threads": threads}, {"native": native, "bare": bare},
	}
	kernels := 0
	for _, set := range []string{"golden", "cases", "opt"} {
		dir := filepath.Join("../../tests/parity/testdata", set)
		names, err := dump.Names(dir)
		if err != nil || len(names) == 0 {
			t.Fatalf("no cases in %s: %v", dir, err)
		}
		for _, name := range names {
			c, err := dump.ReadCase(filepath.Join(dir, name+".json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range c.Kernels {
				ast, err := dump.Root(symbolic.NewGraph(), k.AST)
				if err != nil {
					t.Fatal(err)
				}
				if kernels++; testing.Short() && kernels%7 != 0 || tooLarge(ast) {
					continue
				}
				compareTargets(t, set+"/"+name, ast, plain, others[kernels%3])
			}
		}
	}
	if kernels < 400 {
		t.Errorf("only %d kernels were compared", kernels)
	}
}

// tooLarge keeps kernels away that the interpreter would need long for.
func tooLarge(ast *uop.UOp) bool {
	work := 1.0
	for _, u := range ast.Toposort() {
		if u.Op == uop.Range {
			work *= u.Vmax().F() + 1
		}
	}
	return work > 8192
}

func compareTargets(t *testing.T, where string, ast *uop.UOp, plain *lower.Target, targets map[string]*lower.Target) {
	t.Helper()
	ref, err := lower.Lower(ast, plain)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	want := run(t, where, ref)
	double := ast.Find(func(u *uop.UOp) bool { return u.DType.Base() == uop.Float64 }) != nil
	for name, target := range targets {
		if double && !target.Supports(uop.Int64) {
			continue // the bits of a double are a long
		}
		p, err := lower.Lower(ast, target)
		if err != nil {
			t.Errorf("%s for %s: %v", where, name, err)
			continue
		}
		got := run(t, where+" for "+name, p)
		for _, u := range ast.Toposort() {
			if u.Op != uop.Param {
				continue
			}
			slot, dt := int(u.Arg.(uop.Num)), u.DType.Base()
			for i := range u.DType.Size {
				if a, b := element.Get(want[slot], i, dt), element.Get(got[slot], i, dt); !closeTo(dt, a, b) {
					t.Errorf("%s for %s: buffer %d element %d is %v, expected %v", where, name, slot, i, b, a)
					break
				}
			}
		}
	}
}
