package fuse

import (
	"maps"
	"slices"

	"polygrad/core/uop"
)

// Functions of short rows, such as a softmax of three classes, are computed for as many rows at once as vectors have lanes:
//
//	for i { for k < 3 { m = max(m, x[i, k]) }; for k < 3 { s += exp(x[i, k] - m) }; for k < 3 { store(exp(x[i, k] - m) / s) }}
//
// becomes
//
//	for i { m = max(x[i, 0], x[i, 1], x[i, 2]); a = exp(x[i, 0] - m); …; s = a + b + c; store(a / s); store(b / s); store(c / s) }

// longestShortRow is the greatest trip count of the loops over a short row. It is fewElements where a load is strided from row to row, since
// vectors across longer rows are loaded element by element.
const longestShortRow = 7

// unrollShortRows unrolls the loops over short rows.
func (f *fuser) unrollShortRows() (changed bool) {
	for i, g := range f.groups {
		if g.body == nil || overlap(g.reads, g.writes) {
			continue
		}
		if inner, ok := f.shortRows(g.body); ok {
			if b := f.rowsUnrolled(g.body, inner); !noLoopOrder(b) {
				f.groups[i], f.changed, changed = groupOf(b, g.kernels), true, true
			}
		}
	}
	return changed
}

// shortRows reports whether a body has several inner loops, all of them over a short row; inner is the loop of the stores, nil if each stores
// one element of a row.
func (f *fuser) shortRows(b *body) (inner *uop.UOp, ok bool) {
	long := func(u *uop.UOp) bool { return u.Op == uop.Reduce && volume(u.Src[1:]) > longestShortRow }
	if f.o.Invocations || b.pieces || !b.reduces() || len(b.values()) > mostOfChoices/longestShortRow || slices.ContainsFunc(b.values(), long) {
		return nil, false
	}
	var rows []*uop.UOp
	longest, again := int64(1), false
	level := map[*uop.UOp]int{}
	for _, u := range b.values() {
		for _, s := range u.Src {
			level[u] = max(level[u], level[s])
		}
		switch {
		case u.Op == uop.Bufferize, u.Op == uop.Range && variable(u):
			return nil, false
		case u.Op != uop.Reduce:
		case rows != nil && !sameSet(rows, b.loopsOf(u)):
			return nil, false
		default:
			rows, longest = b.loopsOf(u), max(longest, volume(u.Src[1:]))
			again = again || level[u] > 0
			level[u]++
		}
	}
	if volume(rows) < fewVectors*int64(f.o.Machine.Lanes) || b.contraction() {
		return nil, false
	}
	for _, s := range b.stores {
		next := int64(1) // the distance of the next row
		for _, r := range s.loops {
			if slices.Contains(rows, r) {
				continue
			}
			if inner != nil && inner != r || sizeOf(r) > longestShortRow {
				return nil, false
			}
			longest = max(longest, sizeOf(r))
			if inner = r; strideIn(s.index(), r) == 1 {
				next = sizeOf(r)
			}
		}
		i := slices.IndexFunc(rows, func(r *uop.UOp) bool { return strideIn(s.index(), r) == next })
		if i < 0 || next > 1 && f.slots[s.slot].DType.IsBool() {
			return nil, false
		}
		slow := func(l *uop.UOp) bool { // its elements are loaded one by one
			return strideIn(l.Src[1].GetIdx(), rows[i]) > 1 && (longest > fewElements || l.DType.Itemsize() < 4)
		}
		if slices.ContainsFunc(b.loads(), slow) {
			return nil, false
		}
	}
	return inner, again || inner != nil
}

func (f *fuser) hasShortRows(b *body) bool {
	_, ok := f.shortRows(b)
	return ok
}

// fewVectors is the least number of vectors of rows.
const fewVectors = 8

// rowsUnrolled is a body with the loops over short rows unrolled: those of its reductions, and the loop inner of its stores.
func (f *fuser) rowsUnrolled(b *body, inner *uop.UOp) *body {
	t := newImages()
	for _, u := range b.values() {
		v := rebuilt(u, t)
		if u.Op == uop.Reduce {
			var all *uop.UOp
			for _, at := range iterationsOfLoops(u.Src[1:]) {
				if part := replace(v.Src[0], at); all == nil {
					all = part
				} else {
					all = all.Alu(uop.Op(u.Arg.(uop.OpArg)), part)
				}
			}
			v = all
		}
		t.set(u, v)
	}
	out := &body{pieces: true}
	for _, s := range b.stores {
		value := t.get(s.value)
		i := slices.Index(s.loops, inner)
		if i < 0 {
			out.stores = append(out.stores, store{s.slot, s.at, f.folded(value), s.loops})
			continue
		}
		loops := slices.Delete(slices.Clone(s.loops), i, i+1)
		for _, at := range iterationsOfLoops(s.loops[i : i+1]) {
			out.stores = append(out.stores, store{s.slot, simplify(replace(s.at, at)), f.folded(replace(value, at)), loops})
		}
	}
	t.reset()
	return f.mergeLoops(out)
}

// iterationsOfLoops are the positions of loops in each of their iterations.
func iterationsOfLoops(loops []*uop.UOp) []map[*uop.UOp]*uop.UOp {
	all := []map[*uop.UOp]*uop.UOp{{}}
	for _, r := range loops {
		var next []map[*uop.UOp]*uop.UOp
		for _, at := range all {
			for k := range sizeOf(r) {
				more := maps.Clone(at)
				more[r] = r.IntLike(k)
				next = append(next, more)
			}
		}
		all = next
	}
	return all
}
