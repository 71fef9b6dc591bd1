package main

/*
#include "records.h"

#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/uop"
	"polygrad/model"
)

// initStream seeds new layers: each tensor takes the next stream of the seed.
var initStream = struct {
	sync.Mutex
	seed  uint64
	count int
}{seed: 42}

// initUniform fills a new tensor with uniform numbers in +-sqrt(6 / fanIn).
func initUniform(data []float32, fanIn int64) {
	initStream.Lock()
	seed, name := initStream.seed, fmt.Sprintf("tensor.%d", initStream.count)
	initStream.count++
	initStream.Unlock()
	model.InitKaiming(seed, name, data, max(fanIn, 1))
}

//export go_poly_nn_seed
func go_poly_nn_seed(seed C.uint32_t) {
	initStream.Lock()
	defer initStream.Unlock()
	initStream.seed, initStream.count = uint64(seed), 0
}

// A linearLayer is what a PolyLinear stands for.
type linearLayer struct {
	rec          *linearRecord
	weight, bias *memTensor // bias is nil if the layer has none
}

// linearRecord is PolyLinear.
type linearRecord struct {
	weight, bias uintptr
	in, out      int32
}

func layerAt(arg string, h C.uintptr_t) (*linearLayer, error) {
	if h == 0 {
		return nil, &argError{arg, handle.ErrNull}
	}
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	l := tensors.layers[uintptr(h)]
	if l == nil {
		return nil, badArg(arg, "is not a layer: it was freed, or it never was one")
	}
	return l, nil
}

// params are the tensors of a layer.
func (l *linearLayer) params() []*memTensor {
	if l.bias == nil {
		return []*memTensor{l.weight}
	}
	return []*memTensor{l.weight, l.bias}
}

//export go_poly_nn_linear
func go_poly_nn_linear(in, out C.int, bias C.bool) C.uintptr_t {
	const fn = "poly_nn_linear"
	l := &linearLayer{}
	var err error
	switch {
	case in < 1:
		err = badArg("n_in", "%d, expected 1 or more", in)
	case out < 1:
		err = badArg("n_out", "%d, expected 1 or more", out)
	default:
		l.weight, err = newPersistent(uop.ShapeOf(int64(out), int64(in)), func(data []float32) { initUniform(data, int64(in)) })
		if err == nil && bool(bias) {
			if l.bias, err = newPersistent(uop.ShapeOf(int64(out)), func([]float32) {}); err != nil {
				C.free(l.weight.data)
			}
		}
	}
	if err != nil {
		fail(fn, err)
		return 0
	}
	l.rec = (*linearRecord)(C.calloc(1, C.size_t(unsafe.Sizeof(linearRecord{}))))
	*l.rec = linearRecord{weight: uintptr(l.weight.add()), in: int32(in), out: int32(out)}
	if l.bias != nil {
		l.rec.bias = uintptr(l.bias.add())
	}
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	if tensors.layers == nil {
		tensors.layers = map[uintptr]*linearLayer{}
	}
	h := uintptr(unsafe.Pointer(l.rec))
	tensors.layers[h] = l
	return C.uintptr_t(h)
}

//export go_poly_nn_linear_free
func go_poly_nn_linear_free(h C.uintptr_t) {
	tensors.mu.Lock()
	l := tensors.layers[uintptr(h)]
	delete(tensors.layers, uintptr(h))
	tensors.mu.Unlock()
	if l == nil {
		return
	}
	for _, t := range l.params() {
		t.free()
	}
	C.free(unsafe.Pointer(l.rec))
}

//export go_poly_nn_linear_params
func go_poly_nn_linear_params(h C.uintptr_t, out *C.uintptr_t, most C.int) C.int {
	const fn = "poly_nn_linear_params"
	l, err := layerAt("l", h)
	if err == nil && (most < 0 || most > 0 && out == nil) {
		err = badArg("out", "room for %d tensors at NULL", most)
	}
	if err != nil {
		fail(fn, err)
		return -1
	}
	ts := l.params()
	n := min(len(ts), int(most))
	for i, t := range ts[:n] {
		unsafe.Slice(out, most)[i] = C.uintptr_t(uintptr(unsafe.Pointer(t.rec)))
	}
	return C.int(n)
}

//export go_poly_nn_linear_forward
func go_poly_nn_linear_forward(h, ctx, x C.uintptr_t) C.uintptr_t {
	return buildTensor("poly_nn_linear_forward", ctx, func(c *context) (*memTensor, error) {
		l := must(layerAt("l", h))
		t := must(tensorAt("x", x))
		us := make([]*uop.UOp, 0, 3)
		for i, t := range append([]*memTensor{t}, l.params()...) {
			v := must(c.tensor([]string{"x", "l", "l"}[i], t))
			us = append(us, v.Keep)
		}
		u := must(layer(us))
		return c.inContext(single(u), nil)
	})
}
