package plan

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
)

const (
	// maxInterleavedRows is the largest number of short rows that are interleaved.
	maxInterleavedRows = 8
	// shortRowVectors is the number of vectors of a row up to which that pays.
	shortRowVectors = 16
)

// planShortRows interleaves a few short rows that several loops go through: the iterations of such a loop depend on each other, and the next
// loop on its result, so that a single row leaves the processor idle. Rows that are only copied depend on nothing, and are faster in the
// order of memory.
func (pl *planner) planShortRows(p *Band) {
	rows, vectors := p.Axes[len(p.Axes)-1], int64(0)
	if rows.Dynamic || rows.ordered || !pl.m.SlowLoops && !p.Leaf.Collects() {
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
	units := int64(maxInterleavedRows)
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
		p.expandScratch(pl, b, units)
	}
}

// scratchOfRows lists the scratch buffers that every row of a loop overwrites. ok is false if one of them is also indexed by the row.
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

// expandScratch gives each of the interleaved rows its own copy of scratch buffers.
func (p *Band) expandScratch(pl *planner, b *ir.Buffer, rows int64) {
	if p.perRow == nil {
		p.perRow = map[*ir.Buffer]int64{}
	}
	p.perRow[b] = b.Size
	b.Offset = pl.Memory.New(b.Kind, rows*b.Size).Offset
	b.Size *= rows
}

// RowsInterleaved reports whether interleaved rows of the band have their own scratch memory.
func (p *Band) RowsInterleaved() bool { return p.perRow != nil }

// PerRow is the number of elements of scratch memory of each interleaved row.
func (p *Band) PerRow(b *ir.Buffer) int64 { return p.perRow[b] }
