package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/uop"
	"polygrad/model"
)

// owner is the context of a node.
func owner(arg string, x uintptr) (*context, error) {
	e, err := handles.Get(handle.Token(x), handle.Node)
	if err != nil {
		return nil, &argError{arg, err}
	}
	return e.Owner.(*context), nil
}

// describeNode runs a request for text on a node, in the node's own context.
func describeNode(fn, arg string, x uintptr, f func(u *uop.UOp) string) (out *byte) {
	c, err := owner(arg, x)
	if err != nil {
		fail(fn, err)
		return nil
	}
	withContext(fn, uintptr(c.entry.Token()), func(c *context) error {
		v, err := c.arg(arg, x)
		if err == nil {
			out = cString(f(v.Keep))
		}
		return err
	}, func() {})
	return out
}

// nodeLine is a node as one line of text.
func nodeLine(u *uop.UOp) string {
	s := u.String()
	if shape := u.Shape(); shape != nil {
		s += " shape " + shape.String()
	}
	return s
}

func poly_uop_str(x uintptr) *byte { return describeNode("poly_uop_str", "x", x, nodeLine) }

func poly_graph_str(root uintptr) *byte {
	return describeNode("poly_graph_str", "root", root, (*uop.UOp).Dump)
}

func poly_debug_uop(ctx, x uintptr) {
	withContext("poly_debug_uop", ctx, func(c *context) error {
		v, err := c.arg("x", x)
		if err == nil {
			fmt.Fprintln(os.Stderr, nodeLine(v.Keep))
		}
		return err
	}, func() {})
}

func poly_debug_opsets() {
	for _, g := range []struct {
		name string
		set  uop.OpSet
	}{
		{"unary", uop.GroupUnary}, {"binary", uop.GroupBinary}, {"ternary", uop.GroupTernary}, {"elementwise", uop.GroupElementwise},
		{"movement", uop.GroupMovement}, {"defines", uop.GroupDefines}, {"commutative", uop.GroupCommutative},
		{"associative", uop.GroupAssociative}, {"comparison", uop.GroupComparison},
	} {
		var names []string
		for _, op := range g.set.List() {
			if op < uop.NumOps {
				names = append(names, op.String())
			}
		}
		fmt.Fprintf(os.Stderr, "%-12s %s\n", g.name, strings.Join(names, " "))
	}
}

func poly_ctx_owns_ptr(ctx uintptr, p unsafe.Pointer) (owns bool) {
	withContext("poly_ctx_owns_ptr", ctx, func(c *context) error {
		e, err := handles.Get(handle.Token(uintptr(p)), handle.Any)
		owns = bool(err == nil && e.Owner == any(c))
		return nil
	}, func() {})
	return owns
}

// walked is a graph for C: the nodes with their handles, the root last, and the numbers of their sources.
type walked struct {
	nodes   []*uop.UOp
	handles []uintptr
	sources [][]int
}

// walk lists the graph below the root; every node but the root gets a reference.
func (c *context) walk(root *uop.UOp, h uintptr) (w walked, err error) {
	number := map[*uop.UOp]int{}
	type entry struct {
		u    *uop.UOp
		done bool
	}
	stack := []entry{{root, false}}
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, seen := number[e.u]; seen {
			continue
		}
		src, _ := model.NodeParts(e.u)
		if !e.done {
			stack = append(stack, entry{e.u, true})
			for _, s := range slices.Backward(src) {
				stack = append(stack, entry{s, false})
			}
			continue
		}
		number[e.u] = len(w.nodes)
		from := make([]int, len(src))
		for i, s := range src {
			from[i] = number[s]
		}
		w.nodes, w.sources = append(w.nodes, e.u), append(w.sources, from)
	}
	for _, u := range w.nodes[:len(w.nodes)-1] {
		t, err := c.out(single(u))
		if err != nil {
			c.releaseAll(w.handles)
			return walked{}, err
		}
		w.handles = append(w.handles, t)
	}
	w.handles = append(w.handles, h)
	return w, nil
}

func (c *context) releaseAll(hs []uintptr) {
	for _, h := range hs {
		c.release(h)
	}
}

// gated is the part of the graph that the gate admits, sources first. It runs without the lock: the gate may call the library.
func (w *walked) gated(gate unsafe.Pointer, calls bool) []uintptr {
	var out []uintptr
	type entry struct {
		i    int
		done bool
	}
	state := make([]bool, len(w.nodes))
	stack := []entry{{len(w.nodes) - 1, false}}
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch {
		case e.done:
			out = append(out, w.handles[e.i])
			continue
		case state[e.i]:
			continue
		}
		state[e.i] = true
		if gate != nil && !callGate(gate, w.handles[e.i]) {
			continue
		}
		stack = append(stack, entry{e.i, true})
		src := w.sources[e.i]
		if w.nodes[e.i].Op == uop.CustomGradient && !calls {
			src = src[min(1, len(src)):]
		}
		for _, s := range slices.Backward(src) {
			stack = append(stack, entry{s, false})
		}
	}
	return out
}

func toposort(fn string, ctx, root uintptr, n *int32, gate unsafe.Pointer, calls bool) (out unsafe.Pointer) {
	if n != nil {
		*n = 0
	}
	var w walked
	withContext(fn, ctx, func(c *context) error {
		v := must(c.arg("root", root))
		w = must(c.walk(v.Keep, root))
		return nil
	}, func() {})
	if len(w.nodes) == 0 {
		return nil
	}
	list := w.handles
	if gate != nil || !calls {
		list = w.gated(gate, calls)
	}
	withContext(fn, ctx, func(c *context) error {
		defer c.releaseAll(w.handles[:len(w.handles)-1])
		v := must(c.arg("root", root))
		a := c.dataOf(v)
		i := slices.IndexFunc(a.lists, func(l []uintptr) bool { return slices.Equal(l, list) })
		if i < 0 {
			i = must(a.addList(c, list, root))
		}
		if n != nil {
			*n = int32(len(list))
		}
		out = unsafe.Pointer(unsafe.SliceData(a.lists[i]))
		return nil
	}, func() { out = nil })
	return out
}

// addList keeps an array of nodes and a reference to each but the root.
func (a *nodeData) addList(c *context, list []uintptr, root uintptr) (int, error) {
	var entries []*handle.Entry
	for _, h := range list {
		if h == root {
			continue
		}
		_, e, err := c.lookup("root", h)
		if err != nil {
			return 0, badArg("gate", "released a node that it was asked about")
		}
		entries = append(entries, e)
	}
	for _, e := range entries {
		e.Refs++
		a.refs = append(a.refs, uintptr(e.Token()))
	}
	l := unsafe.Slice((*uintptr)(a.block(8*len(list))), len(list))
	copy(l, list)
	a.lists = append(a.lists, l)
	return len(a.lists) - 1, nil
}

func poly_toposort(ctx, root uintptr, n *int32) unsafe.Pointer {
	return toposort("poly_toposort", ctx, root, n, nil, true)
}

func poly_toposort_ex(ctx, root uintptr, n *int32, gate unsafe.Pointer, calls bool) unsafe.Pointer {
	return toposort("poly_toposort_ex", ctx, root, n, gate, calls)
}
