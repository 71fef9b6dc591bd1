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

var substituteTable = &Table{Name: "substitute", Rules: []*Rule{{Name: "substitute", Ops: uop.GroupAll, Fn: func(ctx any, u *uop.UOp) *uop.UOp {
	if v := ctx.(Map)[u]; v != nil || u.Op != uop.Sink || len(u.Src) == 0 || u.Src[0].Op != uop.Sink {
		return v
	}
	return Gate // the body of a REPEAT
}}}}

// Substitute replaces nodes of the graph below root, parents first; what a replacement
// brings in is looked up again. The bodies of REPEATs, which read nothing but its sources, stay as they are.
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
var RemoveTags = &Table{Name: "remove all tags", Rules: []*Rule{{Name: "untag", Ops: uop.GroupAll, Fn: func(_ any, u *uop.UOp) *uop.UOp {
	if u.Tag == nil {
		return nil
	}
	return u.WithTag(nil)
}}}}
