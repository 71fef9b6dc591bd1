package plan

// Sums of few results have too few invocations to read memory as fast as a GPU can. So more of them share the steps of a sum.

const (
	// leastColumns is the least number of neighbours that lanes read side by side, leastSplit the number of steps of a lane that pay.
	leastColumns, leastSplit = 8, 4
	// usualLanes is the number of lanes of a workgroup, unless more serve.
	usualLanes = 64
	// manyGroups is how many times Machine.Workgroups keep the memory of a GPU busy, with a load in each lane at a time.
	manyGroups = 8
)

// canSpread reports whether a band may have more lanes than usual.
func (pl *planner) canSpread() bool {
	return pl.m.Invocations && !pl.serial && pl.Lanes == usualLanes && pl.m.Group > usualLanes
}

// setLanes gives all vectors of the kernel so many lanes.
func (pl *planner) setLanes(n int64) { pl.Lanes, pl.Kernel.Lanes = int(n), int(n) }

// splitSteps spreads the steps of the sums of a band over lanes, beside those of the columns.
func (pl *planner) splitSteps(p *Band, vec *Axis) {
	if !pl.canSpread() || vec.Dynamic || vec.Units > 1 || p.want[knobPartialSums] == 1 {
		return
	}
	for _, r := range p.Leaf.Loops() {
		if s := seriesOf(r); s == nil || s.Steps < leastSplit*pl.m.Group/usualLanes {
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
	if groups*((vec.Count+columns-1)/columns) >= manyGroups*pl.m.Workgroups {
		return
	}
	for _, r := range p.Leaf.Loops() {
		if seriesOf(r).Steps < leastSplit*pl.m.Group/columns {
			return
		}
	}
	pl.setLanes(pl.m.Group)
	vec.Unit, vec.Spread = columns, &Spread{columns, 1, 1}
	p.Split = &Spread{pl.m.Group / columns, columns, 1}
}

// moreLanes makes more workgroups of rows that are summed along vectors, and gives those of long rows more lanes, if there are few of them.
func (pl *planner) moreLanes(p, around *Band) {
	if around != nil || !p.Along || !pl.canSpread() {
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
	if longest >= leastSplit*pl.m.Group && items < manyGroups*pl.m.Workgroups {
		pl.setLanes(pl.m.Group)
	}
}

// planInvocations has each invocation of a band without reductions do four neighbours, which it loads and stores at once, if that leaves
// enough invocations. It reports whether it does.
func (pl *planner) planInvocations(p *Band) bool {
	if !pl.m.Invocations || pl.m.Shared == 0 || pl.serial || !pl.Independent(p.Leaf) || p.want[knobTileVectors] == 1 {
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
	if along == nil || all < quad*usualLanes*pl.m.Workgroups {
		return false
	}
	along.Units, p.Grid = quad, true
	return true
}
