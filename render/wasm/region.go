package wasm

import (
	"fmt"

	"polygrad/core/uop"
)

// region is a loop of the linear list (the outermost region: all of it) with
// what it contains, in order.
type region struct {
	rng    *uop.UOp
	parts  []part
	inner  bool  // contains no loop
	weight int   // operations in the body, counted by lane
	runs   int64 // how often the loop is entered at least
	lanes  int   // greatest number of lanes of a load or store
	stores bool  // writes memory, not just registers
}

// part is an operation or a region.
type part struct {
	u   *uop.UOp
	sub *region
}

// regionsOf nests a linear list.
func regionsOf(list []*uop.UOp) (*region, error) {
	root := &region{inner: true, runs: 1}
	stack := []*region{root}
	for _, u := range list {
		top := stack[len(stack)-1]
		switch u.Op {
		case uop.Range:
			r := &region{rng: u, inner: true, runs: top.runs * max(top.trip(), 1)}
			top.parts = append(top.parts, part{sub: r})
			top.inner = false
			stack = append(stack, r)
		case uop.End:
			if top.rng == nil || len(u.Src) < 2 || u.Src[1] != top.rng {
				return nil, fmt.Errorf("END does not close the innermost RANGE")
			}
			stack = stack[:len(stack)-1]
		default:
			top.parts = append(top.parts, part{u: u})
			top.count(u)
		}
	}
	if len(stack) != 1 {
		return nil, fmt.Errorf("RANGE %s has no END", stack[len(stack)-1].rng.Arg)
	}
	root.measure()
	return root, nil
}

func (r *region) count(u *uop.UOp) {
	n := u.DType.Count
	if u.Op == uop.Store {
		n = u.Src[1].DType.Count
	}
	switch {
	case u.Op == uop.Store || u.Op == uop.Load:
		if u.Src[0].DType.Space == uop.Reg {
			return
		}
		r.lanes = max(r.lanes, n)
		r.weight += n
		r.stores = r.stores || u.Op == uop.Store
	case uop.GroupElementwise.Has(u.Op) && !u.DType.IsPtr():
		r.weight += n
		if u.Op == uop.Exp2 || u.Op == uop.Log2 || u.Op == uop.Sin || u.Op == uop.Idiv || u.Op == uop.Mod {
			r.weight += 15 * n
		}
	}
}

const (
	// unrollWeight limits how many operations an unrolled body may have.
	unrollWeight = 320
	// A loop of longWork operations or more takes some ten milliseconds: there a body longer by longFactor, with fewer
	// checks of pointers, pays for the time to compile it.
	longWork   = 1 << 27
	longFactor = 4
	// unrollLanes is how many values the body of an unrolled loop handles side
	// by side: four registers of 32-bit values.
	unrollLanes = 32
	// storeLanes is the same for loops that store, if their bodies are light: at
	// the start of an iteration each pointer is checked, which has to pay. (Sums
	// gain nothing: they have fewer pointers, and registers for partial sums run out.)
	storeLanes = 64
)

// trip is the number of iterations of a loop, -1 if it is not constant.
func (r *region) trip() int64 {
	if r.rng == nil {
		return 1
	}
	if c := r.rng.Src[0]; c.Op == uop.ConstOp {
		return c.ConstVal().I()
	}
	return -1
}

// whole reports whether a loop is replaced by copies of its body.
func (r *region) whole() bool {
	n := r.trip()
	return r.inner && n >= 0 && n <= unrollLanes && n*int64(max(r.weight, 4)) <= unrollWeight
}

// measure decides from the inside out which loops disappear, so that a loop
// around a few iterations counts as an innermost one.
func (r *region) measure() {
	r.inner = true
	for _, p := range r.parts {
		if p.sub == nil {
			continue
		}
		p.sub.measure()
		r.lanes = max(r.lanes, p.sub.lanes)
		r.stores = r.stores || p.sub.stores
		if p.sub.whole() {
			r.weight += p.sub.weight * int(p.sub.trip())
		} else {
			r.inner = false
		}
	}
}

// unroll is how many bodies of a loop one iteration runs, if each of them stands
// for a number of copies.
func (r *region) unroll(copies int) int64 {
	n := r.trip()
	if !r.inner || n < 2 {
		return 1
	}
	lanes := unrollLanes
	if r.stores {
		lanes = storeLanes
	}
	limit := int64(unrollWeight)
	if r.runs*n*int64(r.weight) >= longWork {
		limit *= longFactor
	}
	for u := int64(lanes / max(r.lanes, 1)); u > 1; u /= 2 {
		if u*int64(max(r.weight, 4)*copies) <= limit && n >= u {
			return u
		}
	}
	return 1
}
