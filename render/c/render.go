// Package c writes linear lists as C11. The code uses no vector extensions and no
// library functions, so any C compiler takes it; vectors become one variable per
// element, which optimising compilers put together again.
package c

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"polygrad/core/uop"
)

// Render writes kernels into one source, each as a function
//
//	void name(void *const *bufs, const int64_t *vars)
//
// that takes one pointer per PARAM and the variables, both in the order in which
// they stand in the list. The source compiles on its own.
func Render(names []string, lists [][]*uop.UOp) (string, error) {
	var b strings.Builder
	b.WriteString(prelude)
	for i, name := range names {
		w := &writer{out: &b, names: map[*uop.UOp][]string{}, indent: 1}
		fmt.Fprintf(&b, "void %s(void *const *bufs, const int64_t *vars) {\n", name)
		if err := w.body(lists[i]); err != nil {
			return "", fmt.Errorf("c.Render: kernel %s: %w", name, err)
		}
		b.WriteString("}\n")
	}
	return b.String(), nil
}

type writer struct {
	out    *strings.Builder
	names  map[*uop.UOp][]string // the C expressions of the elements of a node
	gates  map[*uop.UOp]string   // condition under which an INDEX may be used
	indent int
	count  int
	bufs   int
	vars   int
	kept   map[*uop.UOp]bool // values that a work item needs behind a barrier
	items  int64             // in a workgroup
	// declared are declarations that must stand in front of the loop over the work items.
	declared []string
}

func (w *writer) body(list []*uop.UOp) error {
	if slices.ContainsFunc(list, func(u *uop.UOp) bool { return u.Op == uop.Special }) {
		return w.workgroups(list)
	}
	return w.nodes(list)
}

func (w *writer) nodes(list []*uop.UOp) error {
	for _, u := range list {
		if err := w.node(u); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) line(format string, args ...any) {
	w.out.WriteString(strings.Repeat("  ", w.indent))
	fmt.Fprintf(w.out, format, args...)
	w.out.WriteByte('\n')
}

func (w *writer) fresh(prefix string) string {
	w.count++
	return prefix + strconv.Itoa(w.count)
}

func (w *writer) arg(u *uop.UOp, i int) string {
	n := w.names[u]
	if len(n) == 1 {
		return n[0]
	}
	return n[i]
}

// define gives each element of u a variable of its own.
func (w *writer) define(u *uop.UOp, f func(i int) string) {
	t := ctypes[u.DType.Scalar()]
	names := make([]string, max(1, u.DType.VCount()))
	for i := range names {
		names[i] = w.fresh("v")
		if w.kept[u] {
			w.declare(t.reg, names[i], 0)
			names[i] += "[item]"
			w.line("%s = %s;", names[i], f(i))
			continue
		}
		w.line("%s %s = %s;", t.reg, names[i], f(i))
	}
	w.names[u] = names
}

func (w *writer) node(u *uop.UOp) error {
	switch u.Op {
	case uop.Param:
		n := w.fresh("data")
		w.line("%s *restrict %s = bufs[%d];", ctypes[u.DType.Base().Scalar()].mem, n, w.bufs)
		w.bufs++
		w.names[u] = []string{n}
	case uop.DefineReg, uop.DefineLocal:
		n := w.fresh("acc")
		if w.kept[u] {
			w.declare(ctypes[u.DType.Base().Scalar()].mem, n, u.DType.Size)
			n += "[item]"
		} else {
			w.line("%s %s[%d];", ctypes[u.DType.Base().Scalar()].mem, n, u.DType.Size)
		}
		w.names[u] = []string{n}
	case uop.DefineVar:
		n := w.fresh("var")
		w.line("const %s %s = vars[%d];", ctypes[u.DType].reg, n, w.vars)
		w.vars++
		w.names[u] = []string{n}
	case uop.ConstOp, uop.VConstOp:
		w.constant(u)
	case uop.Range:
		n := w.fresh("i")
		t := ctypes[u.DType].reg
		w.line("for (%s %s = 0; %s < %s; %s++) {", t, n, n, w.arg(u.Src[0], 0), n)
		w.indent++
		w.names[u] = []string{n}
	case uop.If:
		w.line("if (%s) {", w.arg(u.Src[0], 0))
		w.indent++
	case uop.End, uop.EndIf:
		w.indent--
		w.line("}")
	case uop.Sink, uop.Group, uop.Barrier, uop.Noop:
	case uop.After:
		w.names[u] = w.names[u.Src[0]]
		w.gateOf(u, u.Src[0])
	case uop.Index:
		w.names[u] = []string{"(" + w.arg(u.Src[0], 0) + "+" + w.arg(u.Src[1], 0) + ")"}
		if len(u.Src) > 2 {
			w.setGate(u, w.arg(u.Src[2], 0))
		}
	case uop.Load:
		w.load(u)
	case uop.Store:
		w.store(u)
	case uop.Vectorize, uop.Cat:
		var names []string
		for _, s := range u.Src {
			names = append(names, w.names[s]...)
		}
		w.names[u] = names
	case uop.Gep:
		var names []string
		for _, i := range u.Arg.(uop.Nums) {
			names = append(names, w.arg(u.Src[0], i))
		}
		w.names[u] = names
	case uop.Cast:
		if u.DType.IsPtr() {
			w.names[u] = w.names[u.Src[0]]
			w.gateOf(u, u.Src[0])
			return nil
		}
		w.define(u, func(i int) string { return cast(u.Src[0].DType.Scalar(), u.DType.Scalar(), w.arg(u.Src[0], i)) })
	case uop.Bitcast:
		w.bitcast(u)
	default:
		return w.alu(u)
	}
	return nil
}

func (w *writer) setGate(u *uop.UOp, g string) {
	if w.gates == nil {
		w.gates = map[*uop.UOp]string{}
	}
	w.gates[u] = g
}

func (w *writer) gateOf(u, from *uop.UOp) {
	if g, ok := w.gates[from]; ok {
		w.setGate(u, g)
	}
}

func (w *writer) load(u *uop.UOp) {
	t := ctypes[u.DType.Scalar()]
	p := w.arg(u.Src[0], 0)
	gate, gated := w.gates[u.Src[0]]
	w.define(u, func(i int) string {
		e := p + "[" + strconv.Itoa(i) + "]"
		if t.narrow != "" {
			e = "pg_" + t.narrow + "_load(" + e + ")"
		}
		if gated {
			alt := "0"
			if len(u.Src) > 1 {
				alt = w.arg(u.Src[1], i)
			}
			e = gate + " ? " + e + " : " + alt
		}
		return e
	})
}

func (w *writer) store(u *uop.UOp) {
	t := ctypes[u.Src[1].DType.Scalar()]
	cond := ""
	if gate, ok := w.gates[u.Src[0]]; ok {
		cond = "if (" + gate + ") "
	}
	for i := range max(1, u.Src[1].DType.VCount()) {
		v := w.arg(u.Src[1], i)
		if t.narrow != "" {
			v = "pg_" + t.narrow + "_store(" + v + ")"
		}
		w.line("%s%s[%d] = %s;", cond, w.arg(u.Src[0], 0), i, v)
	}
}

func (w *writer) constant(u *uop.UOp) {
	names := make([]string, max(1, u.DType.VCount()))
	for i := range names {
		v := uop.Const{}
		if u.Op == uop.ConstOp {
			v = u.ConstVal()
		} else {
			v = u.Arg.(uop.Consts)[i]
		}
		names[i] = literal(v, u.DType.Scalar())
	}
	w.names[u] = names
}

func literal(v uop.Const, d *uop.DType) string {
	if v.IsInvalid() {
		return "0"
	}
	t := ctypes[d]
	v = v.Truncate(d)
	switch {
	case d.IsFloat():
		f := v.F()
		switch {
		case f != f:
			return "(" + t.reg + ")__builtin_nan(\"\")"
		case math.IsInf(f, 0):
			return fmt.Sprintf("(%s)(%s__builtin_inf())", t.reg, map[bool]string{true: "-", false: ""}[f < 0])
		}
		s := strconv.FormatFloat(f, 'e', -1, 64) + t.suffix
		if f < 0 || math.Signbit(f) {
			s = "(" + s + ")"
		}
		return s
	case d == uop.Bool:
		if v.Truth() {
			return "1"
		}
		return "0"
	case v.Eq(uop.Int64.Min()):
		return "INT64_MIN"
	}
	s := v.String() + t.suffix
	if v.Sign() < 0 {
		s = "(" + s + ")"
	}
	return "(" + t.reg + ")" + s
}

// cast converts between element types as the interpreter does: floats to integers saturate at 64 bits, then wrap.
func cast(from, to *uop.DType, e string) string {
	t := ctypes[to]
	switch {
	case to == uop.Bool:
		return e + " != 0"
	case from.IsFloat() && !to.IsFloat():
		return "pg_int_" + t.reg + "(" + e + ")"
	case t.narrow != "":
		return round(t, e)
	}
	return "(" + t.reg + ")" + e
}

func round(t ctype, e string) string {
	return "pg_" + t.narrow + "_load(pg_" + t.narrow + "_store(" + e + "))"
}

func (w *writer) bitcast(u *uop.UOp) {
	from, to := ctypes[u.Src[0].DType.Scalar()], ctypes[u.DType.Scalar()]
	w.define(u, func(i int) string {
		e := w.arg(u.Src[0], i)
		if from.narrow != "" {
			e = "pg_" + from.narrow + "_store(" + e + ")"
		}
		e = fmt.Sprintf("((union { %s a; %s b; }){ .a = %s }).b", from.mem, to.mem, e)
		if to.narrow != "" {
			e = "pg_" + to.narrow + "_load(" + e + ")"
		}
		return e
	})
}
