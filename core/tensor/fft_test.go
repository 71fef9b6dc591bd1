package tensor_test

import (
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// The passes of a transform by butterflies are made when it is scheduled: until then it is a few nodes.
func TestFourierTransformsAreFewNodes(t *testing.T) {
	for _, n := range []int64{64, 1000, 1 << 20} {
		g := symbolic.NewGraph()
		x := g.NewBuffer("CPU", n, uop.Float32)
		before := g.Len()
		if _, err := tensor.FFT(x, 0, -1, tensor.NormBackward, false); err != nil {
			t.Fatal(err)
		}
		if grown := g.Len() - before; grown > 40 {
			t.Errorf("length %d: %d nodes, expected 40 at most", n, grown)
		}
	}
}

// The tables of a transform by matrices are made once: the second one of a length builds its passes only.
func TestFourierTablesAreMadeOnce(t *testing.T) {
	for _, n := range []int64{61, 1088, 1009} {
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
