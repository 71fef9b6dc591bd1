package plan

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// planNextTile finds the loads of a tile's sums along its vectors that read some bytes of many rows: there are more rows than the hardware
// follows, and what follows in each is needed by the next tile.
func (p *Band) planNextTile(pl *planner) {
	const mostStep = 4
	n := len(p.Levels)
	if pl.m.Stream == 0 || p.Rows == nil || p.Product != nil || p.Levels[n-1].Kind != Tiles || p.Levels[n-1].Axis != p.Vec {
		return
	}
	along, found := pl.Slopes(p.Vec.Region.Rng), map[*uop.UOp]bool{}
	for _, q := range p.Packs {
		found[q.U] = true
	}
	var visit func(loops []*analysis.Region)
	visit = func(loops []*analysis.Region) {
		r := loops[len(loops)-1]
		for _, in := range r.Loops() {
			visit(append(loops, in))
		}
		sum := pl.ReductionOf[r]
		if sum == nil || sum.Form != Sequential && sum.Form != Unrolled {
			return
		}
		for _, a := range r.Accesses(1, nil) {
			b, index, _, ok := pl.AddressOf(a.U.Src[0])
			if !ok || b == nil || found[a.U] || a.U.Op != uop.Load || b.Param < 0 || b.Size*b.Kind.Size() <= pl.m.L2 {
				continue
			}
			size, next := b.Kind.Size(), along.Of(index)
			if next.Irregular || next.Step < 1 || next.Step > mostStep || pl.distance(index, r)*size < Line {
				continue
			}
			far := func(in *analysis.Region) bool { return pl.distance(index, in)*size >= longStride } // nearer rows are followed
			if slices.ContainsFunc(loops, far) && pl.staysInL2(index, size, 2*(p.Vec.Tile()*next.Step*size+Line), loops) {
				found[a.U] = true
				sum.NextTile = append(sum.NextTile, a.U)
			}
		}
	}
	for _, r := range p.Leaf.Loops() {
		visit([]*analysis.Region{r})
	}
}

// distance is how far an index moves in an iteration, 0 if that is not known.
func (pl *planner) distance(index *uop.UOp, r *analysis.Region) int64 {
	if s := pl.Slopes(r.Rng).Of(index); !s.Irregular {
		return max(s.Step, -s.Step)
	}
	return 0
}

// staysInL2 reports whether half of L2 holds some bytes of each of the rows that loops go through. Rows whose distance is a multiple of a
// large power of two share a few of its sets.
func (pl *planner) staysInL2(index *uop.UOp, size, bytes int64, loops []*analysis.Region) bool {
	const ways = 8
	all, way := bytes, pl.m.L2/ways
	for _, r := range loops {
		apart := pl.distance(index, r) * size
		if apart < Line {
			continue
		}
		if r.Trip() < 0 || 2*r.Trip() > ways*way/max(analysis.GCD(apart, way), bytes) {
			return false
		}
		all *= r.Trip()
	}
	return all <= pl.m.L2/2
}
