package plan

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
)

const (
	// rowsAbreast is how many short rows run side by side at most.
	rowsAbreast = 8
	// shortRowVectors is the number of vectors of a row up to which that pays.
	shortRowVectors = 16
)

// planShortRows lets a few rows run side by side if several loops go through each of them and rows are short: an iteration of such a
// loop waits for the one before, and the next loop for its last, so that a processor has too little to do in one row.
func (pl *planner) planShortRows(p *Band) {
	rows, vectors := p.Axes[len(p.Axes)-1], int64(0)
	if rows.Dynamic || rows.ordered {
		return
	}
	for _, r := range p.Leaf.Loops() {
		most := max(r.Trip(), r.Bound())
		if most < 0 || len(r.Loops()) > 0 || r.InOrder() || !r.Writes && !r.Simple() {
			return
		}
		vectors = max(vectors, (most+int64(pl.Lanes)-1)/int64(pl.Lanes))
	}
	if vectors > shortRowVectors {
		return
	}
	units := int64(rowsAbreast)
	for units > 1 && (units*vectors > 2*shortRowVectors || units*int64(pl.m.Threads) > rows.Count) {
		units /= 2
	}
	if units == 1 {
		return
	}
	own, ok := pl.scratchOfRows(p.Leaf, rows)
	if !ok {
		return
	}
	rows.Units = units
	for _, b := range own {
		p.giveRows(pl, b, units)
	}
}

// scratchOfRows lists the scratch memory that each row of a loop overwrites. It is not ok if some of that has places for each row, too.
func (pl *planner) scratchOfRows(leaf *analysis.Region, rows *Axis) (own []*ir.Buffer, ok bool) {
	byRow, places := pl.Slopes(rows.Region.Rng), map[*ir.Buffer]bool{}
	for _, a := range leaf.Accesses(1, nil) {
		b, index, _, ok := pl.AddressOf(a.U.Src[0])
		if !ok || b == nil || b.Param >= 0 || !pl.WritesTo(leaf, b) {
			continue
		}
		depends, seen := places[b]
		if now := byRow.Of(index).Depends; !seen {
			places[b] = now
			if !now {
				own = append(own, b)
			}
		} else if now != depends {
			return nil, false
		}
	}
	return own, true
}

// giveRows makes scratch memory of one row that of several.
func (p *Band) giveRows(pl *planner, b *ir.Buffer, rows int64) {
	if p.perRow == nil {
		p.perRow = map[*ir.Buffer]int64{}
	}
	p.perRow[b] = b.Size
	b.Offset = pl.Memory.New(b.Kind, rows*b.Size).Offset
	b.Size *= rows
}

// SideBySide reports whether rows of the band run side by side that have scratch memory of their own.
func (p *Band) SideBySide() bool { return p.perRow != nil }

// PerRow is how many elements of scratch memory each row of the band has, if several rows run side by side.
func (p *Band) PerRow(b *ir.Buffer) int64 { return p.perRow[b] }
