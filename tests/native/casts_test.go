//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/tests/element"
	"polygrad/tests/guard"
)

// castable are numbers of a type whose value in another type is defined: of floats that become whole numbers only those
// that are in the range of the other type. Numbers of 8 bits are made by way of float32, in which very large ones are infinite.
func castable(r *rand.Rand, from, to *uop.DType, n int) []uop.Const {
	out := make([]uop.Const, 0, n)
	whole := from.IsFloat() && !to.IsFloat() && to != uop.Bool
	lo, hi := -math.Ldexp(1, to.Bits-1), math.Ldexp(1, to.Bits-1)
	if to.IsUnsigned() {
		lo, hi = -1, math.Ldexp(1, to.Bits)
	}
	for len(out) < n {
		bits := r.Uint64()
		switch {
		case from == uop.Bool:
			bits &= 1
		case from.Bits < 64:
			bits &= 1<<from.Bits - 1
		}
		c := uop.FromBits(from, bits)
		if r.IntN(2) == 0 { // of a size that occurs
			c = uop.FromBits(from, castTo(uop.Float(math.Ldexp(2*r.Float64()-1, r.IntN(70)-4)), from))
		}
		if from.Bits == 64 && !from.IsFloat() && r.IntN(4) == 0 { // near the middle between two of 24 bits
			shift := r.IntN(30) + 10
			c = uop.FromBits(from, (bits>>40|1)<<shift+uint64(r.IntN(5))-2)
		}
		if f := c.F(); whole && !(f > lo && f < hi && (to.Bits < 64 || math.Abs(f) < 0x1p63)) {
			continue
		}
		if f := math.Abs(c.F()); to.IsFloat() && to.Bits == 8 && f > math.MaxFloat32 && !math.IsInf(f, 0) {
			continue
		}
		out = append(out, c)
	}
	return out
}

func castTo(c uop.Const, dt *uop.DType) uint64 {
	if dt == uop.Bool {
		return uint64(truth(c.F() != 0))
	}
	if !dt.IsFloat() {
		c = uop.Int(int64(c.F()) & (1<<(dt.Bits-1) - 1))
	}
	return c.Bits(dt)
}

// TestCasts has every pair of types, all of whose numbers may come, and compares with the interpreter.
func TestCasts(t *testing.T) {
	reference := exec.New(interp.New())
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		r := rand.New(rand.NewPCG(8, 9))
		for _, from := range uop.Scalars {
			for _, to := range uop.Scalars {
				t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
					for place, n := range []int{1, 37, 64, 500} {
						values := castable(r, from, to, n)
						want, got := casted(t, reference, values, from, to, place), casted(t, e, values, from, to, place)
						for i := range want {
							if !want[i].Same(got[i]) && !(want[i].F() != want[i].F() && got[i].F() != got[i].F()) {
								t.Fatalf("%d elements: %s %s as %s is %s, expected %s", n, from, values[i], to, got[i], want[i])
							}
						}
					}
				})
			}
		}
	})
}

// casted computes numbers in another type.
func casted(t *testing.T, e *exec.Executor, values []uop.Const, from, to *uop.DType, place int) []uop.Const {
	t.Helper()
	n := len(values)
	in := guard.For(t, n*from.Itemsize(), guard.Side(place%2), 0)
	out := guard.For(t, n*to.Itemsize(), guard.Side(place/2%2), 0)
	for i, c := range values {
		element.Put(in, int64(i), from, c)
	}
	g := symbolic.NewGraph()
	x, y := g.NewBuffer("CPU", int64(n), from), g.NewBuffer("CPU", int64(n), to)
	v, err := tensor.Cast(x, to)
	if err == nil {
		err = e.Realize(g.Sink(nil, y.Store(v)), []exec.Binding{{Buffer: x, Ptr: in}, {Buffer: y, Ptr: out}}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := make([]uop.Const, n)
	for i := range got {
		got[i] = element.Get(unsafe.Pointer(out), int64(i), to)
	}
	return got
}
