package wgsl

import (
	"math"
	"slices"

	"polygrad/core/nest/ir"
)

// llvmpipe ends all loops of an invocation after a total of ir.Machine.Iterations iterations, without an error. Where a shader may need more, it
// therefore repeats the bodies of its innermost loops in each iteration.

// mostRepeated is the largest number of bodies in an iteration.
const mostRepeated = 256

// repetitions is how often the body of a repeated loop is written in an iteration, so that an invocation does at most the given total of iterations.
func repetitions(root *ir.Block, vars []ir.VarParam, most int64) int64 {
	n := int64(1)
	for most > 0 && iterations(root, vars, n) > float64(most) {
		if n == mostRepeated {
			if len(vars) == 0 { // else it may do fewer
				ir.Fail("an invocation does %.0f iterations of loops, expected at most %d", iterations(root, vars, 1), most*n)
			}
			break
		}
		n *= 2
	}
	return n
}

// iterations is the greatest number of iterations of an invocation, as far as it is known, if repeated loops do n in one.
func iterations(b *ir.Block, vars []ir.VarParam, n int64) (all float64) {
	for _, it := range b.Items {
		if it.Loop == nil {
			continue
		}
		count, inside := greatest(it.Loop, vars), iterations(it.Loop.Body, vars, n)
		all += count * inside
		switch { // 1 more: the test that ends the loop counts
		case repeated(it.Loop, vars):
			all += math.Ceil(count/float64(n)) + 1
		case count > 1 || it.Loop.Count.Op != ir.Const:
			all += count + 1
		}
	}
	return all
}

// repeated reports whether the body of a loop may be written several times: it does several iterations, and no loop in it does.
func repeated(l *ir.Loop, vars []ir.VarParam) bool {
	return greatest(l, vars) > 1 && !several(l.Body, vars)
}

// several reports whether a loop of a block does several iterations.
func several(b *ir.Block, vars []ir.VarParam) bool {
	return slices.ContainsFunc(b.Items, func(it ir.Item) bool {
		return it.Loop != nil && (greatest(it.Loop, vars) > 1 || several(it.Loop.Body, vars))
	})
}

// greatest is an upper bound of the trip count of a loop, 1 if none is known.
func greatest(l *ir.Loop, vars []ir.VarParam) float64 {
	if n := upper(l.Count, vars); n >= 1 && n <= math.MaxInt32 {
		return n
	}
	return 1
}

// upper is an upper bound of an integer that is not negative, infinite if none is known.
func upper(v *ir.Value, vars []ir.VarParam) float64 {
	arg := func(i int) float64 { return upper(v.Args[i], vars) }
	switch v.Op {
	case ir.Const:
		return float64(ir.ConstInt(v))
	case ir.Var:
		return float64(vars[v.Bits].Max)
	case ir.Items:
		return 1
	case ir.Iter:
		return upper(v.Loop.Count, vars) - 1
	case ir.Less, ir.LessEqual, ir.Equal, ir.NotEqual:
		return 1
	case ir.Cast:
		return arg(0)
	case ir.Add:
		return arg(0) + arg(1)
	case ir.Sub:
		if v.Args[1].Op == ir.Const {
			return arg(0) - arg(1)
		}
		return arg(0)
	case ir.Mul:
		return arg(0) * arg(1)
	case ir.Div, ir.Shr:
		if v.Args[1].Op != ir.Const {
			return arg(0)
		}
		if v.Op == ir.Shr {
			return math.Floor(math.Ldexp(arg(0), -int(v.Args[1].Bits&63)))
		}
		return math.Floor(arg(0) / max(arg(1), 1))
	case ir.Mod:
		return min(arg(0), arg(1))
	case ir.Max:
		return max(arg(0), arg(1))
	case ir.Where:
		return max(arg(1), arg(2))
	}
	return math.Inf(1)
}
