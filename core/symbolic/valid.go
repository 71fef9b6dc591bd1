package symbolic

import (
	"sort"
	"strconv"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Bound is what one comparison says: X <= C if Upper, else X >= C.
type Bound struct {
	X     *uop.UOp
	Upper bool
	C     uop.Const
}

// ParseValid reads a comparison of integers with a constant; ok is false for anything else.
func ParseValid(v *uop.UOp) (b Bound, ok bool) {
	if v.Op == uop.CmpNe && v.Src[1].IsConst(one) {
		if s := v.Src[0]; s.Op == uop.CmpLt && s.Src[0].DType.IsInt() {
			return Bound{s.Src[0], false, s.Src[1].Vmin()}, true
		}
	}
	if v.Op == uop.CmpLt && v.Src[0].DType.IsInt() {
		return Bound{v.Src[0], true, v.Src[1].Vmax().Sub(one)}, true
	}
	return Bound{}, false
}

// Interval is what a conjunction says about one expression. It begins as the expression's own bounds.
type Interval struct {
	X      *uop.UOp
	Lo, Hi uop.Const
}

// Intervals reads a conjunction, in order of first mention; of two bounds on one side the last one counts.
func Intervals(valid *uop.UOp) []Interval {
	var out []Interval
	for _, stmt := range valid.SplitUOp(uop.And) {
		b, ok := ParseValid(stmt)
		if !ok {
			continue
		}
		i := 0
		for i < len(out) && out[i].X != b.X {
			i++
		}
		if i == len(out) {
			lo, hi := b.X.Bounds()
			out = append(out, Interval{b.X, lo, hi})
		}
		if b.Upper {
			out[i].Hi = b.C
		} else {
			out[i].Lo = b.C
		}
	}
	return out
}

// stand is an expression and the variable with tighter bounds that stands in for it.
type stand struct {
	x, v *uop.UOp
}

func standIn(x *uop.UOp, i int, lo, hi uop.Const) stand {
	return stand{x, x.Graph().Variable("fake"+strconv.Itoa(i), lo, hi, x.DType)}
}

// GivenValid simplifies u as far as the truth of valid allows; the result equals u wherever valid
// holds. With simplex, a sum of non-negative terms that must be positive is also tried term by term.
func GivenValid(valid, u *uop.UOp, simplex bool) *uop.UOp {
	if u.HasOp(uop.Ops(uop.After)) {
		// Values that are loaded after a store were computed in all iterations, not only in those of valid: they must not be simplified.
		var stored, back = rewrite.Map{}, rewrite.Map{}
		for _, x := range u.Toposort() {
			if x.Op == uop.Load && x.HasOp(uop.Ops(uop.After)) {
				v := x.Graph().Variable("stored"+strconv.Itoa(len(stored)), x.Vmin(), x.Vmax(), x.DType)
				stored[x], back[v] = v, x
			}
		}
		if len(stored) > 0 {
			return rewrite.Substitute(GivenValid(rewrite.Substitute(valid, stored), rewrite.Substitute(u, stored), simplex), back)
		}
	}
	var whole []stand
	for i, b := range Intervals(valid) {
		w := standIn(b.X, i, b.Lo, b.Hi)
		whole = append(whole, w)
		if !simplex {
			continue
		}
		u = substituteAll(u, []stand{w})
		if parts := simplexParts(b, i); parts != nil {
			u = substituteAll(u, parts)
		}
	}
	all := make(rewrite.Map, len(whole))
	back := make(rewrite.Map, len(whole))
	for _, w := range whole {
		all[w.x], back[w.v] = w.v, w.x
	}
	if s := rewrite.Substitute(u, all); s != u {
		u = Simplify(rewrite.Substitute(Simplify(s), back))
	}
	return u
}

// simplexParts are the stands for x0 > 0, x1 > 0, … where all that is known is x0 + x1 + … > 0.
func simplexParts(b Interval, i int) []stand {
	if b.X.Op != uop.Add || !b.Lo.EqInt(1) {
		return nil
	}
	var out []stand
	for _, x := range b.X.SplitUOp(uop.Add) {
		if !uop.GroupIrreducible.Has(x.Op) {
			return nil
		}
		out = append(out, standIn(x, i, one, x.Vmax()))
	}
	return out
}

// substituteAll simplifies u under each stand alone and takes the result if it is the same for all of
// them; of a vector of two, each element is looked at by itself. u stays if a stand does not occur in it.
func substituteAll(u *uop.UOp, stands []stand) *uop.UOp {
	results := make([]*uop.UOp, len(stands))
	for i, s := range stands {
		if results[i] = rewrite.Substitute(u, rewrite.Map{s.x: s.v}); results[i] == u {
			return u
		}
	}
	for i, s := range stands {
		results[i] = Simplify(rewrite.Substitute(Simplify(results[i]), rewrite.Map{s.v: s.x}))
	}
	if same(results, func(r *uop.UOp) *uop.UOp { return r }) {
		return results[0]
	}
	if u.Op != uop.Vectorize || len(u.Src) != 2 {
		return u
	}
	for k := range 2 {
		at := func(r *uop.UOp) *uop.UOp {
			if r.Op != uop.Vectorize {
				return nil
			}
			return r.Src[k]
		}
		if v := at(results[0]); v != nil && same(results, at) {
			src := []*uop.UOp{u.Src[0], u.Src[1]}
			src[k] = v
			u = u.With(src...)
		}
	}
	return u
}

func same(us []*uop.UOp, f func(*uop.UOp) *uop.UOp) bool {
	for _, u := range us[1:] {
		if f(u) != f(us[0]) {
			return false
		}
	}
	return true
}

// simplifyValid reorders a conjunction of index conditions so that each one is simplified by those before it.
func simplifyValid(valid *uop.UOp) *uop.UOp {
	if !valid.DType.IsBool() || valid.HasOp(uop.Ops(uop.Index)) {
		return nil
	}
	valids := valid.SplitUOp(uop.And)
	sortByPriority(valids)
	var ret []*uop.UOp
	seen := map[*uop.UOp]bool{}
	changed := false
	for _, stmt := range valids {
		if seen[stmt] {
			changed = true
			continue
		}
		seen[stmt] = true
		s := stmt
		if ret != nil {
			s = GivenValid(uop.ProdOf(ret...), stmt, true)
		}
		changed = changed || s != stmt
		ret = append(ret, s)
	}
	if !changed {
		return nil
	}
	return uop.ProdOf(ret...)
}

// sortByPriority brings conditions on expressions that occur in many others to the front: they simplify the others.
func sortByPriority(valids []*uop.UOp) {
	rank := make(map[*uop.UOp]int, len(valids))
	for _, v := range valids {
		b, ok := ParseValid(v)
		if _, done := rank[v]; done || !ok {
			continue
		}
		n := 0
		for _, other := range valids {
			if other.DependsOn(b.X) {
				n--
			}
		}
		rank[v] = n
	}
	sort.SliceStable(valids, func(i, j int) bool { return rank[valids[i]] < rank[valids[j]] })
}

// dropAndClauses drops the conditions of a gate that share no range with the gated value.
func dropAndClauses(cond, x, invalid *uop.UOp) *uop.UOp {
	var keep []*uop.UOp
	clauses := cond.SplitUOp(uop.And)
	for _, c := range clauses {
		if anyRangeOf(c, x) {
			keep = append(keep, c)
		}
	}
	if len(keep) == len(clauses) {
		return nil
	}
	return allOf(cond, keep).Where(x, invalid)
}

func anyRangeOf(c, x *uop.UOp) bool {
	for _, r := range c.Ranges() {
		if x.InRange(r) {
			return true
		}
	}
	return false
}

// allOf is true & c0 & c1 & …
func allOf(like *uop.UOp, cs []*uop.UOp) *uop.UOp {
	r := like.Graph().ConstBool(true)
	for _, c := range cs {
		r = r.And(c)
	}
	return r
}

// whereOnLoad moves the conditions of a WHERE around a read into the validity of its index, if they
// depend on nothing but the index's own ranges and reads. Conditions that are there already are dropped.
func whereOnLoad(cond, buf, idx *uop.UOp) *uop.UOp {
	if !idx.DType.IsIndex() {
		return nil
	}
	valid := idx.GetValid()
	inLoad := map[*uop.UOp]bool{}
	for _, c := range valid.SplitUOp(uop.And) {
		inLoad[c] = true
	}
	reads := map[*uop.UOp]bool{}
	for _, u := range idx.Toposort() {
		reads[u] = u.Op == uop.Index
	}
	clauses := cond.SplitUOp(uop.And)
	var keep []*uop.UOp
	moved := valid
	for _, c := range clauses {
		switch {
		case inLoad[c]:
		case canMove(c, idx, reads):
			moved = moved.And(c)
		default:
			keep = append(keep, c)
		}
	}
	if len(keep) == len(clauses) {
		return nil
	}
	read := buf.IndexBy(idx.GetIdx().Valid(moved))
	return allOf(cond, keep).Where(read, constant(read, zero))
}

func canMove(c, idx *uop.UOp, reads map[*uop.UOp]bool) bool {
	for _, r := range c.Ranges() {
		if !idx.InRange(r) {
			return false
		}
	}
	return c.Find(func(u *uop.UOp) bool { return u.Op == uop.Index && !reads[u] }) == nil
}

// gatedGivenValid simplifies a gated index by its own gate.
func gatedGivenValid(cond, x, invalid *uop.UOp) *uop.UOp {
	return cond.Where(GivenValid(cond, x, false), invalid)
}
