package lower_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/uop"
	"polygrad/exec/interp"
	"polygrad/tests/parity/dump"
)

// memory makes the buffers of a kernel with small numbers in them, the same each time.
func memory(ast *uop.UOp) (bufs [][]byte, ptrs []unsafe.Pointer) {
	for _, u := range ast.Toposort() {
		if u.Op != uop.Param {
			continue
		}
		slot := int(u.Arg.(uop.Num))
		for len(bufs) <= slot {
			bufs = append(bufs, make([]byte, 8))
		}
		bufs[slot] = fill(u.DType.Base(), u.DType.Size, uint64(slot))
	}
	for _, b := range bufs {
		ptrs = append(ptrs, unsafe.Pointer(&b[0]))
	}
	return bufs, ptrs
}

func fill(dt *uop.DType, n int64, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n*int64(dt.Itemsize())+16)
	p := unsafe.Pointer(&b[0])
	for i := range n {
		switch dt {
		case uop.Float32:
			*(*float32)(unsafe.Add(p, 4*i)) = float32(r.Float64()*4 - 1)
		case uop.Float64:
			*(*float64)(unsafe.Add(p, 8*i)) = r.Float64()*4 - 1
		case uop.Float16:
			*(*uint16)(unsafe.Add(p, 2*i)) = uop.FloatToHalf(r.Float64()*4 - 1)
		case uop.BFloat16:
			*(*uint16)(unsafe.Add(p, 2*i)) = uop.FloatToBF16(r.Float64()*4 - 1)
		case uop.Bool:
			b[i] = byte(r.IntN(2))
		default:
			b[i*int64(dt.Itemsize())] = byte(r.IntN(7))
		}
	}
	return b
}

// closeTo compares two numbers of a type with the tolerance of a few roundings.
func closeTo(dt *uop.DType, a, b float64) bool {
	tol := map[*uop.DType]float64{uop.Float64: 1e-10, uop.Float32: 2e-4, uop.Float16: 2e-2, uop.BFloat16: 1e-1}[dt]
	return a == b || a != a && b != b || math.Abs(a-b) <= tol*max(1, math.Abs(a), math.Abs(b))
}

func number(dt *uop.DType, b []byte, i int64) float64 {
	p := unsafe.Pointer(&b[i*int64(dt.Itemsize())])
	switch dt {
	case uop.Float32:
		return float64(*(*float32)(p))
	case uop.Float64:
		return *(*float64)(p)
	case uop.Float16:
		return float64(uop.HalfToFloat(*(*uint16)(p)))
	case uop.BFloat16:
		return float64(uop.BF16ToFloat(*(*uint16)(p)))
	}
	v := 0.0
	for k := range dt.Itemsize() {
		v += float64(b[i*int64(dt.Itemsize())+int64(k)]) * math.Pow(256, float64(k))
	}
	return v
}

// run interprets a program on fresh memory, once for each thread.
func run(t *testing.T, where string, p *lower.Program) [][]byte {
	t.Helper()
	k, err := interp.Compile(p.Name, p.Linear)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	bufs, ptrs := memory(p.AST)
	for thread := range p.Threads {
		vars := make([]int64, len(p.Vars))
		for i, v := range p.Vars {
			if vars[i] = v.Vmax().I(); v.Arg.(uop.VarArg).Name == lower.ThreadVar {
				vars[i] = int64(thread)
			}
		}
		if err := k.Run(ptrs, vars); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
	}
	return bufs
}

// TestTargetsAgree runs every reference kernel as lowered for each target and compares the memory afterwards with that
// of the kernel that was lowered plainly.
func TestTargetsAgree(t *testing.T) {
	plain := lower.Clang()
	plain.Optimize, plain.Devectorize = false, 0
	threads := lower.Wasm()
	threads.Threads = 2
	bare := lower.Clang()
	bare.Missing = []*uop.DType{uop.Int64, uop.Uint64, uop.Float16, uop.BFloat16}
	// Every kernel goes to wasm and, in turn, to one of the others.
	wasm := lower.Wasm()
	others := []map[string]*lower.Target{
		{"wasm": wasm, "clang": lower.Clang()}, {"wasm": wasm, "wasm with threads": threads}, {"wasm": wasm, "bare": bare},
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
				ast, err := dump.Root(uop.NewScratch(), k.AST)
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
				if a, b := number(dt, want[slot], i), number(dt, got[slot], i); !closeTo(dt, a, b) {
					t.Errorf("%s for %s: buffer %d element %d is %v, expected %v", where, name, slot, i, b, a)
					break
				}
			}
		}
	}
}
