package model

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// ArgKind says which fields of a NodeArg count. The numbers are those of IR files.
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

// NodeArg is the arg of a node as IR files and the C interface mean it.
type NodeArg struct {
	Kind   ArgKind
	Num    int64
	Float  float64
	Nums   []int64
	Text   string
	Lo, Hi int64
	Axis   uop.AxisType
}

// A NodeSource is a source for MakeNode: a node and, of one that comes from a reduction whose axes may be meant as gone,
// the node without them (else nil).
type NodeSource struct{ Keep, Drop *uop.UOp }

// MakeNode makes a node of a tensor graph from its parts as IR files have them: sizes are in the arg, and devices are
// left out. Everything is checked; operations that only kernels have are an error.
func MakeNode(g *uop.Graph, op uop.Op, dtype *uop.DType, src []NodeSource, arg NodeArg) (NodeSource, error) {
	fail := func(err error) (NodeSource, error) {
		return NodeSource{}, fmt.Errorf("model.MakeNode: %s: %w", op, err)
	}
	f := &irFile{strings: []string{arg.Text}}
	r := &irBuilder{file: f, g: g}
	n := irNode{op: op, dtype: dtype, arg: irArg{kind: uint8(arg.Kind), num: arg.Num, float: arg.Float, nums: arg.Nums, lo: arg.Lo, hi: arg.Hi, axis: uint8(arg.Axis)}}
	for i, s := range src {
		f.nodes = append(f.nodes, irNode{op: s.Keep.Op})
		r.values = append(r.values, reading{s.Keep, s.Drop})
		n.src = append(n.src, i)
	}
	switch op {
	case uop.Unique:
		if arg.Kind != ArgInt || arg.Num < 0 || arg.Num > maxElements || len(src) > 0 {
			return fail(fmt.Errorf("has sources or no number from 0 to %d", int64(maxElements)))
		}
		return NodeSource{Keep: g.UniqueOf(arg.Num)}, nil
	case uop.Buffer:
		if len(src) != 1 || src[0].Keep.Op != uop.Unique || arg.Kind != ArgInt || arg.Num < 0 || arg.Num > maxElements {
			return fail(fmt.Errorf("expected a UNIQUE as source and a number of elements from 0 to %d", int64(maxElements)))
		}
		if dtype == uop.Void || dtype == uop.IndexT {
			return fail(fmt.Errorf("has type %s, expected that of a tensor", dtype))
		}
		return NodeSource{Keep: g.BufferOf(src[0].Keep, tensor.DeviceName, arg.Num, dtype)}, nil
	}
	v, err := r.node(len(src), &n)
	switch {
	case err != nil:
		return fail(err)
	case v.keep == nil:
		return fail(fmt.Errorf("is no operation of a tensor graph"))
	case v.keep.DType != dtype:
		return fail(fmt.Errorf("has type %s, but %s was given", v.keep.DType, dtype))
	}
	return NodeSource{v.keep, v.drop}, nil
}

// NodeParts takes a node apart: the sources and the arg that MakeNode makes it of. An arg that only kernels have is ArgInvalid.
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

// nodeSources are the sources of a node without devices and sizes, which are no nodes in files.
func nodeSources(u *uop.UOp) []*uop.UOp {
	switch u.Op {
	case uop.ConstOp:
		return nil
	case uop.Buffer, uop.Reshape, uop.Expand, uop.Pad, uop.Shrink:
		return u.Src[:1]
	}
	return u.Src
}
