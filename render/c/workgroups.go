package c

import (
	"fmt"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// A kernel of workgroups is written as loops over the groups. In them, what stands between two barriers is a loop over
// the work items, so all have come to a barrier before any goes on behind it. What an item keeps over a barrier lies in
// an array with an element for each.

// workgroups writes a list with launch indices.
func (w *writer) workgroups(list []*uop.UOp) error {
	uniform := map[*uop.UOp]bool{} // what all work items have in common
	var dims [2][3]*uop.UOp        // the launch indices: of groups and of items
	w.items = 1
	for _, u := range list {
		switch u.Op {
		case uop.Param, uop.DefineVar, uop.ConstOp, uop.VConstOp:
			uniform[u] = true
		case uop.Special:
			for _, x := range u.Src[0].Toposort() {
				uniform[x] = true
			}
			item, dim := u.LaunchIndex()
			if !item {
				dims[0][dim] = u
				continue
			}
			dims[1][dim] = u
			n := u.Src[0]
			if n.Op != uop.ConstOp {
				return fmt.Errorf("a workgroup of %s work items: the number must be known", n.Render())
			}
			w.items *= n.ConstVal().I()
		}
	}
	var common, shared, rest []*uop.UOp
	for _, u := range list {
		switch {
		case uniform[u]:
			common = append(common, u)
		case u.Op == uop.DefineLocal:
			shared = append(shared, u)
		case u.Op != uop.Special:
			rest = append(rest, u)
		}
	}
	if err := w.nodes(common); err != nil {
		return err
	}
	w.keep(rest)
	w.launch(dims[0])
	if err := w.nodes(shared); err != nil {
		return err
	}
	for begin := 0; begin < len(rest); {
		end := begin
		for end < len(rest) && rest[end].Op != uop.Barrier {
			end++
		}
		// The declarations of what this part keeps stand in front of its loop.
		out := w.out
		w.out, w.declared = &strings.Builder{}, nil
		outer := w.indent
		w.launch(dims[1])
		w.line("const int64_t item = %s;", w.itemNumber(dims[1]))
		inner := w.indent
		if err := w.nodes(rest[begin:end]); err != nil {
			return err
		}
		if w.indent != inner {
			return fmt.Errorf("a barrier stands in a loop or a condition")
		}
		w.close(outer)
		part := w.out.String()
		w.out = out
		for _, d := range w.declared {
			w.line("%s", d)
		}
		w.out.WriteString(part)
		begin = end + 1
	}
	w.close(1)
	return nil
}

// launch opens loops over launch indices.
func (w *writer) launch(dims [3]*uop.UOp) {
	for _, u := range slices.Backward(dims[:]) {
		if u == nil {
			continue
		}
		if w.names[u] == nil {
			w.names[u] = []string{w.fresh("g")}
		}
		n := w.names[u][0]
		w.line("for (%s %s = 0; %s < %s; %s++) {", ctypes[u.DType].reg, n, n, w.arg(u.Src[0], 0), n)
		w.indent++
	}
}

func (w *writer) close(indent int) {
	for w.indent > indent {
		w.indent--
		w.line("}")
	}
}

// itemNumber is the number of a work item in its group.
func (w *writer) itemNumber(dims [3]*uop.UOp) string {
	number := "0"
	for _, u := range slices.Backward(dims[:]) {
		if u != nil {
			number = "(" + number + ")*" + w.arg(u.Src[0], 0) + " + " + w.names[u][0]
		}
	}
	return number
}

// keep finds the values that are used behind a barrier that they stand in front of. Those that define writes no
// variable for are used where their users are.
func (w *writer) keep(list []*uop.UOp) {
	w.kept = map[*uop.UOp]bool{}
	last := map[*uop.UOp]int{} // the last part with a use
	part := 0
	for _, u := range slices.Backward(list) { // parts count backwards, from 0
		if u.Op == uop.Barrier {
			part++
			continue
		}
		use := part
		if l, ok := last[u]; ok {
			w.kept[u] = l < part
			switch u.Op {
			case uop.Index, uop.After, uop.Vectorize, uop.Cat, uop.Gep, uop.Cast:
				use = min(use, l)
			}
		}
		for _, s := range u.Src {
			if l, ok := last[s]; !ok || use < l {
				last[s] = use
			}
		}
	}
}

// declare makes an array with an element, or an array of size elements, for each work item.
func (w *writer) declare(ctype, name string, size int64) {
	d := fmt.Sprintf("%s %s[%d]", ctype, name, w.items)
	if size > 0 {
		d += fmt.Sprintf("[%d]", size)
	}
	w.declared = append(w.declared, d+";")
}
