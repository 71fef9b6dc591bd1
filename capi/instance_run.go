package main

import (
	"unsafe"

	"polygrad/model"
)

// feeds reads PolyIOBinding records: a name and a pointer, 16 bytes. C does not say how long an array is: it is
// as long as the buffer of its name.
func (i *instance) feeds(p unsafe.Pointer, n int32) ([]model.Feed, error) {
	if err := records("io", p, n); err != nil {
		return nil, err
	}
	var out []model.Feed
	for k := range int(n) {
		name := *(**byte)(unsafe.Add(p, 16*k))
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

func poly_instance_forward(h uintptr, io unsafe.Pointer, n int32) int32 {
	return callEntry("poly_instance_forward", h, model.EntryForward, io, n)
}

func poly_instance_call(h uintptr, entry *byte, io unsafe.Pointer, n int32) int32 {
	return callEntry("poly_instance_call", h, goString(entry), io, n)
}

func callEntry(fn string, h uintptr, entry string, io unsafe.Pointer, n int32) int32 {
	return instanceStatus(fn, h, func(i *instance) error {
		in := must(i.feeds(io, n))
		return i.Call(entry, in)
	})
}

// trainStep runs a request that gives a loss.
func trainStep(fn string, h uintptr, io unsafe.Pointer, n int32, loss *float32, f func(i *instance, in []model.Feed) (float32, error)) int32 {
	return instanceStatus(fn, h, func(i *instance) error {
		in := must(i.feeds(io, n))
		v, err := f(i, in)
		if err == nil && loss != nil {
			*loss = float32(v)
		}
		return err
	})
}

func poly_instance_train_step(h uintptr, io unsafe.Pointer, n int32, loss *float32) int32 {
	return trainStep("poly_instance_train_step", h, io, n, loss, func(i *instance, in []model.Feed) (float32, error) {
		return i.TrainStep(in)
	})
}

func poly_instance_value_and_grad(h uintptr, entry *byte, io unsafe.Pointer, n int32, loss *float32) int32 {
	return trainStep("poly_instance_value_and_grad", h, io, n, loss, func(i *instance, in []model.Feed) (float32, error) {
		return i.ValueAndGrad(goString(entry), in)
	})
}

func poly_instance_set_optimizer(h uintptr, kind int32, lr, beta1, beta2, eps, decay float32) int32 {
	return instanceStatus("poly_instance_set_optimizer", h, func(i *instance) error {
		if kind < 0 || kind > int32(model.AdamW) {
			return badArg("kind", "%d, expected 0 (none), 1 (SGD), 2 (Adam) or 3 (AdamW)", kind)
		}
		return i.SetOptimizer(model.Optimizer{
			Kind: model.OptimizerKind(kind), LR: float32(lr), Beta1: float32(beta1), Beta2: float32(beta2),
			Eps: float32(eps), WeightDecay: float32(decay),
		})
	})
}

func poly_instance_set_device(h uintptr, device int32) int32 {
	return instanceStatus("poly_instance_set_device", h, func(i *instance) error {
		e := must(deviceExecutor(device))
		return i.SetExecutor(e)
	})
}
