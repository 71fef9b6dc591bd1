package rewrite

import (
	"sync/atomic"

	"polygrad/core/uop"
)

var visits atomic.Int64

// Visits is the number of times a node was given to a table, since the process started.
func Visits() int64 { return visits.Load() }

// Map is a set of replacements.
type Map map[*uop.UOp]*uop.UOp

// Unordered marks that visits may come in any order.
func (Map) Unordered() {}

var substituteTable = New("substitute", &Rule{Name: "substitute", Ops: uop.GroupAll, Fn: func(ctx any, u *uop.UOp) *uop.UOp { return ctx.(Map)[u] }})

// Substitute replaces nodes of the graph below root, parents first; what a replacement
// brings in is looked up again.
func Substitute(root *uop.UOp, m Map) *uop.UOp {
	var ops uop.OpSet // of what is replaced
	for k, v := range m {
		if k != v {
			ops = ops.Union(uop.Ops(k.Op))
		}
	}
	return run(root, nil, substituteTable, m, ops)
}

// RemoveTags drops the tags of all nodes.
var RemoveTags = New("remove all tags", &Rule{Name: "untag", Ops: uop.GroupAll, Fn: func(_ any, u *uop.UOp) *uop.UOp {
	if u.Tag == nil {
		return nil
	}
	return u.WithTag(nil)
}})
