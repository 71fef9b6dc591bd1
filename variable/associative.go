package variable

import (
	"fmt"
	"math"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/transform"
	"polygrad/core/uop"
)

// AssociativeScan combines elements of sequences, along their first axes, by the function, which makes one element of two and is associative. The
// results at each place are all elements up to it combined, or all from it on with reverse. The first half of the inputs of the function are those
// of an element, the others those of the next one. Nothing is computed.
func (e *Expr) AssociativeScan(reverse bool, args []*Variable) ([]*Variable, error) {
	n := len(e.outputs)
	if n == 0 || len(e.inputs) != 2*n {
		return nil, fmt.Errorf("the function has %d inputs and %d outputs, expected twice as many inputs: two elements", len(e.inputs), n)
	}
	for i, u := range e.outputs {
		for _, k := range []int{i, n + i} {
			if v := e.inputs[k]; u.DType != v.DType || !u.Shape().Equal(v.Shape()) || e.outComplex[i] != e.inComplex[k] {
				return nil, fmt.Errorf("result %d is %s, expected %s as element %d", i, typeText(u.DType, u.Shape(), e.outComplex[i]), typeText(v.DType, v.Shape(), e.inComplex[k]), i)
			}
		}
	}
	if len(args) != n {
		return nil, fmt.Errorf("%d arguments, expected %d sequences", len(args), n)
	}
	length := uop.N(0)
	if s := args[0].Node().Shape(); len(s) > 0 {
		length = s[0]
	}
	nodes, from, err := e.operands(slices.Concat(args, args), func(i int) uop.Shape { return append(uop.Shape{length}, e.inputs[i].Shape()...) })
	if err != nil {
		return nil, err
	}
	if !length.IsNum(length.N) || length.N > math.MaxInt32 {
		return nil, fmt.Errorf("the sequences have %s elements, expected a number up to %d", length, math.MaxInt32)
	}
	turned := func(list []*uop.UOp) []*uop.UOp {
		return each(list, func(u *uop.UOp) *uop.UOp {
			flags := make([]bool, len(u.Shape()))
			flags[0] = reverse
			return u.Flip(flags)
		})
	}
	out, err := e.prefixes(turned(nodes[:n]))
	if err != nil {
		return nil, err
	}
	return e.results(turned(out), from), nil
}

func each(list []*uop.UOp, f func(u *uop.UOp) *uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(list))
	for i, u := range list {
		out[i] = f(u)
	}
	return out
}

// between are some of the elements along the first axes.
func between(list []*uop.UOp, from, to int64) []*uop.UOp {
	return each(list, func(u *uop.UOp) *uop.UOp {
		bounds := make([]uop.Pair, len(u.Shape()))
		for i, size := range u.Shape() {
			bounds[i] = uop.Pair{Lo: uop.N(0), Hi: size}
		}
		bounds[0] = uop.Pair{Lo: uop.N(from), Hi: uop.N(to)}
		return u.Shrink(bounds)
	})
}

// exchanged has the first two axes in the other order.
func exchanged(u *uop.UOp) *uop.UOp {
	order := make([]int, len(u.Shape()))
	for i := range order {
		order[i] = i
	}
	order[0], order[1] = 1, 0
	return u.Permute(order)
}

// combined are the outputs for two lists of as many elements.
func (e *Expr) combined(a, b []*uop.UOp) ([]*uop.UOp, error) {
	at, size := map[*uop.UOp]transform.Batched{}, a[0].Shape()[0]
	for i, u := range slices.Concat(a, b) {
		at[e.inputs[i]] = transform.Batched{Node: u, Mapped: true}
	}
	found, err := transform.Batch(e.outputs, at, size)
	if err != nil {
		return nil, err
	}
	out := make([]*uop.UOp, len(found))
	for i, v := range found {
		out[i] = v.Whole(size)
	}
	return out, nil
}

// prefixes combines all elements up to each place. The elements are rows of about as many as there are rows: a loop over the places of a row
// computes the prefixes within all rows at once, then each row is combined with the prefix of what is before it. Halving the elements
// instead would be one graph, which grows with each of its levels.
func (e *Expr) prefixes(xs []*uop.UOp) ([]*uop.UOp, error) {
	n := xs[0].Shape()[0].N
	if n < 2 {
		return xs, nil
	}
	rows := int64(1)
	if n > 64 {
		rows = int64(math.Sqrt(float64(n)))
	}
	size := n / rows
	cat := func(a, b []*uop.UOp) ([]*uop.UOp, error) {
		out := make([]*uop.UOp, len(a))
		for i := range a {
			var err error
			if out[i], err = tensor.Cat([]*uop.UOp{a[i], b[i]}, 0); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	// Columns are the elements of all rows at one place.
	columns := each(between(xs, 0, rows*size), func(u *uop.UOp) *uop.UOp {
		return exchanged(u.Reshape(slices.Concat(uop.ShapeOf(rows, size), u.Shape()[1:])))
	})
	joined := func(u *uop.UOp) *uop.UOp {
		s := u.Shape()
		return exchanged(u).Reshape(slices.Concat(uop.ShapeOf(s[0].N*s[1].N), s[2:]))
	}
	first := each(between(columns, 0, 1), func(u *uop.UOp) *uop.UOp { return u.Reshape(u.Shape()[1:]) })
	like := func(u *uop.UOp) *uop.UOp { return transform.Placeholder(u, u.DType, u.Shape()) }
	step := transform.Step{Carry: each(first, like), Elements: each(first, like)}
	after, err := e.combined(step.Carry, step.Elements)
	if err != nil {
		return nil, err
	}
	step.Next, step.Out = after, after
	totals, later, err := transform.Scan(step, size-1, false, first, between(columns, 1, size))
	if err != nil {
		return nil, err
	}
	within, err := cat(between(columns, 0, 1), later)
	if err != nil {
		return nil, err
	}
	within = each(within, joined)
	if rows == 1 {
		return within, nil
	}
	before, err := e.prefixes(between(totals, 0, rows-1))
	if err != nil {
		return nil, err
	}
	spread := each(before, func(u *uop.UOp) *uop.UOp {
		one := slices.Concat(uop.ShapeOf(1), u.Shape())
		return joined(u.Reshape(one).Expand(slices.Concat(uop.ShapeOf(size), u.Shape())))
	})
	rest, err := e.combined(spread, between(within, size, rows*size))
	if err != nil {
		return nil, err
	}
	out, err := cat(between(within, 0, size), rest)
	if err != nil || rows*size == n {
		return out, err
	}
	tail, err := e.prefixes(between(xs, rows*size, n))
	if err != nil {
		return nil, err
	}
	last := each(between(out, rows*size-1, rows*size), func(u *uop.UOp) *uop.UOp {
		return u.Expand(slices.Concat(uop.ShapeOf(n-rows*size), u.Shape()[1:]))
	})
	if rest, err = e.combined(last, tail); err != nil {
		return nil, err
	}
	return cat(out, rest)
}
