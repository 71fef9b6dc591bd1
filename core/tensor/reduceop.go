package tensor

import "polygrad/core/uop"

// ReduceOp is a reduction. The values equal those of PolyReduceOp.
type ReduceOp int

// Reductions with arguments besides axes.
const (
	reduceSum  ReduceOp = 0
	reduceProd ReduceOp = 1
	reduceVar  ReduceOp = 10
	reduceStd  ReduceOp = 11
)

// reduceOps are the reductions without VAR and STD.
var reduceOps = []func(x *uop.UOp, axes []int, keepdim bool) *uop.UOp{
	sum, accurateProd, maxOf, minOf, mean, anyOf, allOf, accurateLogSumExp, argMaxOver, argMinOver,
}

// Reduce runs a reduction over axes, nil for all. VAR and STD divide by n - correction.
func Reduce(op ReduceOp, x *uop.UOp, axes []int, keepdim bool, correction float64) (r *uop.UOp, err error) {
	defer guard("Reduce", &err)
	need("x", x)
	switch {
	case op == reduceVar:
		return Var(x, axes, keepdim, correction)
	case op == reduceStd:
		return Std(x, axes, keepdim, correction)
	case op < 0 || int(op) >= len(reduceOps):
		fail("op", "%d is not a reduction, expected 0 to %d", op, reduceStd)
	}
	return reduceOps[op](x, axes, keepdim), nil
}

// ReduceAs is SumAs or ProdAs.
func ReduceAs(op ReduceOp, x *uop.UOp, dt *uop.DType, axes []int, keepdim bool) (r *uop.UOp, err error) {
	switch op {
	case reduceSum:
		return SumAs(x, dt, axes, keepdim)
	case reduceProd:
		return ProdAs(x, dt, axes, keepdim)
	}
	defer guard("ReduceAs", &err)
	fail("op", "%d, expected POLY_REDUCE_SUM or POLY_REDUCE_PROD", op)
	return nil, nil
}

// argMaxOver is the index of the maximum along one axis, or in the flattened tensor.
func argMaxOver(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	return positionOver(positionOfGreatest, x, axes, keep)
}

func argMinOver(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	return positionOver(positionOfLeast, x, axes, keep)
}

func positionOver(position func(x *uop.UOp, axis int, keep bool) *uop.UOp, x *uop.UOp, axes []int, keep bool) *uop.UOp {
	switch {
	case len(axes) == 1:
		return position(x, axes[0], keep)
	case axes != nil:
		fail("axes", "%d axes, expected one or all", len(axes))
	}
	r := position(flatten(x, 0, -1), 0, false)
	if keep {
		r = reshape(r, onesShape(len(x.Shape())))
	}
	return r
}
