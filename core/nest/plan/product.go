package plan

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// A product of matrices of narrow types (bytes, 16-bit floats) is computed by Dot. Both operands, which may be any expressions, are packed.
// The sums of a tile are in scratch memory, where the epilogue reads them like accumulators.

// Product is the layout of a leaf with such a sum.
type Product struct {
	Loop   *analysis.Region
	Update *analysis.Update
	// Inner is the reduction loop that is divided into steps, Outer are the other reduction loops.
	Inner         *analysis.Region
	Outer         []*analysis.Region
	Steps         int64
	Splits        int
	Rows, Columns *DotOperand
	Sums          *ir.Buffer
	// Streams is the operand all of whose tiles are used for each tile of the other operand.
	Streams *DotOperand
	// PassSteps is the number of steps of a tile in a pass.
	PassSteps int64
}

// DotOperand is one of the two factors.
type DotOperand struct {
	U    *uop.UOp
	Kind ir.Kind
	Axis *Axis
	// Flipped: the highest bit of each byte is flipped, which adds or subtracts 128 (signed and unsigned bytes).
	Flipped bool
	// Columns: adjacent words belong to different columns.
	Columns bool
	Buf     *ir.Buffer
	// Along: vectors are loaded along the reduction, otherwise across the rows.
	Along bool
	// Range records whether numbers are out of range for splitting (bf16x3).
	Range  *ir.Buffer
	PackAt int // the level before which it is packed
	Blocks int64
}

const (
	// dotLeast is the least number of rows and of columns of a product.
	dotLeast = 8
	// dotTile is the number of blocks of a tile in each direction.
	dotTile = 2
	// flippedTiles is the factor by which tiles with flipped rows are higher, as the correction for the bias is summed once for each tile.
	flippedTiles = 2
)

// planProduct lays a leaf out as a product of packed operands if it has that form.
func (pl *planner) planProduct(p *Band) bool {
	q := pl.findProduct(p.Leaf)
	if q == nil || !p.Masks || pl.Lanes != ir.DotBlock || pl.m.MaskedSize != 1 || !pl.dotAxes(p, q) || !q.findSteps() {
		return false
	}
	if q.Splits > 1 && q.Rows.Axis.Count*q.Columns.Axis.Count*q.Steps*ir.DotBlock*ir.PerWord(ir.BF16) < splitLeast {
		return false
	}
	pl.dotLevels(p, q)
	p.Product = q
	return true
}

// findProduct returns the sum of products of a leaf, nil if there is none that Dot can compute.
func (pl *planner) findProduct(leaf *analysis.Region) *Product {
	in := leaf.Loops()
	if len(in) != 1 {
		return nil
	}
	q := &Product{Loop: in[0], Splits: 1}
	for r := in[0]; ; r = r.Loops()[0] {
		if r.Trip() < 1 || len(r.Updates) != 1 || len(r.Loops()) > 1 {
			return nil
		}
		q.Outer = append(q.Outer, r)
		if len(r.Loops()) == 0 {
			break
		}
	}
	q.Update = in[0].Innermost().Updates[0]
	if q.Update.Op != ir.Add || len(q.Update.Terms) != 1 {
		return nil
	}
	a, b, ok := pl.factors(q.Update.Terms[0])
	if !ok && q.Update.Terms[0].Op == uop.Mul && pl.canSplit(q.Update.Terms[0]) {
		t := q.Update.Terms[0]
		a, b, ok = &DotOperand{U: t.Src[0], Kind: ir.BF16}, &DotOperand{U: t.Src[1], Kind: ir.BF16}, true
		q.Splits = SplitTerms
	}
	if !ok || pl.ReadsWritten(a.U) || pl.ReadsWritten(b.U) {
		return nil
	}
	q.Rows, q.Columns = a, b
	return q
}

// factors returns the two factors of a term.
func (pl *planner) factors(t *uop.UOp) (a, b *DotOperand, ok bool) {
	k, known := ir.KindOf[t.DType.Scalar()]
	if !known {
		return nil, nil, false
	}
	if pl.ExactProducts[t] {
		t = t.Src[0]
	}
	if t.Op != uop.Mul {
		return nil, nil, false
	}
	x, y := dotKind(t.Src[0]), dotKind(t.Src[1])
	switch {
	case k == ir.F32 && x == ir.BF16 && y == ir.BF16 && pl.m.DotBF16:
	case k == ir.I32 && x.Size() == 1 && y.Size() == 1 && pl.m.DotI8:
	default:
		return nil, nil, false
	}
	return &DotOperand{U: t.Src[0], Kind: x}, &DotOperand{U: t.Src[1], Kind: y}, true
}

// dotKind is the narrowest kind of Dot that represents a factor exactly; F64 if there is none.
func dotKind(u *uop.UOp) ir.Kind {
	switch k := ir.KindOf[u.DType.Scalar()]; {
	case k == ir.BF16 || k == ir.I8 || k == ir.U8:
		return k
	case u.Op == uop.Cast:
		switch from := ir.KindOf[u.Src[0].DType.Scalar()]; {
		case k == ir.F32 && from == ir.BF16, k == ir.I32 && (from == ir.I8 || from == ir.U8):
			return from
		}
	case u.Op == uop.Where:
		x, y := dotKind(u.Src[1]), dotKind(u.Src[2])
		switch {
		case x == y, isZero(u.Src[2]):
			return x
		case isZero(u.Src[1]):
			return y
		}
	}
	return ir.F64
}

func isZero(u *uop.UOp) bool { return u.Op == uop.ConstOp && u.ConstVal().F() == 0 }

// dotAxes chooses the axes of rows and columns.
func (pl *planner) dotAxes(p *Band, q *Product) bool {
	var st *uop.UOp
	for _, x := range p.Leaf.Parts {
		if x.U != nil && x.U.Op == uop.Store && x.U.Src[0].DType.Space != uop.Reg {
			st = x.U
		}
	}
	if st == nil {
		return false
	}
	var rows, cols *Axis
	for _, a := range p.Axes {
		s := pl.Slopes(a.Region.Rng)
		inA, inB := s.Of(q.Rows.U).Depends, s.Of(q.Columns.U).Depends
		switch {
		case a.Dynamic || a.Count < dotLeast || inA == inB:
		case inA:
			rows = pl.betterAxis(rows, a, st)
		default:
			cols = pl.betterAxis(cols, a, st)
		}
	}
	if rows == nil || cols == nil {
		return false
	}
	if s := pl.Slopes(rows.Region.Rng).Of(st.Src[0]); s.Contiguous() {
		rows, cols = cols, rows
		q.Rows, q.Columns = q.Columns, q.Rows
	}
	q.Rows.Axis, q.Columns.Axis = rows, cols
	q.Columns.Columns = true
	return true
}

// betterAxis returns the axis that fills blocks better; if both do equally, the one along which results are adjacent.
func (pl *planner) betterAxis(x, y *Axis, st *uop.UOp) *Axis {
	if x == nil {
		return y
	}
	score := func(a *Axis) float64 {
		full := (a.Count + ir.DotBlock - 1) / ir.DotBlock * ir.DotBlock
		s := float64(a.Count) / float64(full) * float64(min(full, dotTile*ir.DotBlock))
		if o := pl.Slopes(a.Region.Rng).Of(st.Src[0]); o.Contiguous() {
			s *= 1.5
		}
		return s
	}
	if score(y) > score(x) {
		return y
	}
	return x
}

// findSteps chooses the loop that is divided into steps: the one with the least padding. It reports whether the padding is
// acceptable.
func (q *Product) findSteps() bool {
	n := ir.DotBlock * ir.PerWord(q.Rows.Kind)
	total := int64(1)
	for _, r := range q.Outer {
		total *= r.Trip()
	}
	best := -1
	for i, r := range q.Outer {
		if steps := total / r.Trip() * ((r.Trip() + n - 1) / n); best < 0 || steps <= q.Steps {
			best, q.Steps = i, steps
		}
	}
	q.Inner = q.Outer[best]
	q.Outer = slices.Delete(q.Outer, best, best+1)
	return q.Steps*n <= 2*total
}

// Packed is the kind of the packed numbers, bias the number that was added to them.
func (o *DotOperand) Packed() (k ir.Kind, bias int32) {
	switch {
	case !o.Flipped:
		return o.Kind, 0
	case o.Kind == ir.I8:
		return ir.U8, 128
	}
	return ir.I8, -128
}

// Step is the number of words of a step of the operand.
func (o *DotOperand) Step(q *Product) int64 { return int64(q.Splits) * o.Blocks * ir.DotWords }

// Panel is the number of words of the operand for one tile.
func (o *DotOperand) Panel(q *Product) int64 { return q.Steps * o.Step(q) }

// tilesInCache is the number of tiles of the operand that fit a cache, at least one.
func (o *DotOperand) tilesInCache(q *Product, cache int64) int64 {
	return min(max(cache/(o.Panel(q)*ir.WordSize), 1), o.Axis.tiles())
}

// dotLevels orders the loops: the operand that is packed first is kept in L3, the other one in L2. An operand that does not depend on
// the walked loops is packed first, outside of them. If all of the second operand fits L2 it is packed first instead, and the
// tiles of the other operand are packed one after the other, unless that would read distant memory with long strides for each tile.
func (pl *planner) dotLevels(p *Band, q *Product) {
	rows, cols := q.Rows.Axis, q.Columns.Axis
	cols.Vector, cols.Unit = true, ir.DotBlock
	cols.Units = min(dotTile, (cols.Count+ir.DotBlock-1)/ir.DotBlock)
	q.Rows.Flipped = pl.m.DotMixed && q.Rows.Kind == q.Columns.Kind && q.Rows.Kind != ir.BF16
	high := int64(dotTile)
	if q.Rows.Flipped {
		high *= flippedTiles
	}
	rows.Units = min(high*ir.DotBlock, (rows.Count+ir.DotBlock-1)/ir.DotBlock*ir.DotBlock)
	q.Rows.Blocks, q.Columns.Blocks = rows.Units/ir.DotBlock, cols.Units
	for _, o := range []*DotOperand{q.Rows, q.Columns} {
		o.Along = pl.loadCost(o.U, q.Inner) <= pl.loadCost(o.U, o.Axis.Region)
	}
	var walks []level
	for _, a := range p.Axes {
		if a != rows && a != cols {
			walks = append(walks, level{a, Walk})
		}
	}
	first, second := q.Columns, q.Rows
	moves := func(o *DotOperand) bool { return pl.variesWith(o.U, walks) }
	threads := int64(pl.m.Threads)
	switch a, b := moves(q.Rows), moves(q.Columns); {
	case a == b && q.Rows.Axis.tiles() > q.Columns.Axis.tiles() || !a && b:
		first, second = second, first
	}
	before := len(walks) > 0 && (moves(first) || first.Axis.tiles() < threads)
	if before {
		p.Levels, walks = append(p.Levels, walks...), nil
		threads = 1
	}
	reserve := func(o *DotOperand, cache, threads int64) {
		o.Axis.Group = balancedBlock(o.Axis.tiles(), o.tilesInCache(q, cache), threads)
		o.Buf = pl.Memory.New(ir.U32, o.Axis.Group*o.Panel(q))
		o.Buf.Written = o.Columns && o.Along
		if q.Splits > 1 {
			o.Range = pl.Memory.NewUpdated(ir.U32, ir.DotBlock)
		}
		if o.Axis.Group < o.Axis.tiles() || len(p.Levels) == 0 && o == first {
			p.Levels = append(p.Levels, level{o.Axis, Blocks})
		}
		o.PackAt = len(p.Levels)
	}
	near, far := pl.m.L2/2, pl.m.L3
	whole := func(o *DotOperand) bool { return o.tilesInCache(q, near) == o.Axis.tiles() }
	if len(walks) == 0 && whole(second) && (whole(first) || first.Along) {
		reserve(second, near, 1)
		reserve(first, 0, threads)
	} else {
		reserve(first, far, threads)
		p.Levels = append(p.Levels, walks...)
		reserve(second, near, 1)
	}
	p.Levels = append(p.Levels, level{first.Axis, Tiles}, level{second.Axis, Tiles})
	q.Streams = second
	if second.Axis.tiles() == 1 {
		q.Streams = first
	}
	q.planPasses(first, second, pl.m.L1)
	sums := rows.Units * cols.Units * ir.DotBlock
	if q.Passes() > 1 {
		sums *= second.Axis.Group
	}
	q.Sums = pl.Memory.NewUpdated(analysis.KindFor(q.Update.Slot.Reg.DType.Base()), sums)
}

// tiles is the number of tiles, the remainder included.
func (a *Axis) tiles() int64 { return a.Full() + min(a.Rest(), 1) }
