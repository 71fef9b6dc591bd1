package plan

import (
	"math/bits"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Sums with few results have too few invocations to saturate the memory of a GPU, so several of them share the steps of a sum.

const (
	// leastColumns is the least number of adjacent elements that lanes read together, leastSplit the least number of steps of a lane.
	leastColumns, leastSplit = 8, 4
	// usualLanes is the number of lanes of a workgroup, unless more make it faster.
	usualLanes = 64
	// manyGroups times Machine.Workgroups saturate the memory of a GPU with one load in flight in each lane.
	manyGroups = 8
)

// extraLanes is the number of lanes that a band may have instead of the usual ones, 0 if none. asked: a choice demands it.
func (pl *planner) extraLanes(p *Band) (lanes int64, asked bool) {
	if !pl.m.Invocations || pl.serial || pl.Lanes != usualLanes {
		return 0, false
	}
	lanes = powerOfTwo(p.want.or(knobLanes, pl.m.Group, pl.m.Group))
	if lanes <= usualLanes {
		return 0, false
	}
	return lanes, p.want[knobLanes] != auto
}

// powerOfTwo rounds n down to a power of two.
func powerOfTwo(n int64) int64 { return 1 << (bits.Len64(uint64(n)) - 1) }

// setLanes sets the number of lanes of all vectors of the kernel.
func (pl *planner) setLanes(n int64) { pl.Lanes, pl.Kernel.Lanes = int(n), int(n) }

// splitSteps distributes the steps of the sums of a band over lanes, in addition to the columns.
func (pl *planner) splitSteps(p *Band, vec *Axis) {
	lanes, asked := pl.extraLanes(p)
	if lanes == 0 || vec.Dynamic || vec.Units > 1 || p.want[knobPartialSums] == 1 {
		return
	}
	for _, r := range p.Leaf.Loops() {
		if s := sumLoopsOf(r); s == nil || s.Steps < leastSplit*lanes/usualLanes {
			return
		}
	}
	groups := int64(1)
	for _, a := range p.Axes {
		if a != vec && !a.Dynamic {
			groups *= (a.Count + a.Tile() - 1) / a.Tile()
		}
	}
	columns := int64(usualLanes)
	enough := pl.m.Workgroups * 3 / 4
	for columns > leastColumns && (columns/2 >= vec.Count || groups*((vec.Count+columns-1)/columns) < enough) {
		columns /= 2
	}
	if rows := p.want[knobLaneRows]; rows > 1 && rows < lanes {
		columns, asked = lanes/powerOfTwo(rows), true
	}
	if !asked && groups*((vec.Count+columns-1)/columns) >= manyGroups*pl.m.Workgroups {
		return
	}
	for _, r := range p.Leaf.Loops() {
		if sumLoopsOf(r).Steps < leastSplit*lanes/columns {
			return
		}
	}
	pl.setLanes(lanes)
	vec.Unit, vec.Spread = columns, &Spread{columns, 1, 1}
	p.Split = &Spread{lanes / columns, columns, 1}
}

// moreLanes spreads rows that are summed along vectors over more workgroups, and gives the workgroups of long rows more lanes, if there are few
// workgroups.
func (pl *planner) moreLanes(p, around *Band) {
	more, asked := pl.extraLanes(p)
	if around != nil || !p.Along || more == 0 && p.want[knobLanes] == auto {
		return
	}
	if lanes := pl.registerRowLanes(p); lanes > 0 {
		pl.setLanes(lanes)
		p.Held = true
		for _, a := range p.Axes {
			if p.want[knobTileRows] == auto {
				a.Units = 1
			}
		}
		return
	}
	items, longest := int64(1), int64(0)
	for _, a := range p.Axes {
		items *= max(a.Count/a.Units, 1)
	}
	for _, a := range p.Axes {
		for p.want[knobTileRows] == auto && a.Units > 1 && items < manyGroups*pl.m.Workgroups {
			items, a.Units = items*2, a.Units/2
		}
	}
	for _, r := range p.Leaf.Loops() {
		longest = max(longest, r.Innermost().Trip())
	}
	if more > 0 && (asked || longest >= leastSplit*more && items < manyGroups*pl.m.Workgroups) {
		pl.setLanes(more)
	}
}

// maxHeldElements is the largest number of elements of a row that a lane holds in registers.
const maxHeldElements = 8

// registerRowLanes is the number of lanes that hold a row in registers, for several loops over it (a softmax or a norm): each lane has the
// same elements in all of them, so they are loaded and functions of them computed once. It is 0 if the row is too long.
func (pl *planner) registerRowLanes(p *Band) int64 {
	loops := p.Leaf.Loops()
	if len(loops) < 2 || p.want[knobPartialSums] != auto {
		return 0
	}
	n, weight := loops[0].Trip(), int64(0)
	for _, r := range loops {
		if r.Trip() != n || len(r.Loops()) > 0 || !r.Writes && !r.Simple() || r.InOrder() {
			return 0
		}
		weight += pl.Weight(r)
	}
	for lanes := int64(usualLanes); lanes <= pl.m.Group; lanes *= 2 {
		asked := p.want[knobLanes] == auto || p.want[knobLanes] == lanes
		if each := (n + lanes - 1) / lanes; asked && n >= lanes && each <= maxHeldElements && each*weight <= mostCopied {
			return lanes
		}
	}
	return 0
}

// planInvocations has each invocation of a band without reductions compute four adjacent elements with vector loads and stores. It reports
// whether enough invocations remain.
func (pl *planner) planInvocations(p *Band) bool {
	if !pl.m.Invocations || pl.serial || !pl.Independent(p.Leaf) || p.want[knobTileVectors] != auto && p.want[knobTileVectors] != quad {
		return false
	}
	var along *Axis
	all := int64(1)
	for _, a := range p.Axes {
		if a.Dynamic || a.ordered {
			return false
		}
		all *= a.Count
		for _, u := range p.stores() {
			if s := pl.Slopes(a.Region.Rng).Of(u.Src[0]); s.Contiguous() && a.Count%quad == 0 {
				along = a
			}
		}
	}
	if along == nil || p.want[knobTileVectors] == auto && all < quad*usualLanes*pl.m.Workgroups {
		return false
	}
	along.Units, p.Grid = quad, true
	return true
}

// chooseGroup enlarges the workgroups of a kernel with many invocations: small ones may end faster than the GPU starts new ones. On an H200 a copy of
// 2.4e6 elements takes 24.5 us in workgroups of 64 invocations, 13.6 in those of 128, 8.5 in those of 256.
func (pl *planner) chooseGroup(p *Band) {
	if pl.m.Invocations && pl.plain && pl.m.Shared > 0 && p.want[knobLanes] == auto && pl.Items >= 2*pl.m.Group*pl.m.Workgroups {
		pl.Group = int(pl.m.Group)
	}
}

// minTransposed is the number of elements from which on a transposed matrix does not fit the caches nearby.
const minTransposed = 1 << 16

// transposedLoops returns the loop along which a kernel without reductions writes adjacent elements, and another loop along which it reads adjacent
// elements; nil if it reads in the order in which it writes.
func transposedLoops(f *analysis.Facts, m ir.Machine) (along, across *analysis.Region) {
	loops := f.Tree.Loops()
	if m.Shared == 0 || len(loops) != 1 || f.Tree.Collects() || f.Tree.HasStores() || !loops[0].Writes {
		return nil, nil
	}
	c := analysis.Chain(loops[0])
	leaf := c[len(c)-1]
	if len(leaf.Loops()) > 0 || !f.Independent(leaf) {
		return nil, nil
	}
	all := int64(1)
	for _, r := range c {
		all *= max(r.Trip(), 0)
	}
	if all < minTransposed {
		return nil, nil
	}
	next := func(r *analysis.Region, u *uop.UOp) bool {
		s := f.Slopes(r.Rng).Of(u.Src[0])
		return s.Contiguous()
	}
	for _, a := range leaf.Accesses(1, nil) {
		for _, r := range c {
			if a.U.Op == uop.Store && next(r, a.U) && a.U.Src[1].DType.Itemsize() >= 4 {
				along = r
			}
		}
	}
	for _, a := range leaf.Accesses(1, nil) {
		for _, r := range c {
			if k := ir.KindOf[a.U.DType.Scalar()]; along != nil && a.U.Op == uop.Load && r != along && k.Size() >= 4 && next(r, a.U) && f.Slopes(along.Rng).Of(a.U.Src[0]).Depends {
				across = r
			}
		}
	}
	const least = 8
	if across == nil || along.Trip() < least || across.Trip() < least {
		return nil, nil
	}
	return along, across
}

// planTransposedWorkgroup lays a transposition out for a rectangle of lanes, so that both its reads and its writes are coalesced. It reports
// whether the band is a transposition.
func (pl *planner) planTransposedWorkgroup(p *Band) bool {
	const wide, units = 8, 4 // 32 bytes are read and written at a time
	along, across := transposedLoops(pl.Facts, pl.m)
	lanes, _ := pl.extraLanes(p)
	if along == nil || lanes == 0 || p.want[knobVectorAxis] == none {
		return false
	}
	var a, b *Axis
	for _, x := range p.Axes {
		switch {
		case x.Region == along:
			a = x
		case x.Region == across:
			b = x
		default:
			p.Levels = append(p.Levels, level{x, Walk})
		}
	}
	pl.setLanes(lanes)
	a.Vector, a.Unit, a.Units, a.Spread = true, wide, units, &Spread{wide, 1, 1}
	b.Vector, b.Unit, b.Spread = true, lanes/wide, &Spread{lanes / wide, wide, 1}
	p.Levels = append(p.Levels, level{b, Tiles}, level{a, Tiles})
	return true
}
