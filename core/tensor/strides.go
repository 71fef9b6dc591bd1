package tensor

import (
	"polygrad/core/uop"
)

// layout is the place of the elements of a view in a row-major tensor.
type layout struct {
	sizes, strides []int64
	offset         int64
}

// ViewLayout is the layout of x, a view of base: the element at i, j, … is the element offset + i*strides[0] + j*strides[1] + …
// of base, in row-major order. ok is false if x is no view of base, if it has no such strides, or if it has no elements.
func ViewLayout(x, base *uop.UOp) (strides []int64, offset int64, ok bool, err error) {
	defer guard("ViewLayout", &err)
	need("x", x)
	need("base", base)
	chain, is := viewChain(x, base)
	sizes, fixed := base.Shape().Ints()
	if !is || !fixed {
		return nil, 0, false, nil
	}
	l := layout{sizes: sizes, strides: make([]int64, len(sizes))}
	n := int64(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		l.strides[i] = n
		n *= sizes[i]
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if n == 0 || !l.move(chain[i]) {
			return nil, 0, false, nil
		}
	}
	return l.strides, l.offset, n > 0, nil
}

// move applies one node of a view.
func (l *layout) move(u *uop.UOp) bool {
	sizes, fixed := u.Shape().Ints()
	if !fixed {
		return false
	}
	for _, n := range sizes {
		if n == 0 {
			return false
		}
	}
	switch u.Op {
	case uop.Reshape:
		l.strides = splitStrides(l.sizes, l.strides, sizes)
		if l.strides == nil {
			return false
		}
	case uop.Permute:
		from := l.strides
		l.strides = make([]int64, len(from))
		for i, p := range u.Arg.(uop.Nums) {
			l.strides[i] = from[p]
		}
	case uop.Flip:
		l.strides = append([]int64(nil), l.strides...)
		for i, f := range u.Arg.(uop.Flags) {
			if f {
				l.offset += (sizes[i] - 1) * l.strides[i]
				l.strides[i] *= -1
			}
		}
	case uop.Shrink, uop.Pad:
		// The elements added by a PAD are cut off again.
		for i, p := range u.MovementPairs() {
			lo, known := SizeValue(p.Lo)
			if !known {
				return false
			}
			if u.Op == uop.Pad {
				lo = -lo
			}
			l.offset += lo * l.strides[i]
		}
	}
	l.sizes = sizes
	return true
}

// splitStrides are the strides of the same elements in another shape, nil if there are none.
func splitStrides(sizes, strides, to []int64) []int64 {
	out := make([]int64, 0, len(to))
	i := 0
	for k := 0; k < len(to); {
		// The next axes on both sides with the same number of elements.
		n, first := to[k], k
		for k++; k < len(to) && n == 1; k++ {
			n *= to[k]
		}
		have, from := int64(1), i
		for have != n {
			switch {
			case have < n && i < len(sizes):
				have *= sizes[i]
				i++
			case have > n && k < len(to):
				n *= to[k]
				k++
			default:
				return nil
			}
		}
		step, ok := common(sizes[from:i], strides[from:i])
		if !ok {
			return nil
		}
		part := make([]int64, k-first)
		for j := k - 1; j >= first; j-- {
			part[j-first] = step
			step *= to[j]
		}
		out = append(out, part...)
	}
	return out
}

// common is the stride of axes that can be merged into one.
func common(sizes, strides []int64) (step int64, ok bool) {
	step = 1
	next := int64(0)
	for i := len(sizes) - 1; i >= 0; i-- {
		switch {
		case sizes[i] == 1:
			continue
		case next == 0:
			step = strides[i]
		case strides[i] != next:
			return 0, false
		}
		next = strides[i] * sizes[i]
	}
	return step, true
}

// ShownBuffer is the buffer whose elements a tensor may show as a view, nil if it has to be computed.
func ShownBuffer(x *uop.UOp) *uop.UOp {
	for showsOnce(x) || x.Op == uop.Pad {
		x = x.Src[0]
	}
	if x.Op != uop.Buffer {
		return nil
	}
	return x
}
