package schedule

import "polygrad/core/uop"

// alwaysContiguous are operations whose value is in memory, or needs none.
var alwaysContiguous = ops(uop.Contiguous, uop.Assign, uop.Copy, uop.Buffer, uop.ConstOp, uop.Bind, uop.Device, uop.Param,
	uop.DefineLocal, uop.DefineReg, uop.Load, uop.Call, uop.After, uop.Sort).Union(inOrder)

// getRealize marks the nodes that must have a buffer: the outputs, the operands of CONTIGUOUS, COPY, ASSIGN and SORT, and those nodes
// themselves.
func (r *run) getRealize() bool {
	list := r.root.Toposort()
	r.index = newIndexing(r.g, list, r.store)
	mark := func(u *uop.UOp) { r.index.at(u).realize = true }
	for _, u := range list {
		switch u.Op {
		case uop.Sink:
			for _, s := range u.Src {
				if b := s.Base(); !alwaysContiguous.Has(b.Op) {
					mark(b)
				}
			}
		case uop.Contiguous, uop.PrefixAxis, uop.Scatter, uop.Fetch:
			mark(u)
		case uop.Copy, uop.Assign, uop.Sort:
			mark(u)
			for _, s := range u.Src {
				if !alwaysContiguous.Has(s.Base().Op) {
					mark(s)
				}
			}
		}
	}
	return true
}
