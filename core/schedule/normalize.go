package schedule

import (
	"fmt"

	"polygrad/core/uop"
)

// Normalize copies the graph of a request into g, without what does not decide its kernels: each BUFFER
// becomes a PARAM, numbered by first visit, unique CONSTs are numbered too, and BIND loses its value. Two requests with
// the same root in one g have the same schedule. buffers are the BUFFERs in order of their numbers,
// vars the values of the bound variables.
func Normalize(g *uop.Graph, sink *uop.UOp) (root *uop.UOp, buffers []*uop.UOp, vars map[string]int64, err error) {
	if g == nil || sink == nil || sink.Op != uop.Sink {
		return nil, nil, nil, fmt.Errorf("schedule.Normalize: sink is %v, expected a SINK and a graph to copy it to", sink)
	}
	defer func() {
		if e := recover(); e != nil {
			root, buffers, vars, err = nil, nil, nil, fmt.Errorf("schedule.Normalize: %v", e)
		}
	}()
	n := &normalizer{g: g, at: make(map[*uop.UOp]int32, 64)}
	root = n.run(sink)
	return root, n.buffers, n.vars, n.err
}

type normalizer struct {
	g       *uop.Graph
	at      map[*uop.UOp]int32 // place in nodes; a node is there once it is on the stack
	nodes   []normalNode
	stack   []normalWork
	buffers []*uop.UOp
	vars    map[string]int64
	lunique int64
	err     error
}

type normalNode struct {
	copy    *uop.UOp
	waiting []normalWork
}

type normalWork struct {
	u     *uop.UOp
	at    int32
	ready bool // the sources were put on the stack
}

// run visits the graph as rewrite.Graph does (children first, and a node that waits for a source goes on as soon
// as that is done), because the numbers of the PARAMs depend on the order.
func (n *normalizer) run(sink *uop.UOp) *uop.UOp {
	n.push(sink)
	for len(n.stack) > 0 {
		w := n.stack[len(n.stack)-1]
		n.stack = n.stack[:len(n.stack)-1]
		if !w.ready {
			w.ready = true
			n.stack = append(n.stack, w)
			for i := len(w.u.Src) - 1; i >= 0; i-- {
				n.push(w.u.Src[i])
			}
			continue
		}
		if src, ok := n.sources(w); ok {
			node := &n.nodes[w.at]
			node.copy = n.replace(w.u, src)
			n.stack = append(n.stack, node.waiting...)
			node.waiting = nil
		}
	}
	return n.nodes[0].copy
}

func (n *normalizer) push(u *uop.UOp) {
	if _, ok := n.at[u]; ok {
		return
	}
	i := int32(len(n.nodes))
	n.at[u] = i
	n.nodes = append(n.nodes, normalNode{})
	n.stack = append(n.stack, normalWork{u: u, at: i})
}

func (n *normalizer) sources(w normalWork) (src []*uop.UOp, ok bool) {
	if len(w.u.Src) == 0 {
		return nil, true
	}
	src = make([]*uop.UOp, len(w.u.Src))
	for i, s := range w.u.Src {
		node := &n.nodes[n.at[s]]
		if node.copy == nil {
			node.waiting = append(node.waiting, w)
			return nil, false
		}
		src[i] = node.copy
	}
	return src, true
}

func (n *normalizer) replace(u *uop.UOp, src []*uop.UOp) *uop.UOp {
	switch u.Op {
	case uop.Buffer:
		if src[0].Op == uop.Unique {
			n.buffers = append(n.buffers, u)
			size := n.g.ShapeArg(uop.ShapeOf(int64(u.Arg.(uop.Num))))
			return n.g.New(uop.Param, u.DType, []*uop.UOp{size, src[1]}, uop.Num(len(n.buffers)-1), nil)
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
	return n.g.New(u.Op, u.DType, src, u.Arg, u.Tag)
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
