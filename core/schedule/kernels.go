package schedule

import (
	"polygrad/core/ranges"
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// bufferize turns the values with buffers into stores. The new SINK has exactly the numbered nodes that ended up in a buffer, in
// the order of the graph.
func (r *run) bufferize() bool {
	var src []*uop.UOp
	lunique := -1
	for _, u := range r.root.BackwardSlice() {
		if u.Op == uop.LUnique {
			lunique = max(lunique, int(u.Arg.(uop.Num)))
		}
		if tag, ok := u.Tag.(uop.Nums); ok && len(tag) > 0 && holdsValue.Has(u.Base().Op) {
			src = append(src, u)
		}
	}
	r.root = rewrite.GraphTopDown(r.g.Sink(nil, src...), bufferizeTable, &ranges.Counter{Next: lunique + 1})
	return true
}

var holdsValue = ops(uop.Bufferize, uop.ConstOp, uop.Param, uop.After)

// Ranges are tagged with their number in the whole graph, because kernels renumber them.
var globalRange = uop.Nums{}

var bufferizeTable = &rewrite.Table{Name: "bufferize to store", Parts: []*rewrite.Table{ranges.MovementOps, ranges.FlattenBufferize, ranges.BufferizeToStore,
	{Rules: []*rewrite.Rule{{Name: "mark range", Ops: ops(uop.Range), Fn: func(_ any, u *uop.UOp) *uop.UOp { return u.WithTag(globalRange) }},
		{Name: "after assign", Ops: ops(uop.After), Fn: afterAssign}}}}}

// afterAssign turns a buffer after an ASSIGN to a part of it into the buffer after the kernel of the ASSIGN.
func afterAssign(_ any, u *uop.UOp) *uop.UOp {
	a := u.Src[1].Base()
	if a.Op != uop.After {
		return nil
	}
	return u.With(u.Src[0], a.Src[1])
}

// splitKernels replaces every finished store by a call of a kernel.
func (r *run) splitKernels() bool {
	r.root = rewrite.GraphTopDown(r.root, splitTable, r)
	return true
}

var splitTable = &rewrite.Table{Name: "split kernels", Rules: []*rewrite.Rule{
	{Name: "stop at kernel", Ops: ops(uop.Sink), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if isKernel(u) {
			return rewrite.Gate
		}
		return nil
	}},
	{Name: "split store", Ops: ops(uop.Store, uop.End), Fn: splitStore},
}}

func isKernel(u *uop.UOp) bool {
	_, ok := u.Arg.(uop.KernelInfo)
	return u.Op == uop.Sink && ok
}

// kernelContext numbers the buffers and variables of one kernel.
type kernelContext struct {
	bufs  []*uop.UOp // the buffer, or its AFTER, by order of appearance
	after map[*uop.UOp]int
	slots int
	vars  []*uop.UOp
	loops int
}

func splitStore(ctx any, u *uop.UOp) *uop.UOp {
	if len(u.Ranges()) > 0 {
		return nil
	}
	r := ctx.(*run)
	k := &kernelContext{after: map[*uop.UOp]int{}}
	v := rewrite.GraphTopDown(u, kernelTable, k)
	if r.trace != nil {
		r.trace("kernel split", v)
	}
	store := v
	if store.Op == uop.End {
		store = store.Src[0]
	}
	if store.Op == uop.Group {
		store = store.Src[0]
	}
	if store.Op != uop.Store {
		panic("kernel ends in " + store.Op.String())
	}
	if store.Src[1].Op == uop.Copy {
		v = store.Src[1]
	} else {
		v = r.g.Sink(uop.KernelInfo{Name: "test"}, v)
		oneDevice(k.bufs)
	}
	src := make([]*uop.UOp, 1, 1+len(k.bufs)+len(k.vars))
	src[0] = v
	return r.g.New(uop.Call, v.DType, append(append(src, k.bufs...), k.vars...), nil, nil)
}

func oneDevice(bufs []*uop.UOp) {
	for _, b := range bufs {
		if b.Device() != bufs[0].Device() {
			panic("one kernel reads buffers on " + bufs[0].Device() + " and on " + b.Device())
		}
	}
}

var kernelTable = &rewrite.Table{Name: "kernel split", Parts: []*rewrite.Table{{Rules: []*rewrite.Rule{
	{Name: "check reads", Ops: ops(uop.Store), Fn: checkReads},
	{Name: "buffer to param", Ops: ops(uop.Buffer), Fn: bufferToParam},
	{Name: "param to param", Ops: ops(uop.Param), Need: ops(uop.Device), Fn: bufferToParam},
	{Name: "unbind", Ops: ops(uop.Bind), Fn: unbind},
	{Name: "after to buffer", Ops: ops(uop.After), Fn: afterToBuffer},
	{Name: "const without device", Ops: ops(uop.ConstOp), Fn: func(_ any, u *uop.UOp) *uop.UOp { return u.With() }},
	{Name: "number range", Ops: ops(uop.Range), Fn: numberRange},
}}, ranges.FlattenRange, ranges.KernelCleanup, {Rules: []*rewrite.Rule{
	{Name: "remove tag", Ops: uop.GroupAll, Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if tag, ok := u.Tag.(uop.Nums); !ok || len(tag) == 0 {
			return nil
		}
		return u.WithTag(nil)
	}}}}}}

// checkReads panics if the kernel reads a buffer both before and after it is written.
func checkReads(_ any, u *uop.UOp) *uop.UOp {
	from := map[*uop.UOp]uop.Op{}
	for _, x := range u.ToposortGated(func(x *uop.UOp) bool { return x.Op != uop.After }) {
		if x.Op != uop.Index {
			continue
		}
		b := x.BufUOp()
		if b.Op != uop.Buffer && b.Op != uop.Param {
			continue
		}
		op := x.Src[0].Op
		if old, ok := from[b]; ok && old != op {
			panic("cycle: one kernel reads " + b.String() + " before and after it is written")
		}
		from[b] = op
	}
	return nil
}

func (k *kernelContext) use(buf, as *uop.UOp) {
	if _, ok := k.after[buf]; !ok {
		k.after[buf] = len(k.bufs)
		k.bufs = append(k.bufs, as)
	}
}

func bufferToParam(ctx any, u *uop.UOp) *uop.UOp {
	k := ctx.(*kernelContext)
	if u.Op == uop.Param && (len(u.Src) != 2 || u.Src[1].Op != uop.Device) {
		return nil
	}
	k.use(u, u)
	k.slots++
	return u.Graph().New(uop.Param, u.DType.Ptr(u.Size(), uop.Global), nil, uop.Num(k.slots-1), nil)
}

func unbind(ctx any, u *uop.UOp) *uop.UOp {
	k := ctx.(*kernelContext)
	for _, v := range k.vars {
		if v == u {
			return u.Src[0]
		}
	}
	k.vars = append(k.vars, u)
	return u.Src[0]
}

func afterToBuffer(ctx any, u *uop.UOp) *uop.UOp {
	if u.DType.IsPtr() && u.DType.Space == uop.Local {
		return nil
	}
	k := ctx.(*kernelContext)
	buf := u.BufUOp()
	if _, ok := k.after[buf]; ok {
		panic("one kernel reads " + buf.String() + " at two points in time")
	}
	k.use(buf, u)
	return buf
}

func numberRange(ctx any, u *uop.UOp) *uop.UOp {
	if tag, ok := u.Tag.(uop.Nums); !ok || len(tag) != 0 {
		return nil
	}
	k := ctx.(*kernelContext)
	id := append([]int{k.loops}, u.RangeID().ID[1:]...)
	k.loops++
	return u.Graph().New(uop.Range, u.DType, u.Src, uop.RangeArg{ID: id, Type: u.RangeID().Type}, nil)
}

// fixAssign orders a kernel that writes a buffer after the kernels that read its old contents.
func (r *run) fixAssign() bool {
	var afters []*uop.UOp
	writer := map[*uop.UOp]*uop.UOp{}
	for _, u := range r.root.ToposortGated(func(u *uop.UOp) bool { return !isKernel(u) }) {
		if u.Op == uop.After {
			afters = append(afters, u)
			writer[buffer(u)] = u
		}
	}
	m := rewrite.Map{}
	for _, u := range afters {
		buf := buffer(u)
		for _, s := range u.Src[1].Src {
			if s.Op != uop.Buffer && s.Op != uop.Param {
				continue
			}
			s = buffer(s)
			w := writer[s]
			if s == buf || w == nil || w.Src[1] == u.Src[1] {
				continue
			}
			if x := u.Find(func(x *uop.UOp) bool { return x.Op == uop.After && buffer(x) == s }); x != nil {
				panic("cycle: the kernel that writes " + buf.String() + " depends on a buffer before and after it is written")
			}
			v := w.With(append(append([]*uop.UOp(nil), w.Src...), u)...)
			m[w], writer[s] = v, v
		}
	}
	if len(m) == 0 {
		return false
	}
	r.root = rewrite.Substitute(r.root, m)
	return true
}

// buffer is the buffer of a node. A numbered value that turned out to be an input has its own number, but the same buffer.
func buffer(u *uop.UOp) *uop.UOp { return u.BufUOp().WithTag(nil) }

// removeTags drops the numbers, after recording the buffer of each node.
func (r *run) removeTags() bool {
	tags := make([]uop.Arg, len(r.root.Src))
	for i, s := range r.root.Src {
		tags[i] = s.Tag
	}
	plain := untag(r.root)
	r.root = plain[r.root]
	r.becomes = map[*uop.UOp]*uop.UOp{}
	for i, c := range r.folded {
		r.becomes[r.numbered[i]] = c.WithTag(nil)
	}
	for i, tag := range tags {
		for _, n := range tag.(uop.Nums) {
			r.becomes[r.numbered[n]] = r.root.Src[i]
		}
	}
	return true
}

// untag copies the graph without tags.
func untag(root *uop.UOp) map[*uop.UOp]*uop.UOp {
	list := root.Toposort()
	to := make(map[*uop.UOp]*uop.UOp, len(list))
	for _, u := range list {
		v := u.WithTag(nil)
		for i, s := range u.Src {
			if to[s] != s {
				src := make([]*uop.UOp, len(u.Src))
				copy(src, u.Src[:i])
				for j := i; j < len(src); j++ {
					src[j] = to[u.Src[j]]
				}
				v = u.Graph().New(u.Op, u.DType, src, u.Arg, nil)
				break
			}
		}
		to[u] = v
	}
	return to
}
