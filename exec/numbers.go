package exec

import (
	"fmt"

	"polygrad/core/uop"
)

// A number of the host is a constant of a kernel, which makes the best code. But a host that changes it from request to request (a
// rate, a loop's counter, the start of a batch) would have each request compiled anew. So requests that differ in numbers only are a
// family; in its later members the numbers that have differed are arguments: constants are buffers of one element after those of the
// request, starts of slices and widths of padding are variables. Arithmetic with an argument has the bits of that with a constant; only
// the order of a sum may be another one.

// familyKey is a request with arguments for all numbers, and the number of its other buffers: an argument looks like a buffer of one element
// of another request.
type familyKey struct {
	blank   *uop.UOp
	buffers int
}

// family is requests that are equal but for their numbers.
type family struct {
	seen   int
	first  []uop.Const // the numbers of the first member
	varies []bool      // which have differed since
	used   bool        // since the last eviction
}

// number is a number of a request that may be an argument: a constant, or the start of a slice or of padding along an axis.
type number struct {
	node *uop.UOp
	axis int // -1 for a constant
}

func (n number) value() uop.Const {
	if n.axis < 0 {
		return n.node.ConstVal()
	}
	return uop.Int(n.node.MovementPairs()[n.axis].Lo.N)
}

// share finds the form in which a request that is rebuilt for each run is compiled, and its plan if there is one; the arguments are the
// request's buffers, its variables and s.numbers. The caller holds building.
func (e *Executor) share(root *uop.UOp, s *Step) (general *uop.UOp, inputs []*uop.UOp) {
	e.mu.Lock()
	defer e.mu.Unlock()
	nodes := root.Toposort()
	found := numbersOf(nodes)
	if len(found) == 0 {
		return root, s.buffers
	}
	varying := e.family(nodes, found, len(s.buffers))
	if len(varying) == 0 {
		return root, s.buffers
	}
	general, inputs = withArguments(nodes, varying, len(s.buffers)), s.buffers[:len(s.buffers):len(s.buffers)]
	for i, n := range varying {
		v := n.value()
		if n.axis < 0 {
			s.numbers = append(s.numbers, v.Bits(n.node.DType))
			inputs = append(inputs, n.node)
			continue
		}
		if s.vars == nil {
			s.vars = map[string]int64{}
		}
		s.vars[startName(i)] = v.I()
	}
	if s.plan = e.plans[general]; s.plan != nil {
		s.plan.used = true
	}
	return general, inputs
}

// family counts a member of a family, and returns the numbers that become arguments.
func (e *Executor) family(nodes []*uop.UOp, numbers []number, buffers int) (varying []number) {
	key := familyKey{withArguments(nodes, numbers, buffers), buffers}
	f := e.families[key]
	if f == nil {
		f = &family{first: make([]uop.Const, len(numbers)), varies: make([]bool, len(numbers))}
		for i, n := range numbers {
			f.first[i] = n.value()
		}
		e.families[key] = f
	}
	f.seen++
	f.used = true
	for i, n := range numbers {
		f.varies[i] = f.varies[i] || !n.value().Same(f.first[i])
		if f.varies[i] && f.seen > e.limits.constants {
			varying = append(varying, n)
		}
	}
	return varying
}

// foldsDifferently are the operations for which constant folding and a kernel with arguments may differ in the last bit: exact functions,
// positions of an axis, and powers (products if the exponent is constant, as it must be for integers).
var foldsDifferently = uop.Ops(uop.ReduceAxis, uop.Pow, uop.Exp2, uop.Log2, uop.Sin)

// numbersOf are the numbers of a request that may be arguments. The body of a REPEAT reads its own sources alone.
func numbersOf(nodes []*uop.UOp) []number {
	reads, folded := make(map[*uop.UOp]bool, len(nodes)), map[*uop.UOp]bool{}
	for _, u := range nodes {
		reads[u] = u.Op == uop.Param
		for _, s := range u.Src {
			reads[u] = reads[u] || reads[s]
		}
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		u := nodes[i]
		for _, s := range u.Src {
			if folded[u] || u.Op == uop.Repeat && s == u.Src[0] || !reads[s] && foldsDifferently.Has(u.Op) {
				folded[s] = true
			}
		}
	}
	var numbers []number
	for _, u := range nodes {
		switch {
		case folded[u]:
		case isNumber(u):
			numbers = append(numbers, number{u, -1})
		case (u.Op == uop.Shrink || u.Op == uop.Pad) && reads[u]:
			for axis := range u.MovementPairs() {
				if _, most := starts(u, axis); most > 0 {
					numbers = append(numbers, number{u, axis})
				}
			}
		}
	}
	return numbers
}

// isNumber reports whether a node is a finite constant on a device: sizes have no device, and infinities are masks.
func isNumber(u *uop.UOp) bool {
	if u.Op != uop.ConstOp || len(u.Src) != 1 || u.Src[0].Op != uop.Device {
		return false
	}
	v := u.ConstVal()
	return v.IsInt() && u.DType.IsInt() || v.IsFloat() && u.DType.IsFloat() && v.F()-v.F() == 0
}

// starts is the extent of a slice, or the width of padding on both sides, and the greatest start; 0 if there is only one start, or if
// the sizes are symbolic.
func starts(u *uop.UOp, axis int) (extent, most int64) {
	p, size := u.MovementPairs()[axis], u.Src[0].Shape()[axis]
	switch {
	case p.Lo.Symbolic() || p.Hi.Symbolic() || size.Symbolic():
		return 0, 0
	case u.Op == uop.Pad:
		return p.Lo.N + p.Hi.N, p.Lo.N + p.Hi.N
	}
	return p.Hi.N - p.Lo.N, size.N - (p.Hi.N - p.Lo.N)
}

// startName is the name of the variable of a start.
func startName(i int) string { return fmt.Sprintf("start_%d_of_request", i) }

// withArguments is a request, by its nodes with sources first, with arguments in place of numbers; their buffers are numbered from n
// on.
func withArguments(nodes []*uop.UOp, numbers []number, n int) *uop.UOp {
	g := nodes[0].Graph()
	replaced := make(map[*uop.UOp]*uop.UOp, len(nodes))
	pairs := map[*uop.UOp][]uop.Pair{}
	for i, x := range numbers {
		u := x.node
		if x.axis < 0 {
			size := g.ShapeArg(uop.ShapeOf(1))
			replaced[u] = g.New(uop.Param, u.DType, []*uop.UOp{size, u.Src[0]}, uop.Num(n), nil).Reshape(uop.Shape{})
			n++
			continue
		}
		if pairs[u] == nil {
			pairs[u] = u.MovementPairs()
		}
		extent, most := starts(u, x.axis)
		start := uop.S(g.Variable(startName(i), uop.Int(0), uop.Int(most), uop.IndexT))
		end := start.Add(uop.N(extent))
		if u.Op == uop.Pad {
			end = uop.N(extent).Sub(start)
		}
		pairs[u][x.axis] = uop.Pair{Lo: start, Hi: end}
	}
	var src []*uop.UOp
	for _, u := range nodes {
		if replaced[u] != nil {
			continue
		}
		src = src[:0]
		same := true
		for _, s := range u.Src {
			src = append(src, replaced[s])
			same = same && replaced[s] == s
		}
		switch ps := pairs[u]; {
		case ps != nil && u.Op == uop.Pad:
			replaced[u] = src[0].Pad(ps)
		case ps != nil:
			replaced[u] = src[0].Shrink(ps)
		case same:
			replaced[u] = u
		default:
			replaced[u] = g.NewCopy(u.Op, u.DType, src, u.Arg, u.Tag)
		}
	}
	return replaced[nodes[len(nodes)-1]]
}
