//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// lookup is a value that is looked up by numbers in memory, the numbers perhaps by others.
type lookup struct {
	name string
	of   func(x, at, first *uop.UOp) (*uop.UOp, error)
	// from is the row and the column of x from which element i, j, k of the value comes.
	from func(i, j, k int64, at, first []int64) (row, column int64)
}

var lookups = []lookup{
	{"embedding", func(x, at, _ *uop.UOp) (*uop.UOp, error) { return tensor.Embedding(x, at) },
		func(i, j, k int64, at, _ []int64) (int64, int64) { return int64(at[i*4+j]), k }},
	{"gather", func(x, at, _ *uop.UOp) (*uop.UOp, error) {
		v, err := tensor.Gather(x, 0, at)
		if err != nil {
			return nil, err
		}
		return tensor.Unsqueeze(v, 2)
	}, func(i, j, _ int64, at, _ []int64) (int64, int64) { return int64(at[i*4+j]), j }},
	{"embedding of an embedding", func(x, at, first *uop.UOp) (*uop.UOp, error) {
		v, err := tensor.Embedding(at, first)
		if err != nil {
			return nil, err
		}
		if v, err = tensor.Flatten(v, 0, 1); err != nil {
			return nil, err
		}
		return tensor.Embedding(x, v)
	}, func(i, j, k int64, at, first []int64) (int64, int64) { return int64(at[int64(first[i])*4+j]), k }},
	{"embedding of a padded embedding", func(x, at, first *uop.UOp) (*uop.UOp, error) {
		v, err := tensor.Embedding(at, first)
		if err != nil {
			return nil, err
		}
		if v, err = tensor.Flatten(v, 0, 1); err != nil {
			return nil, err
		}
		if v, err = tensor.Pad(v, []uop.Pair{pair(1, 1), pair(0, 0)}, uop.Int(3)); err != nil {
			return nil, err
		}
		return tensor.Embedding(x, v)
	}, func(i, j, k int64, at, first []int64) (int64, int64) {
		if i == 0 || i > int64(len(first)) {
			return 3, k
		}
		return int64(at[int64(first[i-1])*4+j]), k
	}},
}

// TestPaddedLookup looks elements up by numbers of which some would be beside their memory: those are not read.
func TestPaddedLookup(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, l := range lookups {
			for _, n := range []int64{1, 7, 16, 33} {
				for _, pads := range [][3][2]int64{{{2, 3}, {1, 1}, {0, 0}}, {{0, 1}, {1, 0}, {0, 0}}, {{2, 0}, {0, 3}, {1, 2}}, {{2, 1}, {1, 0}, {0, 0}}} {
					for place := range 2 {
						b := newBed(t, e, n)
						b.place = place
						b.paddedLookup(l, n, pads)
					}
				}
			}
		}
	})
}

func (b *bed) paddedLookup(l lookup, n int64, pads [3][2]int64) {
	b.t.Helper()
	at, places := input[int64](b, n, 4)
	for i := range places {
		places[i] = int64(i % 9)
	}
	b.place++ // so that both are on the same side
	first, rows := input[int64](b, n, 1)
	for i := range rows {
		rows[i] = n - 1 - int64(i)
	}
	x, data := input[uint8](b, 9, 5)
	v := b.ok(l.of(x, at, first))
	dims, _ := v.Shape().Ints()
	around := make([]uop.Pair, 3)
	for i, p := range pads {
		around[i] = pair(p[0], p[1])
		dims[i] += p[0] + p[1]
	}
	// Something in between keeps the conditions apart.
	scale, factor := b.floats(1)
	v = b.ok(tensor.Mul(b.ok(tensor.Cast(v, uop.Float32)), scale))
	v = b.ok(tensor.Pad(v, around, uop.Int(0)))
	got, twice := output[float32](b, v, nil), b.want(tensor.Add(v, v))
	b.run()
	want, double := make([]float64, len(got)), make([]float64, len(got))
	for at := range want {
		var is [3]int64
		inside, rest := true, int64(at)
		for d := 2; d >= 0; d-- {
			is[d] = rest%dims[d] - pads[d][0]
			rest /= dims[d]
			inside = inside && is[d] >= 0 && is[d] < dims[d]-pads[d][0]-pads[d][1]
		}
		if inside {
			row, column := l.from(is[0], is[1], is[2], places, rows)
			want[at] = float64(float32(data[row*5+column]) * factor[0])
			double[at] = 2 * want[at]
		}
	}
	name := fmt.Sprintf("%s of %d rows, padded %v", l.name, n, pads)
	near(b, name, got, want, 0)
	near(b, name+", twice", twice, double, 0)
}

// TestLookupByMasks looks elements up by the places of two masks: each place is a number in memory, whose gate asks for
// the other one's.
func TestLookupByMasks(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for _, n := range []int64{2, 7, 16, 33} {
			b := newBed(t, e, n)
			x, data := input[float32](b, n, n)
			var at [2]*uop.UOp
			var places [2][]int64
			for k := range at {
				bits, set := input[uint8](b, n)
				for i := range set {
					set[i] = uint8((i + k) % 2)
					if set[i] != 0 && int64(len(places[k])) < n/2 {
						places[k] = append(places[k], int64(i))
					}
				}
				at[k] = b.ok(tensor.NonZero(bits, n/2))
				at[k] = b.ok(tensor.Reshape(at[k], uop.Shape{uop.N(n / 2)}))
			}
			got := b.want(tensor.GetItem(x, tensor.Take(at[0]), tensor.Take(at[1])))
			b.run()
			want := make([]float64, n/2)
			for i := range want {
				want[i] = float64(data[places[0][i]*n+places[1][i]])
			}
			near(b, fmt.Sprintf("by masks of %d", n), got, want, 0)
		}
	})
}
