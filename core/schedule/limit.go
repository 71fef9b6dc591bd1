package schedule

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// limitBuffers materializes operands of operations that would need too many buffers.
func (r *run) limitBuffers() bool {
	if r.maxBuffers > 0 {
		r.root = rewrite.Graph(r.root, limitTable, r)
	}
	return true
}

var limitTable = &rewrite.Table{Name: "limit buffers", Rules: []*rewrite.Rule{
	{Name: "limit", Ops: uop.GroupBinary.Union(uop.GroupTernary), Fn: limitBuffers}}}

var countedAsBuffer = ops(uop.Bufferize, uop.After, uop.Param, uop.DefineVar)

// splittable are the operands that can be materialized. tinygrad leaves reductions, which may exceed the limit together.
var splittable = uop.GroupElementwise.Union(ops(uop.Reduce))

func limitBuffers(ctx any, u *uop.UOp) *uop.UOp {
	r := ctx.(*run)
	if u.Device() == "" {
		return nil
	}
	bufs := map[*uop.UOp]struct{}{}
	u.ToposortGated(func(x *uop.UOp) bool {
		if !countedAsBuffer.Has(x.Op) {
			return true
		}
		bufs[x] = struct{}{}
		return false
	})
	// One is needed for the output.
	if len(bufs) <= r.maxBuffers-1 {
		return nil
	}
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = s
		if splittable.Has(s.Op) && s.Device() != "" {
			src[i] = r.materialize(s)
		}
	}
	return u.With(src...)
}

// materialize stores s in a buffer over its open ranges. Reduce ranges become loops around it.
func (r *run) materialize(s *uop.UOp) *uop.UOp {
	open := s.Ranges()
	m := rewrite.Map{}
	src := make([]*uop.UOp, 1, len(open)+1)
	for _, x := range open {
		end := x.WithArg(uop.RangeArg{ID: []int{r.index.next}, Type: uop.AxisLoop})
		r.index.next++
		m[x] = end
		src = append(src, end)
	}
	src[0] = rewrite.Substitute(s, m)
	arg := uop.BufferizeOpts{Device: s.Device(), Removable: true}
	return r.g.New(uop.Bufferize, s.DType, src, arg, nil).IndexBy(open...)
}
