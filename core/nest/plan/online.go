package plan

import (
	"maps"
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Attention computes blocks of rows between two products and stores the scores of a block and their exponentials, for which a workgroup of
// a GPU has too little memory. Online softmax goes through the columns in steps instead: it computes the scores of some columns in
// registers, their exponentials relative to the running maximum of the row, and accumulates the second product. When a maximum grows, the
// sums of its row are rescaled by the exponential of the difference (Milakov and Gimelshein, Online normalizer calculation for softmax,
// 2018).

// OnlineSoftmax is the layout of a kernel with online softmax.
type OnlineSoftmax struct {
	// Scores is the band of the first product, Results that of the second one. Between them is the band of the softmax.
	Scores, Results *Band
	softmax         *analysis.Region
	leaf            *analysis.Region
	// Blocks is the loop over blocks of Wide columns of the scores. Nil if their columns are one loop over Count of them.
	Blocks      *analysis.Region
	Wide, Count int64
	// Sum is the first product, Score what is stored of it; Max and Total are the registers of the softmax: the maximum of a row, and the
	// sum of its exponentials.
	Sum        *analysis.Region
	Score      *uop.UOp
	Max, Total analysis.Slot
	// Exp is the exponential of a score minus the maximum of its row; Load is the load of the score.
	Exp, Load *uop.UOp
	// Weights are factors of an exponential in the second product, RowWeights those that need the Total of the row. Row and Columns are the
	// loops of both.
	Weights, RowWeights []Weight
	Row                 *analysis.Region
	Columns             []*analysis.Region
	// Product is the second product. Its operand of the rows, Exps, is stored by the lanes that computed it.
	Product *StagedSum
	Exps    *Staged
	// Exchange is workgroup memory through which the lanes of a row reduce a value: an element for each row and each lane along it.
	Exchange *ir.Buffer
	// Unused are the buffers that the list declares.
	Unused []*ir.Buffer
}

// Weight is a factor: U, or its reciprocal, or, if U is a condition, 1 or 0.
type Weight struct {
	U       *uop.UOp
	Divides bool
}

// OnlineRows is the number of rows of a workgroup.
const OnlineRows = onlineSide * quad

const (
	onlineSide = 16 // lanes along the rows, and along the columns
	// mostOnline is the largest number of columns of the results: each lane has a part of them in registers.
	mostOnline = 256
)

// Online reports whether a kernel is laid out as online softmax.
func Online(f *analysis.Facts, m ir.Machine) bool {
	return f.Memory.Bytes > 0 && newOnline(f, m) != nil
}

// newOnline matches a kernel with online softmax, nil if it is another one.
func newOnline(f *analysis.Facts, m ir.Machine) *OnlineSoftmax {
	if f.Memory.Bytes == 0 || m.Shared == 0 || m.Group < onlineSide*onlineSide || len(f.Tree.Loops()) != 1 || f.Tree.HasStores() || f.Tree.AnyInOrder() {
		return nil
	}
	chain := analysis.Chain(f.Tree.Loops()[0])
	q := &OnlineSoftmax{leaf: chain[len(chain)-1]}
	parts := q.leaf.Loops()
	if len(parts) != 3 || q.leaf.HasStores() || slices.ContainsFunc(parts, func(r *analysis.Region) bool { return !r.Writes }) {
		return nil
	}
	for _, r := range chain {
		if r.Trip() < 1 {
			return nil
		}
	}
	q.softmax = parts[1]
	first, last := analysis.Chain(parts[0]), analysis.Chain(parts[2])
	if !q.findScores(f, first) || !q.findSoftmax(f, first) || !q.findResults(f, last, first[0]) {
		return nil
	}
	return q
}

// storeOf is the only store to memory of a region, nil if there is not exactly one.
func storeOf(r *analysis.Region) (store *uop.UOp) {
	for _, p := range r.Parts {
		if p.U != nil && p.U.Op == uop.Store && !analysis.IsRegister(p.U) {
			if store != nil {
				return nil
			}
			store = p.U
		}
	}
	return store
}

// findScores finds the first product in its loops: rows, and columns or blocks of columns.
func (q *OnlineSoftmax) findScores(f *analysis.Facts, c []*analysis.Region) bool {
	leaf := c[len(c)-1]
	sums, st := leaf.Loops(), storeOf(leaf)
	if len(c) < 2 || len(c) > 3 || c[0].Trip() < 1 || c[0].Trip() > OnlineRows || leaf.Trip() < 1 || len(sums) != 1 || sums[0].Writes || st == nil {
		return false
	}
	q.Sum, q.Score = sums[0], st.Src[1]
	if q.Wide = OnlineRows; len(c) == 3 {
		q.Blocks, q.Wide = c[1], leaf.Trip()
	} else {
		q.Count = leaf.Trip()
	}
	s := sumLoopsOf(q.Sum)
	return s != nil && s.Steps >= quad && q.Wide <= OnlineRows && q.isScratch(f, st) && q.at(f, st, c[0], c[1:])
}

// isScratch reports whether a load or store is one of floats in memory that the list declares.
func (q *OnlineSoftmax) isScratch(f *analysis.Facts, u *uop.UOp) bool {
	b := f.Buffers[analysis.Definition(u.Src[0])]
	if b == nil || b.Param >= 0 || b.Kind != ir.F32 {
		return false
	}
	if !slices.Contains(q.Unused, b) {
		q.Unused = append(q.Unused, b)
	}
	return true
}

// at reports whether an access goes to a row, and to all columns in their order: by one loop, or by one over blocks and one in a block.
func (q *OnlineSoftmax) at(f *analysis.Facts, u *uop.UOp, row *analysis.Region, columns []*analysis.Region) bool {
	_, index, gate, ok := f.AddressOf(u.Src[0])
	if !ok || gate != nil || len(u.Src) > 1 && u.Op == uop.Load {
		return false
	}
	by, off, ok := affine(index)
	if !ok || off != 0 || by[row.Rng] == 0 {
		return false
	}
	delete(by, row.Rng)
	want := map[*uop.UOp]int64{columns[len(columns)-1].Rng: 1}
	if len(columns) == 2 {
		want[columns[0].Rng] = q.Wide
	}
	return len(columns) <= 2 && maps.Equal(by, want) && q.covers(columns)
}

// covers reports whether loops have the same number of iterations as the columns of the scores.
func (q *OnlineSoftmax) covers(columns []*analysis.Region) bool {
	last := columns[len(columns)-1]
	switch {
	case q.Blocks == nil:
		return len(columns) == 1 && last.Trip() == q.Count
	case len(columns) == 2:
		return last.Trip() == q.Wide && sameTrip(columns[0].Rng.Src[0], q.Blocks.Rng.Src[0], 1)
	}
	return sameTrip(last.Rng.Src[0], q.Blocks.Rng.Src[0], q.Wide)
}

// sameTrip reports whether the trip count x is y times a factor, in all iterations of the loop that both may depend on.
func sameTrip(x, y *uop.UOp, factor int64) bool {
	var of *uop.UOp
	inside := func(u *uop.UOp) bool { return u.Op != uop.Range }
	all := []*uop.UOp{x, y}
	for _, u := range slices.Concat(x.ToposortGated(inside), y.ToposortGated(inside)) {
		all = append(all, u.Src...)
	}
	for _, u := range all {
		if u.Op == uop.Range && of != nil && u != of {
			return false
		} else if u.Op == uop.Range {
			of = u
		}
	}
	n := int64(1)
	if of != nil {
		if of.Src[0].Op != uop.ConstOp {
			return false
		}
		n = of.Src[0].ConstVal().I()
	}
	for i := range n {
		a, known := integer(x, i)
		b, too := integer(y, i)
		if !known || !too || a != b*factor {
			return false
		}
	}
	return true
}

// integer evaluates an integer expression of constants and one range, whose value is at.
func integer(u *uop.UOp, at int64) (int64, bool) {
	switch u.Op {
	case uop.ConstOp:
		if u.DType.IsBool() {
			return 0, false
		}
		return u.ConstVal().Int64()
	case uop.Range:
		return at, true
	}
	var x [3]int64
	if len(u.Src) == 0 || len(u.Src) > 3 {
		return 0, false
	}
	for i, s := range u.Src {
		var ok bool
		if x[i], ok = integer(s, at); !ok {
			return 0, false
		}
	}
	truth := func(b bool) (int64, bool) {
		if b {
			return 1, true
		}
		return 0, true
	}
	switch u.Op {
	case uop.Add:
		return x[0] + x[1], true
	case uop.Sub:
		return x[0] - x[1], true
	case uop.Neg:
		return -x[0], true
	case uop.Mul:
		return x[0] * x[1], true
	case uop.Shl:
		return x[0] << (x[1] & 63), true
	case uop.Shr:
		return x[0] >> (x[1] & 63), true
	case uop.And:
		return x[0] & x[1], true
	case uop.Max:
		return max(x[0], x[1]), true
	case uop.Idiv, uop.Mod:
		if x[1] == 0 {
			return 0, false
		}
		if u.Op == uop.Mod {
			return x[0] % x[1], true
		}
		return x[0] / x[1], true
	case uop.CmpLt:
		return truth(x[0] < x[1])
	case uop.CmpNe:
		return truth(x[0] != x[1])
	case uop.Where:
		if x[0] != 0 {
			return x[1], true
		}
		return x[2], true
	case uop.Cast:
		return x[0], u.DType.IsInt() && u.DType.Itemsize() >= 4
	}
	return 0, false
}

// affine splits an index into a sum of ranges times constants, and the constant off.
func affine(u *uop.UOp) (by map[*uop.UOp]int64, off int64, ok bool) {
	by = map[*uop.UOp]int64{}
	var add func(u *uop.UOp, times int64) bool
	add = func(u *uop.UOp, times int64) bool {
		constant := func(u *uop.UOp) (int64, bool) {
			if u.Op != uop.ConstOp || !u.DType.IsInt() {
				return 0, false
			}
			return u.ConstVal().Int64()
		}
		switch u.Op {
		case uop.Range:
			by[u] += times
			return true
		case uop.ConstOp:
			c, ok := constant(u)
			off += c * times
			return ok
		case uop.Cast:
			return add(u.Src[0], times)
		case uop.Add:
			return add(u.Src[0], times) && add(u.Src[1], times)
		case uop.Sub:
			return add(u.Src[0], times) && add(u.Src[1], -times)
		case uop.Mul:
			c, ok := constant(u.Src[1])
			return ok && add(u.Src[0], times*c)
		case uop.Shl:
			c, ok := constant(u.Src[1])
			return ok && c < 63 && add(u.Src[0], times<<c)
		}
		return false
	}
	ok = add(u, 1)
	return by, off, ok
}

// findSoftmax finds the maximum of a row, the sum of its exponentials, and the store of what the second product reads.
func (q *OnlineSoftmax) findSoftmax(f *analysis.Facts, scores []*analysis.Region) bool {
	q.Row = q.softmax
	loops := q.Row.Loops()
	if len(analysis.Chain(q.Row)) != 1 || len(loops) != 3 || loops[0].Writes || loops[1].Writes || !loops[2].Writes || q.Row.HasStores() || q.Row.Trip() != scores[0].Trip() {
		return false
	}
	most, columns := updateOf(loops[0], ir.Max)
	if most == nil || !q.isScore(f, most.Terms[0], columns) {
		return false
	}
	q.Max = most.Slot
	total, columns := updateOf(loops[1], ir.Add)
	if total == nil {
		return false
	}
	q.Total = total.Slot
	of, rate, ok := q.exp(total.Terms[0])
	if !ok || !q.isScore(f, of, columns) {
		return false
	}
	c := analysis.Chain(loops[2])
	leaf := c[len(c)-1]
	st := storeOf(leaf)
	if st == nil || len(leaf.Loops()) > 0 || !q.isScratch(f, st) || len(q.Unused) != 2 || !q.at(f, st, q.Row, c) || !q.splitWeights(f, st.Src[1]) || q.Exp == nil {
		return false
	}
	of, again, ok := q.exp(q.Exp)
	q.Load, q.Columns = of, c
	if !ok || again != rate || q.Exp.Op != total.Terms[0].Op || !q.isScore(f, of, c) {
		return false
	}
	return true
}

// updateOf is the update of a nest of loops that is one reduction of one term; columns are its loops.
func updateOf(r *analysis.Region, op ir.Op) (up *analysis.Update, columns []*analysis.Region) {
	for in := r; ; in = in.Loops()[0] {
		columns = append(columns, in)
		if n := len(in.Loops()); n == 0 {
			if len(in.Updates) != 1 || in.Updates[0].Op != op || len(in.Updates[0].Terms) != 1 || in.Updates[0].Slot.Reg.DType.Base() != uop.Float32 {
				return nil, nil
			}
			return in.Updates[0], columns
		} else if n > 1 {
			return nil, nil
		}
	}
}

// isScore reports whether a value is the score of a row and of all columns in their order.
func (q *OnlineSoftmax) isScore(f *analysis.Facts, u *uop.UOp, columns []*analysis.Region) bool {
	return u.Op == uop.Load && f.Buffers[analysis.Definition(u.Src[0])] == q.Unused[0] && q.at(f, u, q.Row, columns)
}

func (q *OnlineSoftmax) isMax(u *uop.UOp) bool { return isLoadOf(u, q.Max) }

func (q *OnlineSoftmax) isTotal(u *uop.UOp) bool { return isLoadOf(u, q.Total) }

func isLoadOf(u *uop.UOp, s analysis.Slot) bool {
	return u.Op == uop.Load && analysis.IsRegister(u) && analysis.ConstIndex(u.Src[0]) && analysis.SlotOf(u.Src[0]) == s
}

// exp matches the exponential of rate*(score - maximum of the row), for a positive constant rate.
func (q *OnlineSoftmax) exp(u *uop.UOp) (score *uop.UOp, rate float64, ok bool) {
	if u.Op != uop.Exp && u.Op != uop.Exp2 || u.DType.Scalar() != uop.Float32 {
		return nil, 0, false
	}
	most := 0.0
	var add func(u *uop.UOp, times float64) bool
	add = func(u *uop.UOp, times float64) bool {
		switch {
		case q.isMax(u):
			most += times
			return true
		case u.Op == uop.Load:
			if score != nil && score != u {
				return false
			}
			score, rate = u, rate+times
			return true
		case u.Op == uop.Add:
			return add(u.Src[0], times) && add(u.Src[1], times)
		case u.Op == uop.Sub:
			return add(u.Src[0], times) && add(u.Src[1], -times)
		case u.Op == uop.Neg:
			return add(u.Src[0], -times)
		case (u.Op == uop.Mul || u.Op == uop.MulAcc) && u.Src[1].Op == uop.ConstOp:
			return add(u.Src[0], times*u.Src[1].ConstVal().F()) && (u.Op == uop.Mul || add(u.Src[2], times))
		}
		return false
	}
	ok = add(u.Src[0], 1) && score != nil && rate > 0 && most == -rate
	return score, rate, ok
}

// splitWeights splits a product into the exponential of a score and its factors.
func (q *OnlineSoftmax) splitWeights(f *analysis.Facts, u *uop.UOp) bool {
	if _, _, ok := q.exp(u); ok {
		q.Exp = u
		return true
	}
	hasScore := func(u *uop.UOp) bool {
		return slices.ContainsFunc(analysis.LoadsIn(u), func(l *uop.UOp) bool { return f.Buffers[analysis.Definition(l.Src[0])] == q.Unused[0] })
	}
	factor := func(w Weight) bool {
		if hasScore(w.U) {
			return false
		}
		if slices.ContainsFunc(analysis.LoadsIn(w.U), q.isTotal) {
			q.RowWeights = append(q.RowWeights, w)
			return dependsOnlyOn(w.U, q.isTotal)
		}
		q.Weights = append(q.Weights, w)
		return !slices.ContainsFunc(analysis.LoadsIn(w.U), analysis.IsRegister)
	}
	switch {
	case u.Op == uop.Mul && hasScore(u.Src[0]):
		return factor(Weight{u.Src[1], false}) && q.splitWeights(f, u.Src[0])
	case u.Op == uop.Mul:
		return factor(Weight{u.Src[0], false}) && q.splitWeights(f, u.Src[1])
	case u.Op == uop.Fdiv:
		return factor(Weight{u.Src[1], true}) && q.splitWeights(f, u.Src[0])
	case u.Op == uop.Where && u.Src[2].Op == uop.ConstOp && u.Src[2].ConstVal().F() == 0:
		return factor(Weight{u.Src[0], false}) && q.splitWeights(f, u.Src[1])
	}
	return false
}

// dependsOnlyOn reports whether a value depends only on constants and the given loads.
func dependsOnlyOn(u *uop.UOp, is func(*uop.UOp) bool) bool {
	if is(u) || u.Op == uop.ConstOp {
		return true
	}
	return u.Op != uop.Load && len(u.Src) > 0 && !slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return !dependsOnlyOn(s, is) })
}

// findResults finds the second product in its loops: rows and columns.
func (q *OnlineSoftmax) findResults(f *analysis.Facts, c []*analysis.Region, rows *analysis.Region) bool {
	leaf := c[len(c)-1]
	if len(c) != 2 || c[0].Trip() != rows.Trip() || leaf.Trip() < 1 || leaf.Trip() > mostOnline || len(leaf.Loops()) != 1 || leaf.Loops()[0].Writes {
		return false
	}
	up, columns := updateOf(leaf.Loops()[0], ir.Add)
	if up == nil || !q.covers(columns) {
		return false
	}
	var exps *uop.UOp
	for _, l := range analysis.LoadsIn(up.Terms[0]) {
		if b := f.Buffers[analysis.Definition(l.Src[0])]; b == q.Unused[1] && exps == nil && q.at(f, l, c[0], columns) {
			exps = l
		} else if slices.Contains(q.Unused, b) {
			return false
		}
	}
	st := storeOf(leaf)
	if exps == nil || st == nil || q.loads(f.Tree, f) != 4 {
		return false
	}
	q.Product = &StagedSum{SumLoops: &SumLoops{Loops: columns}}
	q.Exps = &Staged{U: exps}
	return true
}

// loads counts the loads of scratch memory.
func (q *OnlineSoftmax) loads(r *analysis.Region, f *analysis.Facts) (n int) {
	for _, p := range r.Parts {
		if p.Sub != nil {
			n += q.loads(p.Sub, f)
		} else if p.U.Op == uop.Load && slices.Contains(q.Unused, f.Buffers[analysis.Definition(p.U.Src[0])]) {
			n++
		}
	}
	return n
}

// planOnline lays a kernel with online softmax out for a square of lanes. It reports whether it is one.
func (pl *planner) planOnline() bool {
	if pl.plain || !pl.m.Invocations {
		return false
	}
	q := newOnline(pl.Facts, pl.m)
	if q == nil {
		return false
	}
	loops := q.leaf.Loops()
	last := analysis.Chain(loops[2])
	units := int64(quad)
	for units*onlineSide < last[1].Trip() {
		units *= 2 // lanes divide tiles by shifts
	}
	q.Scores, q.Results = pl.onlineBand(analysis.Chain(loops[0]), quad), pl.onlineBand(last, units)
	first, second := q.Scores.Workgroup, q.Results.Workgroup
	if !pl.findStaged(q.Scores, first, []*SumLoops{sumLoopsOf(q.Sum)}) || !pl.findStaged(q.Results, second, []*SumLoops{q.Product.SumLoops}) {
		ir.Fail("an operand of attention cannot be staged")
	}
	q.Product = second.Sums[0]
	q.Product.Inner, q.Product.Steps = nil, OnlineRows
	at := slices.IndexFunc(q.Product.Operands, func(o *Staged) bool { return o.Axis == second.Rows })
	if q.Product.Operands[at].U != q.Exps.U || slices.ContainsFunc(q.Product.Operands[at+1:], func(o *Staged) bool { return o.Axis == second.Rows }) {
		ir.Fail("the second product of attention has rows beside the exponentials")
	}
	q.Exps = q.Product.Operands[at]
	q.Exps.Along = false
	q.Product.Operands = append([]*Staged{q.Exps}, slices.Delete(q.Product.Operands, at, at+1)...)
	pl.Memory.Bytes = 0
	if !pl.reserveStaged(slices.Concat(first.Sums, second.Sums), func(o *Staged) int64 { return o.Axis.Tile() }) {
		ir.Fail("attention has too little workgroup memory")
	}
	q.Exchange = q.Exps.Buf
	if pl.Memory.GrowShared(q.Exchange, onlineSide*OnlineRows/quad); pl.Memory.Shared > pl.m.Shared {
		ir.Fail("attention has too little workgroup memory")
	}
	pl.setLanes(onlineSide * onlineSide)
	pl.BandOf[loops[2]], pl.Online = q.Results, q
	pl.ReductionOf[q.Sum] = &Reduction{Loop: q.Sum, Form: InStages}
	pl.ReductionOf[q.Product.Loops[0]] = &Reduction{Loop: q.Product.Loops[0], Form: InOnlineSoftmax}
	return true
}

// onlineBand makes a band of rows and columns for a square of lanes; a lane has quad rows and the given number of columns.
func (pl *planner) onlineBand(c []*analysis.Region, units int64) *Band {
	p := &Band{Leaf: c[len(c)-1], Items: -1, Masks: pl.Masks}
	axis := func(r *analysis.Region, units, below int64) *Axis {
		a := &Axis{Region: r, Count: r.Trip(), Number: int64(len(p.Axes) + 1), Vector: true, Unit: onlineSide, Units: units, Spread: &Spread{onlineSide, below, quad}}
		p.Axes, p.Levels = append(p.Axes, a), append(p.Levels, level{a, Tiles})
		return a
	}
	rows := axis(c[0], quad, onlineSide)
	p.Workgroup = &Workgroup{Rows: rows, Columns: axis(p.Leaf, units, 1)}
	return p
}

// Skips reports whether a loop is emitted as part of the online softmax.
func (q *OnlineSoftmax) Skips(r *analysis.Region) bool {
	return q != nil && (r == q.softmax || r == q.leaf.Loops()[0])
}
