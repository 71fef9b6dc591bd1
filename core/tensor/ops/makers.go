package ops

import (
	"errors"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// filled is a tensor of one value.
func filled(name, doc string, v uop.Const) Op {
	return maker(name, "shape shape, dtype dtype = float32", doc, func(a *Args) (*uop.UOp, error) {
		return tensor.Full(a.Graph, a.shape("shape"), v, a.dtype("dtype"))
	})
}

// like is a tensor of one value with the shape of another.
func like(name, doc string, v uop.Const) Op {
	return method(name, "dtype dtype?", doc, func(a *Args) (*uop.UOp, error) { return a.like(v) })
}

func (a *Args) like(v uop.Const) (*uop.UOp, error) {
	if dt := a.dtype("dtype"); dt != nil {
		return tensor.Full(a.X.Graph(), a.X.Shape(), v, dt)
	}
	return tensor.FullLike(a.X, v)
}

var makers = []Op{
	filled("zeros", "A tensor of zeros, by default float32.", uop.Int(0)),
	filled("ones", "A tensor of ones, by default float32.", uop.Int(1)),
	filled("empty", "A tensor for later writes. Do not rely on its elements.", uop.Int(0)),
	maker("full", "shape shape, fill_value operand, dtype dtype?", "A tensor filled with fill_value; by default its type is bool, int32, float32 or complex64, as that of fill_value.", func(a *Args) (*uop.UOp, error) {
		if x := a.tensor("fill_value"); x != nil {
			return tensor.Filled(a.shape("shape"), x, a.dtype("dtype"))
		}
		v, dt := a.number("fill_value"), a.dtype("dtype")
		if dt == nil {
			dt = v.DefaultDType()
		}
		return tensor.Full(a.Graph, a.shape("shape"), v, dt)
	}),
	like("zeros_like", "Zeros of the shape and type of x.", uop.Int(0)),
	like("ones_like", "Ones of the shape and type of x.", uop.Int(1)),
	like("empty_like", "A tensor of the shape and type of x for later writes. Do not rely on its elements.", uop.Int(0)),
	method("const_like", "b number", "The same as full_like(b), for a number b that the type of x can represent.", func(a *Args) (*uop.UOp, error) {
		u, err := tensor.FullLike(a.X, a.number("b"))
		if e := (*tensor.Error)(nil); errors.As(err, &e) {
			err = bad("b", "%s", e.Text)
		}
		return u, err
	}),
	method("full_like", "fill_value operand, dtype dtype?", "A tensor of the shape and type of x filled with fill_value.", func(a *Args) (*uop.UOp, error) {
		if x := a.tensor("fill_value"); x != nil {
			dt := a.dtype("dtype")
			if dt == nil {
				dt = a.X.DType
			}
			return tensor.Filled(a.X.Shape(), x, dt)
		}
		return a.like(a.number("fill_value"))
	}),
	maker("arange", "start number?, stop number?, step number = 1, dtype dtype?", "The vector start, start + step, … up to, not including, stop; arange(n) is 0, 1, … n - 1.", func(a *Args) (*uop.UOp, error) {
		start, stop := a.number("start"), a.number("stop")
		switch {
		case a.given("stop") && a.given("start"):
		case a.given("stop"):
			start = uop.Int(0)
		case a.given("start"):
			start, stop = uop.Int(0), start
		default:
			return nil, bad("stop", "is missing, expected a number")
		}
		return tensor.Arange(a.Graph, start, stop, a.number("step"), a.dtype("dtype"))
	}),
	maker("linspace", "start number, stop number, steps int, dtype dtype = float32", "The vector of steps numbers at equal distances from start to stop, both included.", func(a *Args) (*uop.UOp, error) {
		return tensor.Linspace(a.Graph, a.number("start"), a.number("stop"), a.int("steps"), a.dtype("dtype"))
	}),
	maker("eye", "n int, m int?, dtype dtype = float32", "The (n, m) matrix with ones on the diagonal, zeros elsewhere; m is n unless given.", func(a *Args) (*uop.UOp, error) {
		m := a.int("n")
		if a.given("m") {
			m = a.int("m")
		}
		return tensor.Eye(a.Graph, a.int("n"), m, a.dtype("dtype"))
	}),
}

// drawn is a random tensor, whose elements take a number of bytes of the stream.
func drawn(name, params, doc string, bytes func(a *Args) int64, f func(a *Args, s uop.Shape, seed *uop.UOp) (*uop.UOp, error)) Op {
	if params != "" {
		params = ", " + params
	}
	op := maker(name, "shape shape"+params, doc, func(a *Args) (*uop.UOp, error) { return a.draw(a.shape("shape"), bytes(a), f) })
	op.Random = true
	return op
}

// drawnLike is a random tensor with the shape of x, and its type unless dtype is given.
func drawnLike(name, doc string, bytes func(a *Args) int64, f func(a *Args, s uop.Shape, seed *uop.UOp) (*uop.UOp, error)) Op {
	op := method(name, "dtype dtype?", doc, func(a *Args) (*uop.UOp, error) {
		if !a.given("dtype") {
			if err := a.Set("dtype", a.X.DType); err != nil {
				return nil, err
			}
		}
		return a.draw(a.X.Shape(), bytes(a), f)
	})
	op.Random = true
	return op
}

func (a *Args) draw(s uop.Shape, bytes int64, f func(a *Args, s uop.Shape, seed *uop.UOp) (*uop.UOp, error)) (*uop.UOp, error) {
	seed, err := a.seed(s, bytes)
	if err != nil {
		return nil, err
	}
	return f(a, s, seed)
}

func bytesOfType(a *Args) int64 { return int64(a.dtype("dtype").Itemsize()) }
func eightBytes(*Args) int64    { return 8 }

// bytesOfUniform is the number of random bytes for a float of the type, or for an integer between low and high.
func bytesOfUniform(a *Args) int64 {
	if a.dtype("dtype").IsInt() {
		return bytesOfInteger(a.float("high") - a.float("low"))
	}
	return max(4, bytesOfType(a))
}

// bytesOfInteger is the number of random bytes for an integer in an interval of a length: up to 2^23 one float32 is enough.
func bytesOfInteger(length float64) int64 {
	if length <= 1<<23 {
		return 4
	}
	return 8
}

func uniform(a *Args, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
	if !a.dtype("dtype").IsFloat() {
		return nil, bad("dtype", "%s, expected a floating type", a.dtype("dtype"))
	}
	return tensor.RandSeeded(s, a.dtype("dtype"), seed)
}

func normal(a *Args, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
	u, err := tensor.RandnSeeded(s, seed)
	if err != nil {
		return nil, err
	}
	return tensor.Cast(u, a.dtype("dtype"))
}

func initial(name, params, doc string, scheme tensor.InitScheme) Op {
	bytes := func(a *Args) int64 { return max(4, bytesOfType(a)) }
	if scheme == tensor.InitKaimingNormal {
		bytes = eightBytes
	}
	return drawn(name, params, doc, bytes, func(a *Args, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		slope := 0.01
		if params != ofType {
			slope = a.float("a")
		}
		return tensor.InitSeeded(scheme, s, slope, a.dtype("dtype"), seed)
	})
}

const ofType = "dtype dtype = float32"

var random = []Op{
	drawn("rand", ofType, "Random numbers of a floating type, uniform in [0, 1).", bytesOfType, uniform),
	drawn("randn", ofType, "Random numbers of the standard normal distribution.", eightBytes, normal),
	drawn("randint", "low int = 0, high int = 10, dtype dtype = int32", "Random integers, uniform in [low, high).", func(a *Args) int64 {
		return bytesOfInteger(float64(a.int("high") - a.int("low")))
	}, func(a *Args, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.RandIntSeeded(s, a.int("low"), a.int("high"), a.dtype("dtype"), seed)
	}),
	drawn("uniform", "low float = 0, high float = 1, "+ofType, "Random numbers, uniform in [low, high); integers for an integer type.", bytesOfUniform, func(a *Args, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.UniformSeeded(s, a.float("low"), a.float("high"), a.dtype("dtype"), seed)
	}),
	drawn("normal", "mean float = 0, std float = 1, "+ofType, "Random numbers of the normal distribution with mean and std.", eightBytes, func(a *Args, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.NormalSeeded(s, a.float("mean"), a.float("std"), a.dtype("dtype"), seed)
	}),
	initial("scaled_uniform", ofType, "Random numbers, uniform in ±1/sqrt(number of elements).", tensor.InitScaledUniform),
	initial("glorot_uniform", ofType, "Random numbers, uniform in ±sqrt(6 / (fan in + fan out)) (Glorot and Bengio, 2010).", tensor.InitGlorotUniform),
	initial("kaiming_uniform", "a float = 0.01, "+ofType, "Random numbers, uniform in ±sqrt(6 / ((1 + a^2) fan in)) (He et al., arXiv:1502.01852).", tensor.InitKaimingUniform),
	initial("kaiming_normal", "a float = 0.01, "+ofType, "Random normal numbers with variance 2 / ((1 + a^2) fan in) (He et al., arXiv:1502.01852).", tensor.InitKaimingNormal),
	randperm(),
	drawnLike("rand_like", "Random numbers of the shape and type of x, uniform in [0, 1).", bytesOfType, uniform),
	drawnLike("randn_like", "Random numbers of the shape and type of x, of the standard normal distribution.", eightBytes, normal),
	multinomial(),
}

func randperm() Op {
	op := maker("randperm", "n int, dtype dtype = int32", "The numbers 0 to n - 1 in random order.", func(a *Args) (*uop.UOp, error) {
		seed, err := a.seed(uop.ShapeOf(max(a.int("n"), 0)), 4)
		if err != nil {
			return nil, err
		}
		return tensor.RandPermSeeded(a.int("n"), a.dtype("dtype"), seed)
	})
	op.Random = true
	return op
}

func multinomial() Op {
	op := method("multinomial", "num_samples int = 1, replacement bool = false", "num_samples random class numbers, drawn with the weights in the last axis.", func(a *Args) (*uop.UOp, error) {
		n := a.int("num_samples")
		s := slices.Clone(a.X.Shape())
		if (a.bool("replacement") || n == 1) && len(s) > 0 { // else a number for each class
			s[len(s)-1] = uop.N(max(n, 0))
		}
		seed, err := a.seed(s, 4)
		if err != nil {
			return nil, err
		}
		return tensor.MultinomialSeeded(a.X, a.int("num_samples"), a.bool("replacement"), seed)
	})
	op.Random = true
	return op
}
