package plan

import (
	"math/bits"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Sums of few results have too few invocations to read memory as fast as a GPU can. So more of them share the steps of a sum.

const (
	// leastColumns is the least number of neighbours that lanes read side by side, leastSplit the number of steps of a lane that pay.
	leastColumns, leastSplit = 8, 4
	// usualLanes is the number of lanes of a workgroup, unless more serve.
	usualLanes = 64
	// manyGroups is how many times Machine.Workgroups keep the memory of a GPU busy, with a load in each lane at a time.
	manyGroups = 8
)

// moreThanUsual is how many lanes a band may have instead of the usual ones, 0 if none. asked: a choice says so.
func (pl *planner) moreThanUsual(p *Band) (lanes int64, asked bool) {
	if !pl.m.Invocations || pl.serial || pl.Lanes != usualLanes {
		return 0, false
	}
	lanes = powerOfTwo(p.want.or(knobLanes, pl.m.Group, pl.m.Group))
	if lanes <= usualLanes {
		return 0, false
	}
	return lanes, p.want[knobLanes] != open
}

// powerOfTwo is the greatest power of two up to n.
func powerOfTwo(n int64) int64 { return 1 << (bits.Len64(uint64(n)) - 1) }

// setLanes gives all vectors of the kernel so many lanes.
func (pl *planner) setLanes(n int64) { pl.Lanes, pl.Kernel.Lanes = int(n), int(n) }

// splitSteps spreads the steps of the sums of a band over lanes, beside those of the columns.
func (pl *planner) splitSteps(p *Band, vec *Axis) {
	lanes, asked := pl.moreThanUsual(p)
	if lanes == 0 || vec.Dynamic || vec.Units > 1 || p.want[knobPartialSums] == 1 {
		return
	}
	for _, r := range p.Leaf.Loops() {
		if s := seriesOf(r); s == nil || s.Steps < leastSplit*lanes/usualLanes {
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
		if seriesOf(r).Steps < leastSplit*lanes/columns {
			return
		}
	}
	pl.setLanes(lanes)
	vec.Unit, vec.Spread = columns, &Spread{columns, 1, 1}
	p.Split = &Spread{lanes / columns, columns, 1}
}

// moreLanes makes more workgroups of rows that are summed along vectors, and gives those of long rows more lanes, if there are few of them.
func (pl *planner) moreLanes(p, around *Band) {
	more, asked := pl.moreThanUsual(p)
	if around != nil || !p.Along || more == 0 && p.want[knobLanes] == open {
		return
	}
	if lanes := pl.holding(p); lanes > 0 {
		pl.setLanes(lanes)
		p.Held = true
		for _, a := range p.Axes {
			if p.want[knobTileRows] == open {
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
		for p.want[knobTileRows] == open && a.Units > 1 && items < manyGroups*pl.m.Workgroups {
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

// mostHeld is the largest number of elements of a row that a lane keeps in registers.
const mostHeld = 8

// holding is the number of lanes that keep a row in registers: several loops go through it, each lane through the same elements in all of them. So
// they are loaded, and functions of them computed, once: a softmax or a norm. It is 0 if the row is too long.
func (pl *planner) holding(p *Band) int64 {
	loops := p.Leaf.Loops()
	if len(loops) < 2 || p.want[knobPartialSums] != open {
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
		asked := p.want[knobLanes] == open || p.want[knobLanes] == lanes
		if each := (n + lanes - 1) / lanes; asked && n >= lanes && each <= mostHeld && each*weight <= mostCopied {
			return lanes
		}
	}
	return 0
}

// planInvocations has each invocation of a band without reductions do four neighbours, which it loads and stores at once, if that leaves
// enough invocations. It reports whether it does.
func (pl *planner) planInvocations(p *Band) bool {
	if !pl.m.Invocations || pl.m.Shared == 0 || pl.serial || !pl.Independent(p.Leaf) || p.want[knobTileVectors] != open && p.want[knobTileVectors] != quad {
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
			if s := pl.Slopes(a.Region.Rng).Of(u.Src[0]); s.Step == 1 && !s.Irregular && a.Count%quad == 0 {
				along = a
			}
		}
	}
	if along == nil || p.want[knobTileVectors] == open && all < quad*usualLanes*pl.m.Workgroups {
		return false
	}
	along.Units, p.Grid = quad, true
	return true
}

// chooseGroup gives the workgroups of a kernel of many invocations more of them: a GPU may begin a workgroup less often than a small one ends. On
// an H200 a copy of 2.4e6 elements takes 24.5 us in workgroups of 64 invocations, 13.6 in those of 128, 8.5 in those of 256.
func (pl *planner) chooseGroup(p *Band) {
	if pl.m.Invocations && pl.plain && pl.m.Shared > 0 && p.want[knobLanes] == open && pl.Items >= 2*pl.m.Group*pl.m.Workgroups {
		pl.Group = int(pl.m.Group)
	}
}

// leastCrossing is the number of elements from which on a transposed matrix does not fit the caches nearby.
const leastCrossing = 1 << 16

// crossing is the loop along which a kernel without reductions writes neighbours, and another one along which it reads neighbours; nil if it
// reads in the order of writing.
func crossing(f *analysis.Facts, m ir.Machine) (along, across *analysis.Region) {
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
	if all < leastCrossing {
		return nil, nil
	}
	next := func(r *analysis.Region, u *uop.UOp) bool {
		s := f.Slopes(r.Rng).Of(u.Src[0])
		return s.Step == 1 && !s.Irregular
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

// planCrossing lays a band that reads across the order in which it writes out for a rectangle of lanes: what its invocations read are
// neighbours, and so is what they write. It reports whether the band is one.
func (pl *planner) planCrossing(p *Band) bool {
	const wide, units = 8, 4 // 32 bytes are read and written at a time
	along, across := crossing(pl.Facts, pl.m)
	lanes, _ := pl.moreThanUsual(p)
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
