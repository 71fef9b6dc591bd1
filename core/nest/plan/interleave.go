package plan

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// Strided stores of a leaf to adjacent elements fill whole vectors together: the elements of a stack, the planes of complex numbers. Their
// vectors are interleaved in registers.

const (
	// costInterleave is the cost of interleaving a vector with others, for each stage.
	costInterleave = 1
	// mostInterleaved is the limit of vectors that are interleaved, oddInterleaved that of the prime factors of their number.
	mostInterleaved, oddInterleaved = 64, 7
)

// adjacentStores lists the groups of strided stores to adjacent elements, which fill vectors together if the lanes are iterations of a range, in the order of their addresses.
func (pl *planner) adjacentStores(leaf *analysis.Region, rng *uop.UOp) (groups [][]*uop.UOp) {
	if pl.m.Invocations || pl.plain {
		return nil
	}
	type key struct{ buffer, base *uop.UOp }
	type member struct {
		u  *uop.UOp
		at int64
	}
	of := map[key][]member{}
	var order []key
	slopes := pl.Slopes(rng)
	for _, x := range leaf.Parts {
		if x.U == nil || x.U.Op != uop.Store || x.U.Src[0].DType.Space == uop.Reg {
			continue
		}
		s := slopes.Of(x.U.Src[0])
		b, index, gate, ok := pl.AddressOf(x.U.Src[0])
		if b != nil && b.Read { // the values of a group are computed at its last store, after stores between
			return nil
		}
		if !ok || b == nil || gate != nil || s.Irregular || s.Step < 2 || s.Step > mostInterleaved {
			continue
		}
		k, at := key{analysis.Definition(x.U.Src[0]), index}, int64(0)
		if index.Op == uop.Add && index.Src[1].Op == uop.ConstOp {
			k.base, at = index.Src[0], index.Src[1].ConstVal().I()
		}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], member{x.U, at})
	}
	for _, k := range order {
		all := of[k]
		n := int(slopes.Of(all[0].u.Src[0]).Step)
		if !canInterleave(int64(n)) {
			continue
		}
		slices.SortFunc(all, func(a, b member) int { return int(a.at - b.at) })
		for i := 0; i+n <= len(all); {
			var group []*uop.UOp
			for j := 0; j < n && all[i+j].at == all[i].at+int64(j); j++ {
				group = append(group, all[i+j].u)
			}
			if len(group) < n {
				i++
				continue
			}
			groups = append(groups, group)
			i += n
		}
	}
	return groups
}

// canInterleave reports whether n vectors are interleaved in stages of few: n has no large prime factor.
func canInterleave(n int64) bool {
	for p := int64(2); p <= oddInterleaved; p++ {
		for n%p == 0 {
			n /= p
		}
	}
	return n == 1
}

// interleavingSaves is the cost of storing lane by lane that interleaving saves along an axis.
func (pl *planner) interleavingSaves(leaf *analysis.Region, a *Axis) (saved float64) {
	if a.Dynamic || a.Count < int64(pl.Lanes) && !pl.Masks {
		return 0
	}
	for _, g := range pl.adjacentStores(leaf, a.Region.Rng) {
		saved += float64(len(g)) * (costAcross - interleaveCost(int64(len(g))))
	}
	return saved
}

// interleaveCost is the cost of interleaving one of n vectors with the others, and storing it.
func interleaveCost(n int64) float64 {
	cost := costNext
	for p := int64(2); n > 1; p++ {
		for ; n%p == 0; n /= p {
			cost += costInterleave * int(p-1)
		}
	}
	return float64(cost)
}

// planInterleaved finds the stores that are interleaved.
func (p *Band) planInterleaved(pl *planner) {
	for _, a := range p.Axes {
		if !a.Vector || a.Inner != nil || a.Dynamic || a.Unit != int64(pl.Lanes) || a.Spread != nil || p.Transpose != nil {
			continue
		}
		for _, g := range pl.adjacentStores(p.Leaf, a.Region.Rng) {
			if p.Interleaved == nil {
				p.Interleaved = map[*uop.UOp][]*uop.UOp{}
			}
			for _, u := range g {
				p.Interleaved[u] = g
			}
		}
		p.interleavedAlong = a
	}
}

// scattered is the least number of places at which an iteration stores lines that counts as scattered.
const scattered = 4

// scatters reports whether interleaved stores fill lines at several places, such as the last pass of a Fourier transform.
func (p *Band) scatters(pl *planner) bool {
	for u, g := range p.Interleaved {
		if len(p.Interleaved) >= scattered*len(g) && p.fillsLines(pl, u) {
			return true
		}
	}
	return false
}

// fillsLines reports whether a vector of the elements that are interleaved with a store fills lines, and all of them do.
func (p *Band) fillsLines(pl *planner, u *uop.UOp) bool {
	bytes := int64(len(p.Interleaved[u]) * u.Src[1].DType.Itemsize())
	return bytes*int64(pl.Lanes)%Line == 0 && bytes*p.interleavedAlong.Count%Line == 0
}

// InterleavedRest is the number of active lanes of a partial last vector, 0 if it is full.
func (p *Band) InterleavedRest() int64 { return p.interleavedAlong.Rest() % p.interleavedAlong.Unit }
