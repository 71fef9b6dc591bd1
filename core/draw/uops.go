package draw

import (
	"slices"
	"strings"

	"polygrad/core/uop"
)

// kinds are those of operations that do not compute elements.
var kinds = map[uop.Op]Kind{
	uop.Buffer: Memory, uop.Param: Memory, uop.Load: Memory, uop.Store: Memory, uop.Assign: Memory, uop.Contiguous: Memory,
	uop.Copy: Memory, uop.Index: Memory, uop.DefineVar: Constant, uop.Bind: Constant, uop.ConstOp: Constant, uop.VConstOp: Constant,
	uop.Reshape: Movement, uop.Expand: Movement, uop.Permute: Movement, uop.Pad: Movement, uop.Shrink: Movement, uop.Flip: Movement,
	uop.ReduceAxis: Reduce, uop.Reduce: Reduce, uop.PrefixAxis: Reduce, uop.Prefix: Reduce,
	uop.Sink: Control, uop.Range: Control, uop.End: Control, uop.If: Control, uop.EndIf: Control, uop.After: Control,
}

// Nodes is the graph of tensors or programs. What only serves the library is left out: identities of buffers, devices,
// the sizes that movements take (their shapes say it), and how a number gets the shape of what it meets.
func Nodes(roots ...*uop.UOp) *Graph {
	g := &Graph{}
	at := map[*uop.UOp]int{}
	for _, u := range below(roots) {
		if !hidden(u) || slices.Contains(roots, u) {
			at[u] = len(g.Nodes)
			g.Nodes = append(g.Nodes, node(u, at))
		}
	}
	for _, root := range roots {
		g.Roots = append(g.Roots, at[root])
	}
	return g.withoutUnused()
}

// List is the graph with nothing left out, one node a line.
func List(roots ...*uop.UOp) string { return uop.DumpList(below(roots)) }

// below are the nodes of a graph with several roots, sources before users.
func below(roots []*uop.UOp) []*uop.UOp {
	var list []*uop.UOp
	seen := map[*uop.UOp]bool{}
	for _, root := range roots {
		for _, u := range root.Toposort() {
			if !seen[u] {
				seen[u] = true
				list = append(list, u)
			}
		}
	}
	return list
}

func hidden(u *uop.UOp) bool { return u.Op == uop.Unique || u.Op == uop.Device }

func node(u *uop.UOp, at map[*uop.UOp]int) Node {
	n := Node{Name: u.Op.String(), Kind: Math, Sources: []int{}}
	if k, ok := kinds[u.Op]; ok {
		n.Kind = k
	}
	if a := argument(u); a != "" {
		n.Name += " " + a
	}
	n.Detail = about(u)
	src := u.Src
	switch {
	case constant(u) != nil:
		n.Name, n.Kind, src = constant(u).Arg.String(), Constant, nil
	case n.Kind == Movement:
		src = src[:1]
	case u.Op == uop.Range && short(src[0]):
		n.Name += " < " + src[0].Render()
		src = src[1:]
	case u.Op == uop.Index && short(src[1:]...):
		places := make([]string, len(src)-1)
		for i, s := range src[1:] {
			places[i] = s.Render()
		}
		n.Name += " [" + strings.Join(places, ", ") + "]"
		src = src[:1]
	}
	for _, s := range src {
		if !hidden(s) {
			n.Sources = append(n.Sources, at[s])
		}
	}
	return n
}

// short tells whether formulas can be written in a line: as trees they have few nodes.
func short(us ...*uop.UOp) bool {
	budget := 60
	var count func(u *uop.UOp)
	count = func(u *uop.UOp) {
		budget--
		if u.Op == uop.Range {
			return
		}
		for _, s := range u.Src {
			if budget > 0 {
				count(s)
			}
		}
	}
	for _, u := range us {
		count(u)
	}
	return budget > 0
}

// constant is the CONST whose number all elements of u are, nil if there is none.
func constant(u *uop.UOp) *uop.UOp {
	for u.Op == uop.Reshape || u.Op == uop.Expand {
		u = u.Src[0]
	}
	if u.Op == uop.ConstOp || u.Op == uop.VConstOp {
		return u
	}
	return nil
}

// about is the type and the shape of a node.
func about(u *uop.UOp) string {
	var parts []string
	if u.DType != uop.Void {
		parts = append(parts, u.DType.NumpyName())
	}
	if s := u.Shape(); s != nil {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, " ")
}

// argument is what an operation does beyond its name. Movements by sizes take these as sources.
func argument(u *uop.UOp) string {
	switch u.Op {
	case uop.Pad, uop.Shrink:
		// Before and after each axis, or the first place and the end.
		between := map[uop.Op]string{uop.Pad: "+", uop.Shrink: ":"}[u.Op]
		var ends []string
		for _, p := range u.MovementPairs() {
			ends = append(ends, p.Lo.String()+between+p.Hi.String())
		}
		return "[" + strings.Join(ends, ",") + "]"
	case uop.Range:
		return u.Render()
	case uop.Buffer, uop.Sink:
		return ""
	}
	if u.Arg == nil {
		return ""
	}
	return u.Arg.String()
}
