package fuse

import (
	"slices"

	"polygrad/core/ranges"
	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Elements of padded, joined and rolled values are selected by comparing positions:
//
//	for j < n { store(j < 3 ? x[j+a] : x[j-3]) }
//
// A loop over contiguous elements with such a comparison is split where the comparison changes:
//
//	for j < 3 { store(x[j+a]) }; for j < n-3 { store(x[j]) }

// maxPieces is the limit of pieces of a loop; maxJoined the limit if each piece has its own load (many concatenated tensors).
const (
	maxPieces = 6
	maxJoined = 64
)

// loopCycles is the cost of starting a loop.
const loopCycles = 8

// splitLoops splits loops of kernels into pieces.
func (f *fuser) splitLoops() (changed bool) {
	for i := 0; i < len(f.groups); i++ {
		g := f.groups[i]
		if g.body == nil || !g.body.selects() || g.body.contraction() || overlap(g.reads, g.writes) {
			continue
		}
		bodies := f.pieces(tightened(g.body))
		if len(bodies) == 1 && bodies[0] == g.body || slices.ContainsFunc(bodies, noLoopOrder) {
			continue
		}
		f.replaceBody(i, bodies...)
		i += len(bodies) - 1
		changed = true
	}
	// Inside a piece a buffer may be read in the order in which it is written.
	return changed && (f.fuseProducers() || changed)
}

// noLoopOrder reports whether a body has no valid loop order, as the pieces of two loops may need opposite orders.
func noLoopOrder(b *body) bool {
	_, ok := loopOrder(b)
	return !ok
}

// selects reports whether a body may compare positions, and uses no scratch memory.
func (b *body) selects() bool {
	found := false
	for _, u := range b.values() {
		if u.Op == uop.Bufferize {
			return false
		}
		found = found || u.Op == uop.CmpLt || u.Op == uop.CmpNe || u.Op == uop.Mod
	}
	return found
}

// accessesTransposed reports whether the loads of a store, or the store after a reduction, are contiguous along another of its loops than
// r: such loops are interchanged or tiled.
func (s *store) accessesTransposed(r *uop.UOp) bool {
	across := func(index *uop.UOp) bool {
		return strideIn(index, r) > 1 && slices.ContainsFunc(s.loops, func(o *uop.UOp) bool { return strideIn(index, o) == 1 })
	}
	reduces := false
	for _, u := range s.value.Toposort() {
		if u.Op == uop.Index && u.Src[0].Op == uop.Param && across(u.Src[1].GetIdx()) {
			return true
		}
		reduces = reduces || u.Op == uop.Reduce
	}
	return reduces && across(s.at.Src[1].GetIdx())
}

// pieces splits the loops of a body for which that pays. Pieces of the outermost loop become bodies of their own.
func (f *fuser) pieces(b *body) []*body {
	const most = 8
	for range most {
		c := f.loopToSplit(b)
		switch {
		case c == nil:
			return []*body{b}
		case c.kernels:
			var out []*body
			for k := range len(c.at) + 1 {
				out = append(out, f.pieces(f.piece(b, c.r, c.at, k))...)
			}
			return out
		case slices.Contains(b.loops, c.r):
			b = f.splitLoop(b, c.r, c.at)
		default:
			b = f.splitReduction(b, c.r, c.at)
		}
	}
	return []*body{b}
}

// cut is a loop and the positions where it is split.
type cut struct {
	r  *uop.UOp
	at []int64
	// times is how often the loop runs; kernels: its pieces become kernels.
	times   int64
	kernels bool
}

// loopToSplit returns a loop whose split pays, nil if there is none.
func (f *fuser) loopToSplit(b *body) *cut {
	cuts := f.splitsOf(b)
	if len(cuts) == 0 {
		return nil
	}
	order, ok := loopOrder(b)
	if !ok {
		return nil
	}
	for _, u := range b.values() {
		if u.Op != uop.Reduce {
			continue
		}
		times := volume(b.loopsOf(u))
		for _, r := range u.Src[1:] {
			if c := (&cut{r: r, at: cuts[r], times: times}); f.splitPays(b, c) {
				return c
			}
			times *= sizeOf(r)
		}
	}
	for _, s := range b.stores {
		path := within(order, s.loops)
		for i, r := range slices.Backward(path) {
			at, inner := cuts[r], i == len(path)-1
			if at == nil || !inner && !b.expensiveConditions(r) {
				continue
			}
			c := &cut{r: r, at: at, times: volume(path[:i]), kernels: i == 0 || inner && s.accessesTransposed(r)}
			if c.kernels && f.reducesAgain(b, r, at) {
				if i > 0 {
					continue
				}
				c.kernels = false // the pieces run one after the other, behind the reduction
			}
			if c.kernels {
				c.times = 1
			}
			if f.splitPays(b, c) {
				return c
			}
		}
	}
	return nil
}

// reducesAgain reports whether several pieces of a loop need a loop-invariant reduction, which each would repeat.
func (f *fuser) reducesAgain(b *body, r *uop.UOp, at []int64) bool {
	count := func(b *body, is func(u *uop.UOp) bool) (n int) {
		for _, u := range b.values() {
			if u.Op == uop.Reduce && is(u) {
				n++
			}
		}
		return n
	}
	same := count(b, func(u *uop.UOp) bool { return !u.InRange(r) })
	if same == 0 {
		return false
	}
	more := -same
	for k := range len(at) + 1 {
		more += count(f.piece(b, r, at, k), func(*uop.UOp) bool { return true })
	}
	return more > (len(at)+1)*count(b, func(u *uop.UOp) bool { return u.InRange(r) })
}

// expensiveConditions reports whether the conditions on a loop that is not innermost are expensive: in a reduction, on computed values and
// loads, or with adjacent elements.
func (b *body) expensiveConditions(r *uop.UOp) bool {
	return slices.ContainsFunc(b.values(), func(u *uop.UOp) bool {
		switch u.Op {
		case uop.Reduce:
			return u.InRange(r)
		case uop.Where: // the condition of a load, or of its index
			return u.Src[0].InRange(r)
		case uop.Index:
			return u.Src[1].Op == uop.Where && strideIn(u.Src[1].GetIdx(), r) == 1
		}
		return false
	})
}

// splitPays compares the cost of the conditions with that of the additional loops or kernels.
func (f *fuser) splitPays(b *body, c *cut) bool {
	if len(c.at) == 0 {
		return false
	}
	m := &f.o.Machine
	saved, work := 0.0, 0.0
	counted := map[*uop.UOp]bool{}
	for _, u := range b.values() {
		if !u.InRange(c.r) {
			if u.Op == uop.Reduce && c.kernels { // it runs in each iteration, although a condition selects its result
				saved += float64(volume(u.Ranges()) * volume(u.Src[1:]) * (sizeOf(c.r) - 1))
			}
			continue
		}
		n := float64(volume(u.Ranges()))
		switch {
		case u.Op == uop.Where && u.Src[0].InRange(c.r):
			saved += n * (1 + wastedWork(u, c.r, counted)/2)
		case u.DType.IsBool() && (ofPositions(u) || u.Op == uop.And && slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return s.InRange(c.r) && ofPositions(s) })):
			saved += n // a comparison of positions, or its conjunction with a condition on loaded values
		case u.Op == uop.Index && strideIn(u.Src[1].GetIdx(), c.r) < 0:
			saved += n * float64(issued*m.Lanes) // a gather
		}
		if !u.DType.IsIndex() && !u.DType.IsBool() {
			work += weight(u)
		}
	}
	start := float64(loopCycles)
	if c.kernels {
		start = m.launchCycles()
	}
	return m.vectorCycles(saved) > float64(c.times)*(float64(len(c.at))*start+float64(b.loading(c.r, c.at)-1)*work/issued)
}

// ofPositions reports whether a condition depends on no memory.
func ofPositions(u *uop.UOp) bool { return !u.HasOp(uop.Ops(uop.Index)) }

// wastedWork is the work that only one of the two values of a WHERE in a loop needs: about half of it is wasted.
func wastedWork(where, r *uop.UOp, counted map[*uop.UOp]bool) (w float64) {
	below := func(u *uop.UOp) []*uop.UOp {
		return u.ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce && u.Op != uop.Index && u.InRange(r) })
	}
	one, other := below(where.Src[1]), below(where.Src[2])
	for k, u := range slices.Concat(one, other) {
		if u.Op == uop.Reduce || u.DType.IsIndex() || counted[u] || !u.InRange(r) {
			continue
		}
		if k < len(one) && slices.Contains(other, u) || k >= len(one) && slices.Contains(one, u) {
			continue
		}
		counted[u] = true
		w += weight(u)
	}
	return w
}

// loading is the number of pieces of a loop with loads.
func (b *body) loading(r *uop.UOp, at []int64) (n int) {
	for k := range len(at) + 1 {
		first := int64(0)
		if k > 0 {
			first = at[k-1]
		}
		if slices.ContainsFunc(b.loads(), func(l *uop.UOp) bool {
			return l.Src[1].InRange(r) && !symbolic.Simplify(replace(l.Src[1], map[*uop.UOp]*uop.UOp{r: r.IntLike(first)})).IsInvalid()
		}) {
			n++
		}
	}
	return max(n, 1)
}

// splitsOf returns for each range the positions where comparisons with it change, or quotients of it change.
func (f *fuser) splitsOf(b *body) map[*uop.UOp][]int64 {
	cuts := map[*uop.UOp][]int64{}
	add := func(r *uop.UOp, at int64) {
		if at <= 0 || at >= sizeOf(r) {
			return
		}
		if i, found := slices.BinarySearch(cuts[r], at); !found {
			cuts[r] = slices.Insert(cuts[r], i, at)
		}
	}
	for _, u := range b.values() {
		switch {
		case u.Op == uop.CmpLt && u.Src[1].Op == uop.ConstOp && u.Src[1].DType.IsInt():
			c, known := u.Src[1].ConstVal().Int64()
			r, stride, plus, more := linearWindow(u.Src[0])
			switch {
			case r == nil || !known:
			case more > 0:
				// From start to end, a window has positions on both sides of the limit.
				end := -floorDiv(plus-c, stride)
				start := -floorDiv(plus+more-c, stride)
				if start != end && more > stride*(sizeOf(r)-1)/4 {
					continue // too many of them
				}
				if start > end-start {
					add(r, start)
				}
				if sizeOf(r)-end > end-start {
					add(r, end)
				}
			case stride > 0:
				add(r, -floorDiv(plus-c, stride))
			default: // with a negative stride: stride * r + plus < c from the first r > (plus - c) / -stride on
				add(r, floorDiv(plus-c, -stride)+1)
			}
		case u.Op == uop.CmpLt && u.Src[0].Op == uop.ConstOp && u.Src[0].DType.IsInt():
			if c, known := u.Src[0].ConstVal().Int64(); known {
				if r, stride, plus := linear(u.Src[1]); r != nil && stride > 0 {
					add(r, floorDiv(c-plus, stride)+1)
				}
			}
		case u.Op == uop.CmpNe && u.Src[1].Op == uop.ConstOp && u.Src[1].DType.IsInt():
			c, known := u.Src[1].ConstVal().Int64()
			if r, stride, plus := linear(u.Src[0]); r != nil && known && (c-plus)%stride == 0 {
				add(r, (c-plus)/stride)
				add(r, (c-plus)/stride+1)
			}
		case (u.Op == uop.Mod || u.Op == uop.Idiv) && u.DType.IsIndex() && u.Src[1].Op == uop.ConstOp:
			n, known := u.Src[1].ConstVal().Int64()
			r, stride, plus := linear(u.Src[0])
			if r == nil || !known || stride != 1 || n*maxPieces < sizeOf(r) {
				continue
			}
			for at := -floorDiv(plus, n)*n - plus; at < sizeOf(r); at += n {
				if at > 0 {
					add(r, at)
				}
				if at > sizeOf(r) {
					break
				}
			}
		}
	}
	for r, at := range cuts {
		most := max(maxPieces, min(len(b.loads()), maxJoined))
		if len(at) >= most && len(at) < 2*maxPieces && slices.Contains(b.loops, r) {
			at = slices.DeleteFunc(at, func(p int64) bool { return f.sameAt(b, r, p-1, p) })
		}
		if cuts[r] = at; len(at) == 0 || len(at) >= most {
			delete(cuts, r)
		}
	}
	return cuts
}

// sameAt reports whether the same values are stored in two iterations of a loop, as in the padding of two values that are joined.
func (f *fuser) sameAt(b *body, r *uop.UOp, i, j int64) bool {
	return !slices.ContainsFunc(b.stores, func(s store) bool {
		at := func(i int64) *uop.UOp { return f.folded(replace(s.value, map[*uop.UOp]*uop.UOp{r: r.IntLike(i)})) }
		return at(i) != at(j)
	})
}

// tightened drops the comparisons with a loop that others imply, as those of padding around padding.
func tightened(b *body) *body {
	m := map[*uop.UOp]*uop.UOp{}
	for _, u := range b.values() {
		if u.Op != uop.And || !u.DType.IsBool() {
			continue
		}
		clauses := u.SplitUOp(uop.And)
		if kept := dropImplied(clauses); len(kept) < len(clauses) {
			m[u] = uop.ProdOf(kept...)
		}
	}
	if len(m) == 0 {
		return b
	}
	return b.withValues(m)
}

// dropImplied drops the clauses of a conjunction that another one implies.
func dropImplied(clauses []*uop.UOp) []*uop.UOp {
	type limit struct {
		r     *uop.UOp
		above bool
	}
	// bound returns the last iteration that a comparison with a number admits, or the first one.
	bound := func(c *uop.UOp) (l limit, at int64, ok bool) {
		b, parsed := symbolic.ParseValid(c)
		if !parsed || c.Op == uop.CmpNe && c.Src[0].Src[1].Op != uop.ConstOp || c.Op == uop.CmpLt && c.Src[1].Op != uop.ConstOp {
			return l, 0, false
		}
		end, known := b.C.Int64()
		r, stride, plus := linear(b.X)
		return limit{r, b.Upper}, end - plus, known && r != nil && stride == 1
	}
	best := map[limit]int64{}
	for _, c := range clauses {
		if l, at, ok := bound(c); ok {
			if old, found := best[l]; !found || l.above == (at < old) {
				best[l] = at
			}
		}
	}
	var out []*uop.UOp
	for _, c := range clauses {
		if l, at, ok := bound(c); !ok || best[l] == at {
			out = append(out, c)
		}
	}
	return out
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// linearWindow decomposes stride * r + plus, to which shorter loops, as those over a window, add from 0 to more; r is nil for other
// expressions.
func linearWindow(u *uop.UOp) (r *uop.UOp, stride, plus, more int64) {
	if r, stride, plus = linear(u); r != nil {
		return r, stride, plus, 0
	}
	reach := func(t *uop.UOp, factor int64) int64 { return factor * (sizeOf(t) - 1) }
	ok := true
	var add func(t *uop.UOp, factor int64)
	add = func(t *uop.UOp, factor int64) {
		switch {
		case exactCast(t):
			symbolic.EachTerm(t.Src[0], factor, add)
		case t.Op == uop.ConstOp && t.DType.IsInt():
			plus += t.ConstVal().I() * factor
		case t.Op == uop.Range && factor > 0:
			more += reach(t, factor)
			if r == nil && !variable(t) || r != nil && reach(t, factor) > reach(r, stride) {
				r, stride = t, factor
			}
		default:
			ok = false
		}
	}
	symbolic.EachTerm(u, 1, add)
	if !ok || r == nil {
		return nil, 0, 0, 0
	}
	return r, stride, plus, more - reach(r, stride)
}

// linear decomposes stride * r + plus; r is nil for other expressions.
func linear(u *uop.UOp) (r *uop.UOp, stride, plus int64) {
	for u.Op == uop.Cast && u.DType.IsInt() && !u.Src[0].Overflows(u.DType) {
		u = u.Src[0]
	}
	ok := true
	var add func(t *uop.UOp, factor int64)
	add = func(t *uop.UOp, factor int64) {
		switch {
		case exactCast(t):
			symbolic.EachTerm(t.Src[0], factor, add)
		case t.Op == uop.ConstOp && t.DType.IsInt():
			c, known := t.ConstVal().Int64()
			plus += c * factor
			ok = ok && known
		case t.Op == uop.Range && t.Src[0].Op == uop.ConstOp && (r == nil || r == t):
			r = t
			stride += factor
		default:
			ok = false
		}
	}
	symbolic.EachTerm(u, 1, add)
	if !ok || stride == 0 {
		return nil, 0, 0
	}
	return r, stride, plus
}

// exactCast reports whether a term is a cast of an integer that keeps its value, to a type whose sums do not wrap at 0.
func exactCast(t *uop.UOp) bool {
	return t.Op == uop.Cast && t.DType.IsInt() && !t.DType.IsUnsigned() && !t.Src[0].Overflows(t.DType)
}

// pieceOf is a range over piece k of a loop, and the position in the loop.
func (f *fuser) pieceOf(r *uop.UOp, at []int64, k int) (piece, position *uop.UOp) {
	first, end := int64(0), sizeOf(r)
	if k > 0 {
		first = at[k-1]
	}
	if k < len(at) {
		end = at[k]
	}
	if end-first == 1 {
		return nil, r.IntLike(first)
	}
	piece = f.newRange(r.With(r.Src[0].IntLike(end - first)))
	if position = piece; first > 0 {
		position = piece.Add(piece.IntLike(first))
	}
	return piece, position
}

// piece returns a body whose loop runs over one piece.
func (f *fuser) piece(b *body, r *uop.UOp, at []int64, k int) *body {
	out := &body{pieces: true}
	if k == 0 {
		for _, s := range b.stores {
			if !slices.Contains(s.loops, r) {
				out.stores = append(out.stores, s)
			}
		}
	}
	out.stores = append(out.stores, f.storesOfPiece(b, r, at, k, b.loops)...)
	return f.mergeLoops(out)
}

// splitLoop returns a body with a loop split into pieces, one after the other.
func (f *fuser) splitLoop(b *body, r *uop.UOp, at []int64) *body {
	order, _ := loopOrder(b)
	out := &body{pieces: true}
	var inside []*uop.UOp
	for _, s := range b.stores {
		path := within(order, s.loops)
		if n := slices.Index(path, r); n >= 0 {
			inside = append(inside, path[n:]...)
		} else {
			out.stores = append(out.stores, s)
		}
	}
	for k := range len(at) + 1 {
		out.stores = append(out.stores, f.storesOfPiece(b, r, at, k, inside)...)
	}
	return f.mergeLoops(out)
}

// storesOfPiece returns the stores of a loop for one piece. Inner loops and reductions get new ranges.
func (f *fuser) storesOfPiece(b *body, r *uop.UOp, at []int64, k int, inside []*uop.UOp) (out []store) {
	piece, position := f.pieceOf(r, at, k)
	m := map[*uop.UOp]*uop.UOp{r: position}
	for _, l := range inside {
		if m[l] == nil {
			m[l] = f.newRange(l)
		}
	}
	t := newImages()
	for l, to := range m {
		t.set(l, to)
	}
	for _, u := range b.root().ToposortGated(func(u *uop.UOp) bool { return t.get(u) == nil }) {
		v := rebuilt(u, t)
		if u.Op == uop.Reduce && v != u {
			v = f.ownRanges(v)
		}
		t.set(u, v)
	}
	for _, s := range b.stores {
		if !slices.Contains(s.loops, r) {
			continue
		}
		cut := store{slot: s.slot, at: simplify(t.get(s.at)), value: f.folded(t.get(s.value))}
		for _, l := range s.loops {
			switch {
			case l != r && m[l] != nil:
				cut.loops = append(cut.loops, m[l])
			case l != r:
				cut.loops = append(cut.loops, l)
			case piece != nil:
				cut.loops = append(cut.loops, piece)
			}
		}
		out = append(out, cut)
	}
	t.reset()
	return out
}

// ownRanges gives a reduction fresh ranges.
func (f *fuser) ownRanges(u *uop.UOp) *uop.UOp {
	m := map[*uop.UOp]*uop.UOp{}
	for _, r := range u.Src[1:] {
		m[r] = f.newRange(r)
	}
	return replace(u, m)
}

// splitReduction returns a body with a reduction loop split into pieces.
func (f *fuser) splitReduction(b *body, r *uop.UOp, at []int64) *body {
	t := newImages()
	out := &body{pieces: b.pieces}
	for _, u := range b.values() {
		v := rebuilt(u, t)
		if u.Op == uop.Reduce && slices.Contains(u.Src[1:], r) {
			op := uop.Op(u.Arg.(uop.OpArg))
			var all *uop.UOp
			for k := range len(at) + 1 {
				piece, position := f.pieceOf(r, at, k)
				part := replace(v.Src[0], map[*uop.UOp]*uop.UOp{r: position})
				var rs []*uop.UOp
				for _, x := range v.Src[1:] {
					if x == r {
						x = piece
					}
					if x != nil { // a piece of one iteration needs no loop
						rs = append(rs, x)
					}
				}
				if len(rs) > 0 {
					part = f.ownRanges(part.ReduceOver(op, rs...))
				}
				if part = f.folded(part); all == nil {
					all = part
				} else {
					all = all.Alu(op, part)
				}
			}
			v = all
		}
		t.set(u, v)
	}
	for _, s := range b.stores {
		out.stores = append(out.stores, store{s.slot, s.at, f.folded(t.get(s.value)), s.loops})
	}
	t.reset()
	return f.mergeLoops(out)
}

// folded simplifies a value after ranges became shorter.
func (f *fuser) folded(u *uop.UOp) *uop.UOp { return rewrite.Graph(u, foldedTable, nil) }

var foldedTable = &rewrite.Table{Name: "pieces", Parts: []*rewrite.Table{expandIndices, ranges.ReduceSimplify}}

// mergeLoops restores the list of loops of a body and merges the loops of reductions.
func (f *fuser) mergeLoops(b *body) *body {
	for _, s := range b.stores {
		for _, r := range s.loops {
			if !slices.Contains(b.loops, r) {
				b.loops = append(b.loops, r)
			}
		}
	}
	return f.shareReductionLoops(b)
}
