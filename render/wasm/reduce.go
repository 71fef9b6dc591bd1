package wasm

import (
	"cmp"
	"slices"

	"polygrad/core/kinds"
	"polygrad/core/uop"
)

// reduction is a variable of a loop that collects terms with one operation:
// next = v op t0 op t1 …. The order of the terms is ours to choose, so a chain
// that would wait for each addition becomes a sum of its own that is added once
// per iteration, or a vector of partial sums.
type reduction struct {
	phi   *phi
	loop  *loop
	op    uop.Op
	terms []*value
	final *value
}

var reducing = uop.Ops(uop.Add, uop.Max, uop.Mul, uop.And, uop.Or, uop.Xor)

// reducer finds reductions and reshapes them.
type reducer struct {
	*packer
}

// count counts how often each value that matters is used.
func (r *reducer) count() {
	r.visit(func(v *value) { v.uses = 0 }, nil)
	use := func(v *value) { v.uses++ }
	r.visit(func(v *value) {
		for _, a := range v.args {
			use(a)
		}
		if v.at != nil {
			for _, t := range v.at.terms {
				use(t.v)
			}
		}
		if v.op == opPhi {
			for _, p := range v.loop.phis {
				if p.v == v {
					use(p.init)
					use(p.next)
				}
			}
		}
	}, nil)
	for _, b := range r.blocks() {
		for _, it := range b.items {
			switch {
			case it.store != nil:
				use(it.store.val)
				if it.store.gate != nil {
					use(it.store.gate)
				}
				for _, t := range it.store.at.terms {
					use(t.v)
				}
			case it.loop != nil:
				use(it.loop.count)
			}
		}
	}
}

// find lists the reductions of a loop.
func (r *reducer) find(l *loop) []*reduction {
	var out []*reduction
	for _, p := range l.phis {
		if p.v.uses != 2 || p.v.lanes != 1 {
			// One use is the chain, the other the value after the loop.
			continue
		}
		red := &reduction{phi: p, loop: l, op: p.next.op, final: r.final(p.v)}
		if !reducing.Has(red.op) || red.final.uses == 0 || !r.chain(red, p.next) || len(red.terms) < 2 {
			continue
		}
		if slices.ContainsFunc(red.terms, func(t *value) bool { return reaches(t, p.v, r.walk()) }) {
			continue
		}
		out = append(out, red)
	}
	return out
}

// chain collects the terms that lead from v down to the variable.
func (r *reducer) chain(red *reduction, v *value) bool {
	if v == red.phi.v {
		return true
	}
	if v.op != red.op || v.kind != red.phi.v.kind || v.uses != 1 {
		return false
	}
	mark := len(red.terms)
	for i := range 2 {
		if r.chain(red, v.args[i]) {
			red.terms = append(red.terms, r.terms(red, v.args[1-i])...)
			return true
		}
		red.terms = red.terms[:mark]
	}
	return false
}

// terms are the operands of a tree of the same operation, if all are computed alike. What is not belongs to one term,
// which stays whole: the sum of x-m is not that of x less that of m, and a product of x*c may overflow without c.
func (r *reducer) terms(red *reduction, v *value) []*value {
	if v.op != red.op || v.kind != red.phi.v.kind || v.uses != 1 {
		return []*value{v}
	}
	a, b := r.terms(red, v.args[0]), r.terms(red, v.args[1])
	if shapeOf(a[0], 0) != shapeOf(b[0], 0) {
		return []*value{v}
	}
	return append(a, b...)
}

// reaches reports whether v depends on p within one iteration.
func reaches(v, p *value, w walk) bool {
	if v == p {
		return true
	}
	if v.home.depth < p.home.depth || !w.first(v) {
		return false
	}
	for _, a := range v.args {
		if reaches(a, p, w) {
			return true
		}
	}
	return false
}

// quarters are the terms of a reduction in vectors, with the terms left over.
func (r *reducer) quarters(red *reduction) (vecs [][]*value, rest []*value) {
	n := lanesOf(red.phi.v.kind)
	byShape := map[uint64][]*value{}
	known := map[*value]int64{}
	var order []uint64
	for _, t := range red.terms {
		s := shapeOf(t, 0)
		if byShape[s] == nil {
			order = append(order, s)
		}
		byShape[s] = append(byShape[s], t)
	}
	for _, s := range order {
		ts := byShape[s]
		slices.SortStableFunc(ts, func(a, b *value) int { return cmp.Compare(firstOffset(a, known), firstOffset(b, known)) })
		for len(ts) >= n {
			vecs, ts = append(vecs, ts[:n]), ts[n:]
		}
		rest = append(rest, ts...)
	}
	return vecs, rest
}

// shapeOf is a hash of how a value is computed, equal for values that differ in
// the constant part of the places they load from.
func shapeOf(v *value, depth int) uint64 {
	h := uint64(v.op)<<8 ^ uint64(v.kind)
	switch {
	case v.op == uop.Load:
		h ^= uint64(v.at.id) << 20
	case v.op == uop.ConstOp || len(v.args) == 0 || depth > 6:
		h ^= uint64(v.id) << 24
	default:
		for _, a := range v.args {
			h = h*0x9E3779B97F4A7C15 ^ shapeOf(a, depth+1)
		}
	}
	return h * 0xD6E8FEB86659FD93
}

// firstOffset is the constant part of the first place that a value loads from, -1 if it loads nothing. Values are
// used many times over: what is known is not looked for again.
func firstOffset(v *value, known map[*value]int64) int64 {
	if v.op == uop.Load {
		return v.at.off
	}
	if o, ok := known[v]; ok {
		return o
	}
	first := int64(-1)
	for _, a := range v.args {
		if first = firstOffset(a, known); first >= 0 {
			break
		}
	}
	known[v] = first
	return first
}

// reshape turns reductions into vectors of partial results where their own
// terms pack better than the same terms of neighbouring results do.
func (p *packer) reshape() {
	r := &reducer{packer: p}
	r.count()
	reds := map[*value]*reduction{}
	var order []*reduction
	for _, b := range p.blocks() {
		if b.loop == nil {
			continue
		}
		for _, red := range r.find(b.loop) {
			reds[red.phi.v] = red
			order = append(order, red)
		}
	}
	across := map[*reduction]int{} // cost of a reduction's part when packed across results
	for _, b := range p.blocks() {
		for _, s := range p.seedsOf(b) {
			r.across(s.values(), reds, across, map[*value]bool{})
		}
	}
	for _, red := range order {
		depth := red.loop.body.depth
		vecs, rest := r.quarters(red)
		along := r.costOf(depth, rest...)
		for _, v := range vecs {
			along += r.costOf(depth, p.pack(v)) + 1
		}
		scalar := r.costOf(depth, red.terms...) + len(red.terms)
		best, ok := across[red]
		if !ok {
			best = scalar
		}
		if len(vecs) > 0 && along < best {
			r.along(red, vecs, rest)
		}
	}
	for _, red := range order {
		if red.terms != nil {
			r.balance(red)
		}
	}
}

// across follows values that would be packed down to reductions that would
// become one vector, and notes what each of those costs per result.
func (r *reducer) across(lanes []*value, reds map[*value]*reduction, cost map[*reduction]int, seen map[*value]bool) {
	v0 := lanes[0]
	if seen[v0] {
		return
	}
	seen[v0] = true
	for _, v := range lanes {
		if v.op != v0.op || len(v.args) != len(v0.args) || lanesOf(v.kind) != len(lanes) {
			return
		}
	}
	if v0.op != opFinal {
		for i := range v0.args {
			r.across(column(lanes, i), reds, cost, seen)
		}
		return
	}
	group := make([]*reduction, len(lanes))
	for i, v := range lanes {
		group[i] = reds[v.args[0]]
		if group[i] == nil || group[i].loop != reds[v0.args[0]].loop || len(group[i].terms) != len(group[0].terms) || group[i].op != group[0].op {
			return
		}
	}
	depth := group[0].loop.body.depth
	total := 0
	for t := range group[0].terms {
		ts := make([]*value, len(lanes))
		for i, red := range group {
			ts[i] = red.terms[t]
		}
		total += r.costOf(depth, r.pack(ts)) + 1
	}
	for _, red := range group {
		cost[red] = (total + len(lanes) - 1) / len(lanes)
	}
}

// along makes the variable of a reduction a vector of partial results.
func (r *reducer) along(red *reduction, vecs [][]*value, rest []*value) {
	k, n := red.phi.v.kind, uint8(lanesOf(red.phi.v.kind))
	var packed []*value
	for _, v := range vecs {
		packed = append(packed, r.pack(v))
	}
	init := red.phi.init
	partial := init
	identity := r.constant(k, k.Bits(identityOf(red.op, k)))
	if red.op != uop.Max {
		partial = identity
	}
	vec := r.newPhi(red.loop, r.splatN(partial, n))
	vec.next = r.op(red.op, k, n, vec.v, r.tree(red.op, packed))
	sum := r.final(vec.v)
	parts := make([]*value, n)
	for i := range parts {
		parts[i] = r.extract(sum, i)
	}
	result := r.tree(red.op, parts)
	if red.op != uop.Max && init != identity {
		result = r.op(red.op, k, 1, init, result)
	}
	if len(rest) > 0 {
		other := r.newPhi(red.loop, identity)
		other.next = r.op(red.op, k, 1, other.v, r.tree(red.op, rest))
		result = r.op(red.op, k, 1, result, r.final(other.v))
	}
	// Everyone who uses the old result now sees the new one.
	red.final.op, red.final.args = result.op, result.args
	red.final.bits, red.final.loop, red.final.at = result.bits, result.loop, result.at
	red.terms = nil
}

func identityOf(op uop.Op, k kind) uop.Const {
	switch op {
	case uop.Mul:
		return uop.Int(1)
	case uop.And:
		return uop.Int(-1)
	case uop.Max:
		for dt, kk := range kinds.Of {
			if kk == k {
				return dt.Min()
			}
		}
	}
	return uop.Int(0)
}

// tree combines values pairwise.
func (r *reducer) tree(op uop.Op, vs []*value) *value {
	if len(vs) == 1 {
		return vs[0]
	}
	mid := (len(vs) + 1) / 2
	a, b := r.tree(op, vs[:mid]), r.tree(op, vs[mid:])
	return r.op(op, a.kind, a.lanes, a, b)
}

// fewResults is up to how many reductions in a loop each gets a sum of its own
// per iteration. With more of them there is enough to do between two additions
// to the same variable, and not enough registers.
const fewResults = 16

// balance shortens the chain of a reduction that stays as it is.
func (r *reducer) balance(red *reduction) {
	if len(red.loop.phis) > fewResults {
		return
	}
	k := red.phi.v.kind
	red.phi.next = r.op(red.op, k, 1, red.phi.v, r.tree(red.op, red.terms))
}
