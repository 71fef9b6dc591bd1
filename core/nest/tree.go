package nest

import (
	"fmt"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// region is a loop of the linear list (the outermost region: all of it) with what it contains, in order.
type region struct {
	rng    *uop.UOp
	parent *region
	parts  []part
	// writes: memory is written in it, so that its iterations are parallel; others collect what registers hold.
	writes bool
	// updates are the registers that are written in a region without writes.
	updates []*update
}

// part is an operation or a loop.
type part struct {
	u   *uop.UOp
	sub *region
}

// slot is one scalar of a DEFINE_REG.
type slot struct {
	reg *uop.UOp
	idx int64
}

// update is a register that a loop writes. If each iteration combines it with a term by an operation that may be
// done in any order, it is a reduction.
type update struct {
	slot  slot
	store *uop.UOp
	op    ir.Op      // of a reduction, 0 for others
	terms []*uop.UOp // what is combined with the register
}

// trip is the number of iterations of a loop, -1 if it is not constant.
func (r *region) trip() int64 {
	if c := r.rng.Src[0]; c.Op == uop.ConstOp {
		return c.ConstVal().I()
	}
	return -1
}

// multiple is a number that the number of iterations of a loop is a multiple of.
func (r *region) multiple() int64 { return multipleOf(r.rng.Src[0]) }

func multipleOf(u *uop.UOp) int64 {
	switch {
	case u.Op == uop.ConstOp:
		return u.ConstVal().I()
	case u.Op == uop.Mul:
		return multipleOf(u.Src[0]) * multipleOf(u.Src[1])
	case u.Op == uop.Add:
		return gcd(multipleOf(u.Src[0]), multipleOf(u.Src[1]))
	}
	return 1
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// loops are the loops directly inside.
func (r *region) loops() []*region {
	var out []*region
	for _, p := range r.parts {
		if p.sub != nil {
			out = append(out, p.sub)
		}
	}
	return out
}

// tree nests a linear list.
func tree(list []*uop.UOp) (*region, error) {
	root := &region{}
	top := root
	for _, u := range list {
		switch u.Op {
		case uop.Range:
			r := &region{rng: u, parent: top}
			top.parts = append(top.parts, part{sub: r})
			top = r
		case uop.End:
			if top.rng == nil || len(u.Src) < 2 || u.Src[1] != top.rng {
				return nil, fmt.Errorf("END does not close the innermost RANGE")
			}
			top = top.parent
		case uop.Store:
			top.parts = append(top.parts, part{u: u})
			if u.Src[0].DType.Space == uop.Reg && constIndex(u.Src[0]) {
				break
			}
			for r := top; r != nil && !r.writes; r = r.parent {
				r.writes = true
			}
		default:
			top.parts = append(top.parts, part{u: u})
		}
	}
	if top != root {
		return nil, fmt.Errorf("RANGE %s has no END", top.rng.Arg)
	}
	root.findUpdates()
	return root, nil
}

// constIndex reports whether an INDEX has a constant index.
func constIndex(ix *uop.UOp) bool {
	for ix.Op == uop.Cast {
		ix = ix.Src[0]
	}
	return ix.Op == uop.Index && ix.Src[1].Op == uop.ConstOp
}

// slotOf is the scalar of a register that an INDEX stands for.
func slotOf(ix *uop.UOp) slot {
	for ix.Op == uop.Cast {
		ix = ix.Src[0]
	}
	return slot{definition(ix), ix.Src[1].ConstVal().I()}
}

// definition is the PARAM or DEFINE below a pointer.
func definition(u *uop.UOp) *uop.UOp {
	for !uop.GroupDefines.Has(u.Op) && len(u.Src) > 0 {
		u = u.Src[0]
	}
	return u
}

// findUpdates lists what the loops without writes do to registers.
func (r *region) findUpdates() {
	for _, p := range r.parts {
		if p.sub != nil {
			p.sub.findUpdates()
			r.updates = append(r.updates, p.sub.updates...)
			continue
		}
		if p.u.Op == uop.Store && p.u.Src[0].DType.Space == uop.Reg && constIndex(p.u.Src[0]) {
			r.updates = append(r.updates, newUpdate(p.u))
		}
	}
	if r.rng == nil || r.writes {
		r.updates = nil
		return
	}
	// A register that is set before it is used is not carried from one iteration to the next as a sum is.
	count := map[slot]int{}
	for _, u := range r.updates {
		count[u.slot]++
	}
	for _, u := range r.updates {
		if count[u.slot] > 1 || len(r.updates) > 1 && r.readsElsewhere(u) {
			u.op = 0
		}
	}
}

var reducing = map[uop.Op]ir.Op{uop.Add: ir.Add, uop.Mul: ir.Mul, uop.Max: ir.Max, uop.And: ir.And, uop.Or: ir.Or, uop.Xor: ir.Xor}

func newUpdate(st *uop.UOp) *update {
	up := &update{slot: slotOf(st.Src[0]), store: st}
	op, ok := reducing[st.Src[1].Op]
	if !ok {
		return up
	}
	if up.collect(st.Src[1], st.Src[1].Op) {
		up.op = op
	}
	return up
}

// isAcc reports whether u is the value of the register.
func (up *update) isAcc(u *uop.UOp) bool {
	return u.Op == uop.Load && u.Src[0].DType.Space == uop.Reg && constIndex(u.Src[0]) && slotOf(u.Src[0]) == up.slot
}

// collect takes a chain of one operation apart: it ends in the register, everything else is a term.
func (up *update) collect(u *uop.UOp, op uop.Op) bool {
	if up.isAcc(u) {
		return true
	}
	if u.Op != op {
		return false
	}
	for i := range 2 {
		mark := len(up.terms)
		if up.collect(u.Src[i], op) {
			up.terms = append(up.terms, u.Src[1-i])
			return !up.uses(u.Src[1-i])
		}
		up.terms = up.terms[:mark]
	}
	return false
}

// uses reports whether a term depends on the register itself.
func (up *update) uses(u *uop.UOp) bool { return up.reaches(u, map[*uop.UOp]bool{}) }

func (up *update) reaches(u *uop.UOp, seen map[*uop.UOp]bool) bool {
	if up.isAcc(u) {
		return true
	}
	if seen[u] {
		return false
	}
	seen[u] = true
	switch u.Op {
	case uop.Range, uop.End, uop.After, uop.Param, uop.Store:
		return false
	}
	return slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return up.reaches(s, seen) })
}

// readsElsewhere reports whether another update of the loop reads the register.
func (r *region) readsElsewhere(up *update) bool {
	return slices.ContainsFunc(r.updates, func(o *update) bool {
		if o == up {
			return false
		}
		if o.op == 0 {
			return up.uses(o.store.Src[1])
		}
		return slices.ContainsFunc(o.terms, up.uses)
	})
}
