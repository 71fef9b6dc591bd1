package tensor_test

import (
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// The tables of a transform are made once: the second one of a length builds its passes only.
func TestFourierTablesAreMadeOnce(t *testing.T) {
	for _, n := range []int64{64, 1000, 1009} {
		g := symbolic.NewGraph()
		var grown [2]int
		for i := range grown {
			before := g.Len()
			x := g.NewBuffer("CPU", n, uop.Float32)
			if _, err := tensor.FFT(x, 0, -1, tensor.NormBackward, false); err != nil {
				t.Fatal(err)
			}
			grown[i] = g.Len() - before
		}
		if grown[1] > grown[0]/2 {
			t.Errorf("length %d: the second transform added %d nodes, the first %d", n, grown[1], grown[0])
		}
	}
}
