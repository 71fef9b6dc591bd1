package ir

import "testing"

// copies is a kernel that copies 16 elements in each of n iterations; it reads them with a stride.
func copies(n func(b *Builder) *Value, stride int64) *Kernel {
	b := NewBuilder("copy", 16)
	b.Kernel.Items = 40
	from, to := &Buffer{ID: 1, Kind: F32, Size: 1 << 14}, &Buffer{ID: 2, Kind: F32, Size: 1 << 14}
	b.Loop("rows", n(b), func(l *Loop) {
		at := []Term{{l.Iter, 16}}
		b.Store(&Place{Buf: to, Terms: at, Stride: 1}, b.Load(&Place{Buf: from, Terms: at, Stride: stride}, 16, nil))
	})
	return b.Kernel
}

func TestCycles(t *testing.T) {
	count := func(n int64) func(b *Builder) *Value { return func(b *Builder) *Value { return b.Int(I64, n) } }
	cycles := func(k *Kernel) (all, lanes float64) {
		all, lanes, ok := k.Cycles(&AVX512)
		if !ok {
			t.Errorf("%s: iterations are not counted", k.Name)
		}
		return all, lanes
	}
	near, none := cycles(copies(count(100), 1))
	far, lanes := cycles(copies(count(100), 5))
	if none != 0 || lanes < 100*16 || far < near+lanes*0.9 {
		t.Errorf("neighbours take %g cycles, %g of them for lanes; elements that lie apart %g and %g", near, none, far, lanes)
	}
	if twice, _ := cycles(copies(count(200), 1)); twice < 1.9*near || twice > 2*near {
		t.Errorf("100 iterations take %g cycles, 200 %g", near, twice)
	}
	items := func(b *Builder) *Value { return b.Do(Sub, I64, b.New(Items, I64, 1, 0), b.Int(I64, 2)) }
	some, _ := cycles(copies(items, 1))
	if same, _ := cycles(copies(count(38), 1)); some < same || some > same+1 {
		t.Errorf("38 iterations take %g cycles, those of two items less than 40 %g", same, some)
	}
	given := func(b *Builder) *Value { return b.New(Var, I64, 1, 0) }
	if _, _, ok := copies(given, 1).Cycles(&AVX512); ok {
		t.Error("the iterations of a loop that an argument counts are counted")
	}
}
