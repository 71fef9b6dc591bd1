package exec_test

import (
	"fmt"
	"testing"
	"unsafe"

	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
	"polygrad/tests/devices/nested"
	"polygrad/tests/guard"
	"polygrad/tests/levels"
)

// TestPaddedLookup looks up rows of a table by numbers in memory and adds zeros around them: for these neither a row nor
// a number may be read, since both would lie beside their memory.
func TestPaddedLookup(t *testing.T) {
	for _, d := range append(levels.Native(t), wasm.New(), interp.New(), nested.New(ir.AVX2)) {
		for n := int64(1); n < 10; n++ {
			for place := range 2 {
				t.Run(fmt.Sprintf("%s/%d/%d", d.Name(), n, place), func(t *testing.T) {
					lookup(t, exec.New(d), n, place)
				})
			}
		}
	}
}

func lookup(t *testing.T, e *exec.Executor, n int64, place int) {
	const rows, width, above, below = 5, 3, 2, 4
	table, places := guard.Slice[float32](t, rows*width, place), guard.Slice[int32](t, int(n), place)
	for i := range table {
		table[i] = float32(i + 1)
	}
	for i := range places {
		places[i] = int32(3*i+4) % rows
	}
	out := guard.Slice[float32](t, int(n+above+below)*width, place)
	g := symbolic.NewGraph()
	x, at := g.NewBuffer("CPU", rows*width, uop.Float32), g.NewBuffer("CPU", n, uop.Int32)
	to := g.NewBuffer("CPU", int64(len(out)), uop.Float32)
	found := must(tensor.Embedding(x.Reshape(uop.ShapeOf(rows, width)), at))
	v := must(tensor.Pad(found, []uop.Pair{{Lo: uop.N(above), Hi: uop.N(below)}, {Lo: uop.N(0), Hi: uop.N(0)}}, uop.Int(0)))
	binds := []exec.Binding{
		{Buffer: x, Ptr: unsafe.Pointer(&table[0])}, {Buffer: at, Ptr: unsafe.Pointer(&places[0])}, {Buffer: to, Ptr: unsafe.Pointer(&out[0])},
	}
	if err := e.Realize(g.Sink(nil, to.Store(v.Reshape(uop.ShapeOf(int64(len(out)))))), binds, nil); err != nil {
		t.Fatal(err)
	}
	for i, got := range out {
		want := float32(0)
		if row := int64(i/width) - above; row >= 0 && row < n {
			want = table[int(places[row])*width+i%width]
		}
		if got != want {
			t.Fatalf("element %d is %v, expected %v", i, got, want)
		}
	}
}
