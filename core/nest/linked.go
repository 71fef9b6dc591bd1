package nest

import (
	"cmp"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Sums that are added up, such as those of the steps of a recurrent network, are one: each begins where the one before
// has ended, so that there is only one under way at a time.

// linked are sums that begin where others have ended.
type linked struct {
	// begin tells of a store which sets a register at first whose value it is to be set to.
	begin map[*uop.UOp]slot
	// total tells of an addition of sums which of them is the last.
	total map[*uop.UOp]*uop.UOp
}

// link is a sum that is used only to be added to another.
type link struct {
	slot slot
	// zero is the store that sets it to 0, load what reads the result, from and at the places in the region of the store
	// and of the loop.
	zero, load *uop.UOp
	from, at   int
}

// newLinked finds the chains of a list.
func newLinked(list []*uop.UOp, root *region) linked {
	c := linked{map[*uop.UOp]slot{}, map[*uop.UOp]*uop.UOp{}}
	registers := 0
	for _, u := range list {
		if u.Op == uop.DefineReg {
			registers++
		}
	}
	if registers < 2 {
		return c
	}
	uses := make(map[*uop.UOp]int, len(list))
	for _, u := range list {
		for _, s := range u.Src {
			uses[s]++
		}
	}
	c.find(root, uses)
	return c
}

// find finds the chains in a region and those inside.
func (c *linked) find(r *region, uses map[*uop.UOp]int) {
	sums := map[slot]*link{}
	of := map[*uop.UOp][]*link{} // the sums that a value adds up
	totals := map[*uop.UOp][]*link{}
	for i, p := range r.parts {
		if p.sub != nil {
			c.find(p.sub, uses)
			p.sub.eachLoad(func(u *uop.UOp) {
				if s := sums[slotOf(u.Src[0])]; s != nil && s.at > 0 {
					delete(sums, s.slot)
				}
			})
			for _, up := range p.sub.updates {
				if s := sums[up.slot]; s != nil && s.at == 0 && up.op == ir.Add {
					s.at = i
				} else {
					delete(sums, up.slot)
				}
			}
			continue
		}
		switch u := p.u; {
		case u.Op == uop.Store && isRegister(u):
			s := slotOf(u.Src[0])
			delete(sums, s)
			if u.Src[1].IsConst(uop.Int(0)) && s.reg.DType.Base().IsFloat() {
				sums[s] = &link{slot: s, zero: u, from: i}
			}
		case u.Op == uop.Load && isRegister(u):
			s := sums[slotOf(u.Src[0])]
			if s != nil && s.at > 0 && s.load == nil && uses[u] == 1 {
				s.load = u
				of[u] = []*link{s}
			} else if s != nil {
				s.load = u
				delete(sums, s.slot)
			}
		case u.Op == uop.Add && of[u.Src[0]] != nil && of[u.Src[1]] != nil:
			all := slices.Concat(of[u.Src[0]], of[u.Src[1]])
			if u.Src[0] == u.Src[1] {
				break
			}
			delete(totals, u.Src[0])
			delete(totals, u.Src[1])
			totals[u] = all
			if uses[u] == 1 {
				of[u] = all
			}
		}
	}
	for u, all := range totals {
		slices.SortFunc(all, func(a, b *link) int { return cmp.Compare(a.at, b.at) })
		ok := true
		for i, l := range all {
			ok = ok && sums[l.slot] == l && (i == 0 || l.from > all[i-1].at)
		}
		if !ok {
			continue
		}
		for i, l := range all[1:] {
			c.begin[l.zero] = all[i].slot
		}
		c.total[u] = all[len(all)-1].load
	}
}

// eachLoad calls f for what reads registers in a region.
func (r *region) eachLoad(f func(u *uop.UOp)) {
	for _, p := range r.parts {
		switch {
		case p.sub != nil:
			p.sub.eachLoad(f)
		case p.u.Op == uop.Load && isRegister(p.u):
			f(p.u)
		}
	}
}

// isRegister reports whether a load or store is one of a register.
func isRegister(u *uop.UOp) bool { return u.Src[0].DType.Space == uop.Reg && constIndex(u.Src[0]) }
