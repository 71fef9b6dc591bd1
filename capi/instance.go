package main

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
	names map[*model.Buffer]*byte
	freed sync.Once
	mu    sync.Mutex
	notes *byte // guarded by mu
}

// newInstance runs a request that makes an instance on the device of the environment.
func newInstance(fn string, f func(e *exec.Executor) (*model.Instance, error)) uintptr {
	return withoutContext(fn, 0, func() (uintptr, error) {
		m, err := f(must(executor("")))
		check(err)
		i := &instance{Instance: m, names: map[*model.Buffer]*byte{}}
		if i.entry, err = handles.New(handle.Instance, nil, i); err != nil {
			m.Free()
			return 0, err
		}
		for _, b := range m.Buffers() {
			i.names[b] = cString(b.Name)
		}
		return uintptr(i.entry.Token()), nil
	})
}

func instanceOf(h uintptr) (*instance, error) {
	return objectOf[*instance]("inst", h, handle.Instance)
}

// withInstance runs a request on an instance; missing if it fails.
func withInstance[T any](fn string, h uintptr, missing T, f func(i *instance) (T, error)) T {
	return withoutContext(fn, missing, func() (T, error) { return f(must(instanceOf(h))) })
}

// instanceStatus runs a request that gives 0 or -1.
func instanceStatus(fn string, h uintptr, f func(i *instance) error) int32 {
	return withInstance(fn, h, -1, func(i *instance) (int32, error) { return 0, f(i) })
}

// bytesFrom is the caller's memory as a slice, for the time of a call.
func bytesFrom(arg string, p unsafe.Pointer, n int64) ([]byte, error) {
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
func copyToC(b []byte, n *int32) (*byte, error) {
	if len(b) > math.MaxInt32 {
		return nil, badArg("len_out", "%d bytes do not fit an int", len(b))
	}
	if n != nil {
		*n = int32(len(b))
	}
	if len(b) == 0 {
		return nil, nil
	}
	return (*byte)(cBytes(b)), nil
}

// fromJSON makes an instance of a family.
func fromJSON(fn string, json *byte, n int32, f func(e *exec.Executor, json []byte) (*model.Instance, error)) uintptr {
	return newInstance(fn, func(e *exec.Executor) (*model.Instance, error) {
		text := must(bytesFrom("json", unsafe.Pointer(json), int64(n)))
		return f(e, text)
	})
}

func poly_mlp_instance(json *byte, n int32) uintptr {
	return fromJSON("poly_mlp_instance", json, n, model.NewMLP)
}

func poly_tabm_instance(json *byte, n int32) uintptr {
	return fromJSON("poly_tabm_instance", json, n, model.NewTabM)
}

func poly_nam_instance(json *byte, n int32) uintptr {
	return fromJSON("poly_nam_instance", json, n, model.NewNAM)
}

func poly_hf_load(config *byte, n int32, files **byte, lens *int64, count, batch, seq int32) uintptr {
	return loadHF("poly_hf_load", config, n, files, lens, count, batch, seq, nil, false)
}

func poly_hf_load_as(config *byte, n int32, files **byte, lens *int64, count, batch, seq int32, dtype *byte, strict int32) uintptr {
	return loadHF("poly_hf_load_as", config, n, files, lens, count, batch, seq, dtype, strict != 0)
}

func loadHF(fn string, config *byte, n int32, files **byte, lens *int64, count, batch, seq int32, dtype *byte, strict bool) uintptr {
	return newInstance(fn, func(e *exec.Executor) (*model.Instance, error) {
		text := must(bytesFrom("config", unsafe.Pointer(config), int64(n)))
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

func hfOptions(batch, seq int32, dtype *byte, strict bool) model.HFOptions {
	o := model.HFOptions{Batch: int64(batch), Seq: int64(seq), Partial: !strict}
	if dtype != nil {
		o.Weights = goString(dtype)
	}
	return o
}

func poly_hf_open(path *byte, batch, seq int32, dtype *byte, strict int32) uintptr {
	return newInstance("poly_hf_open", func(e *exec.Executor) (*model.Instance, error) {
		if path == nil {
			return nil, badArg("path", "is NULL, expected a path")
		}
		return model.OpenHF(e, goString(path), hfOptions(batch, seq, dtype, strict != 0))
	})
}

func poly_instance_ends(inst uintptr, tokens *int32, room int32) int32 {
	return withInstance("poly_instance_ends", inst, -1, func(i *instance) (int32, error) {
		if room < 0 || room > 0 && tokens == nil {
			return 0, badArg("tokens", "room for %d at %p, expected 0 or more and their address", room, tokens)
		}
		ends := i.Ends()
		copy(unsafe.Slice((*int32)(unsafe.Pointer(tokens)), min(int(room), len(ends))), ends)
		return int32(len(ends)), nil
	})
}

func poly_instance_from_ir(ir *byte, n int32, weights *byte, nWeights int32) uintptr {
	return newInstance("poly_instance_from_ir", func(e *exec.Executor) (*model.Instance, error) {
		b := must(bytesFrom("ir", unsafe.Pointer(ir), int64(n)))
		w := must(bytesFrom("weights", unsafe.Pointer(weights), int64(nWeights)))
		return model.FromIR(e, b, w)
	})
}

func poly_instance_from_bundle(data *byte, n int32) uintptr {
	return newInstance("poly_instance_from_bundle", func(e *exec.Executor) (*model.Instance, error) {
		b := must(bytesFrom("data", unsafe.Pointer(data), int64(n)))
		return model.FromBundle(e, b)
	})
}

func poly_instance_free(h uintptr) {
	i, err := instanceOf(h)
	if err != nil {
		return
	}
	i.freed.Do(func() {
		handles.Drop(i.entry)
		i.Free()
		for _, p := range i.names {
			cFree(unsafe.Pointer(p))
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		cFree(unsafe.Pointer(i.notes))
		i.notes = nil
	})
}

func poly_instance_export_ir(h uintptr, n *int32) *byte {
	return export("poly_instance_export_ir", h, n, (*model.Instance).ExportIR)
}

func poly_instance_export_weights(h uintptr, n *int32) *byte {
	return export("poly_instance_export_weights", h, n, (*model.Instance).ExportWeights)
}

func poly_instance_save_bundle(h uintptr, n *int32) *byte {
	return export("poly_instance_save_bundle", h, n, (*model.Instance).SaveBundle)
}

func export(fn string, h uintptr, n *int32, f func(m *model.Instance) ([]byte, error)) *byte {
	if n != nil {
		*n = 0
	}
	return withInstance(fn, h, nil, func(i *instance) (*byte, error) {
		b := must(f(i.Instance))
		return copyToC(b, n)
	})
}

func importWeights(fn string, h uintptr, data *byte, n int32, strict bool) int32 {
	return instanceStatus(fn, h, func(i *instance) error {
		b := must(bytesFrom("data", unsafe.Pointer(data), int64(n)))
		return i.ImportWeights(b, strict)
	})
}

func poly_instance_import_weights(h uintptr, data *byte, n int32) int32 {
	return importWeights("poly_instance_import_weights", h, data, n, false)
}

func poly_instance_load_weights(h uintptr, data *byte, n int32) int32 {
	return importWeights("poly_instance_load_weights", h, data, n, true)
}
