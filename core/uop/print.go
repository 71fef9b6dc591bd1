package uop

import (
	"fmt"
	"strconv"
	"strings"
)

// Dump lists the graph below u, a node a line: number, operation, type, sources, arg, tag.
func (u *UOp) Dump() string { return DumpList(u.Toposort()) }

// DumpList prints nodes one a line; sources are given by their number in the list.
func DumpList(list []*UOp) string {
	num := make(map[*UOp]int, len(list))
	var b strings.Builder
	for i, u := range list {
		num[u] = i
		src := make([]string, len(u.Src))
		for j, s := range u.Src {
			if n, ok := num[s]; ok {
				src[j] = strconv.Itoa(n)
			} else {
				src[j] = "--"
			}
		}
		fmt.Fprintf(&b, "%4d %-14s %-20s [%s]", i, u.Op, u.DType, strings.Join(src, ","))
		if u.Arg != nil {
			fmt.Fprintf(&b, " %s", u.Arg)
		}
		if u.Tag != nil {
			fmt.Fprintf(&b, " tag=%s", u.Tag)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// String prints the node itself, without its sources.
func (u *UOp) String() string {
	if u == nil {
		return "nil"
	}
	s := u.Op.String() + " " + u.DType.String()
	if u.Arg != nil {
		s += " " + u.Arg.String()
	}
	return s
}

var infix = map[Op]string{Add: "+", Sub: "-", Idiv: "//", Mod: "%", Shl: "<<", Shr: ">>", Mul: "*", CmpLt: "<",
	CmpNe: "!=", CmpEq: "==", And: "&", Or: "|", Xor: "^"}

// Render prints an index or scalar expression as a formula.
func (u *UOp) Render() string {
	switch u.Op {
	case ConstOp, VConstOp:
		return u.Arg.String()
	case DefineVar:
		return u.Arg.(VarArg).Name
	case Special:
		return u.Arg.String()
	case Range:
		return "r" + joinInts(u.RangeID().ID)
	case Bind:
		return u.Src[0].Render()
	case Cast:
		return "(" + u.DType.String() + ")(" + u.Src[0].Render() + ")"
	case Where:
		return "(" + u.Src[1].Render() + " if " + u.Src[0].Render() + " else " + u.Src[2].Render() + ")"
	}
	if s, ok := infix[u.Op]; ok {
		return "(" + u.Src[0].Render() + s + u.Src[1].Render() + ")"
	}
	args := make([]string, len(u.Src))
	for i, s := range u.Src {
		args[i] = s.Render()
	}
	return strings.ToLower(u.Op.String()) + "(" + strings.Join(args, ", ") + ")"
}
