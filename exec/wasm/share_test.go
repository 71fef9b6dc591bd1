package wasm

import "testing"

// TestShare: runs are shared if they take long enough, in pieces that threads can take one after the other.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		items   int64
		threads int
		flops   float64
		setup   float64
		n       int
		pieces  int
	}{
		{1, 4, 1e9, 0, 1, 1},
		{1000, 1, 1e9, 0, 1, 1},
		{1000, 4, 1.1e5, 0, 1, 1},
		{1000, 4, 1.2e5, 0, 4, 1},
		{1000, 4, 1e6, 0, 4, 1},
		{1000, 4, 1e7, 0, 4, 2},
		{1000, 4, 1e9, 0, 4, 16},
		{1000, 4, 1e9, 1. / 2048, 4, 16},
		{1000, 4, 1e9, 1. / 256, 4, 2},
		{1000, 4, 1e9, 1. / 200, 4, 1},
		{1000, 4, 1e9, .5, 4, 1},
		{1000, 8, 1e9, 0, 8, 16},
		{3, 4, 1e9, 0, 3, 16},
	} {
		if n, pieces := share(c.items, c.threads, c.flops, 0, c.setup); n != c.n || pieces != c.pieces {
			t.Errorf("%d items, %d threads, %g operations: %d threads with %d pieces, expected %d with %d", c.items, c.threads, c.flops, n, pieces, c.n, c.pieces)
		}
	}
}
