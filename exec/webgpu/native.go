//go:build cgo

package webgpu

/*
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "native.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"polygrad/core/settings"
	"polygrad/exec/device"
	"polygrad/render/wgsl"
)

// names are where a library with the functions of webgpu.h is looked for, unless a path is given.
var names = []string{"libwgpu_native.so", "libwebgpu_dawn.so", "libwgpu_native.dylib", "libwebgpu_dawn.dylib"}

// native is a driver that calls a library.
type native struct {
	gpu *C.pg_gpu
	// enable: shaders with operations of subgroups say so.
	enable bool
}

// New opens the adapter of the library that POLY_WEBGPU names, or else of one that the system finds.
func New() (device.Device, error) { return newDevice(openNative) }

func openNative() (driver, limits, error) {
	given.Lock()
	defer given.Unlock()
	if g := given.Given; g.Device != 0 {
		d, l, err := open(g.Library, object(g.Adapter), object(g.Device))
		if err != nil {
			err = fmt.Errorf("webgpu.New: the gpu of the program, of library %q: %w", g.Library, err)
		}
		return d, l, err
	}
	paths := names
	if p := settings.WebGPU.Get(); p != "" {
		paths = []string{p}
	}
	var failures []string
	for _, p := range paths {
		d, l, err := open(p, 0, 0)
		if err == nil {
			return d, l, nil
		}
		failures = append(failures, fmt.Sprintf("%s: %v", p, err))
	}
	return nil, limits{}, fmt.Errorf("webgpu.New: expected a library of WebGPU, such as wgpu-native; its path may be set as %s: %s", settings.WebGPU.Name, strings.Join(failures, "; "))
}

// message is where C writes what went wrong.
type message [1024]C.char

func (m *message) err() error { return errors.New(C.GoString(&m[0])) }

func open(path string, adapter, gpu object) (driver, limits, error) {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	var l C.pg_gpu_limits
	var msg message
	g := C.pg_gpu_open(p, pointer(adapter), pointer(gpu), &l, &msg[0])
	if g == nil {
		return nil, limits{}, msg.err()
	}
	return native{g, l.features&C.PG_GPU_SUBGROUPS_ENABLED != 0}, limits{
		name: C.GoString(&l.name[0]), kind: C.GoString(&l.kind[0]), driver: C.GoString(&l.driver[0]), buffers: int64(l.buffers), dispatch: int64(l.dispatch),
		allocation: int64(l.buffer_bytes), bindable: int64(l.binding_bytes) &^ 3, alignment: int64(l.alignment),
		invocations: int64(l.invocations), shared: int64(l.workgroup_bytes),
		f16: l.features&C.PG_GPU_F16 != 0, subgroups: l.features&(C.PG_GPU_SUBGROUPS|C.PG_GPU_SUBGROUPS_ENABLED) != 0,
	}, nil
}

func (n native) allocate(bytes int64, u use) (object, error) {
	var msg message
	b := C.pg_gpu_allocate(n.gpu, C.uint64_t(bytes), C.int(u), &msg[0])
	if b == nil {
		return 0, msg.err()
	}
	return object(unsafe.Pointer(b)), nil
}

func bufferOf(o object) *C.pg_gpu_buffer { return (*C.pg_gpu_buffer)(pointer(o)) }

// pointer is an object of C again; the double conversion keeps vet from taking it for one of Go.
func pointer(o object) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&o)) }

func (n native) free(b object) { C.pg_gpu_free(n.gpu, bufferOf(b)) }

func (n native) lend(b object) uintptr {
	C.pg_gpu_share(n.gpu)
	return uintptr(b)
}

func (n native) adopt(b uintptr, bytes int64) (object, error) {
	var msg message
	if C.pg_gpu_keep(n.gpu, bufferOf(object(b)), C.uint64_t(bytes), &msg[0]) == 0 {
		return 0, msg.err()
	}
	return object(b), nil
}

func (n native) usable(b object) error {
	var msg message
	if C.pg_gpu_usable(n.gpu, bufferOf(b), &msg[0]) == 0 {
		return msg.err()
	}
	return nil
}

func (n native) isGiven(gpu uintptr) bool {
	return C.pg_gpu_is_given(n.gpu, pointer(object(gpu))) != 0
}

func (n native) forget(b object) { C.pg_gpu_forget(n.gpu, bufferOf(b)) }

func (n native) write(to object, offset int64, from []byte) {
	C.pg_gpu_write(n.gpu, bufferOf(to), C.uint64_t(offset), unsafe.Pointer(unsafe.SliceData(from)), C.uint64_t(len(from)))
}

func (n native) compile(s shader) (object, error) {
	var msg message
	source := s.source
	if n.enable {
		source = wgsl.Enabled(source)
	}
	uniform := C.int(0)
	if s.uniform {
		uniform = 1
	}
	p := C.pg_gpu_compile(n.gpu, (*C.char)(unsafe.Pointer(unsafe.StringData(source))), C.size_t(len(source)), C.int(s.buffers), uniform, &msg[0])
	runtime.KeepAlive(source)
	if p == nil {
		return 0, msg.err()
	}
	return object(unsafe.Pointer(p)), nil
}

func (n native) drop(p object) { C.pg_gpu_drop(n.gpu, (*C.pg_gpu_pipeline)(pointer(p))) }

func (n native) begin(timed bool) object {
	t := C.int(0)
	if timed {
		t = 1
	}
	return object(unsafe.Pointer(C.pg_gpu_begin(n.gpu, t)))
}

func listOf(o object) *C.pg_gpu_list { return (*C.pg_gpu_list)(pointer(o)) }

func (n native) group(pipeline object, bindings []binding) object {
	args := make([]C.pg_gpu_binding, len(bindings))
	for i, b := range bindings {
		args[i] = C.pg_gpu_binding{bufferOf(b.buffer), C.uint64_t(b.offset), C.uint64_t(b.size)}
	}
	return object(unsafe.Pointer(C.pg_gpu_make_group(n.gpu, (*C.pg_gpu_pipeline)(pointer(pipeline)), unsafe.SliceData(args), C.int(len(args)))))
}

func groupOf(o object) *C.pg_gpu_group { return (*C.pg_gpu_group)(pointer(o)) }

func (n native) ungroup(group object) { C.pg_gpu_drop_group(n.gpu, groupOf(group)) }

func (n native) launch(list, pipeline, group object, x, y int64) {
	C.pg_gpu_launch(n.gpu, listOf(list), (*C.pg_gpu_pipeline)(pointer(pipeline)), groupOf(group), C.uint32_t(x), C.uint32_t(y))
}

func (n native) lost() bool { return C.pg_gpu_is_lost(n.gpu) != 0 }

func (n native) lose() { C.pg_gpu_lose(n.gpu) }

func (n native) copy(list, to object, toOffset int64, from object, fromOffset, bytes int64) {
	C.pg_gpu_copy(n.gpu, listOf(list), bufferOf(to), C.uint64_t(toOffset), bufferOf(from), C.uint64_t(fromOffset), C.uint64_t(bytes))
}

func (n native) submit(list object) bool { return C.pg_gpu_submit(n.gpu, listOf(list)) != 0 }

func (n native) took() (time.Duration, bool) {
	ns := C.pg_gpu_took(n.gpu)
	return time.Duration(ns), ns >= 0
}

func (n native) wait() error {
	var msg message
	if C.pg_gpu_wait(n.gpu, &msg[0]) != 0 {
		return msg.err()
	}
	return nil
}

func (n native) read(b object, parts [][]byte, offsets []int64) error {
	end := int64(0)
	for i, p := range parts {
		end = max(end, words(offsets[i]+int64(len(p))))
	}
	var msg message
	at := C.pg_gpu_map(n.gpu, bufferOf(b), C.uint64_t(end), &msg[0])
	if at == nil {
		return msg.err()
	}
	for i, p := range parts {
		copy(p, unsafe.Slice((*byte)(unsafe.Add(at, offsets[i])), len(p)))
	}
	C.pg_gpu_unmap(n.gpu, bufferOf(b))
	return nil
}

var _ driver = native{}
