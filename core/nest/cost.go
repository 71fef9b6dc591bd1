package nest

import "polygrad/core/uop"

// What the ways to lay out a leaf that collects cost: in units of a vector of products, for each of them.

// fill is how many vectors are made for each that would do if all lanes were used. Without masks the lanes that are left
// are done one by one.
func (im *importer) fill(n int64) float64 {
	lanes := int64(im.Lanes)
	switch {
	case n < 1:
		return 1
	case !im.m.Masks:
		return float64((n/lanes+n%lanes)*lanes) / float64(n)
	}
	return float64((n+lanes-1)/lanes*lanes) / float64(n)
}

// alongTall is how many of n rows share what is loaded, if lanes are iterations of a loop: a few, or most of those that
// there are, so that what they share is not loaded again.
func alongTall(n int64) int64 {
	const few = 4
	if n <= few*few {
		return even(n, 2*few)
	}
	return few
}

// alongCost is the cost of the accesses for a vector of products whose lanes are iterations of the loop k.
func (im *importer) alongCost(k *region, rows *axis, acc []access) float64 {
	sum, times := 0.0, 1.0
	for _, a := range acc {
		times = max(times, a.times)
	}
	along := im.slopes(k.rng)
	var byRow *slopes
	if rows != nil {
		byRow = im.slopes(rows.r.rng)
	}
	for _, a := range acc {
		c := costOf(along.of(a.u.Src[0]), a.u.Op)
		if byRow != nil && !byRow.of(a.u.Src[0]).matters {
			c /= float64(alongTall(rows.n))
		}
		sum += c * a.times / times
	}
	const horizontal = 8 // of each result, after each run of the loop
	if n := k.trip(); n > 0 {
		times = min(times, float64(n))
	}
	return max(1, sum)*im.fill(k.trip()) + horizontal*float64(im.Lanes)/times
}

// tileCost is the same for a tile of results, the lanes of whose vectors are iterations of an axis. What is loaded in
// the loop k costs time only if that is more than the products take.
func (im *importer) tileCost(p *plan, k *region, vec, rows *axis, acc []access) float64 {
	times := 1.0
	for _, a := range acc {
		times = max(times, a.times)
	}
	byLane := im.slopes(vec.r.rng)
	if rows == nil {
		loads := 0.0
		for _, a := range acc {
			loads += costOf(byLane.of(a.u.Src[0]), a.u.Op) * a.times / times
		}
		return max(1, loads) * im.fill(vec.n)
	}
	byRow := im.slopes(rows.r.rng)
	loads, once, strided := im.rowsCost(k, vec, rows, acc, times)
	for _, a := range acc {
		lane, row := byLane.of(a.u.Src[0]), byRow.of(a.u.Src[0])
		c := costOf(lane, a.u.Op)
		switch {
		case a.times < 2 && c == costAcross && row.step == 1 && !row.odd:
			once += costTurn / times
		case a.times < 2:
			once += c / times
		case !row.matters:
			load, pack := im.columnCost(p, k, a, c, vec, rows, strided)
			loads += load * a.times / times
			once += pack * a.times / times
		case lane.matters:
			loads += c * a.times / times
		}
	}
	return (max(1, loads) + once) * im.fill(vec.n)
}

// rowsCost is the cost of what belongs to the rows: of one element for all lanes, whichever loads it is made of, in the
// loop, and once, if it is packed; strided is how much of the second cache it needs if it is not.
func (im *importer) rowsCost(k *region, vec, rows *axis, acc []access, times float64) (loads, once float64, strided int64) {
	byLane, byRow, byStep := im.slopes(vec.r.rng), im.slopes(rows.r.rng), im.slopes(k.rng)
	for _, a := range acc {
		if at := a.u.Src[0]; a.times < 2 || byLane.of(at).matters || !byRow.of(at).matters {
			continue
		}
		share := a.times / times
		loads = max(loads, costSplat/2*share)
		switch how, need := im.reach(a.u, byStep, int64(a.times), rows); {
		case how == apart:
			once += costPack / float64(vec.n) * share
		case how == stepped:
			strided += need
		case need > im.m.L2:
			// A line of it comes from far for each block of columns.
			vectors := (vec.n + int64(im.Lanes) - 1) / int64(im.Lanes)
			once += costFar * float64(a.u.DType.Itemsize()) / line / float64(vectors) * share
		}
	}
	return loads, once, strided
}

// columnCost is the cost of a load of columns, c for a vector, for each row of a tile, and that of bringing it near for
// each of its uses.
func (im *importer) columnCost(p *plan, k *region, a access, c float64, vec, rows *axis, strided int64) (load, pack float64) {
	uses, tall, byStep := float64(rows.n), float64(min(rows.n, im.tall())), im.slopes(k.rng)
	for _, w := range p.axes {
		if w != vec && w != rows && w.n > 1 && !im.slopes(w.r.rng).of(a.u.Src[0]).matters {
			uses *= float64(w.n)
		}
	}
	switch {
	case c == costNext:
		detour := im.detour(a.u, byStep, int64(a.times), vec.n, tileWide*int64(im.Lanes), strided)
		return costNext / tall, min(detour/tall, costPack/uses)
	case im.turns(a.u, byStep):
		return costNext / tall, costPack / uses
	case c > costNext+c*tall/uses:
		return costNext / tall, c / uses
	}
	return c / tall, 0
}

// costOf is the cost of an access that moves with the lanes of a vector like this.
func costOf(s slope, op uop.Op) float64 {
	switch {
	case !s.matters:
		return costSplat
	case s.step == 1 && !s.odd:
		return costNext
	case op == uop.Store:
		return costAcross
	}
	return costApart
}

// sharing finds the axis for whose iterations most is loaded in common, while each loads something of its own. What is one
// element for all lanes counts little.
func (im *importer) sharing(p *plan, acc []access, except *axis) *axis {
	var found *axis
	var byLane *slopes
	if except != nil {
		byLane = im.slopes(except.r.rng)
	}
	best := 0.0
	for _, a := range p.axes {
		if a == except || a.n < 2 || p.want[knobRows] == none {
			continue
		}
		if a.place == p.want[knobRows] {
			return a
		}
		s := im.slopes(a.r.rng)
		n := min(a.n, im.tall())
		if except != nil {
			if _, beside := im.besideFor(p, except, a, im.tall(), acc); beside > 0 {
				n = a.n * beside
			}
		}
		common, own := 0.0, false
		for _, x := range acc {
			switch {
			case x.u.Op != uop.Load || x.times < 2:
			case s.of(x.u).matters:
				own = true
			case byLane != nil && !byLane.of(x.u).matters:
				common += x.times * float64(n) * costSplat
			default:
				common += x.times * float64(n)
			}
		}
		if except == nil {
			// All rows that share something are as good; of few of them less is loaded again by the next ones.
			common = min(common, 1/float64(a.n))
		}
		if own && common > 0 && common >= best {
			found, best = a, common
		}
	}
	return found
}
