package schedule

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// limitBuffers gives the operands of operations that need too many buffers buffers of their own.
func (r *run) limitBuffers() bool {
	if r.maxBuffers > 0 {
		r.root = rewrite.Graph(r.root, limitTable, r)
	}
	return true
}

var limitTable = rewrite.New("limit buffers",
	&rewrite.Rule{Name: "limit", Ops: uop.GroupBinary.Union(uop.GroupTernary), Fn: limitBuffers})

var countedAsBuffer = ops(uop.Bufferize, uop.After, uop.Param, uop.DefineVar)

// splittable are the operands that can get a buffer. tinygrad leaves reductions where they are, which may have too many buffers together.
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

// materialize puts s into a buffer over its open ranges. Reduce ranges become loops before it.
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
