package interp

import (
	"fmt"
	"math"

	"polygrad/core/uop"
)

func truth(b bool) value {
	if b {
		return value{i: 1}
	}
	return value{}
}

var floatUnary = map[uop.Op]func(float64) float64{
	uop.Trunc: uop.Rounding[uop.Trunc], uop.Floor: uop.Rounding[uop.Floor], uop.Ceil: uop.Rounding[uop.Ceil], uop.Round: uop.Rounding[uop.Round],
	uop.Sqrt: math.Sqrt, uop.Exp2: math.Exp2, uop.Tanh: math.Tanh,
	uop.Exp: uop.Functions[uop.Exp], uop.Log2: uop.Functions[uop.Log2], uop.Sin: uop.Functions[uop.Sin], uop.Cos: uop.Functions[uop.Cos],
	uop.Reciprocal: func(x float64) float64 { return 1 / x },
	uop.Neg:        func(x float64) float64 { return -x },
}

var floatBinary = map[uop.Op]func(a, b float64) float64{
	uop.Add:  func(a, b float64) float64 { return a + b },
	uop.Sub:  func(a, b float64) float64 { return a - b },
	uop.Mul:  func(a, b float64) float64 { return a * b },
	uop.Fdiv: func(a, b float64) float64 { return a / b },
	uop.Mod:  math.Mod,
	uop.Pow:  math.Pow,
	// A NaN operand is the result.
	uop.Max: func(a, b float64) float64 {
		if a < b || b != b {
			return b
		}
		return a
	},
}

// less orders integers, unsigned types as unsigned.
func less(d *uop.DType) func(a, b int64) bool {
	if d == uop.Uint64 {
		return func(a, b int64) bool { return uint64(a) < uint64(b) }
	}
	return func(a, b int64) bool { return a < b }
}

// divMod divides rounding towards zero; a zero divisor gives quotient 0 and the dividend as remainder.
func divMod(d *uop.DType) func(a, b int64) (q, r int64) {
	return func(a, b int64) (int64, int64) {
		switch {
		case b == 0:
			return 0, a
		case d == uop.Uint64:
			return int64(uint64(a) / uint64(b)), int64(uint64(a) % uint64(b))
		case b == -1:
			return -a, 0
		}
		return a / b, a % b
	}
}

func intBinary(op uop.Op, d *uop.DType) func(a, b int64) int64 {
	lt, dm := less(d), divMod(d)
	width := int64(d.Itemsize() * 8)
	switch op {
	case uop.Add:
		return func(a, b int64) int64 { return a + b }
	case uop.Sub:
		return func(a, b int64) int64 { return a - b }
	case uop.Mul:
		return func(a, b int64) int64 { return a * b }
	case uop.Idiv, uop.Fdiv: // gradients of bools divide bools
		return func(a, b int64) int64 { q, _ := dm(a, b); return q }
	case uop.Mod:
		return func(a, b int64) int64 { _, r := dm(a, b); return r }
	case uop.Max:
		return func(a, b int64) int64 {
			if lt(a, b) {
				return b
			}
			return a
		}
	case uop.And:
		return func(a, b int64) int64 { return a & b }
	case uop.Or:
		return func(a, b int64) int64 { return a | b }
	case uop.Xor:
		return func(a, b int64) int64 { return a ^ b }
	case uop.Shl:
		return func(a, b int64) int64 { return a << uint(b&(width-1)) }
	case uop.Shr:
		if d == uop.Uint64 {
			return func(a, b int64) int64 { return int64(uint64(a) >> uint(b&63)) }
		}
		return func(a, b int64) int64 { return a >> uint(b&(width-1)) }
	}
	return nil
}

// alu compiles an arithmetic operation to a loop over its elements.
func (c *compiler) alu(d int, u *uop.UOp) (step, error) {
	fn, err := element(u)
	if err != nil {
		return nil, err
	}
	src, n := c.slots(u.Src), max(1, u.DType.VCount())
	scalar := make([]bool, len(src)) // a scalar operand of a vector operation is broadcast
	for i, s := range u.Src {
		scalar[i] = s.DType.VCount() == 1 && n > 1
	}
	pick := func(f *frame, k, j int) value {
		if scalar[k] {
			j = 0
		}
		return f.vals[src[k]][j]
	}
	return func(f *frame, pc int) int {
		var x [3]value
		for j := range n {
			for k := range src {
				x[k] = pick(f, k, j)
			}
			f.vals[d][j] = fn(x)
		}
		return pc + 1
	}, nil
}

// element is the operation on one element.
func element(u *uop.UOp) (func(x [3]value) value, error) {
	in := u.Src[len(u.Src)-1].DType.Scalar()
	out := fix(u.DType.Scalar())
	switch u.Op {
	case uop.Where:
		return func(x [3]value) value {
			if x[0].i != 0 {
				return x[1]
			}
			return x[2]
		}, nil
	case uop.MulAcc:
		if in.IsFloat() {
			return func(x [3]value) value { return out(value{f: math.FMA(x[0].f, x[1].f, x[2].f)}) }, nil
		}
		return func(x [3]value) value { return out(value{i: x[0].i*x[1].i + x[2].i}) }, nil
	case uop.CmpLt, uop.CmpNe, uop.CmpEq:
		return compare(u.Op, u.Src[0].DType.Scalar()), nil
	}
	if in.IsFloat() {
		if f, ok := floatUnary[u.Op]; ok {
			return func(x [3]value) value { return out(value{f: f(x[0].f)}) }, nil
		}
		if f, ok := floatBinary[u.Op]; ok {
			return func(x [3]value) value { return out(value{f: f(x[0].f, x[1].f)}) }, nil
		}
	} else {
		switch u.Op {
		case uop.Neg:
			return func(x [3]value) value { return out(value{i: -x[0].i}) }, nil
		case uop.Trunc, uop.Floor, uop.Ceil, uop.Round:
			return func(x [3]value) value { return x[0] }, nil
		case uop.Reciprocal:
			dm := divMod(in)
			return func(x [3]value) value { q, _ := dm(1, x[0].i); return out(value{i: q}) }, nil
		}
		if f := intBinary(u.Op, in); f != nil {
			return func(x [3]value) value { return out(value{i: f(x[0].i, x[1].i)}) }, nil
		}
	}
	return nil, fmt.Errorf("cannot run %s on %s", u.Op, in)
}

func compare(op uop.Op, d *uop.DType) func(x [3]value) value {
	if d.IsFloat() {
		switch op {
		case uop.CmpLt:
			return func(x [3]value) value { return truth(x[0].f < x[1].f) }
		case uop.CmpNe:
			return func(x [3]value) value { return truth(x[0].f != x[1].f) }
		}
		return func(x [3]value) value { return truth(x[0].f == x[1].f) }
	}
	lt := less(d)
	switch op {
	case uop.CmpLt:
		return func(x [3]value) value { return truth(lt(x[0].i, x[1].i)) }
	case uop.CmpNe:
		return func(x [3]value) value { return truth(x[0].i != x[1].i) }
	}
	return func(x [3]value) value { return truth(x[0].i == x[1].i) }
}
