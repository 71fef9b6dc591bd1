package table

import (
	"fmt"
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

type (
	goOp  = func(*goCall) ([]*uop.UOp, error)
	unary = func(*uop.UOp) (*uop.UOp, error)
	two   = func(a, b *uop.UOp) (*uop.UOp, error)
)

func one(u *uop.UOp, err error) ([]*uop.UOp, error) { return []*uop.UOp{u}, err }

func pair(a, b *uop.UOp, err error) ([]*uop.UOp, error) { return []*uop.UOp{a, b}, err }

// goOps are the functions of core/tensor behind the operations, as the C interface uses them.
var goOps = map[string]goOp{}

func init() {
	for name, f := range goUnary {
		goOps[name] = func(c *goCall) ([]*uop.UOp, error) { return one(f(c.x[0])) }
	}
	for name, f := range goBinary {
		goOps[name] = func(c *goCall) ([]*uop.UOp, error) { return one(c.binary(name, f)) }
	}
	for name, f := range goReductions {
		goOps[name] = func(c *goCall) ([]*uop.UOp, error) {
			return one(f(c.x[0], toInts(c.Ints("axis")), c.Bool("keepdim", false)))
		}
	}
	for name, dt := range map[string]*uop.DType{
		"float": uop.Float32, "double": uop.Float64, "half": uop.Float16, "bfloat16": uop.BFloat16, "int": uop.Int32,
		"long": uop.Int64, "bool": uop.Bool,
	} {
		goOps[name] = func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Cast(c.x[0], dt)) }
	}
	for name, f := range goOthers {
		goOps[name] = f
	}
}

var goUnary = map[string]unary{
	"exp": tensor.Exp, "exp2": tensor.Exp2, "expm1": tensor.Expm1, "log": tensor.Log, "log2": tensor.Log2,
	"log10": tensor.Log10, "log1p": tensor.Log1p, "sqrt": tensor.Sqrt, "rsqrt": tensor.Rsqrt,
	"reciprocal": tensor.Reciprocal, "square": tensor.Square, "neg": tensor.Neg, "abs": tensor.Abs, "sign": tensor.Sign,
	"sin": tensor.Sin, "cos": tensor.Cos, "tan": tensor.Tan, "asin": tensor.Asin, "acos": tensor.Acos, "atan": tensor.Atan,
	"sinh": tensor.Sinh, "cosh": tensor.Cosh, "tanh": tensor.Tanh, "asinh": tensor.Asinh, "acosh": tensor.Acosh,
	"atanh": tensor.Atanh, "ceil": tensor.Ceil, "floor": tensor.Floor, "trunc": tensor.Trunc, "round": tensor.Round,
	"erf": tensor.Erf, "erfc": tensor.Erfc, "erfinv": tensor.Erfinv, "ndtri": tensor.Ndtri, "lgamma": tensor.Lgamma,
	"digamma": tensor.Digamma, "relu": tensor.Relu, "relu6": tensor.Relu6, "sigmoid": tensor.Sigmoid,
	"logsigmoid": tensor.LogSigmoid, "gelu": tensor.Gelu, "quick_gelu": tensor.QuickGelu, "silu": tensor.Silu,
	"swish": tensor.Silu, "mish": tensor.Mish, "softsign": tensor.Softsign, "hardswish": tensor.HardSwish,
	"isnan": tensor.IsNaN, "isinf": tensor.IsInf, "isfinite": tensor.IsFinite,
	"logical_not": tensor.LogicalNot, "bitwise_not": tensor.BitNot, "contiguous": tensor.Contiguous,
	"contiguous_backward": tensor.ContiguousBackward, "detach": tensor.Detach, "clone": tensor.Contiguous,
	"T":    func(x *uop.UOp) (*uop.UOp, error) { return tensor.Transpose(x, -2, -1) },
	"diag": tensor.Diag, "inv": tensor.Inv, "det": tensor.Det,
}

var goBinary = map[string]two{
	"add": tensor.Add, "sub": tensor.Sub, "mul": tensor.Mul, "div": tensor.Div, "floordiv": tensor.FloorDiv,
	"mod": tensor.Mod, "pow": tensor.Pow, "maximum": tensor.Maximum, "minimum": tensor.Minimum, "lt": tensor.Lt,
	"le": tensor.Le, "gt": tensor.Gt, "ge": tensor.Ge, "eq": tensor.Eq, "ne": tensor.Ne, "bitwise_and": tensor.BitAnd,
	"bitwise_or": tensor.BitOr, "bitwise_xor": tensor.BitXor, "lshift": tensor.ShiftLeft, "rshift": tensor.ShiftRight,
	"idiv": tensor.TruncDiv, "logaddexp": tensor.LogAddExp, "copysign": tensor.CopySign,
	"dot": tensor.MatMul, "atan2": tensor.Atan2, "hypot": tensor.Hypot, "fmod": tensor.TruncMod, "solve": tensor.Solve,
}

type reduction = func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error)

var goReductions = map[string]reduction{
	"max": tensor.Max, "min": tensor.Min, "mean": tensor.Mean, "any": tensor.Any, "all": tensor.All,
	"logsumexp": tensor.LogSumExp, "argmax": argReduction(tensor.ArgMax), "argmin": argReduction(tensor.ArgMin),
}

// argReduction finds a position along one axis, or in the flattened tensor.
func argReduction(f func(*uop.UOp, int, bool) (*uop.UOp, error)) reduction {
	return func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
		if axes != nil {
			return f(x, axes[0], keepdim)
		}
		flat, err := tensor.Flatten(x, 0, -1)
		if err != nil {
			return nil, err
		}
		r, err := f(flat, 0, false)
		if err != nil || !keepdim {
			return r, err
		}
		shape := uop.ShapeOf()
		for range x.Shape() {
			shape = append(shape, uop.N(1))
		}
		return tensor.Reshape(r, shape)
	}
}

// operand is operand i as a tensor: a number takes its type from the tensor it meets.
func (c *goCall) operand(i int, like *uop.UOp) (*uop.UOp, error) {
	k := c.Operands()[i]
	if c.in[k] != nil {
		return c.in[k], nil
	}
	_, v, err := tensor.Meet(like, c.Inputs[k].Number, tensor.BeyondWraps)
	return v, err
}

// goBeyond says what operations do with numbers that integers cannot be: they are an error for the rest.
var goBeyond = map[string]tensor.Beyond{
	"add": tensor.BeyondWraps, "sub": tensor.BeyondWraps, "mul": tensor.BeyondWraps, "div": tensor.BeyondFloats,
	"maximum": tensor.BeyondBelow, "minimum": tensor.BeyondAbove, "lt": tensor.BeyondCompares, "le": tensor.BeyondCompares,
	"gt": tensor.BeyondCompares, "ge": tensor.BeyondCompares, "eq": tensor.BeyondCompares, "ne": tensor.BeyondCompares,
}

// binary computes an operation of two operands, the second of which may be a number.
func (c *goCall) binary(name string, f two) (*uop.UOp, error) {
	x, second := c.x[0], c.Operands()[1]
	number, reverse := c.Inputs[second].Number, c.Bool("reverse", false)
	if c.in[second] == nil && !reverse {
		n, whole := number.Int64()
		switch {
		case name == "pow":
			return tensor.PowConst(x, number)
		case name == "lshift" && whole:
			return tensor.ShiftLeftConst(x, int(n))
		case name == "rshift" && whole:
			return tensor.ShiftRightConst(x, int(n))
		}
	}
	y, err := c.in[second], error(nil)
	if y == nil {
		x, y, err = tensor.Meet(x, number, goBeyond[name])
	}
	if err != nil {
		return nil, err
	}
	switch c.Text("rounding_mode", "") {
	case "trunc":
		f = tensor.TruncDiv
	case "floor":
		f = tensor.FloorDiv
	}
	if reverse {
		return f(y, x)
	}
	return f(x, y)
}

// optional is the tensor that an argument names, or nil.
func (c *goCall) optional(name string) *uop.UOp {
	if i := c.Input(name); i >= 0 {
		return c.in[i]
	}
	return nil
}

func (c *goCall) clamp(low, high string) ([]*uop.UOp, error) {
	if c.Input(low) >= 0 || c.Input(high) >= 0 {
		return one(tensor.Clamp(c.x[0], c.optional(low), c.optional(high)))
	}
	return one(tensor.ClampTo(c.x[0], c.Float(low, math.Inf(-1)), c.Float(high, math.Inf(1))))
}

// dtype is the type that an argument names.
func (c *goCall) dtype(missing *uop.DType) *uop.DType {
	if !c.Has("dtype") {
		return missing
	}
	dt, err := uop.ParseDType(c.Text("dtype", ""))
	if err != nil {
		panic(err)
	}
	return dt
}

// seed is the k-th seed of the case, as a tensor of two words.
func (c *goCall) seed(k uint64) *uop.UOp {
	if c.Seed == nil {
		c.Seed = "0"
	}
	s := c.SeedNumber() + k
	u, err := c.leaf(&Tensor{DType: "uint32", Shape: []int64{2}, Data: []any{fmt.Sprint(s & math.MaxUint32), fmt.Sprint(s >> 32)}})
	if err != nil {
		panic(err)
	}
	return u
}

// sizes is the argument that holds a shape; a negative size is an error.
func (c *goCall) sizes() (uop.Shape, error) {
	for _, n := range c.Ints("shape") {
		if n < 0 {
			return nil, fmt.Errorf("shape: %d, expected 0 or more", n)
		}
	}
	return uop.ShapeOf(c.Ints("shape")...), nil
}

func (c *goCall) pairs(name string, ndim int, missing func(int) [2]int64) []uop.Pair {
	list, _ := c.Args[name].([]any)
	if len(list) > 0 {
		if _, nested := list[0].([]any); !nested && list[0] != nil {
			flat, out := c.Ints(name), make([]uop.Pair, ndim)
			for i := range out {
				out[i] = uop.Pair{Lo: uop.N(0), Hi: uop.N(0)}
			}
			for i := 0; i < len(flat); i += 2 {
				out[ndim-1-i/2] = uop.Pair{Lo: uop.N(flat[i]), Hi: uop.N(flat[i+1])}
			}
			return out
		}
	}
	return toPairs(c.Pairs(name, missing))
}

// items is the index expression of the case.
func (c *goCall) items() []tensor.Index {
	var out []tensor.Index
	for _, item := range c.Items() {
		switch item.Kind {
		case ItemInt:
			out = append(out, tensor.At(item.At))
		case ItemSlice:
			step := int64(1)
			if item.Slice[2] != nil {
				step = *item.Slice[2]
			}
			out = append(out, tensor.Slice(item.Slice[0], item.Slice[1], step))
		case ItemNewAxis:
			out = append(out, tensor.NewAxis())
		case ItemEllipsis:
			out = append(out, tensor.Ellipsis())
		case ItemTensor:
			out = append(out, tensor.Take(c.in[item.Input]))
		}
	}
	return out
}
