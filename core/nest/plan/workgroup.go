package plan

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// On a GPU the lanes of a product are a rectangle of invocations, each with a register tile of rows and columns. The operands of a
// workgroup are staged: computed once, some steps at a time, into workgroup memory, and read from there in vectors of four.

// Workgroup is the layout of a leaf with staged operands.
type Workgroup struct {
	Rows, Columns *Axis
	// OuterColumns is the axis around Columns, for tiles that are wider than Columns is long (lines of an image). Nil for none.
	OuterColumns *Axis
	Sums         []*StagedSum
}

// Across is the number of columns of a lane.
func (q *Workgroup) Across() int64 {
	if q.OuterColumns != nil {
		return q.Columns.Units * q.OuterColumns.Units
	}
	return q.Columns.Units
}

// Spread is the distribution of the lanes along the rows, or along the columns.
func (q *Workgroup) Spread(a *Axis) *Spread {
	if a == q.Rows || q.OuterColumns == nil {
		return a.Spread
	}
	return &Spread{q.Columns.Spread.Lanes * q.OuterColumns.Spread.Lanes, 1, quad}
}

// Tile is the number of rows, or of all columns, of a tile.
func (q *Workgroup) Tile(a *Axis) int64 {
	if a == q.Rows || q.OuterColumns == nil {
		return a.Tile()
	}
	return q.Columns.Tile() * q.OuterColumns.Tile()
}

// StagedSum is a sum whose operands are staged, Stage steps at a time.
type StagedSum struct {
	*SumLoops
	Stage    int64
	Operands []*Staged
	// Inner is the loop whose iterations are the steps of a stage; the other loops are outside of the stage. Nil if the steps of a stage go
	// through the whole nest.
	Inner *analysis.Region
}

// stagedLoop is the longest of several loops whose trip count is a multiple of mostStage, nil for none; the positions along the other loops are then
// computed once per stage.
func (s *SumLoops) stagedLoop() *analysis.Region {
	var found *analysis.Region
	for _, r := range s.Loops {
		if len(s.Loops) > 1 && r.Trip()%mostStage == 0 && (found == nil || r.Trip() > found.Trip()) {
			found = r
		}
	}
	return found
}

// Staged is an operand of a sum in workgroup memory: an expression that depends on the rows or on the columns, but not on both.
type Staged struct {
	U    *uop.UOp
	Axis *Axis
	Buf  *ir.Buffer
	// Row is the number of elements from one step to the next.
	Row int64
	// Along: neighbouring lanes compute neighbouring steps, otherwise neighbouring iterations of the axis.
	Along bool
}

// Of is the staged sum that begins with a loop, nil if there is none.
func (q *Workgroup) Of(r *analysis.Region) *StagedSum {
	if q == nil {
		return nil
	}
	for _, s := range q.Sums {
		if s.Loops[0] == r {
			return s
		}
	}
	return nil
}

const (
	quad = 4 // elements of a vector load from workgroup memory
	// leastStaged is the least number of rows, of columns and of steps of a product whose operands are staged.
	leastStaged = 12
	// mostStage is the largest number of steps that are staged at a time.
	mostStage = 16
	// mostTile is the largest number of rows and of columns of a workgroup.
	mostTile = 128
	// mostResults is the largest number of results of an invocation. With 32 products of 2048 and 4096 take 1.1 times as long on an H200.
	mostResults = 64
	// mostCopied bounds the operations of the epilogue, in all copies of an invocation.
	mostCopied = 1024
)

// rectangle is a candidate for the lanes and the registers of a workgroup.
type rectangle struct{ high, wide, tall, across int64 } // high by wide lanes, each with tall rows and across columns

func (r rectangle) rows() int64    { return r.high * r.tall }
func (r rectangle) columns() int64 { return r.wide * r.across }
func (r rectangle) lanes() int64   { return r.high * r.wide }

// planWorkgroup lays a band out for a workgroup with staged operands, if that is faster than with lanes along one axis.
func (pl *planner) planWorkgroup(p *Band) bool {
	if !pl.m.Invocations || pl.m.Shared == 0 || pl.serial || p.want[knobRowAxis] == none {
		return false
	}
	var sums []*SumLoops
	results := 1
	for _, r := range p.Leaf.Loops() {
		s := sumLoopsOf(r)
		if s == nil || s.Steps < leastStaged {
			return false
		}
		results = max(results, len(s.Innermost().Updates))
		sums = append(sums, s)
	}
	if len(sums) == 0 {
		return false
	}
	var best *Workgroup
	var shape rectangle
	cost := math.Inf(1)
	for _, rows := range p.Axes {
		for _, cols := range p.Axes {
			if rows == cols || rows.Count < leastStaged || cols.Count < leastStaged || rows.ordered || cols.ordered ||
				!p.want.allows(knobRowAxis, rows) || !p.want.allows(knobVectorAxis, cols) {
				continue
			}
			q := &Workgroup{Rows: rows, Columns: cols}
			if !pl.findStaged(p, q, sums) {
				continue
			}
			q.OuterColumns = pl.outerColumns(p, q)
			r, c := pl.rectangleFor(p, q, int64(results))
			if st := p.stores(); len(st) > 0 {
				if s := pl.Slopes(cols.Region.Rng).Of(st[0].Src[0]); !s.Contiguous() {
					c *= 1.1 // stores are not coalesced
				}
			}
			if c < cost {
				best, shape, cost = q, r, c
			}
		}
	}
	if best == nil || !pl.reserveStaged(best.Sums, func(o *Staged) int64 {
		if o.Axis == best.Rows {
			return shape.rows()
		}
		return shape.columns()
	}) {
		return false
	}
	pl.setLanes(shape.lanes())
	rows, cols := best.Rows, best.Columns
	rows.Vector, rows.Unit, rows.Units, rows.Spread = true, shape.high, shape.tall, &Spread{shape.high, shape.wide, min(shape.tall, quad)}
	cols.Vector, cols.Unit, cols.Units, cols.Spread = true, shape.wide, shape.across, &Spread{shape.wide, 1, min(shape.across, quad)}
	outer := best.OuterColumns
	if outer != nil {
		wide := shape.inLine(cols.Count) / quad
		cols.Unit, cols.Units, cols.Spread = wide, quad, &Spread{wide, 1, quad}
		if outer.Unit, outer.Units = shape.wide/wide, shape.across/quad; wide == shape.wide && outer.Units == 1 {
			outer, best.OuterColumns = nil, nil
		} else {
			outer.Vector, outer.Spread = true, &Spread{outer.Unit, wide, 1}
		}
	}
	// The copies of a row are adjacent, and consecutive workgroups share their rows.
	p.Axes = slices.DeleteFunc(p.Axes, func(a *Axis) bool { return a == rows || a == cols || a == outer })
	for _, a := range p.Axes {
		p.Levels = append(p.Levels, level{a, Walk})
	}
	for _, a := range []*Axis{rows, outer, cols} {
		if a != nil {
			p.Axes, p.Levels = append(p.Axes, a), append(p.Levels, level{a, Tiles})
		}
	}
	p.Workgroup = best
	return true
}

// inLine is the number of columns of the rectangle along Columns, an axis of count iterations; the others are along OuterColumns.
func (r rectangle) inLine(count int64) int64 {
	n := int64(quad)
	for n < count && n < quad*r.wide {
		n *= 2
	}
	return n
}

// outerColumns is the longest other axis on which the staged columns depend and the staged rows do not.
func (pl *planner) outerColumns(p *Band, q *Workgroup) *Axis {
	var found *Axis
	for _, a := range p.Axes {
		if a == q.Rows || a == q.Columns || q.Columns.Dynamic || a.Dynamic || a.ordered || a.Count < 2 || q.Columns.Count > mostTile/2 {
			continue
		}
		by, ok := pl.Slopes(a.Region.Rng), true
		for _, s := range q.Sums {
			for _, o := range s.Operands {
				ok = ok && by.Of(o.U).Depends == (o.Axis == q.Columns)
			}
		}
		if ok && (found == nil || a.Count >= found.Count) {
			found = a
		}
	}
	return found
}

// findStaged finds the operands of sums to be staged. It reports whether all operands are staged or uniform.
func (pl *planner) findStaged(p *Band, q *Workgroup, sums []*SumLoops) bool {
	written := p.Leaf.Written(nil)
	for _, s := range sums {
		st := &StagedSum{SumLoops: s, Inner: s.stagedLoop()}
		byRow, byColumn := pl.Slopes(q.Rows.Region.Rng), pl.Slopes(q.Columns.Region.Rng)
		ok, rows, cols := true, false, false
		known, seen := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}
		var find func(u *uop.UOp)
		find = func(u *uop.UOp) {
			if seen[u] || !ok || u.Op == uop.Load && u.Src[0].DType.Space == uop.Reg {
				return
			}
			seen[u] = true
			row, col := byRow.Of(u).Depends, byColumn.Of(u).Depends
			switch {
			case !row && !col || pl.Affine(u):
			case row != col && !readsLeaf(written, u, known) && len(analysis.LoadsIn(u)) > 0:
				k := analysis.KindFor(u.DType).Register()
				if ok = k == ir.F32 || k == ir.I32 || k == ir.U32; !ok {
					return
				}
				rows, cols = rows || row, cols || col
				a := q.Columns
				if row {
					a = q.Rows
				}
				along := pl.loadCost(u, cmp.Or(st.Inner, st.Innermost())) < pl.loadCost(u, a.Region)
				st.Operands = append(st.Operands, &Staged{U: u, Axis: a, Along: along})
			case u.Op == uop.Load:
				ok = false
			default:
				for _, src := range u.Src {
					find(src)
				}
			}
		}
		for _, up := range s.Innermost().Updates {
			if up.Op == 0 {
				return false
			}
			for _, t := range up.Terms {
				find(t)
			}
		}
		if !ok || !rows || !cols {
			return false
		}
		q.Sums = append(q.Sums, st)
	}
	return true
}

// rectangleFor is the fastest rectangle for a band, with its cost: the loads of an invocation from workgroup memory and of a workgroup from
// memory in each step, the occupancy of the GPU, and the work wasted beyond the edges.
func (pl *planner) rectangleFor(p *Band, q *Workgroup, results int64) (best rectangle, cost float64) {
	const (
		fromShared = 4  // of a quad, in units of a product
		fromMemory = 10 // of an element
		small      = 3  // so many workgroups of few lanes hide as much latency as one of many lanes
	)
	others := float64(1)
	for _, a := range p.Axes {
		if a != q.Rows && a != q.Columns && a != q.OuterColumns {
			others *= float64(max(a.Count, 1))
		}
	}
	after := max(pl.Weight(p.Leaf), 1)
	cost = math.Inf(1)
	sizes := []int64{usualLanes, pl.m.Group}
	if p.want[knobLanes] != auto {
		sizes = []int64{powerOfTwo(p.want.or(knobLanes, usualLanes, pl.m.Group))}
	}
	for _, lanes := range sizes {
		for high := int64(1); high <= lanes; high *= 2 {
			if p.want[knobLaneRows] != auto && p.want[knobLaneRows] != high {
				continue
			}
			for _, tall := range []int64{4, 8} {
				for _, across := range []int64{4, 8} {
					r := rectangle{high, lanes / high, tall, across}
					if r.rows() > mostTile || r.columns() > mostTile || tall*across*results > mostResults || tall*across*after > max(mostCopied, 16*after) ||
						p.want[knobTileRows] != auto && p.want[knobTileRows] != tall || p.want[knobTileVectors] != auto && p.want[knobTileVectors] != across {
						continue
					}
					down, along, columns := (q.Rows.Count+r.rows()-1)/r.rows(), (q.Columns.Count+r.columns()-1)/r.columns(), q.Columns.Count
					if q.OuterColumns != nil {
						line := r.inLine(columns)
						lines := r.columns() / line
						along, columns = (columns+line-1)/line*((q.OuterColumns.Count+lines-1)/lines), columns*q.OuterColumns.Count
					}
					groups := others * float64(down*along)
					vain := float64(down*r.rows()*along*r.columns()) / float64(q.Rows.Count*columns)
					c := vain * (1 + fromShared*float64(tall+across)/float64(quad*tall*across) + fromMemory*(1/float64(r.rows())+1/float64(r.columns())))
					if lanes < pl.m.Group {
						groups /= small
					}
					// Work that does not fill the GPU takes as long as if it did.
					c *= max(float64(pl.m.Workgroups/2)/groups, 1)
					if c < cost {
						best, cost = r, c
					}
				}
			}
		}
	}
	return best, cost
}

// reserveStaged allocates workgroup memory for the staged operands, with as many steps as fit. Consecutive sums reuse the same memory. If
// it is too small, nothing is allocated.
func (pl *planner) reserveStaged(sums []*StagedSum, rows func(*Staged) int64) (ok bool) {
	before := pl.Memory
	defer func() {
		if !ok {
			pl.Memory = before
		}
	}()
	row := func(o *Staged) int64 {
		n := rows(o)
		if o.Along {
			n += quad // padding avoids bank conflicts between adjacent steps
		}
		return n
	}
	var bufs []*ir.Buffer
	for _, s := range sums {
		all := int64(0)
		for _, o := range s.Operands {
			all += row(o) * 4
		}
		for s.Stage = min(mostStage, int64(1)<<bits.Len64(uint64(s.Steps-1))); s.Stage > 1 && s.Stage*all > pl.m.Shared; s.Stage /= 2 {
		}
		if s.Stage < quad {
			return false
		}
		free := slices.Clone(bufs)
		larger := func(x, y *Staged) int { return cmp.Compare(row(y), row(x)) }
		for _, o := range slices.SortedStableFunc(slices.Values(s.Operands), larger) {
			o.Row = row(o)
			k, quads := analysis.KindFor(o.U.DType).Register(), o.Row*s.Stage/quad
			i := slices.IndexFunc(free, func(b *ir.Buffer) bool { return b.Kind == k })
			if i < 0 {
				o.Buf = pl.Memory.NewShared(k, quads)
				bufs = append(bufs, o.Buf)
				continue
			}
			o.Buf = free[i]
			free = slices.Delete(free, i, i+1)
			pl.Memory.GrowShared(o.Buf, quads)
		}
		slices.SortStableFunc(bufs, func(x, y *ir.Buffer) int { return cmp.Compare(y.Size, x.Size) })
	}
	return pl.Memory.Shared <= pl.m.Shared
}
