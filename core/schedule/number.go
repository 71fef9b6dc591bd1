package schedule

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// unnumbered are operations that never get a buffer of their own.
var unnumbered = uop.GroupMovement.Union(uop.Ops(uop.Param, uop.ConstOp, uop.Device, uop.LUnique, uop.DefineVar, uop.Bind))

var numberTable = &rewrite.Table{Name: "number the uops", Rules: []*rewrite.Rule{{Name: "number", Ops: func() uop.OpSet {
	all := uop.GroupAll
	return uop.OpSet{all[0] &^ unnumbered[0], all[1] &^ unnumbered[1]}
}(), Fn: func(ctx any, u *uop.UOp) *uop.UOp {
	r := ctx.(*run)
	if u.Tag != nil || u.DType.IsIndex() {
		return nil
	}
	r.numbered = append(r.numbered, u)
	return u.WithTag(uop.Nums{len(r.numbered) - 1})
}}}}

// number tags every node that may become a buffer with its number, so that in the end each buffer is known by its node in the
// tensor graph.
func (r *run) number() bool {
	r.root = rewrite.GraphTopDown(r.root, numberTable, r)
	return true
}
