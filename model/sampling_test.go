package model

import "testing"

// TestChosen: a number chooses the token whose share of the weights it falls into, and one that rounding put beyond all of them the last one that has
// a weight.
func TestChosen(t *testing.T) {
	weight := []float64{0.5, 0, 1, 0.25, 0}
	for _, c := range []struct {
		kept []int32
		at   float64
		want int32
	}{
		{[]int32{0, 1, 2, 3, 4}, 0, 0}, {[]int32{0, 1, 2, 3, 4}, 0.5, 2}, {[]int32{0, 1, 2, 3, 4}, 1.6, 3},
		{[]int32{0, 1, 2, 3, 4}, 1.75, 3}, {[]int32{4, 1}, 0, 4}, {[]int32{2, 0}, 1.5, 0},
	} {
		if got := chosen(c.kept, weight, c.at); got != c.want {
			t.Errorf("%v at %v: token %d, expected %d", c.kept, c.at, got, c.want)
		}
	}
}
