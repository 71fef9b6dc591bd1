package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/model"
	"polygrad/exec"
)

// makeInstance runs a request that makes an instance on the device of the environment.
func makeInstance(fn string, f func(e *exec.Executor) (*model.Instance, error)) C.uintptr_t {
	h, err := makeInstanceIn(f)
	if err != nil {
		fail(fn, err)
	}
	return h
}

func makeInstanceIn(f func(e *exec.Executor) (*model.Instance, error)) (h C.uintptr_t, err error) {
	defer rescue(&err)
	e, err := executor("")
	if err != nil {
		return 0, err
	}
	m, err := f(e)
	if err != nil {
		return 0, err
	}
	entry, err := handles.New(handle.Instance, nil, m)
	if err != nil {
		m.Free()
		return 0, err
	}
	return C.uintptr_t(entry.Token()), nil
}

// askInstance runs a request on an instance and reports its failure.
func askInstance(fn string, h C.uintptr_t, f func(m *model.Instance) error) bool {
	err := askInstanceIn(uintptr(h), f)
	if err != nil {
		fail(fn, err)
	}
	return err == nil
}

func askInstanceIn(h uintptr, f func(m *model.Instance) error) (err error) {
	e, err := handles.Get(handle.Token(h), handle.Instance)
	if err != nil {
		return &argError{"inst", err}
	}
	defer rescue(&err)
	return f(e.Value.(*model.Instance))
}

func statusOf(ok bool) C.int {
	if ok {
		return 0
	}
	return -1
}

// block is caller's memory, to be read during the call only.
func block(arg string, p unsafe.Pointer, n C.int) ([]byte, error) {
	if n < 0 || n > 0 && p == nil {
		return nil, wrong(arg, "%d bytes at NULL", n)
	}
	return unsafe.Slice((*byte)(p), n), nil
}

type family func(e *exec.Executor, json []byte) (*model.Instance, error)

func fromJSON(fn string, text *C.char, n C.int, f family) C.uintptr_t {
	return makeInstance(fn, func(e *exec.Executor) (*model.Instance, error) {
		json, err := block("json", unsafe.Pointer(text), n)
		if err != nil {
			return nil, err
		}
		return f(e, json)
	})
}

//export go_poly_mlp_instance
func go_poly_mlp_instance(json *C.char, n C.int) C.uintptr_t {
	return fromJSON("poly_mlp_instance", json, n, model.NewMLP)
}

//export go_poly_tabm_instance
func go_poly_tabm_instance(json *C.char, n C.int) C.uintptr_t {
	return fromJSON("poly_tabm_instance", json, n, model.NewTabM)
}

//export go_poly_nam_instance
func go_poly_nam_instance(json *C.char, n C.int) C.uintptr_t {
	return fromJSON("poly_nam_instance", json, n, model.NewNAM)
}

//export go_poly_instance_from_ir
func go_poly_instance_from_ir(ir *C.uint8_t, irLen C.int, weights *C.uint8_t, weightsLen C.int) C.uintptr_t {
	return makeInstance("poly_instance_from_ir", func(e *exec.Executor) (*model.Instance, error) {
		graph, err := block("ir", unsafe.Pointer(ir), irLen)
		if err != nil {
			return nil, err
		}
		w, err := block("weights", unsafe.Pointer(weights), weightsLen)
		if err != nil {
			return nil, err
		}
		return model.FromIR(e, graph, w)
	})
}

//export go_poly_instance_from_bundle
func go_poly_instance_from_bundle(data *C.uint8_t, n C.int) C.uintptr_t {
	return makeInstance("poly_instance_from_bundle", func(e *exec.Executor) (*model.Instance, error) {
		b, err := block("data", unsafe.Pointer(data), n)
		if err != nil {
			return nil, err
		}
		return model.FromBundle(e, b)
	})
}

//export go_poly_instance_free
func go_poly_instance_free(h C.uintptr_t) {
	e, err := handles.Get(handle.Token(h), handle.Instance)
	if err != nil {
		return
	}
	handles.Drop(e)
	e.Value.(*model.Instance).Free()
}

// export gives bytes to the caller, who frees them.
func export(fn string, h C.uintptr_t, n *C.int, f func(m *model.Instance) ([]byte, error)) (p *C.uint8_t) {
	if n != nil {
		*n = 0
	}
	askInstance(fn, h, func(m *model.Instance) error {
		data, err := f(m)
		if err != nil {
			return err
		}
		const most = 1<<31 - 1
		if len(data) > most {
			return wrong("len_out", "%d bytes do not fit an int", len(data))
		}
		if n != nil {
			*n = C.int(len(data))
		}
		p = (*C.uint8_t)(C.CBytes(data))
		return nil
	})
	return p
}

//export go_poly_instance_export_ir
func go_poly_instance_export_ir(h C.uintptr_t, n *C.int) *C.uint8_t {
	return export("poly_instance_export_ir", h, n, (*model.Instance).ExportIR)
}

//export go_poly_instance_export_weights
func go_poly_instance_export_weights(h C.uintptr_t, n *C.int) *C.uint8_t {
	return export("poly_instance_export_weights", h, n, (*model.Instance).ExportWeights)
}

//export go_poly_instance_save_bundle
func go_poly_instance_save_bundle(h C.uintptr_t, n *C.int) *C.uint8_t {
	return export("poly_instance_save_bundle", h, n, (*model.Instance).SaveBundle)
}

//export go_poly_instance_import_weights
func go_poly_instance_import_weights(h C.uintptr_t, data *C.uint8_t, n C.int) C.int {
	return statusOf(askInstance("poly_instance_import_weights", h, func(m *model.Instance) error {
		b, err := block("data", unsafe.Pointer(data), n)
		if err != nil {
			return err
		}
		return m.ImportWeights(b, false)
	}))
}

// buffersOf picks the parameters or all buffers of an instance.
type buffersOf func(m *model.Instance) []*model.Buffer

func countBuffers(fn string, h C.uintptr_t, of buffersOf) (n C.int) {
	if h == 0 {
		return 0
	}
	askInstance(fn, h, func(m *model.Instance) error {
		n = C.int(len(of(m)))
		return nil
	})
	return n
}

func askBuffer(fn string, h C.uintptr_t, i C.int, of buffersOf, f func(b *model.Buffer)) {
	askInstance(fn, h, func(m *model.Instance) error {
		list := of(m)
		if i < 0 || int(i) >= len(list) {
			return wrong("i", "%d is out of range, there are %d", i, len(list))
		}
		f(list[i])
		return nil
	})
}

func bufferName(fn string, h C.uintptr_t, i C.int, of buffersOf) (name *C.char) {
	askBuffer(fn, h, i, of, func(b *model.Buffer) { name = static(b.Name) })
	return name
}

func bufferData(fn string, h C.uintptr_t, i C.int, numelOut *C.int64_t, of buffersOf) (p *C.float) {
	if numelOut != nil {
		*numelOut = 0
	}
	askBuffer(fn, h, i, of, func(b *model.Buffer) {
		if numelOut != nil {
			*numelOut = C.int64_t(len(b.Data))
		}
		p = (*C.float)(unsafe.SliceData(b.Data))
	})
	return p
}

func bufferShape(fn string, h C.uintptr_t, i C.int, dims *C.int64_t, most C.int, of buffersOf) (n C.int) {
	askBuffer(fn, h, i, of, func(b *model.Buffer) {
		n = C.int(len(b.Shape))
		if dims == nil {
			return
		}
		for k, d := range b.Shape[:min(len(b.Shape), max(int(most), 0))] {
			unsafe.Slice(dims, most)[k] = C.int64_t(d)
		}
	})
	return n
}

//export go_poly_instance_param_count
func go_poly_instance_param_count(h C.uintptr_t) C.int {
	return countBuffers("poly_instance_param_count", h, (*model.Instance).Params)
}

//export go_poly_instance_param_name
func go_poly_instance_param_name(h C.uintptr_t, i C.int) *C.char {
	return bufferName("poly_instance_param_name", h, i, (*model.Instance).Params)
}

//export go_poly_instance_param_data
func go_poly_instance_param_data(h C.uintptr_t, i C.int, numelOut *C.int64_t) *C.float {
	return bufferData("poly_instance_param_data", h, i, numelOut, (*model.Instance).Params)
}

//export go_poly_instance_param_shape
func go_poly_instance_param_shape(h C.uintptr_t, i C.int, dims *C.int64_t, most C.int) C.int {
	return bufferShape("poly_instance_param_shape", h, i, dims, most, (*model.Instance).Params)
}

//export go_poly_instance_buf_count
func go_poly_instance_buf_count(h C.uintptr_t) C.int {
	return countBuffers("poly_instance_buf_count", h, (*model.Instance).Buffers)
}

//export go_poly_instance_buf_name
func go_poly_instance_buf_name(h C.uintptr_t, i C.int) *C.char {
	return bufferName("poly_instance_buf_name", h, i, (*model.Instance).Buffers)
}

//export go_poly_instance_buf_data
func go_poly_instance_buf_data(h C.uintptr_t, i C.int, numelOut *C.int64_t) *C.float {
	return bufferData("poly_instance_buf_data", h, i, numelOut, (*model.Instance).Buffers)
}

//export go_poly_instance_buf_shape
func go_poly_instance_buf_shape(h C.uintptr_t, i C.int, dims *C.int64_t, most C.int) C.int {
	return bufferShape("poly_instance_buf_shape", h, i, dims, most, (*model.Instance).Buffers)
}

//export go_poly_instance_buf_role
func go_poly_instance_buf_role(h C.uintptr_t, i C.int) C.int {
	role := C.int(-1)
	askBuffer("poly_instance_buf_role", h, i, (*model.Instance).Buffers, func(b *model.Buffer) { role = C.int(b.Role) })
	return role
}

//export go_poly_instance_set_device
func go_poly_instance_set_device(h C.uintptr_t, device C.int) C.int {
	return statusOf(askInstance("poly_instance_set_device", h, func(m *model.Instance) error {
		if device < 0 || int(device) >= len(devices) {
			return wrong("device", "%d, expected 0 to %d", device, len(devices)-1)
		}
		name := devices[device].backend
		if name == "" {
			return wrong("device", "%s is not available in this process", devices[device].name)
		}
		if device == 0 {
			name = ""
		}
		e, err := executor(name)
		if err != nil {
			return &argError{"device", err}
		}
		return m.SetExecutor(e)
	}))
}

//export go_poly_instance_set_optimizer
func go_poly_instance_set_optimizer(h C.uintptr_t, kind C.int, lr, beta1, beta2, eps, decay C.float) C.int {
	return statusOf(askInstance("poly_instance_set_optimizer", h, func(m *model.Instance) error {
		if kind < 0 || kind > C.int(model.AdamW) {
			return wrong("kind", "%d, expected 0 (none), 1 (SGD), 2 (Adam) or 3 (AdamW)", kind)
		}
		return m.SetOptimizer(model.Optimizer{
			Kind: model.OptimizerKind(kind), LR: float32(lr), Beta1: float32(beta1), Beta2: float32(beta2),
			Eps: float32(eps), WeightDecay: float32(decay),
		})
	}))
}

// feeds reads PolyIOBinding records, a name and an array: as many floats as the
// instance takes under that name. Names that it does not take are left out.
func feeds(m *model.Instance, p unsafe.Pointer, n C.int) ([]model.Feed, error) {
	if n < 0 || n > 0 && p == nil {
		return nil, wrong("inputs", "%d bindings at NULL", n)
	}
	var out []model.Feed
	for i := range int(n) {
		name := *(**C.char)(unsafe.Add(p, 16*i))
		data := *(**float32)(unsafe.Add(p, 16*i+8))
		if name == nil {
			return nil, wrong(indexed("inputs", i), "has no name")
		}
		text := goString(name)
		size := m.Size(text)
		if size < 0 {
			continue
		}
		if data == nil && size > 0 {
			return nil, wrong(indexed("inputs", i), "%q has no data", text)
		}
		out = append(out, model.Feed{Name: text, Data: unsafe.Slice(data, size)})
	}
	return out, nil
}

//export go_poly_instance_forward
func go_poly_instance_forward(h C.uintptr_t, inputs unsafe.Pointer, n C.int) C.int {
	return statusOf(askInstance("poly_instance_forward", h, func(m *model.Instance) error {
		list, err := feeds(m, inputs, n)
		if err != nil {
			return err
		}
		return m.Forward(list)
	}))
}

//export go_poly_instance_train_step
func go_poly_instance_train_step(h C.uintptr_t, io unsafe.Pointer, n C.int, lossOut *C.float) C.int {
	return statusOf(askInstance("poly_instance_train_step", h, func(m *model.Instance) error {
		list, err := feeds(m, io, n)
		if err != nil {
			return err
		}
		loss, err := m.TrainStep(list)
		if err == nil && lossOut != nil {
			*lossOut = C.float(loss)
		}
		return err
	}))
}
