package schedule

import (
	"slices"

	"polygrad/core/ranges"
	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// debufTable simplifies indices, folds sums that need no memory, and removes buffers that cost more than they save.
var debufTable = &rewrite.Table{Name: "symbolic+reduce_collapse+debuf", Parts: []*rewrite.Table{symbolic.Symbolic, ranges.ReduceSimplify, ranges.MovementOps,
	{Rules: []*rewrite.Rule{
		{Name: "dead axes", Ops: ops(uop.Bufferize), Fn: cleanupDeadAxes},
		{Name: "bufferize of index", Ops: ops(uop.Bufferize), Need: ops(uop.Index), Fn: removeNoopBufferize},
		{Name: "bufferize of const", Ops: ops(uop.Bufferize), Need: ops(uop.ConstOp), Fn: bufferizeConst},
		{Name: "index of const", Ops: ops(uop.Index), Need: ops(uop.ConstOp), Fn: indexConst},
		{Name: "copy of const", Ops: ops(uop.Copy), Fn: foldCopyConst},
		{Name: "noop of const", Ops: ops(uop.Noop), Fn: noopConst},
		{Name: "remove bufferize", Ops: ops(uop.Index), Need: ops(uop.Bufferize), Fn: removeBufferize},
	}}}}

func (r *run) debuf() bool {
	r.root = rewrite.Graph(r.root, debufTable, nil)
	return true
}

// alwaysRun are operations requested by the user, and those with sequential loops: their buffer is never optimised away.
var alwaysRun = ops(uop.Contiguous, uop.Copy, uop.Assign, uop.Prefix, uop.Scatter, uop.Fetch, uop.Sort)

// cleanupDeadAxes drops the axes of a buffer along which its value is constant; the tag moves to the EXPAND that restores them.
func cleanupDeadAxes(_ any, u *uop.UOp) *uop.UOp {
	if alwaysRun.Has(u.Src[0].Op) {
		return nil
	}
	inside := u.Src[0].Ranges()
	shape := u.Shape()
	reshape := slices.Clone(shape)
	src := []*uop.UOp{u.Src[0]}
	for i, r := range u.Src[1:] {
		switch {
		case r.Op == uop.Range && r.Src[0].Op != uop.ConstOp:
			return nil
		case r.Op == uop.ConstOp || r.Op == uop.Range && !slices.Contains(inside, r):
			reshape[i] = uop.N(1)
		default:
			src = append(src, r)
		}
	}
	if len(src) == len(u.Src) {
		return nil
	}
	v := u.Graph().New(uop.Bufferize, u.DType, src, u.Arg, nil)
	return v.Reshape(reshape).Expand(shape).WithTag(u.Tag)
}

// removeNoopBufferize drops a buffer that would only copy another one.
func removeNoopBufferize(_ any, u *uop.UOp) *uop.UOp {
	idx := u.Src[0]
	if idx.Op != uop.Index || !slices.Equal(idx.Src[1:], u.Src[1:]) {
		return nil
	}
	v := idx.Src[0]
	v = v.WithTag(joinTags(v.Tag, u.Tag))
	shape := u.Shape()
	if len(shape) == 0 {
		return v
	}
	bounds := make([]uop.Pair, len(shape))
	for i, s := range shape {
		bounds[i] = uop.Pair{Lo: uop.N(0), Hi: s}
	}
	return v.Shrink(bounds)
}

func joinTags(a, b uop.Arg) uop.Arg {
	x, _ := a.(uop.Nums)
	y, _ := b.(uop.Nums)
	if len(x)+len(y) == 0 {
		return nil
	}
	return append(slices.Clone(x), y...)
}

func bufferizeConst(_ any, u *uop.UOp) *uop.UOp {
	if u.Src[0].Op != uop.ConstOp {
		return nil
	}
	return u.ConstLike(u.Src[0].ConstVal()).WithTag(u.Tag)
}

func indexConst(_ any, u *uop.UOp) *uop.UOp {
	if len(u.Src) != 1 || u.Src[0].Op != uop.ConstOp {
		return nil
	}
	return u.Src[0]
}

func foldCopyConst(_ any, u *uop.UOp) *uop.UOp {
	if u.Src[0].Op != uop.ConstOp {
		return nil
	}
	return u.ConstLike(u.Src[0].ConstVal())
}

func noopConst(_ any, u *uop.UOp) *uop.UOp {
	if len(u.Src) != 1 || u.Src[0].Op != uop.ConstOp {
		return nil
	}
	return u.Src[0].WithTag(u.Tag)
}

// removeBufferize inlines a cheap value into its readers instead of storing it.
func removeBufferize(_ any, u *uop.UOp) *uop.UOp {
	buf := u.Src[0]
	if buf.Op != uop.Bufferize {
		return nil
	}
	if len(buf.Src) != len(u.Src) {
		panic("INDEX with a wrong number of indices on " + buf.String())
	}
	v := buf.Src[0]
	if alwaysRun.Has(v.Op) || !buf.Arg.(uop.BufferizeOpts).Removable {
		return nil
	}
	// THREEFRY needs 64-bit integers, which not every device can store.
	if v.Op != uop.Threefry && !cheapToRepeat(buf) {
		return nil
	}
	m := rewrite.Map{}
	for i, r := range buf.Src[1:] {
		if to := u.Src[i+1]; r.Op != uop.ConstOp && r != to {
			m[r] = to
		}
	}
	if len(m) == 0 {
		return v
	}
	return rewrite.GraphTopDown(v, substituteWithin, m)
}

// maxInlineBuffers limits the buffers read by an inlined value, maxInlineReduces the reductions in it: readers with different indices get
// copies, so that powers of a constant matrix would triple their number with each product.
const (
	maxInlineBuffers = 3
	maxInlineReduces = 16
)

// cheapToRepeat reports whether the kernel of a value reads few buffers, and none of them in a reduction. A value without reductions that has
// many more elements than all that it reads, such as the differences of all pairs of rows, may read more: that takes less than its memory.
func cheapToRepeat(buf *uop.UOp) bool {
	most := 2 * maxInlineBuffers
	if buf.Graph().IsAsTinygrad() {
		most = maxInlineBuffers
	}
	var buffers, reduces []*uop.UOp
	buf.Src[0].ToposortGated(func(x *uop.UOp) bool {
		switch x.Op {
		case uop.Bufferize, uop.Param:
			if !slices.Contains(buffers, x) {
				buffers = append(buffers, x)
			}
		case uop.Reduce:
			reduces = append(reduces, x)
		}
		return x.Op != uop.Bufferize && len(buffers) <= most && len(reduces) <= maxInlineReduces
	})
	if len(buffers) > maxInlineBuffers {
		read := int64(0)
		for _, b := range buffers {
			read += elementsOf(b)
		}
		return len(buffers) <= most && len(reduces) == 0 && elementsOf(buf) > 4*read
	}
	return len(reduces) <= maxInlineReduces && !slices.ContainsFunc(reduces, func(x *uop.UOp) bool { return x.Src[0].HasOp(ops(uop.Param, uop.Bufferize)) })
}

// elementsOf is the number of elements of a BUFFERIZE or PARAM.
func elementsOf(b *uop.UOp) int64 {
	if b.Op == uop.Param {
		return b.Size()
	}
	n := int64(1)
	for _, r := range b.Src[1:] {
		if r.Op == uop.Range {
			n *= uop.S(r.Src[0]).Max()
		}
	}
	return n
}

// substituteWithin replaces ranges in the nodes inside of them. It stops where they end: the same range further down is another loop.
var substituteWithin = &rewrite.Table{Name: "substitute within ranges", Rules: []*rewrite.Rule{{Name: "substitute", Ops: uop.GroupAll, Below: ops(uop.Range), Fn: func(ctx any, u *uop.UOp) *uop.UOp {
	m := ctx.(rewrite.Map)
	for _, r := range u.Ranges() {
		if _, ok := m[r]; ok {
			return m[u]
		}
	}
	return rewrite.Gate
}}}}
