package main

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

func poly_nn_seed(seed uint32) {
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

func layerAt(arg string, h uintptr) (*linearLayer, error) {
	if h == 0 {
		return nil, &argError{arg, handle.ErrNull}
	}
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	l := tensors.layers[h]
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

func poly_nn_linear(in, out int32, bias bool) uintptr {
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
		if err == nil && bias {
			if l.bias, err = newPersistent(uop.ShapeOf(int64(out)), func([]float32) {}); err != nil {
				cFree(l.weight.data)
			}
		}
	}
	if err != nil {
		fail(fn, err)
		return 0
	}
	l.rec = (*linearRecord)(cCalloc(1, unsafe.Sizeof(linearRecord{})))
	*l.rec = linearRecord{weight: l.weight.add(), in: in, out: out}
	if l.bias != nil {
		l.rec.bias = l.bias.add()
	}
	tensors.mu.Lock()
	defer tensors.mu.Unlock()
	if tensors.layers == nil {
		tensors.layers = map[uintptr]*linearLayer{}
	}
	h := uintptr(unsafe.Pointer(l.rec))
	tensors.layers[h] = l
	return h
}

func poly_nn_linear_free(h uintptr) {
	tensors.mu.Lock()
	l := tensors.layers[h]
	delete(tensors.layers, h)
	tensors.mu.Unlock()
	if l == nil {
		return
	}
	for _, t := range l.params() {
		t.free()
	}
	cFree(unsafe.Pointer(l.rec))
}

func poly_nn_linear_params(h uintptr, out *uintptr, most int32) int32 {
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
		unsafe.Slice(out, most)[i] = uintptr(unsafe.Pointer(t.rec))
	}
	return int32(n)
}

func poly_nn_linear_forward(h, ctx, x uintptr) uintptr {
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
