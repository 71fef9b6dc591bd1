package plan

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// A product of matrices of narrow numbers is computed by Dot. Both operands are packed, whatever they are computed from
// and however it is loaded, and the sums of a tile lie in scratch memory, from where what follows the sum goes on with
// them as if it had collected them itself.

// Product says how a leaf with such a sum is laid out.
type Product struct {
	Loop   *analysis.Region
	Update *analysis.Update
	// Inner is the loop that is divided into steps, outer are the others that collect.
	Inner         *analysis.Region
	Outer         []*analysis.Region
	Steps         int64
	Splits        int
	Rows, Columns *DotOperand
	Sums          *ir.Buffer
	// Streams is the operand whose tiles all go by while one of the other operand is at work.
	Streams *DotOperand
	// PassSteps is how many steps are done before the next tile is turned to.
	PassSteps int64
}

// DotOperand is one of the two factors.
type DotOperand struct {
	U    *uop.UOp
	Kind ir.Kind
	Axis *Axis
	// Flipped says that the highest bit of each byte is flipped, which adds or subtracts 128.
	Flipped bool
	// Columns says that words of different columns stand side by side.
	Columns bool
	Buf     *ir.Buffer
	// Along says that numbers which follow each other along the sum are loaded together, otherwise those of different rows are.
	Along bool
	// Range keeps how far numbers are out of range if they are split.
	Range  *ir.Buffer
	PackAt int // the level before which it is packed
	Blocks int64
}

const (
	// dotLeast is how many rows and columns a product must have at least.
	dotLeast = 8
	// dotTile is how many blocks a tile has in each direction.
	dotTile = 2
	// flippedTiles is how many times higher a tile is whose rows are flipped: it sums the products of the bias once.
	flippedTiles = 2
)

// planProduct lays a leaf out as a product of packed operands, if it is one.
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

// findProduct finds the sum of products of a leaf, nil if it has none that there are instructions for.
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

// factors takes a term apart.
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

// dotKind is the narrowest kind that has all values of a factor; F64 if Dot knows none.
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
	if s := pl.Slopes(rows.Region.Rng).Of(st.Src[0]); s.Step == 1 && !s.Irregular {
		rows, cols = cols, rows
		q.Rows, q.Columns = q.Columns, q.Rows
	}
	q.Rows.Axis, q.Columns.Axis = rows, cols
	q.Columns.Columns = true
	return true
}

// betterAxis is the one of two axes that fills blocks better, then the one along which results stand side by side.
func (pl *planner) betterAxis(x, y *Axis, st *uop.UOp) *Axis {
	if x == nil {
		return y
	}
	score := func(a *Axis) float64 {
		full := (a.Count + ir.DotBlock - 1) / ir.DotBlock * ir.DotBlock
		s := float64(a.Count) / float64(full) * float64(min(full, dotTile*ir.DotBlock))
		if o := pl.Slopes(a.Region.Rng).Of(st.Src[0]); o.Step == 1 && !o.Irregular {
			s *= 1.5
		}
		return s
	}
	if score(y) > score(x) {
		return y
	}
	return x
}

// findSteps chooses the loop that is divided into steps: the one that leaves the fewest empty places. It reports whether
// not too many are.
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

// Packed is the kind of the packed numbers, bias what has been added to them.
func (o *DotOperand) Packed() (k ir.Kind, bias int32) {
	switch {
	case !o.Flipped:
		return o.Kind, 0
	case o.Kind == ir.I8:
		return ir.U8, 128
	}
	return ir.I8, -128
}

// Step is how many words a step of the operand has.
func (o *DotOperand) Step(q *Product) int64 { return int64(q.Splits) * o.Blocks * ir.DotWords }

// Panel is how many words the operand has for one tile.
func (o *DotOperand) Panel(q *Product) int64 { return q.Steps * o.Step(q) }

// fits is how many of the operand's tiles a cache holds, one at least.
func (o *DotOperand) fits(q *Product, cache int64) int64 {
	return min(max(cache/(o.Panel(q)*ir.WordSize), 1), o.Axis.tiles())
}

// dotLevels orders the loops: the operand that is packed first lies in the third cache, the other one in the second. An
// operand that the loops which are walked do not change is packed first, before them. If all of the second operand fits
// into its cache it is packed before the first one, of which one tile after the other is packed then: unless that would
// go through far memory with long strides, once for each tile.
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
	q.Rows.Along, q.Columns.Along = pl.runsAlong(q, q.Rows), pl.runsAlong(q, q.Columns)
	var walks []level
	for _, a := range p.Axes {
		if a != rows && a != cols {
			walks = append(walks, level{a, Walk})
		}
	}
	first, second := q.Columns, q.Rows
	moves := func(o *DotOperand) bool { return pl.movesWith(o.U, walks) }
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
		o.Axis.Group = share(o.Axis.tiles(), o.fits(q, cache), threads)
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
	whole := func(o *DotOperand) bool { return o.fits(q, near) == o.Axis.tiles() }
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

// tiles is the number of tiles, with the rest.
func (a *Axis) tiles() int64 { return a.Full() + min(a.Rest(), 1) }

// runsAlong reports whether it costs less to load an operand along the sum than across.
func (pl *planner) runsAlong(q *Product, o *DotOperand) bool {
	cost := func(rng *uop.UOp) float64 {
		s, sum := pl.Slopes(rng), 0.0
		for _, u := range analysis.LoadsIn(o.U, map[*uop.UOp]bool{}) {
			sum += costOf(s.Of(u.Src[0]), u)
		}
		return sum
	}
	return cost(q.Inner.Rng) <= cost(o.Axis.Region.Rng)
}
