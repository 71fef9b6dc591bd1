package plan

import "slices"

// Threads share the iterations of a level. Operands that are packed before the level are packed by each thread, those packed
// inside of it only for the thread's own iterations.

// operandCost is the cost of packing an operand once, its axes, and the level before which it is packed.
type operandCost struct {
	cost float64
	own  []*Axis
	at   int
}

// productWork is the cost of the products of a band, and that of each of its operands that is packed.
func (pl *planner) productWork(p *Band) (products float64, packs []operandCost) {
	products = 1 / float64(pl.Lanes)
	for _, a := range p.Axes {
		products *= float64(max(a.Count, 1))
	}
	steps := int64(0)
	for _, s := range p.Sums {
		steps += s.Steps
	}
	vector := costPack / float64(pl.Lanes)
	for _, q := range p.Packs {
		own, n := []*Axis{p.Vec}, p.Vec.Count
		if q.Axis != p.Vec {
			own, n = append(own, q.Axis), n*q.Axis.Count
		}
		packs = append(packs, operandCost{float64(n*q.Sum.Steps) * vector, own, q.At})
	}
	if p.Rows.Broadcast {
		vector = costNext // one element for all lanes
	}
	for _, q := range p.RowPacks {
		packs = append(packs, operandCost{float64(p.Rows.Count*q.Sum.Steps) * vector, []*Axis{p.Rows}, p.RowPackAt})
	}
	return products * float64(steps), packs
}

// rowsCostMore reports whether packing all rows costs more than packing all columns: threads that share the columns each pack all rows, and
// the other way round.
func (pl *planner) rowsCostMore(p *Band) bool {
	_, packs := pl.productWork(p)
	more := 0.0
	for _, o := range packs {
		if slices.Contains(o.own, p.Rows) {
			more += o.cost
		} else {
			more -= o.cost
		}
	}
	return more > 0
}

// packTimes is the number of times that an operand is packed: the product of the trip counts of outer loops that do not divide it.
func (p *Band) packTimes(o operandCost) float64 {
	n := 1.0
	for _, l := range p.Levels[:o.at] {
		if !slices.Contains(o.own, l.Axis) {
			n *= float64(max(l.Iterations(), 1))
		}
	}
	return n
}

// fastestShared is the level whose sharing minimises the work of the busiest thread; the outermost of those that are nearly as good.
func (pl *planner) fastestShared(p *Band, levels []int64) int {
	const nearly = 1.0 / 64
	products, packs := pl.productWork(p)
	best, at := 0.0, -1
	for _, i := range levels {
		part := pl.maxThreadShare(p, int(i))
		sum := products * part
		for _, o := range packs {
			if c := o.cost * p.packTimes(o); o.at > int(i) {
				sum += c * part
			} else {
				sum += c
			}
		}
		if at < 0 || sum < best*(1-nearly) {
			best, at = sum, int(i)
		}
	}
	return at
}

// maxThreadShare is the largest share of a level's iterations that one thread gets.
func (pl *planner) maxThreadShare(p *Band, i int) float64 {
	l := p.Levels[i]
	n, size, all := l.Iterations(), int64(1), l.Axis.Count
	switch l.Kind {
	case Walk:
		if next := pl.joinable(p, i, n); next != nil {
			n, all = n*next.Count, all*next.Count
		}
	case Tiles:
		size = l.Axis.Tile()
	case Blocks:
		size = l.Axis.Tile() * l.Axis.Group
	}
	threads := int64(pl.m.Threads)
	return float64(min((n+threads-1)/threads*size, all)) / float64(all)
}

// stripSetup is the Setup of a kernel whose work items are strips of rows, so that a run has as many pieces as threads.
const stripSetup = 1. / 8

// setupShare is the share of a band's work that each call repeats before a level: packing, or the loop around strips of rows: the narrower the
// strips, the slower memory is read and written.
func (pl *planner) setupShare(p *Band, at int) float64 {
	if p.Levels[at].Axis.Vector && slices.ContainsFunc(p.Levels[:at], func(l level) bool { return l.Axis.ordered }) {
		return stripSetup
	}
	if p.Rows == nil {
		return 0
	}
	products, packs := pl.productWork(p)
	before := 0.0
	for _, o := range packs {
		c := o.cost * p.packTimes(o)
		products += c
		if o.at <= at {
			before += c
		}
	}
	return before / products
}
