package schedule

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// rangeify assigns ranges to every node and applies them: buffers become BUFFERIZE, reads INDEX, and movement operations dissolve
// into the indices.
func (r *run) rangeify() bool {
	r.index.assignRanges()
	r.root = rewrite.GraphTopDown(r.root, applyTable, r.index)
	return true
}

var applyTable = &rewrite.Table{Name: "apply rangeify", Rules: []*rewrite.Rule{
	{Name: "reduce over ranges", Ops: ops(uop.ReduceAxis), Fn: reduceOverRanges},
	{Name: "prefix along a range", Ops: ops(uop.PrefixAxis), Fn: prefixAlongRange},
	{Name: "loops of scattered values", Ops: ops(uop.Scatter, uop.Fetch, uop.Loops), Fn: loopsOfScatter},
	{Name: "pad to where", Ops: ops(uop.Pad), Fn: padToWhere},
	{Name: "movement of target", Ops: ops(uop.Assign), Fn: keepTargetMovement},
	{Name: "bufferize and index", Ops: uop.GroupAll, Fn: bufferizeAndIndex},
	{Name: "drop movement", Ops: uop.GroupMovement, Fn: dropMovement},
	{Name: "const without device", Ops: ops(uop.ConstOp, uop.DefineVar), Fn: func(ctx any, u *uop.UOp) *uop.UOp {
		if !ctx.(*indexing).at(u).known {
			return nil
		}
		return u.With()
	}},
}}

func reduceOverRanges(ctx any, u *uop.UOp) *uop.UOp {
	x := ctx.(*indexing)
	arg := u.Arg.(uop.AxisReduce)
	src := []*uop.UOp{u.Src[0]}
	for i, r := range x.at(u).in {
		if slices.Contains(arg.Axes, i) {
			src = append(src, r)
		}
	}
	return x.replaceBy(u, x.g.New(uop.Reduce, u.DType, src, uop.OpArg(arg.Op), u.Tag))
}

func prefixAlongRange(ctx any, u *uop.UOp) *uop.UOp {
	x := ctx.(*indexing)
	arg := u.Arg.(uop.PrefixArg)
	r := x.at(u).out[arg.Axis].Ranges()[0]
	return x.replaceBy(u, x.g.New(uop.Prefix, u.DType, append(slices.Clone(u.Src), r), arg, u.Tag))
}

func loopsOfScatter(ctx any, u *uop.UOp) *uop.UOp {
	x := ctx.(*indexing)
	if len(u.LoopRanges()) > 0 {
		return nil
	}
	return x.replaceBy(u, u.With(slices.Concat(u.Src, x.at(u).out)...))
}

func padToWhere(ctx any, u *uop.UOp) *uop.UOp {
	x := ctx.(*indexing)
	n := x.at(u)
	if !n.known {
		return nil
	}
	valid := x.g.ConstBool(true)
	for _, r := range n.in {
		switch v := r.GetValid(); {
		case x.g.IsAsTinygrad():
			valid = valid.And(v)
		case valid.IsConst(uop.BoolConst(true)):
			valid = v
		case !v.IsConst(uop.BoolConst(true)):
			valid = valid.And(v)
		}
	}
	where := valid.Where(u.Src[0], x.g.Const(u.DType, uop.Int(0)))
	// PADs of one value that differ only in elements which are cut off again give equal WHEREs; a longer condition keeps the ranges of each apart.
	for m := x.at(where); m.known && !slices.Equal(m.in, n.in); m = x.at(where) {
		valid = valid.And(x.g.ConstBool(true))
		where = valid.Where(u.Src[0], where.Src[2])
	}
	return x.replaceBy(u, where)
}

// keepTargetMovement stores the movement operations on the target of an ASSIGN in its arg: the buffer must get them again.
func keepTargetMovement(ctx any, u *uop.UOp) *uop.UOp {
	x := ctx.(*indexing)
	if !x.at(u).known {
		return nil
	}
	var chain uop.MovementChain
	for t := u.Src[0]; uop.GroupMovement.Has(t.Op); t = t.Src[0] {
		chain = append(chain, uop.MovementStep{Op: t.Op, Src: t.Src[1:], Arg: t.Arg, Shape: t.Src[0].Shape()})
	}
	if len(chain) == 0 {
		return nil
	}
	return x.replaceBy(u, u.WithArg(chain))
}

func bufferizeAndIndex(ctx any, u *uop.UOp) *uop.UOp {
	if u.Op == uop.Bufferize || u.Op == uop.Index || len(u.Src) == 0 {
		return nil
	}
	x := ctx.(*indexing)
	n := *x.at(u)
	if u.Op == uop.After { // its readers have indices; the buffer and its dependences have none
		n = noRanges
	}
	var src []*uop.UOp
	for i, s := range u.Src {
		v := x.read(u, s, &n)
		if v != s && src == nil {
			src = slices.Clone(u.Src)
		}
		if src != nil {
			src[i] = v
		}
	}
	if src == nil {
		return nil
	}
	return u.With(src...)
}

// read is source s of u, indexed by the ranges n.
func (x *indexing) read(u, s *uop.UOp, n *nodeRanges) *uop.UOp {
	if s.Op == uop.Param || s.Op == uop.After {
		if n.known {
			return s.IndexBy(n.in...)
		}
		return s
	}
	m := x.at(s)
	if !m.realize {
		return s
	}
	if !m.known {
		panic("no ranges for " + s.String())
	}
	src := append(append(make([]*uop.UOp, 0, len(m.out)+1), s), m.out...)
	arg := uop.BufferizeOpts{Device: s.Device(), Removable: u.Op != uop.Copy && u.Op != uop.Sort && !m.keep && !alwaysContiguous.Has(s.Op)}
	v := x.g.New(uop.Bufferize, s.DType, src, arg, s.Tag)
	if n.known {
		v = v.IndexBy(n.in...)
	}
	return v
}

func dropMovement(ctx any, u *uop.UOp) *uop.UOp {
	if ctx.(*indexing).at(u).known || u.Src[0].Op == uop.Index {
		return u.Src[0]
	}
	return nil
}
