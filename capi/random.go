package main

import (
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// stream is the source of the bindings' random tensors.
var stream tensor.Stream

func poly_random_seed(seed uint64) { stream.Seed(seed) }

func poly_random_take(words int64, out *uint32) int32 {
	const fn = "poly_random_take"
	if words < 0 || words > 1<<32 {
		fail(fn, badArg("words", "%d, expected 0 to 2^32", words))
		return -1
	}
	if out == nil {
		fail(fn, badArg("seed_out", "is NULL, expected memory of 3 numbers"))
		return -1
	}
	for i, w := range stream.Take(uint64(words)) {
		unsafe.Slice(out, 3)[i] = w
	}
	return 0
}

func poly_rand(ctx uintptr, shape *int64, ndim int32, seed uint64) uintptr {
	return filled("poly_rand", ctx, dtypeFloat32, shape, ndim, func(g *uop.Graph, _ *uop.DType, s uop.Shape) (*uop.UOp, error) {
		return tensor.Rand(g, s, seed)
	})
}

func poly_randn(ctx uintptr, shape *int64, ndim int32, seed uint64) uintptr {
	return filled("poly_randn", ctx, dtypeFloat32, shape, ndim, func(g *uop.Graph, _ *uop.DType, s uop.Shape) (*uop.UOp, error) {
		return tensor.Randn(g, s, seed)
	})
}

// seeded runs a request for random numbers of a type and shape, with the seed in a tensor.
func seeded(fn string, ctx uintptr, dtype int32, shape *int64, ndim int32, seed uintptr, f func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error)) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		dt := must(dtypeOf(dtype))
		s := must(c.sizes("shape", shape, ndim))
		must(tensor.MostElements(s))
		v := must(c.arg("seed", seed))
		u, err := f(dt, s, v.Keep)
		return single(u), err
	})
}

func needFloat(dt *uop.DType) error {
	if dt.IsFloat() {
		return nil
	}
	return badArg("dtype", "%s, expected a floating type", dtypeName(dt))
}

func poly_rand_seeded(ctx uintptr, dtype int32, shape *int64, ndim int32, seed uintptr) uintptr {
	return seeded("poly_rand_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		check(needFloat(dt))
		return tensor.RandSeeded(s, dt, seed)
	})
}

func poly_randn_seeded(ctx uintptr, dtype int32, shape *int64, ndim int32, seed uintptr) uintptr {
	return seeded("poly_randn_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		u := must(tensor.RandnSeeded(s, seed))
		return tensor.Cast(u, dt)
	})
}

func poly_randint_seeded(ctx uintptr, dtype int32, shape *int64, ndim int32, low, high int64, seed uintptr) uintptr {
	return seeded("poly_randint_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.RandIntSeeded(s, low, high, dt, seed)
	})
}

func poly_dropout(ctx, x uintptr, p float64, seed uintptr) uintptr {
	return compose("poly_dropout", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.DropoutSeeded(us[0], float64(p), us[1])
	}, operandOf("x", x), operandOf("seed", seed))
}

func poly_uniform_seeded(ctx uintptr, dtype int32, shape *int64, ndim int32, low, high float64, seed uintptr) uintptr {
	return seeded("poly_uniform_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.UniformSeeded(s, float64(low), float64(high), dt, seed)
	})
}

func poly_normal_seeded(ctx uintptr, dtype int32, shape *int64, ndim int32, mean, std float64, seed uintptr) uintptr {
	return seeded("poly_normal_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.NormalSeeded(s, float64(mean), float64(std), dt, seed)
	})
}

func poly_init_seeded(ctx uintptr, scheme, dtype int32, shape *int64, ndim int32, a float64, seed uintptr) uintptr {
	return seeded("poly_init_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		if scheme < 0 || scheme > int32(tensor.InitKaimingNormal) {
			return nil, badArg("scheme", "%d, expected 0 to %d", scheme, tensor.InitKaimingNormal)
		}
		return tensor.InitSeeded(tensor.InitScheme(scheme), s, float64(a), dt, seed)
	})
}

func poly_randperm_seeded(ctx uintptr, dtype int32, n int64, seed uintptr) uintptr {
	return compose("poly_randperm_seeded", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		dt := must(dtypeOf(dtype))
		return tensor.RandPermSeeded(n, dt, us[0])
	}, operandOf("seed", seed))
}

func poly_multinomial(ctx, x uintptr, n int64, replacement int32, seed uintptr) uintptr {
	return compose("poly_multinomial", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.MultinomialSeeded(us[0], n, replacement != 0, us[1])
	}, operandOf("x", x), operandOf("seed", seed))
}
