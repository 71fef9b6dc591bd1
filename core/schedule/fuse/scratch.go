package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// cacheFunctions caches functions of rows in each group that is emitted.
func (f *fuser) cacheFunctions() (changed bool) {
	for i, g := range f.groups {
		if g.kernel != nil {
			continue
		}
		if b := f.cacheFunctionRows(g.body, f.o.MinScratch); b != g.body {
			f.replaceBody(i, b)
			changed = true
		}
	}
	return changed
}

// cacheFunctionRows caches functions that several loops over a row compute from the same values in scratch memory: the exponentials of a
// softmax are then computed once, summed and scaled. Rows shorter than shortest stay in a register.
func (f *fuser) cacheFunctionRows(b *body, shortest int64) *body {
	if f.o.Invocations || !b.reduces() {
		return b
	}
	b = b.withSimpleIndices()
	for {
		same := f.repeated(b, shortest)
		if same == nil {
			return b
		}
		b = f.cacheRow(b, same)
	}
}

// withSimpleIndices is the body with simplified indices, so that equal elements have equal indices in all loops.
func (b *body) withSimpleIndices() *body {
	m := map[*uop.UOp]*uop.UOp{}
	for _, l := range b.loads() {
		if at := simplify(l.Src[1]); at != l.Src[1] {
			m[l] = l.With(append([]*uop.UOp{l.Src[0], at}, l.Src[2:]...)...)
		}
	}
	if len(m) == 0 {
		return b
	}
	return b.withValues(m)
}

// rowValue is a value of each element of a row, in the loop over the range inner.
type rowValue struct{ u, inner *uop.UOp }

// repeated lists values that are the same function of the same row, computed in different loops: the outermost ones that are worth caching.
func (f *fuser) repeated(b *body, shortest int64) []rowValue {
	places := map[*uop.UOp]*uop.UOp{}          // a canonical range for each size
	at := map[*uop.UOp]map[*uop.UOp]*uop.UOp{} // by range: the values of its loop in terms of the canonical range
	groups := map[*uop.UOp][]rowValue{}
	var order []*uop.UOp
	add := func(v rowValue, fresh bool) {
		n := sizeOf(v.inner)
		if n < shortest || n*int64(v.u.DType.Itemsize()) > f.o.RowBytes/2 {
			return
		}
		length := v.inner.Src[0]
		if places[length] == nil {
			places[length] = f.newRange(v.inner)
		}
		if at[v.inner] == nil {
			at[v.inner] = map[*uop.UOp]*uop.UOp{v.inner: places[length]}
		}
		key := renameLoop(v, at[v.inner])
		if groups[key] == nil {
			if !fresh {
				return
			}
			order = append(order, key)
		}
		groups[key] = append(groups[key], v)
	}
	values := b.values()
	work := f.o.Machine.workOfValues(values)
	divisions := divisionsOf(values)
	costly := func(u *uop.UOp) bool { return work[u] >= scratchWork && !divisions[u] && !u.DType.IsBool() }
	for _, u := range values {
		if in := b.innerOf(u); costly(u) && len(in) == 1 && f.rowPays(rowValue{u, in[0]}, work[u]) {
			add(rowValue{u, in[0]}, true)
		}
	}
	if len(order) == 0 {
		return nil
	}
	for _, u := range values {
		if !costly(u) || len(b.innerOf(u)) > 0 {
			continue
		}
		for _, r := range u.Ranges() {
			add(rowValue{u, r}, false)
		}
	}
	for i, key := range slices.Backward(order) {
		same := groups[key]
		if len(same) < 2 {
			continue
		}
		// A subexpression that more loops need is preferred to a value that is little more work.
		for _, part := range slices.Backward(order[:i]) {
			more := groups[part]
			if len(more) > len(same) && work[same[0].u]-work[more[0].u] < scratchWork && slices.Contains(key.Toposort(), part) {
				return more
			}
		}
		return same
	}
	return nil
}

// divisionsOf are the reciprocals that are factors: such a product is a division. If the reciprocal came from memory it would be rounded
// twice, so that it differed from the same quotient in another kernel, such as the elements that equal their maximum.
func divisionsOf(values []*uop.UOp) map[*uop.UOp]bool {
	out := map[*uop.UOp]bool{}
	for _, u := range values {
		for _, s := range u.Src {
			if u.Op == uop.Mul && s.Op == uop.Reciprocal {
				out[s] = true
			}
		}
	}
	return out
}

// rowPays compares the work for a value with the cost of strided loads along its row, as of a column of a matrix: they load elements one by one,
// whereas without a cached row the lanes of vectors are columns.
func (f *fuser) rowPays(v rowValue, work float64) bool {
	gathers := 0.0
	for _, u := range v.u.ToposortGated(func(u *uop.UOp) bool { return u.InRange(v.inner) }) {
		if u.Op == uop.Index && !isGather(u) && strideIn(u.Src[1].GetIdx(), v.inner) > 1 {
			gathers += laneCycles
		}
	}
	return gathers <= f.o.Machine.vectorCycles(work)
}

// renameLoop replaces the range of a loop in a value; to caches the results.
func renameLoop(v rowValue, to map[*uop.UOp]*uop.UOp) *uop.UOp {
	for _, u := range v.u.ToposortGated(func(u *uop.UOp) bool { return to[u] == nil && slices.Contains(u.Ranges(), v.inner) }) {
		if to[u] != nil || !slices.Contains(u.Ranges(), v.inner) {
			continue
		}
		src := slices.Clone(u.Src)
		for i, s := range src {
			if w := to[s]; w != nil {
				src[i] = w
			}
		}
		to[u] = u.With(src...)
	}
	return to[v.u]
}

// scratchWork is the least number of operations for which a value is cached for the next loop.
const scratchWork = 4

// workOfValues is the number of operations that compute values from loads and reductions, gathers included.
func (m *Machine) workOfValues(values []*uop.UOp) map[*uop.UOp]float64 {
	work := map[*uop.UOp]float64{}
	for _, u := range values {
		if u.Op == uop.Index && !isGather(u) || u.Op == uop.Reduce || u.DType.IsIndex() || len(u.Ranges()) == 0 {
			continue
		}
		// A shared operand counts once; an operand that is invariant in the row does not count.
		w := m.work(u)
		for _, s := range u.Src {
			if len(s.Ranges()) >= len(u.Ranges()) {
				w += work[s]
			}
		}
		work[u] = w
	}
	return work
}

// innerOf are the ranges of a value that are not loops of stores.
func (b *body) innerOf(u *uop.UOp) []*uop.UOp {
	var out []*uop.UOp
	for _, r := range u.Ranges() {
		if !slices.Contains(b.loops, r) {
			out = append(out, r)
		}
	}
	return out
}

// cacheRow computes a row of values into scratch memory, and reads it where they were computed.
func (f *fuser) cacheRow(b *body, same []rowValue) *body {
	v := same[0]
	r := f.newRange(v.inner)
	r = r.WithArg(uop.RangeArg{ID: r.RangeID().ID, Type: uop.AxisLoop})
	row := replace(v.u, map[*uop.UOp]*uop.UOp{v.inner: r})
	row = row.Graph().New(uop.Bufferize, row.DType, []*uop.UOp{row, r}, uop.BufferizeOpts{Space: uop.Local}, nil)
	m := map[*uop.UOp]*uop.UOp{}
	for _, v := range same {
		m[v.u] = row.IndexBy(v.inner)
	}
	return b.withValues(m)
}
