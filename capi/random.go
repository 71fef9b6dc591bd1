package main

/*
#include <stdint.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// stream is the source of the bindings' random tensors.
var stream tensor.Stream

//export go_poly_random_seed
func go_poly_random_seed(seed C.uint64_t) { stream.Seed(uint64(seed)) }

//export go_poly_random_take
func go_poly_random_take(words C.int64_t, out *C.uint32_t) C.int {
	const fn = "poly_random_take"
	if words < 0 || words > 1<<32 {
		fail(fn, badArg("words", "%d, expected 0 to 2^32", int64(words)))
		return -1
	}
	if out == nil {
		fail(fn, badArg("seed_out", "is NULL, expected memory of 3 numbers"))
		return -1
	}
	for i, w := range stream.Take(uint64(words)) {
		unsafe.Slice(out, 3)[i] = C.uint32_t(w)
	}
	return 0
}

//export go_poly_rand
func go_poly_rand(ctx C.uintptr_t, shape *C.int64_t, ndim C.int, seed C.uint64_t) C.uintptr_t {
	return filled("poly_rand", ctx, dtypeFloat32, shape, ndim, func(g *uop.Graph, _ *uop.DType, s uop.Shape) (*uop.UOp, error) {
		return tensor.Rand(g, s, uint64(seed))
	})
}

//export go_poly_randn
func go_poly_randn(ctx C.uintptr_t, shape *C.int64_t, ndim C.int, seed C.uint64_t) C.uintptr_t {
	return filled("poly_randn", ctx, dtypeFloat32, shape, ndim, func(g *uop.Graph, _ *uop.DType, s uop.Shape) (*uop.UOp, error) {
		return tensor.Randn(g, s, uint64(seed))
	})
}

// seeded runs a request for random numbers of a type and shape, with the seed in a tensor.
func seeded(fn string, ctx C.uintptr_t, dtype C.int, shape *C.int64_t, ndim C.int, seed C.uintptr_t, f func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error)) C.uintptr_t {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		dt := must(dtypeOf(dtype))
		s := must(c.sizes("shape", shape, ndim))
		must(tensor.MostElements(s))
		v := must(c.arg("seed", uintptr(seed)))
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

//export go_poly_rand_seeded
func go_poly_rand_seeded(ctx C.uintptr_t, dtype C.int, shape *C.int64_t, ndim C.int, seed C.uintptr_t) C.uintptr_t {
	return seeded("poly_rand_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		check(needFloat(dt))
		return tensor.RandSeeded(s, dt, seed)
	})
}

//export go_poly_randn_seeded
func go_poly_randn_seeded(ctx C.uintptr_t, dtype C.int, shape *C.int64_t, ndim C.int, seed C.uintptr_t) C.uintptr_t {
	return seeded("poly_randn_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		u := must(tensor.RandnSeeded(s, seed))
		return tensor.Cast(u, dt)
	})
}

//export go_poly_randint_seeded
func go_poly_randint_seeded(ctx C.uintptr_t, dtype C.int, shape *C.int64_t, ndim C.int, low, high C.int64_t, seed C.uintptr_t) C.uintptr_t {
	return seeded("poly_randint_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.RandIntSeeded(s, int64(low), int64(high), dt, seed)
	})
}

//export go_poly_dropout
func go_poly_dropout(ctx, x C.uintptr_t, p C.double, seed C.uintptr_t) C.uintptr_t {
	return compose("poly_dropout", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.DropoutSeeded(us[0], float64(p), us[1])
	}, operandOf("x", x), operandOf("seed", seed))
}

//export go_poly_uniform_seeded
func go_poly_uniform_seeded(ctx C.uintptr_t, dtype C.int, shape *C.int64_t, ndim C.int, low, high C.double, seed C.uintptr_t) C.uintptr_t {
	return seeded("poly_uniform_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.UniformSeeded(s, float64(low), float64(high), dt, seed)
	})
}

//export go_poly_normal_seeded
func go_poly_normal_seeded(ctx C.uintptr_t, dtype C.int, shape *C.int64_t, ndim C.int, mean, std C.double, seed C.uintptr_t) C.uintptr_t {
	return seeded("poly_normal_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		return tensor.NormalSeeded(s, float64(mean), float64(std), dt, seed)
	})
}

//export go_poly_init_seeded
func go_poly_init_seeded(ctx C.uintptr_t, scheme, dtype C.int, shape *C.int64_t, ndim C.int, a C.double, seed C.uintptr_t) C.uintptr_t {
	return seeded("poly_init_seeded", ctx, dtype, shape, ndim, seed, func(dt *uop.DType, s uop.Shape, seed *uop.UOp) (*uop.UOp, error) {
		if scheme < 0 || scheme > C.int(tensor.InitKaimingNormal) {
			return nil, badArg("scheme", "%d, expected 0 to %d", scheme, tensor.InitKaimingNormal)
		}
		return tensor.InitSeeded(tensor.InitScheme(scheme), s, float64(a), dt, seed)
	})
}

//export go_poly_randperm_seeded
func go_poly_randperm_seeded(ctx C.uintptr_t, dtype C.int, n C.int64_t, seed C.uintptr_t) C.uintptr_t {
	return compose("poly_randperm_seeded", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		dt := must(dtypeOf(dtype))
		return tensor.RandPermSeeded(int64(n), dt, us[0])
	}, operandOf("seed", seed))
}

//export go_poly_multinomial
func go_poly_multinomial(ctx, x C.uintptr_t, n C.int64_t, replacement C.int, seed C.uintptr_t) C.uintptr_t {
	return compose("poly_multinomial", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.MultinomialSeeded(us[0], int64(n), replacement != 0, us[1])
	}, operandOf("x", x), operandOf("seed", seed))
}
