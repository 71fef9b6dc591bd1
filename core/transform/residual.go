package transform

import (
	"math"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// The backward loop of a scan needs values of each step. It recomputes the cheap ones from the carry before the step. The others are residuals, which
// the forward loop stores: to store an element and load it again takes about as long as storeCost operations on one element. The scheduler drops
// residuals that no derivative reads.
const storeCost = 64

// residuals are the nodes of a step that cost more to recompute than to store. Candidates are the results of reductions, of functions with a gradient
// rule, of inner loops together with their own residuals, and of checkpointed functions, whose inside is recomputed: that is what checkpoint is for.
// Where candidates are only added up, the sum is stored in their place.
func residuals(s *Step) (out []*uop.UOp) {
	// A CUSTOM_GRADIENT is differentiated by its rule only, not through its value, which is source 0.
	below := func(u *uop.UOp) []*uop.UOp {
		if u.Op == uop.Repeat || u.Op == uop.CustomGradient {
			return u.Src[1:]
		}
		return u.Src
	}
	depends, known, users := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}, map[*uop.UOp][]*uop.UOp{}
	for _, p := range slices.Concat(s.Carry, s.Elements) {
		depends[p] = true
	}
	for _, p := range s.inputs() {
		known[p] = true
	}
	list := order(slices.Concat(s.Next, s.Out), below)
	for _, u := range list {
		for _, v := range below(u) {
			depends[u] = depends[u] || depends[v]
			users[v] = append(users[v], u)
		}
	}
	store := func(u *uop.UOp) {
		if !known[u] {
			known[u] = true
			out = append(out, u)
		}
	}
	for _, u := range list {
		if !depends[u] || known[u] {
			continue
		}
		if comparesOperand(u) && !known[u.Src[0].Base()] {
			continue
		}
		parts, recomputed := candidates(u, users[u])
		work := int64(math.MaxInt64)
		if len(parts) > 0 && !recomputed {
			work = operationsOf(u, known)
		}
		for _, v := range parts {
			if work < storeCost*v.Size() {
				continue
			}
			for next := sumOf(v, users[v]); next != nil; next = sumOf(v, users[v]) {
				v = next
			}
			store(v)
		}
	}
	return out
}

// comparesOperand reports whether the derivative of a node compares the node with its operand, as that of a maximum does to find the elements that
// equal it. If only one of the two were stored, different kernels would compute them, and may round differently.
func comparesOperand(u *uop.UOp) bool {
	switch arg := u.Arg.(type) {
	case uop.AxisReduce:
		return u.Op == uop.ReduceAxis && arg.Op == uop.Max
	case uop.PrefixArg:
		return u.Op == uop.PrefixAxis && arg.Op == uop.Max
	}
	return false
}

// candidates are the values of a node that may be stored. With recomputed they are stored at any cost: they are results of a checkpointed function,
// whose inside is not to be computed once more for them.
func candidates(u *uop.UOp, users []*uop.UOp) (parts []*uop.UOp, recomputed bool) {
	switch {
	case u.Op == uop.ReduceAxis, u.Op == uop.PrefixAxis, u.Op == uop.Result && !isFloat(u):
		return []*uop.UOp{u}, false
	case u.Op != uop.CustomGradient:
		return nil, false
	}
	if l, is := u.Arg.(*scan); is {
		like := l.like()
		return partsOf(u, chosen(like, places(like))), false
	}
	rule := u.Arg
	for batched, is := rule.(batchedGradient); is; batched, is = rule.(batchedGradient) {
		rule = batched.of
	}
	if p, is := rule.(gradient.Pointwise); is && p.Pointwise() {
		return nil, false
	}
	for _, v := range users {
		if v.Op == uop.Shrink {
			parts = append(parts, v)
		}
	}
	if _, recomputed = rule.(*checkpoint); len(parts) == 0 {
		parts = []*uop.UOp{u}
	}
	return parts, recomputed
}

// sumOf is the only user of a value, if it needs no more memory and its derivative does not read the value.
func sumOf(u *uop.UOp, users []*uop.UOp) *uop.UOp {
	if len(users) != 1 {
		return nil
	}
	v := users[0]
	linear := v.Op == uop.Reshape || v.Op == uop.Permute || v.Op == uop.Cast && v.DType.IsFloat() && u.DType.IsFloat() ||
		v.Op == uop.Add && v.DType.IsFloat()
	if !linear || v.Size()*int64(v.DType.Itemsize()) > u.Size()*int64(u.DType.Itemsize()) {
		return nil
	}
	return v
}

// functions are the operations that cost as much as several additions.
var functions = uop.Ops(uop.Exp2, uop.Log2, uop.Sin, uop.Sqrt, uop.Pow, uop.Reciprocal)

// operationsOf is the number of operations that compute a value from the known ones.
func operationsOf(u *uop.UOp, known map[*uop.UOp]bool) (n int64) {
	for _, v := range order([]*uop.UOp{u}, func(v *uop.UOp) []*uop.UOp {
		switch {
		case known[v]:
			return nil
		case v.Op == uop.Repeat:
			return v.Src[1:]
		}
		return v.Src
	}) {
		if !known[v] {
			n += operations(v)
		}
	}
	return n
}

// operations is a rough number of operations for one node.
func operations(u *uop.UOp) (n int64) {
	switch {
	case u.Op == uop.ReduceAxis || u.Op == uop.PrefixAxis:
		return u.Src[0].Size()
	case u.Op == uop.Repeat:
		for _, v := range order([]*uop.UOp{u.Src[0]}, func(v *uop.UOp) []*uop.UOp { return v.Src }) {
			n += operations(v)
		}
		return n * u.Arg.(uop.RepeatArg).Count
	case functions.Has(u.Op):
		return 8 * u.Size()
	case uop.GroupALU.Has(u.Op):
		return u.Size()
	}
	return 0
}
