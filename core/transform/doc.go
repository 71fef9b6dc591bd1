// Package transform has the transformations of functions: forward mode (JVP) and batching (Batch).
//
// A function is a graph: outputs that are computed from inputs, nodes that stand for its arguments. Transformations map graphs to graphs and compute
// nothing, so they nest in any order, with one another and with core/gradient. Each is a table with a rule for every operation that tensors are
// composed of; kernelOps lists the other operations.
package transform

import "polygrad/core/uop"

// kernelOps are the operations that no tensor is composed of: those of kernels, programs and several devices. No table has
// rules for them.
var kernelOps = uop.Ops(
	// launches, memory and control flow of kernels
	uop.Special, uop.DefineLocal, uop.DefineReg, uop.Index, uop.Load, uop.Wmma, uop.Barrier, uop.Range, uop.If, uop.End, uop.EndIf,
	uop.Bufferize, uop.Unroll, uop.Contract, uop.PtrCat, uop.Cat, uop.Gep, uop.Reduce, uop.Prefix, uop.Custom, uop.CustomI, uop.Ins,
	// programs, and marks of the compiler
	uop.Noop, uop.RewriteError, uop.Call, uop.Program, uop.Linear, uop.Source, uop.Binary, uop.Group, uop.BufferView,
	// several devices
	uop.MSelect, uop.MStack, uop.EncDec, uop.Multi, uop.AllReduce,
	// parts of sizes, devices and buffers, which no value is computed from
	uop.Unique, uop.LUnique, uop.Device,
	// complex tensors, whose planes are transformed
	uop.Complex,
)

// constantOps are the leaves of a graph: they depend on no input unless they are one.
var constantOps = uop.Ops(uop.ConstOp, uop.VConstOp, uop.Vectorize, uop.DefineVar, uop.Bind, uop.Buffer, uop.Param)

// order lists the nodes that roots depend on, sources first. below gives the sources that a node depends on.
func order(roots []*uop.UOp, below func(u *uop.UOp) []*uop.UOp) []*uop.UOp {
	var out []*uop.UOp
	type visit struct {
		u    *uop.UOp
		left []*uop.UOp
	}
	seen := map[*uop.UOp]bool{}
	var stack []visit
	enter := func(u *uop.UOp) {
		if !seen[u] {
			seen[u] = true
			stack = append(stack, visit{u, below(u)})
		}
	}
	for _, r := range roots {
		enter(r)
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.left) > 0 {
				next := top.left[0]
				top.left = top.left[1:]
				enter(next)
				continue
			}
			out = append(out, top.u)
			stack = stack[:len(stack)-1]
		}
	}
	return out
}

// Placeholder is a leaf that stands for a tensor of a type and shape. No other call gives the same one.
func Placeholder(like *uop.UOp, dt *uop.DType, s uop.Shape) *uop.UOp {
	g := like.Graph()
	number := g.NewUnique().Arg.(uop.Num)
	return g.New(uop.Param, dt, []*uop.UOp{g.ShapeArg(s), g.DeviceOp(like.Device())}, number, uop.Str("placeholder"))
}

// zeros is a tensor of zeros.
func zeros(like *uop.UOp) *uop.UOp { return like.ConstLike(uop.Int(0)) }
