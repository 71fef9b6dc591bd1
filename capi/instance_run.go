package main

/*
#include <stdint.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/model"
)

// feeds reads PolyIOBinding records: a name and a pointer, 16 bytes. C does not say how long an array is: it is
// as long as the buffer of its name.
func (i *instance) feeds(p unsafe.Pointer, n C.int) ([]model.Feed, error) {
	if err := records("io", p, n); err != nil {
		return nil, err
	}
	var out []model.Feed
	for k := range int(n) {
		name := *(**C.char)(unsafe.Add(p, 16*k))
		data := *(*unsafe.Pointer)(unsafe.Add(p, 16*k+8))
		if name == nil {
			return nil, badArg(indexed("io", k), "has no name")
		}
		text := goString(name)
		size := i.Size(text)
		switch {
		case size < 0:
		case data == nil && size > 0:
			return nil, badArg(indexed("io", k), "%q has no data, expected %d floats", text, size)
		default:
			out = append(out, model.Feed{Name: text, Data: unsafe.Slice((*float32)(data), size)})
		}
	}
	return out, nil
}

//export go_poly_instance_forward
func go_poly_instance_forward(h C.uintptr_t, io unsafe.Pointer, n C.int) C.int {
	return callEntry("poly_instance_forward", h, model.EntryForward, io, n)
}

//export go_poly_instance_call
func go_poly_instance_call(h C.uintptr_t, entry *C.char, io unsafe.Pointer, n C.int) C.int {
	return callEntry("poly_instance_call", h, goString(entry), io, n)
}

func callEntry(fn string, h C.uintptr_t, entry string, io unsafe.Pointer, n C.int) C.int {
	return instanceStatus(fn, h, func(i *instance) error {
		in := must(i.feeds(io, n))
		return i.Call(entry, in)
	})
}

// trainStep runs a request that gives a loss.
func trainStep(fn string, h C.uintptr_t, io unsafe.Pointer, n C.int, loss *C.float, f func(i *instance, in []model.Feed) (float32, error)) C.int {
	return instanceStatus(fn, h, func(i *instance) error {
		in := must(i.feeds(io, n))
		v, err := f(i, in)
		if err == nil && loss != nil {
			*loss = C.float(v)
		}
		return err
	})
}

//export go_poly_instance_train_step
func go_poly_instance_train_step(h C.uintptr_t, io unsafe.Pointer, n C.int, loss *C.float) C.int {
	return trainStep("poly_instance_train_step", h, io, n, loss, func(i *instance, in []model.Feed) (float32, error) {
		return i.TrainStep(in)
	})
}

//export go_poly_instance_value_and_grad
func go_poly_instance_value_and_grad(h C.uintptr_t, entry *C.char, io unsafe.Pointer, n C.int, loss *C.float) C.int {
	return trainStep("poly_instance_value_and_grad", h, io, n, loss, func(i *instance, in []model.Feed) (float32, error) {
		return i.ValueAndGrad(goString(entry), in)
	})
}

//export go_poly_instance_set_optimizer
func go_poly_instance_set_optimizer(h C.uintptr_t, kind C.int, lr, beta1, beta2, eps, decay C.float) C.int {
	return instanceStatus("poly_instance_set_optimizer", h, func(i *instance) error {
		if kind < 0 || kind > C.int(model.AdamW) {
			return badArg("kind", "%d, expected 0 (none), 1 (SGD), 2 (Adam) or 3 (AdamW)", kind)
		}
		return i.SetOptimizer(model.Optimizer{
			Kind: model.OptimizerKind(kind), LR: float32(lr), Beta1: float32(beta1), Beta2: float32(beta2),
			Eps: float32(eps), WeightDecay: float32(decay),
		})
	})
}

//export go_poly_instance_set_device
func go_poly_instance_set_device(h C.uintptr_t, device C.int) C.int {
	return instanceStatus("poly_instance_set_device", h, func(i *instance) error {
		e := must(deviceExecutor(device))
		return i.SetExecutor(e)
	})
}
