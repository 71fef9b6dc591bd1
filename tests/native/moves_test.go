//go:build linux && amd64 && cgo

package native

import (
	"fmt"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// move is a way to see a matrix, and from where its element i, j comes; outside of the matrix there are zeros.
type move struct {
	name string
	of   func(x *uop.UOp, rows, columns int64) (*uop.UOp, error)
	from func(i, j, rows, columns int64) (int64, int64)
}

func pair(lo, hi int64) uop.Pair { return uop.Pair{Lo: uop.N(lo), Hi: uop.N(hi)} }

var moves = []move{
	{"turned", func(x *uop.UOp, _, _ int64) (*uop.UOp, error) { return tensor.Permute(x, 1, 0) },
		func(i, j, _, _ int64) (int64, int64) { return j, i }},
	{"backwards", func(x *uop.UOp, _, _ int64) (*uop.UOp, error) { return tensor.Flip(x, 1) },
		func(i, j, _, columns int64) (int64, int64) { return i, columns - 1 - j }},
	{"upside down and turned", func(x *uop.UOp, _, _ int64) (*uop.UOp, error) {
		v, err := tensor.Flip(x, 0)
		if err != nil {
			return nil, err
		}
		return tensor.Permute(v, 1, 0)
	}, func(i, j, rows, _ int64) (int64, int64) { return rows - 1 - j, i }},
	{"padded", func(x *uop.UOp, _, _ int64) (*uop.UOp, error) {
		return tensor.Pad(x, []uop.Pair{pair(1, 2), pair(3, 1)}, uop.Int(0))
	}, func(i, j, _, _ int64) (int64, int64) { return i - 1, j - 3 }},
	{"padded and turned", func(x *uop.UOp, _, _ int64) (*uop.UOp, error) {
		v, err := tensor.Pad(x, []uop.Pair{pair(0, 3), pair(2, 5)}, uop.Int(0))
		if err != nil {
			return nil, err
		}
		return tensor.Permute(v, 1, 0)
	}, func(i, j, _, _ int64) (int64, int64) { return j, i - 2 }},
	{"without its edge", func(x *uop.UOp, rows, columns int64) (*uop.UOp, error) {
		return tensor.Shrink(x, []uop.Pair{pair(rows/3, rows), pair(columns/4, columns)})
	}, func(i, j, rows, columns int64) (int64, int64) { return i + rows/3, j + columns/4 }},
	{"every other one", func(x *uop.UOp, _, _ int64) (*uop.UOp, error) {
		return tensor.GetItem(x, tensor.Whole(), tensor.Slice(nil, nil, 2))
	}, func(i, j, _, _ int64) (int64, int64) { return i, 2 * j }},
}

// TestMoves has both axes of odd sizes, and elements of each size.
func TestMoves(t *testing.T) {
	eachLevel(t, func(t *testing.T, e *exec.Executor) {
		for i, s := range sizes() {
			other := []int64{1, 15, 33, 64}[i%4]
			t.Run(fmt.Sprint(s), func(t *testing.T) {
				for j, m := range moves {
					rows, columns := s, other
					if (i/4+j)%2 == 0 {
						rows, columns = other, s
					}
					moved[float32](t, e, m, rows, columns)
					switch (i + j) % 4 {
					case 0:
						moved[int64](t, e, m, rows, columns)
					case 1:
						moved[uint8](t, e, m, rows, columns)
					case 2:
						moved[int16](t, e, m, rows, columns)
					case 3:
						moved[float64](t, e, m, rows, columns)
					}
				}
			})
		}
	})
}

func moved[V number](t *testing.T, e *exec.Executor, m move, rows, columns int64) {
	b := newBed(t, e, rows, columns)
	x, data := input[V](b, rows, columns)
	u := b.ok(m.of(x, rows, columns))
	// A sum keeps a move from being none at all.
	u = b.ok(tensor.Add(u, u))
	got := output[V](b, u, nil)
	b.run()
	size, _ := u.Shape().Ints()
	for i := range size[0] {
		for j := range size[1] {
			var want V
			if k, l := m.from(i, j, rows, columns); k >= 0 && k < rows && l >= 0 && l < columns {
				want = 2 * data[k*columns+l]
			}
			if v := got[i*size[1]+j]; v != want {
				t.Fatalf("%s: %s %dx%d, element %d, %d is %v, expected %v", m.name, x.DType, rows, columns, i, j, v, want)
			}
		}
	}
}
