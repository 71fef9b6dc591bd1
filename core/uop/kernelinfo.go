package uop

import (
	"strconv"
	"strings"
)

// OptOp is a choice that the optimiser can make about a kernel.
type OptOp uint8

// The choices, in tinygrad's order.
const (
	OptTC OptOp = iota + 1
	OptUpcast
	OptUnroll
	OptLocal
	OptThread
	OptGroup
	OptGroupTop
	OptNoLocals
	OptPadTo
	OptSwap
)

var optNames = [...]string{"", "TC", "UPCAST", "UNROLL", "LOCAL", "THREAD", "GROUP", "GROUPTOP", "NOLOCALS", "PADTO", "SWAP"}

// String is the upper-case name of the choice.
func (o OptOp) String() string { return optNames[o] }

// Opt is one choice with its axis and amount.
type Opt struct {
	Op        OptOp
	Axis, Arg int
}

// String is OP(axis,arg).
func (o Opt) String() string {
	return o.Op.String() + "(" + strconv.Itoa(o.Axis) + "," + strconv.Itoa(o.Arg) + ")"
}

// KernelInfo is the arg of a kernel's SINK: its name and what was decided about it.
type KernelInfo struct {
	Name          string
	DontUseLocals bool
	AppliedOpts   []Opt
	// OptsToApply, if HasOpts, replaces the optimiser's own choice.
	OptsToApply []Opt
	HasOpts     bool
}

// Equal compares two args.
func (k KernelInfo) Equal(b Arg) bool {
	o, ok := b.(KernelInfo)
	return ok && k.Name == o.Name && k.DontUseLocals == o.DontUseLocals && k.HasOpts == o.HasOpts &&
		equalSlices(k.AppliedOpts, o.AppliedOpts) && equalSlices(k.OptsToApply, o.OptsToApply)
}

// String prints the arg.
func (k KernelInfo) String() string {
	var b strings.Builder
	b.WriteString("KernelInfo(name=" + k.Name)
	if len(k.AppliedOpts) > 0 {
		b.WriteString(";applied=" + optList(k.AppliedOpts))
	}
	if k.HasOpts {
		b.WriteString(";opts_to_apply=" + optList(k.OptsToApply))
	}
	b.WriteString(")")
	return b.String()
}

func optList(os []Opt) string { return tuple(os, Opt.String) }

// Hash agrees with Equal.
func (k KernelInfo) Hash() uint64 {
	h := hashString(k.Name)
	for _, o := range k.AppliedOpts {
		h = mix(h, uint64(o.Op)<<40^uint64(o.Axis)<<20^uint64(o.Arg))
	}
	for _, o := range k.OptsToApply {
		h = mix(h, uint64(o.Op)<<40^uint64(o.Axis)<<20^uint64(o.Arg)+1)
	}
	return h
}
