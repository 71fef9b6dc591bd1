package analysis

import (
	"fmt"
	"math"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Region is a loop of the linear list with its contents in order; the outermost region is the whole list.
type Region struct {
	Rng    *uop.UOp
	parent *Region
	Parts  []Part
	// Writes: the loop writes memory, so its iterations are parallel. Other loops are reductions into registers.
	Writes bool
	// Updates are the registers that a reduction loop writes.
	Updates []*Update
}

// Part is an operation or a loop.
type Part struct {
	U   *uop.UOp
	Sub *Region
}

// Slot is an element of a DEFINE_REG.
type Slot struct {
	Reg *uop.UOp
	idx int64
}

// Update is a register that a loop writes. It is a reduction if each iteration combines it with a term by an associative and
// commutative operation.
type Update struct {
	Slot  Slot
	store *uop.UOp
	Op    ir.Op      // of a reduction, 0 for others
	Terms []*uop.UOp // the operands that are combined with the register
	// before is the load of the register that the terms are combined with.
	before *uop.UOp
}

// Trip is the number of iterations of a loop, -1 if it is not constant.
func (r *Region) Trip() int64 {
	if c := r.Rng.Src[0]; c.Op == uop.ConstOp {
		return c.ConstVal().I()
	}
	return -1
}

// Condition is the condition of a loop that runs once or not at all (a branch), nil for others. With vectors it runs if any lane
// needs it: its body does not change the other lanes.
func (r *Region) Condition() *uop.UOp {
	n := r.Rng.Src[0]
	for n.Op == uop.Cast {
		n = n.Src[0]
	}
	if n.DType.IsBool() && n.Op != uop.ConstOp {
		return n
	}
	return nil
}

// Bound is an upper bound of the trip count, -1 if it is unknown or depends on outer loops.
func (r *Region) Bound() int64 {
	n := r.Rng.Src[0]
	if slices.ContainsFunc(n.Toposort(), func(u *uop.UOp) bool { return u.Op == uop.Range || u.Op == uop.Load }) {
		return -1
	}
	if most, ok := n.Vmax().Int64(); ok && most < math.MaxInt32 {
		return most
	}
	return -1
}

// TripMultiple is a number that divides the trip count of a loop.
func (r *Region) TripMultiple() int64 { return tripMultipleOf(r.Rng.Src[0]) }

func tripMultipleOf(u *uop.UOp) int64 {
	switch {
	case u.Op == uop.ConstOp:
		return u.ConstVal().I()
	case u.Op == uop.Mul:
		return tripMultipleOf(u.Src[0]) * tripMultipleOf(u.Src[1])
	case u.Op == uop.Add:
		return GCD(tripMultipleOf(u.Src[0]), tripMultipleOf(u.Src[1]))
	case u.Op == uop.Shl && u.Src[1].Op == uop.ConstOp:
		return tripMultipleOf(u.Src[0]) << u.Src[1].ConstVal().I()
	}
	return 1
}

func GCD(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// Loops are the inner loops at the next level.
func (r *Region) Loops() []*Region {
	var out []*Region
	for _, p := range r.Parts {
		if p.Sub != nil {
			out = append(out, p.Sub)
		}
	}
	return out
}

// tree builds the loop tree of a linear list.
func tree(list []*uop.UOp) (*Region, error) {
	root := &Region{}
	top := root
	for _, u := range list {
		switch u.Op {
		case uop.Range:
			r := &Region{Rng: u, parent: top}
			top.Parts = append(top.Parts, Part{Sub: r})
			top = r
		case uop.End:
			if top.Rng == nil || len(u.Src) < 2 || u.Src[1] != top.Rng {
				return nil, fmt.Errorf("END does not close the innermost RANGE")
			}
			top = top.parent
		case uop.Store:
			top.Parts = append(top.Parts, Part{U: u})
			if u.Src[0].DType.Space == uop.Reg && ConstIndex(u.Src[0]) {
				break
			}
			for r := top; r != nil && !r.Writes; r = r.parent {
				r.Writes = true
			}
		default:
			top.Parts = append(top.Parts, Part{U: u})
		}
	}
	if top != root {
		return nil, fmt.Errorf("RANGE %s has no END", top.Rng.Arg)
	}
	root.findUpdates()
	return root, nil
}

// ConstIndex reports whether an INDEX has a constant index.
func ConstIndex(ix *uop.UOp) bool {
	for ix.Op == uop.Cast {
		ix = ix.Src[0]
	}
	return ix.Op == uop.Index && ix.Src[1].Op == uop.ConstOp
}

// Stores reports whether the update is made by a store.
func (up *Update) Stores(st *uop.UOp) bool { return up.store == st }

// SlotOf returns the scalar of a register that an INDEX addresses.
func SlotOf(ix *uop.UOp) Slot {
	for ix.Op == uop.Cast {
		ix = ix.Src[0]
	}
	return Slot{Definition(ix), ix.Src[1].ConstVal().I()}
}

// Definition is the PARAM or DEFINE below a pointer.
func Definition(u *uop.UOp) *uop.UOp {
	for !uop.GroupDefines.Has(u.Op) && len(u.Src) > 0 {
		u = u.Src[0]
	}
	return u
}

// findUpdates lists the register updates of loops that do not write memory.
func (r *Region) findUpdates() {
	for _, p := range r.Parts {
		if p.Sub != nil {
			p.Sub.findUpdates()
			r.Updates = append(r.Updates, p.Sub.Updates...)
			continue
		}
		if p.U.Op == uop.Store && p.U.Src[0].DType.Space == uop.Reg && ConstIndex(p.U.Src[0]) {
			r.Updates = append(r.Updates, newUpdate(p.U))
		}
	}
	if r.Rng == nil || r.Writes {
		r.Updates = nil
		return
	}
	// A register that is stored before it is loaded is not loop-carried.
	count := map[Slot]int{}
	for _, u := range r.Updates {
		count[u.Slot]++
	}
	for _, u := range r.Updates {
		if count[u.Slot] > 1 || len(r.Updates) > 1 && r.readsElsewhere(u) {
			u.Op = 0
		}
	}
}

var reducing = map[uop.Op]ir.Op{uop.Add: ir.Add, uop.Mul: ir.Mul, uop.Max: ir.Max, uop.And: ir.And, uop.Or: ir.Or, uop.Xor: ir.Xor}

func newUpdate(st *uop.UOp) *Update {
	up := &Update{Slot: SlotOf(st.Src[0]), store: st}
	op, ok := reducing[st.Src[1].Op]
	if !ok {
		return up
	}
	if up.collect(st.Src[1], st.Src[1].Op) {
		up.Op = op
	}
	return up
}

// isAcc reports whether u loads the register.
func (up *Update) isAcc(u *uop.UOp) bool {
	return u.Op == uop.Load && u.Src[0].DType.Space == uop.Reg && ConstIndex(u.Src[0]) && SlotOf(u.Src[0]) == up.Slot
}

// collect splits a chain of an associative operation into the load of the register and the other terms.
func (up *Update) collect(u *uop.UOp, op uop.Op) bool {
	if up.isAcc(u) {
		up.before = u
		return true
	}
	if u.Op != op {
		return false
	}
	for i := range 2 {
		mark := len(up.Terms)
		if up.collect(u.Src[i], op) {
			up.Terms = append(up.Terms, u.Src[1-i])
			return !up.uses(u.Src[1-i])
		}
		up.Terms = up.Terms[:mark]
	}
	return false
}

// uses reports whether a term depends on the register itself.
func (up *Update) uses(u *uop.UOp) bool { return up.reaches(u, map[*uop.UOp]bool{}) }

func (up *Update) reaches(u *uop.UOp, seen map[*uop.UOp]bool) bool {
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
func (r *Region) readsElsewhere(up *Update) bool {
	return slices.ContainsFunc(r.Updates, func(o *Update) bool {
		if o == up {
			return false
		}
		if o.Op == 0 {
			return up.uses(o.store.Src[1])
		}
		return slices.ContainsFunc(o.Terms, up.uses)
	})
}

// Prefixes returns the registers of a sequential loop that hold running reductions: each iteration combines a register once with terms,
// and nothing else reads its old value. ok is false if the loop has no registers, or also other ones.
func (r *Region) Prefixes() (ups []*Update, ok bool) {
	for _, p := range r.Parts {
		if p.Sub != nil {
			return nil, false
		}
		if p.U.Op == uop.Store && p.U.Src[0].DType.Space == uop.Reg {
			if !ConstIndex(p.U.Src[0]) {
				return nil, false
			}
			up := newUpdate(p.U)
			if up.Op == 0 || slices.ContainsFunc(ups, func(o *Update) bool { return o.Slot == up.Slot }) {
				return nil, false
			}
			ups = append(ups, up)
		}
	}
	for _, up := range ups {
		for _, p := range r.Parts {
			if p.U.Op == uop.Store && p.U != up.store && slices.ContainsFunc(p.U.Src, func(u *uop.UOp) bool { return reachesLoad(u, up.before, map[*uop.UOp]bool{}) }) {
				return nil, false
			}
		}
	}
	return ups, len(ups) > 0
}

// reachesLoad reports whether a value depends on a load, not counting dependences through memory.
func reachesLoad(u, load *uop.UOp, seen map[*uop.UOp]bool) bool {
	if u == load {
		return true
	}
	if seen[u] || u.Op == uop.After || u.Op == uop.Store || u.Op == uop.End || u.Op == uop.Range {
		return false
	}
	seen[u] = true
	return slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return reachesLoad(s, load, seen) })
}
