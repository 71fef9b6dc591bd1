package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"math"
	"sync"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/exec"
	"polygrad/model"
)

// An instance is the object of a PolyInstance, with strings that C may keep until it is freed.
type instance struct {
	*model.Instance
	entry *handle.Entry
	names map[*model.Buffer]*C.char
	freed sync.Once
	mu    sync.Mutex
	notes *C.char // guarded by mu
}

// newInstance runs a request that makes an instance on the device of the environment.
func newInstance(fn string, f func(e *exec.Executor) (*model.Instance, error)) C.uintptr_t {
	return withoutContext(fn, 0, func() (C.uintptr_t, error) {
		m, err := f(must(executor("")))
		check(err)
		i := &instance{Instance: m, names: map[*model.Buffer]*C.char{}}
		if i.entry, err = handles.New(handle.Instance, nil, i); err != nil {
			m.Free()
			return 0, err
		}
		for _, b := range m.Buffers() {
			i.names[b] = C.CString(b.Name)
		}
		return C.uintptr_t(i.entry.Token()), nil
	})
}

func instanceOf(h C.uintptr_t) (*instance, error) {
	return objectOf[*instance]("inst", h, handle.Instance)
}

// withInstance runs a request on an instance; missing if it fails.
func withInstance[T any](fn string, h C.uintptr_t, missing T, f func(i *instance) (T, error)) T {
	return withoutContext(fn, missing, func() (T, error) { return f(must(instanceOf(h))) })
}

// instanceStatus runs a request that gives 0 or -1.
func instanceStatus(fn string, h C.uintptr_t, f func(i *instance) error) C.int {
	return withInstance(fn, h, -1, func(i *instance) (C.int, error) { return 0, f(i) })
}

// bytesFrom is the caller's memory as a slice, for the time of a call.
func bytesFrom(arg string, p unsafe.Pointer, n C.int64_t) ([]byte, error) {
	switch {
	case n < 0:
		return nil, badArg(arg, "%d bytes, expected 0 or more", n)
	case n == 0:
		return nil, nil
	case p == nil:
		return nil, badArg(arg, "is NULL, expected %d bytes", n)
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// copyToC copies bytes to memory for C to free.
func copyToC(b []byte, n *C.int) (*C.uint8_t, error) {
	if len(b) > math.MaxInt32 {
		return nil, badArg("len_out", "%d bytes do not fit an int", len(b))
	}
	if n != nil {
		*n = C.int(len(b))
	}
	if len(b) == 0 {
		return nil, nil
	}
	return (*C.uint8_t)(C.CBytes(b)), nil
}

// fromJSON makes an instance of a family.
func fromJSON(fn string, json *C.char, n C.int, f func(e *exec.Executor, json []byte) (*model.Instance, error)) C.uintptr_t {
	return newInstance(fn, func(e *exec.Executor) (*model.Instance, error) {
		text := must(bytesFrom("json", unsafe.Pointer(json), C.int64_t(n)))
		return f(e, text)
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

//export go_poly_hf_load
func go_poly_hf_load(config *C.char, n C.int, files **C.uint8_t, lens *C.int64_t, count, batch, seq C.int) C.uintptr_t {
	return loadHF("poly_hf_load", config, n, files, lens, count, batch, seq, nil, false)
}

//export go_poly_hf_load_as
func go_poly_hf_load_as(config *C.char, n C.int, files **C.uint8_t, lens *C.int64_t, count, batch, seq C.int, dtype *C.char, strict C.int) C.uintptr_t {
	return loadHF("poly_hf_load_as", config, n, files, lens, count, batch, seq, dtype, strict != 0)
}

func loadHF(fn string, config *C.char, n C.int, files **C.uint8_t, lens *C.int64_t, count, batch, seq C.int, dtype *C.char, strict bool) C.uintptr_t {
	return newInstance(fn, func(e *exec.Executor) (*model.Instance, error) {
		text := must(bytesFrom("config", unsafe.Pointer(config), C.int64_t(n)))
		check(records("weights", unsafe.Pointer(files), count))
		check(records("weight_lens", unsafe.Pointer(lens), count))
		var list [][]byte
		for i := range int(count) {
			b := must(bytesFrom(indexed("weights", i), unsafe.Pointer(unsafe.Slice(files, count)[i]), unsafe.Slice(lens, count)[i]))
			list = append(list, b)
		}
		return model.LoadHF(e, text, list, hfOptions(batch, seq, dtype, strict))
	})
}

func hfOptions(batch, seq C.int, dtype *C.char, strict bool) model.HFOptions {
	o := model.HFOptions{Batch: int64(batch), Seq: int64(seq), Partial: !strict}
	if dtype != nil {
		o.Weights = goString(dtype)
	}
	return o
}

//export go_poly_hf_open
func go_poly_hf_open(path *C.char, batch, seq C.int, dtype *C.char, strict C.int) C.uintptr_t {
	return newInstance("poly_hf_open", func(e *exec.Executor) (*model.Instance, error) {
		if path == nil {
			return nil, badArg("path", "is NULL, expected a path")
		}
		return model.OpenHF(e, goString(path), hfOptions(batch, seq, dtype, strict != 0))
	})
}

//export go_poly_instance_ends
func go_poly_instance_ends(inst C.uintptr_t, tokens *C.int32_t, room C.int) C.int {
	return withInstance("poly_instance_ends", inst, -1, func(i *instance) (C.int, error) {
		if room < 0 || room > 0 && tokens == nil {
			return 0, badArg("tokens", "room for %d at %p, expected 0 or more and their address", room, tokens)
		}
		ends := i.Ends()
		copy(unsafe.Slice((*int32)(unsafe.Pointer(tokens)), min(int(room), len(ends))), ends)
		return C.int(len(ends)), nil
	})
}

//export go_poly_instance_from_ir
func go_poly_instance_from_ir(ir *C.uint8_t, n C.int, weights *C.uint8_t, nWeights C.int) C.uintptr_t {
	return newInstance("poly_instance_from_ir", func(e *exec.Executor) (*model.Instance, error) {
		b := must(bytesFrom("ir", unsafe.Pointer(ir), C.int64_t(n)))
		w := must(bytesFrom("weights", unsafe.Pointer(weights), C.int64_t(nWeights)))
		return model.FromIR(e, b, w)
	})
}

//export go_poly_instance_from_bundle
func go_poly_instance_from_bundle(data *C.uint8_t, n C.int) C.uintptr_t {
	return newInstance("poly_instance_from_bundle", func(e *exec.Executor) (*model.Instance, error) {
		b := must(bytesFrom("data", unsafe.Pointer(data), C.int64_t(n)))
		return model.FromBundle(e, b)
	})
}

//export go_poly_instance_free
func go_poly_instance_free(h C.uintptr_t) {
	i, err := instanceOf(h)
	if err != nil {
		return
	}
	i.freed.Do(func() {
		handles.Drop(i.entry)
		i.Free()
		for _, p := range i.names {
			C.free(unsafe.Pointer(p))
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		C.free(unsafe.Pointer(i.notes))
		i.notes = nil
	})
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

func export(fn string, h C.uintptr_t, n *C.int, f func(m *model.Instance) ([]byte, error)) *C.uint8_t {
	if n != nil {
		*n = 0
	}
	return withInstance(fn, h, nil, func(i *instance) (*C.uint8_t, error) {
		b := must(f(i.Instance))
		return copyToC(b, n)
	})
}

func importWeights(fn string, h C.uintptr_t, data *C.uint8_t, n C.int, strict bool) C.int {
	return instanceStatus(fn, h, func(i *instance) error {
		b := must(bytesFrom("data", unsafe.Pointer(data), C.int64_t(n)))
		return i.ImportWeights(b, strict)
	})
}

//export go_poly_instance_import_weights
func go_poly_instance_import_weights(h C.uintptr_t, data *C.uint8_t, n C.int) C.int {
	return importWeights("poly_instance_import_weights", h, data, n, false)
}

//export go_poly_instance_load_weights
func go_poly_instance_load_weights(h C.uintptr_t, data *C.uint8_t, n C.int) C.int {
	return importWeights("poly_instance_load_weights", h, data, n, true)
}
