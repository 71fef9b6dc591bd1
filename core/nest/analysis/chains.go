package analysis

import (
	"cmp"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Sums that are added to each other, such as those of the steps of a recurrent network, are chained: each starts from the result of
// the one before, so that only one set of accumulators is live.

// SumChains are sums whose initial value is the result of another sum.
type SumChains struct {
	// StartsFrom maps the store that initialises a register to the register whose value it starts from.
	StartsFrom map[*uop.UOp]Slot
	// LastOf maps an addition of sums to the last sum of its chain.
	LastOf map[*uop.UOp]*uop.UOp
}

// chainedSum is a sum whose only use is an addition to another.
type chainedSum struct {
	slot Slot
	// zero is the store that initialises it with 0, load the load of its result; from and at are the positions of the store and of the
	// loop in their region.
	zero, load *uop.UOp
	from, at   int
}

// newSumChains finds the chains of a list.
func newSumChains(list []*uop.UOp, root *Region) SumChains {
	c := SumChains{map[*uop.UOp]Slot{}, map[*uop.UOp]*uop.UOp{}}
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
func (c *SumChains) find(r *Region, uses map[*uop.UOp]int) {
	sums := map[Slot]*chainedSum{}
	of := map[*uop.UOp][]*chainedSum{} // the sums that a value adds up
	totals := map[*uop.UOp][]*chainedSum{}
	for i, p := range r.Parts {
		if p.Sub != nil {
			c.find(p.Sub, uses)
			p.Sub.eachLoad(func(u *uop.UOp) {
				if s := sums[SlotOf(u.Src[0])]; s != nil && s.at > 0 {
					delete(sums, s.slot)
				}
			})
			for _, up := range p.Sub.Updates {
				if s := sums[up.Slot]; s != nil && s.at == 0 && up.Op == ir.Add {
					s.at = i
				} else {
					delete(sums, up.Slot)
				}
			}
			continue
		}
		switch u := p.U; {
		case u.Op == uop.Store && IsRegister(u):
			s := SlotOf(u.Src[0])
			delete(sums, s)
			if u.Src[1].IsConst(uop.Int(0)) && s.Reg.DType.Base().IsFloat() {
				sums[s] = &chainedSum{slot: s, zero: u, from: i}
			}
		case u.Op == uop.Load && IsRegister(u):
			s := sums[SlotOf(u.Src[0])]
			if s != nil && s.at > 0 && s.load == nil && uses[u] == 1 {
				s.load = u
				of[u] = []*chainedSum{s}
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
		slices.SortFunc(all, func(a, b *chainedSum) int { return cmp.Compare(a.at, b.at) })
		ok := true
		for i, l := range all {
			ok = ok && sums[l.slot] == l && (i == 0 || l.from > all[i-1].at)
		}
		if !ok {
			continue
		}
		for i, l := range all[1:] {
			c.StartsFrom[l.zero] = all[i].slot
		}
		c.LastOf[u] = all[len(all)-1].load
	}
}

// eachLoad calls f for each load of a register in a region.
func (r *Region) eachLoad(f func(u *uop.UOp)) {
	for _, p := range r.Parts {
		switch {
		case p.Sub != nil:
			p.Sub.eachLoad(f)
		case p.U.Op == uop.Load && IsRegister(p.U):
			f(p.U)
		}
	}
}

// IsRegister reports whether a load or store accesses a register.
func IsRegister(u *uop.UOp) bool { return u.Src[0].DType.Space == uop.Reg && ConstIndex(u.Src[0]) }
