package schedule

import (
	"fmt"
	"slices"

	"polygrad/core/uop"
)

// Normalize copies the graph of a request into g without what does not affect its kernels: each BUFFER becomes a PARAM, numbered by first
// visit, unique CONSTs are numbered too, BIND loses its value, and CALL becomes its value. Two requests with the same root in one g have
// the same schedule. buffers are the BUFFERs by number, vars the values of bound variables.
func Normalize(g *uop.Graph, sink *uop.UOp) (root *uop.UOp, buffers []*uop.UOp, vars map[string]int64, err error) {
	if root, buffers, vars, err = NormalizeFor(g, sink, uop.Target{Sorts: uop.SortsUnfused}); err == nil {
		root = Expand(root, uop.Target{Sorts: uop.SortsUnfused})
	}
	return root, buffers, vars, err
}

// NormalizeFor is Normalize, but for CUSTOM_GRADIENTs that are Late: they stay, until Expand replaces them.
func NormalizeFor(g *uop.Graph, sink *uop.UOp, target uop.Target) (root *uop.UOp, buffers []*uop.UOp, vars map[string]int64, err error) {
	if g == nil || sink == nil || sink.Op != uop.Sink {
		return nil, nil, nil, fmt.Errorf("schedule.Normalize: sink is %v, expected a SINK and a graph to copy it to", sink)
	}
	defer func() {
		if e := recover(); e != nil {
			root, buffers, vars, err = nil, nil, nil, fmt.Errorf("schedule.Normalize: %v", e)
		}
	}()
	var sharing []*uop.UOp
	for {
		n := newNormalizer(g, sharing)
		n.target = target
		root = n.run(sink)
		more := slices.DeleteFunc(n.alone, func(u *uop.UOp) bool { return n.find(u.Src[sharedSource]) < 0 })
		if len(more) == 0 {
			return root, n.buffers, n.vars, n.err
		}
		sharing = append(sharing, more...)
	}
}

// Sharing is the arg of a CUSTOM_GRADIENT whose value is source 1 if the request computes source 2 anyway.
type Sharing interface{ Shares() bool }

const insteadSource, sharedSource = 1, 2

// Late is the arg of a CUSTOM_GRADIENT whose value becomes an expression of source 1, if IsLate. The expression has thousands of nodes, so
// that cached requests are looked up without it.
type Late interface {
	IsLate(u *uop.UOp, target uop.Target) bool
	// Late caches in made what it shares with nodes for other results of the same operation.
	Late(u *uop.UOp, target uop.Target, made map[*uop.UOp][]*uop.UOp) *uop.UOp
}

const lateSource = 1

// Expand replaces the CUSTOM_GRADIENTs of a normalised request by their late expressions for a device.
func Expand(root *uop.UOp, target uop.Target) *uop.UOp {
	if !root.HasOp(ops(uop.CustomGradient)) {
		return root
	}
	to, made := map[*uop.UOp]*uop.UOp{}, map[*uop.UOp][]*uop.UOp{}
	n := newNormalizer(root.Graph(), nil)
	n.target = target
	for _, u := range root.Toposort() {
		if u.Op == uop.LUnique {
			n.lunique = max(n.lunique, int64(u.Arg.(uop.Num))+1)
		}
		src, changed := slices.Clone(u.Src), false
		for i, s := range src {
			src[i] = to[s]
			changed = changed || src[i] != s
		}
		v := u
		if changed {
			v = u.With(src...)
		}
		if a, is := u.Arg.(Late); is && u.Op == uop.CustomGradient {
			v = a.Late(v, target, made)
		}
		to[u] = v
	}
	return Expand(n.run(to[root]), target) // an expression may have others
}

type normalizer struct {
	g       *uop.Graph
	index   []int32 // hash table on the numbers of the nodes: 1 + index in nodes
	nodes   []normalNode
	stack   []normalWork
	src     []*uop.UOp
	buffers []*uop.UOp
	vars    map[string]int64
	lunique int64
	err     error
	// sharing are CUSTOM_GRADIENTs that share what is computed anyway, alone others that could.
	sharing, alone []*uop.UOp
	target         uop.Target
}

// newNormalizer makes a normalizer with the tables for a request of a few nodes in a single allocation.
func newNormalizer(g *uop.Graph, sharing []*uop.UOp) *normalizer {
	const most = 24
	n := &struct {
		normalizer
		index [64]int32
		nodes [most]normalNode
		stack [most]normalWork
		src   [4]*uop.UOp
	}{}
	n.normalizer = normalizer{g: g, sharing: sharing, index: n.index[:], nodes: n.nodes[:0], stack: n.stack[:0], src: n.src[:0], buffers: make([]*uop.UOp, 0, 4)}
	return &n.normalizer
}

// normalNode is a node on the stack or done.
type normalNode struct {
	node, copy *uop.UOp
	waiting    []int32 // indices of the nodes that continue when this one is done
}

type normalWork struct {
	at    int32
	ready bool // the sources were pushed
}

// run visits the graph as rewrite.Graph does (children first; a node waiting for a source continues as soon as that is done),
// because the numbers of the PARAMs depend on the order.
func (n *normalizer) run(sink *uop.UOp) *uop.UOp {
	n.push(sink)
	for len(n.stack) > 0 {
		w := &n.stack[len(n.stack)-1]
		at := w.at
		u := n.nodes[at].node
		if !w.ready {
			w.ready = true
			needed := n.neededSources(u)
			for i := len(needed) - 1; i >= 0; i-- {
				n.push(needed[i])
			}
			continue
		}
		n.stack = n.stack[:len(n.stack)-1]
		if src, ok := n.sources(u, at); ok {
			v := n.replace(u, src)
			n.nodes[at].copy = v
			if at > 0 && copyIsShared(u) {
				u.SetCopy(v)
			}
			for _, w := range n.nodes[at].waiting {
				n.stack = append(n.stack, normalWork{w, true})
			}
		}
	}
	return n.nodes[0].copy
}

// copyIsShared reports whether the copy of a node is the same in all requests and worth caching: the body of a REPEAT, a table.
func copyIsShared(u *uop.UOp) bool {
	switch u.Op {
	case uop.Sink:
		return !u.HasOp(ops(uop.Buffer, uop.Bind))
	case uop.Contiguous:
		return !u.HasOp(ops(uop.Buffer, uop.Bind, uop.Unique, uop.CustomGradient, uop.Param))
	}
	return false
}

// push puts a node on the stack unless it was there before.
func (n *normalizer) push(u *uop.UOp) {
	if n.find(u) >= 0 {
		return
	}
	n.nodes = append(n.nodes, normalNode{node: u})
	known := (*uop.UOp)(nil)
	if len(n.nodes) > 1 && (u.Op == uop.Sink || u.Op == uop.Contiguous) {
		known = u.CopyIn(n.g)
		n.nodes[len(n.nodes)-1].copy = known
	}
	if len(n.nodes)*2 > len(n.index) {
		n.index = make([]int32, 4*len(n.index))
		for i := range n.nodes {
			n.put(int32(i))
		}
	} else {
		n.put(int32(len(n.nodes) - 1))
	}
	if known == nil {
		n.stack = append(n.stack, normalWork{at: int32(len(n.nodes) - 1)})
	}
}

// find is the index of a node, -1 if it is new.
func (n *normalizer) find(u *uop.UOp) int32 {
	mask := len(n.index) - 1
	for i := u.ID() & mask; n.index[i] != 0; i = (i + 1) & mask {
		if at := n.index[i] - 1; n.nodes[at].node == u {
			return at
		}
	}
	return -1
}

func (n *normalizer) put(at int32) {
	mask := len(n.index) - 1
	i := n.nodes[at].node.ID() & mask
	for n.index[i] != 0 {
		i = (i + 1) & mask
	}
	n.index[i] = at + 1
}

// neededSources are the sources that affect the value of a node: of a CUSTOM_GRADIENT one.
func (n *normalizer) neededSources(u *uop.UOp) []*uop.UOp {
	if u.Op != uop.CustomGradient {
		return u.Src
	}
	if slices.Contains(n.sharing, u) {
		return u.Src[insteadSource:][:1]
	}
	if n.isLate(u) {
		return u.Src[lateSource:]
	}
	return u.Src[:1]
}

// isLate reports whether a CUSTOM_GRADIENT stays, for Expand.
func (n *normalizer) isLate(u *uop.UOp) bool {
	a, is := u.Arg.(Late)
	return is && a.IsLate(u, n.target)
}

// sources returns the copies of the sources of a node. If one is not done, the node waits for it.
func (n *normalizer) sources(u *uop.UOp, at int32) (src []*uop.UOp, ok bool) {
	n.src = n.src[:0]
	for _, s := range n.neededSources(u) {
		node := &n.nodes[n.find(s)]
		if node.copy == nil {
			node.waiting = append(node.waiting, at)
			return nil, false
		}
		n.src = append(n.src, node.copy)
	}
	return n.src, true
}

// replace returns the copy of u. The caller reuses src.
func (n *normalizer) replace(u *uop.UOp, src []*uop.UOp) *uop.UOp {
	switch u.Op {
	case uop.CustomGradient:
		if a, is := u.Arg.(interface{ Unbound() error }); is && n.err == nil {
			n.err = a.Unbound()
		}
		if n.isLate(u) {
			like := src[0]
			if s := u.Shape(); !s.Equal(u.Src[lateSource].Shape()) { // a constant that says which shape the value has
				like = n.g.Const(u.DType, uop.Int(0)).Reshape(slices.Repeat(uop.ShapeOf(1), len(s))).Expand(s)
			}
			return n.g.NewCopy(u.Op, u.DType, append([]*uop.UOp{like}, src...), u.Arg, u.Tag)
		}
		if a, is := u.Arg.(Sharing); is && a.Shares() && !slices.Contains(n.sharing, u) {
			n.alone = append(n.alone, u)
		}
		return src[0]
	case uop.Unique:
		return u // only its user sees it and drops it: g would fill up with them
	case uop.Buffer:
		if src[0].Op == uop.Unique {
			n.buffers = append(n.buffers, u)
			size := n.g.ShapeArg(uop.ShapeOf(int64(u.Arg.(uop.Num))))
			return n.g.NewCopy(uop.Param, u.DType, []*uop.UOp{size, src[1]}, uop.Num(len(n.buffers)-1), nil)
		}
	case uop.ConstOp:
		if len(src) == 2 && src[0].Op == uop.Unique {
			n.lunique++
			id := n.g.New(uop.LUnique, uop.Void, nil, uop.Num(n.lunique-1), nil)
			return n.g.New(uop.ConstOp, u.DType, []*uop.UOp{id, src[1]}, u.Arg, nil)
		}
	case uop.Bind:
		if len(src) == 2 && src[0].Op == uop.DefineVar && src[1].Op == uop.ConstOp {
			n.bind(src[0].Arg.(uop.VarArg).Name, src[1].ConstVal().I())
			src = src[:1]
		}
	}
	return n.g.NewCopy(u.Op, u.DType, src, u.Arg, u.Tag)
}

func (n *normalizer) bind(name string, v int64) {
	if old, ok := n.vars[name]; ok && old != v && n.err == nil {
		n.err = fmt.Errorf("schedule.Normalize: variable %s is bound to %d and to %d in one graph", name, old, v)
	}
	if n.vars == nil {
		n.vars = map[string]int64{}
	}
	n.vars[name] = v
}
