package lower

import (
	"cmp"
	"slices"
	"testing"
)

// lcg is a small generator of numbers that Python can repeat.
type lcg uint64

func (r *lcg) next(n uint64) int {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int(uint64(*r) >> 33 % n)
}

// partial is a key with a partial order: a only counts where b agrees.
type partial struct{ a, b, i int }

func (x partial) less(y partial) bool { return x.b == y.b && x.a < y.a }

// partialCase makes a list: random, sorted in pieces, or nearly sorted.
func partialCase(seed int) []partial {
	r := lcg(seed)
	sizes := []int{1, 2, 5, 30, 63, 64, 65, 100, 129, 200, 500, 1000}
	xs := make([]partial, sizes[r.next(uint64(len(sizes)))])
	for i := range xs {
		a := r.next(30)
		xs[i] = partial{a, r.next(3), i}
	}
	switch seed % 3 {
	case 0:
		slices.SortStableFunc(xs, func(x, y partial) int { return cmp.Compare(x.a, y.a) })
		slices.SortStableFunc(xs[len(xs)/2:], func(x, y partial) int { return cmp.Compare(y.a, x.a) })
	case 1:
		slices.SortStableFunc(xs, func(x, y partial) int { return cmp.Compare(x.b*100+x.a, y.b*100+y.a) })
	}
	return xs
}

// The digest is that of CPython 3.11's sorted on the same 3000 lists.
func TestPySortGivesCPythonsOrder(t *testing.T) {
	const offset, prime, want = 1469598103934665603, 1099511628211, 0xea32d07c6aa1738
	total := uint64(offset)
	for seed := range 3000 {
		xs := partialCase(seed)
		pySort(xs, partial.less)
		d := uint64(offset)
		for _, x := range xs {
			d = (d ^ uint64(x.i)) * prime
		}
		total = (total ^ d) * prime
	}
	if total != want {
		t.Errorf("digest of 3000 sorted lists is %#x, expected %#x", total, uint64(want))
	}
}

func TestPySortSortsATotalOrderStably(t *testing.T) {
	for seed := range 300 {
		xs := partialCase(seed)
		want := slices.Clone(xs)
		slices.SortStableFunc(want, func(x, y partial) int { return cmp.Compare(x.a, y.a) })
		pySort(xs, func(x, y partial) bool { return x.a < y.a })
		if !slices.Equal(xs, want) {
			t.Fatalf("list %d is not sorted stably", seed)
		}
	}
}
