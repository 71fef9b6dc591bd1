package model

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// ArgKind selects the fields of a NodeArg that count. The numbers are those of IR files.
type ArgKind uint8

// The kinds of args.
const (
	ArgNone    ArgKind = argNone
	ArgInt     ArgKind = argInt    // Num
	ArgFloat   ArgKind = argFloat  // Float
	ArgBool    ArgKind = argBool   // Num, 0 or 1
	ArgInts    ArgKind = argInts   // Nums: sizes, axes
	ArgPairs   ArgKind = argPairs  // Nums: two for each axis
	ArgString  ArgKind = argString // Text
	ArgOp      ArgKind = argOp     // Num, the operation
	ArgReduce  ArgKind = argReduce // Num, the operation, and Nums, the axes
	ArgRange   ArgKind = argRange  // Num, the number of the range, Nums, those of its splits, and Axis, an uop.AxisType
	ArgVar     ArgKind = argVar    // Text, the name, and the bounds Lo and Hi
	ArgInvalid ArgKind = argInvalid
)

// NodeArg is the arg of a node in IR files and the C interface.
type NodeArg struct {
	Kind   ArgKind
	Num    int64
	Float  float64
	Nums   []int64
	Text   string
	Lo, Hi int64
	Axis   uop.AxisType
}

// MakeNode makes a node of a tensor graph from its parts in IR files: sizes are in the arg, devices are left out. Everything is
// checked; operations of kernels are an error.
func MakeNode(g *uop.Graph, op uop.Op, dtype *uop.DType, src []Readings, arg NodeArg) (Readings, error) {
	fail := func(err error) (Readings, error) {
		return Readings{}, fmt.Errorf("model.MakeNode: %s: %w", op, err)
	}
	f := &irFile{strings: []string{arg.Text}}
	r := &irBuilder{file: f, g: g}
	n := irNode{op: op, dtype: dtype, arg: irArg{kind: uint8(arg.Kind), num: arg.Num, float: arg.Float, nums: arg.Nums, lo: arg.Lo, hi: arg.Hi, axis: uint8(arg.Axis)}}
	for i, s := range src {
		f.nodes = append(f.nodes, irNode{op: s.Keep.Op})
		r.values = append(r.values, s)
		n.src = append(n.src, i)
	}
	switch op {
	case uop.Unique:
		if arg.Kind != ArgInt || arg.Num < 0 || arg.Num > maxElements || len(src) > 0 {
			return fail(fmt.Errorf("has sources or no number from 0 to %d", int64(maxElements)))
		}
		return Readings{Keep: g.UniqueOf(arg.Num)}, nil
	case uop.Buffer:
		if len(src) != 1 || src[0].Keep.Op != uop.Unique || arg.Kind != ArgInt || arg.Num < 0 || arg.Num > maxElements {
			return fail(fmt.Errorf("expected a UNIQUE as source and a number of elements from 0 to %d", int64(maxElements)))
		}
		if dtype == uop.Void || dtype == uop.IndexT {
			return fail(fmt.Errorf("has type %s, expected that of a tensor", dtype))
		}
		return Readings{Keep: g.BufferOf(src[0].Keep, tensor.DeviceName, arg.Num, dtype)}, nil
	}
	v, err := r.node(&n)
	switch {
	case err != nil:
		return fail(err)
	case v.Keep == nil:
		return fail(fmt.Errorf("is no operation of a tensor graph"))
	case v.Keep.DType != dtype:
		return fail(fmt.Errorf("has type %s, but %s was given", v.Keep.DType, dtype))
	}
	return v, nil
}

// NodeParts is the inverse of MakeNode: sources and arg. The arg of an operation of kernels is ArgInvalid.
func NodeParts(u *uop.UOp) (src []*uop.UOp, arg NodeArg) {
	w := irWriter{texts: map[string]uint32{}, unique: map[*uop.UOp]int64{}}
	switch v := u.Arg.(type) {
	case uop.Num:
		return nodeSources(u), NodeArg{Kind: ArgInt, Num: int64(v)}
	case uop.Str:
		return nodeSources(u), NodeArg{Kind: ArgString, Text: string(v)}
	case uop.OpArg:
		return nodeSources(u), NodeArg{Kind: ArgOp, Num: int64(v)}
	case uop.RangeArg:
		if len(v.ID) > 0 {
			return nodeSources(u), NodeArg{Kind: ArgRange, Num: int64(v.ID[0]), Nums: widen(v.ID[1:]), Axis: v.Type}
		}
	}
	a, err := w.arg(u)
	if err != nil {
		return nodeSources(u), NodeArg{Kind: ArgInvalid}
	}
	arg = NodeArg{Kind: ArgKind(a.kind), Num: a.num, Float: a.float, Nums: a.nums, Lo: a.lo, Hi: a.hi}
	if a.kind == argVar {
		arg.Text = w.file.strings[a.name]
	}
	return nodeSources(u), arg
}

// nodeSources are the sources of a node without devices and sizes, which files do not store as nodes.
func nodeSources(u *uop.UOp) []*uop.UOp {
	switch u.Op {
	case uop.ConstOp:
		return nil
	case uop.Buffer, uop.Reshape, uop.Expand, uop.Pad, uop.Shrink:
		return u.Src[:1]
	}
	return u.Src
}
