// Package clang compiles kernels with the machine's clang. It is the oracle for testing our own code generators, and is used only
// on request (POLY_DEVICE=clang).
package clang

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef void (*polygrad_kernel)(void *const *bufs, const int64_t *vars);
static void polygrad_call(void *f, void *bufs, void *vars) { ((polygrad_kernel)f)(bufs, vars); }
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/uop"
	"polygrad/exec/device"
	"polygrad/render/c"
)

// Device compiles kernels with clang.
type Device struct {
	device.Host
	path   string
	target *lower.Target
}

// New finds clang; the error is that it is missing.
func New() (device.Device, error) {
	path, err := exec.LookPath("clang")
	if err != nil {
		return nil, fmt.Errorf("clang.New: no clang on PATH: install it or choose another device with POLY_DEVICE")
	}
	// Unlike tinygrad's, our C has a maximum that keeps NaN, and calls library functions that are more accurate than formulas.
	t := lower.Clang()
	t.Ops = t.Ops.Union(uop.Ops(uop.Max, uop.Exp, uop.Exp2, uop.Log2, uop.Sin, uop.Cos, uop.Tanh))
	return &Device{path: path, target: t}, nil
}

// Name is "clang".
func (d *Device) Name() string { return "clang" }

// Target is the target of tinygrad's ClangRenderer with a few more operations.
func (d *Device) Target() *lower.Target { return d.target }

// library is a loaded shared object, closed with the last of its kernels.
type library struct{ handle unsafe.Pointer }

// Kernel is a function of a loaded library.
type Kernel struct {
	name         string
	lib          *library
	fn           unsafe.Pointer
	nbufs, nvars int
	// thread is the index of the thread number among the variables, -1 if the kernel is not spread over threads.
	thread, threads int
}

// Compile writes all lists into one source file, compiles it and loads the result.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	names, lists := make([]string, len(progs)), make([][]*uop.UOp, len(progs))
	for i, p := range progs {
		names[i], lists[i] = "k"+strconv.Itoa(i), p.Linear
	}
	src, err := c.Render(names, lists)
	if err != nil {
		return nil, err
	}
	lib, err := d.build(src)
	if err != nil {
		return nil, err
	}
	ks := make([]device.Kernel, len(progs))
	for i, p := range progs {
		sym := C.CString(names[i])
		fn := C.dlsym(lib.handle, sym)
		C.free(unsafe.Pointer(sym))
		if fn == nil {
			return nil, fmt.Errorf("clang.Compile: kernel %s is missing from the library clang made", p.Name)
		}
		k := &Kernel{name: p.Name, lib: lib, fn: fn}
		k.arguments(p.Linear)
		ks[i] = k
	}
	return ks, nil
}

// List is the C source of the kernel.
func (d *Device) List(p *lower.Program) (language, code string, err error) {
	code, err = c.Render([]string{p.Name}, [][]*uop.UOp{p.Linear})
	return "C", code, err
}

// arguments counts the arguments of the kernel.
func (k *Kernel) arguments(list []*uop.UOp) {
	k.thread, k.threads = -1, 1
	for _, u := range list {
		switch u.Op {
		case uop.Param:
			k.nbufs++
		case uop.DefineVar:
			if v := u.Arg.(uop.VarArg); v.Name == lower.ThreadVar {
				k.thread, k.threads = k.nvars, int(v.Max.I())+1
			} else {
				k.nvars++
			}
		}
	}
}

// build compiles a source file in a temporary folder; a loaded library needs no file.
func (d *Device) build(src string) (*library, error) {
	dir, err := os.MkdirTemp("", "polygrad")
	if err != nil {
		return nil, fmt.Errorf("clang.Compile: %w", err)
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "k.c"), filepath.Join(dir, "k.so")
	if err := os.WriteFile(in, []byte(src), 0o600); err != nil {
		return nil, fmt.Errorf("clang.Compile: %w", err)
	}
	// No contraction: a*b+c is rounded twice, as on every other device.
	cmd := exec.Command(d.path, "-shared", "-fPIC", "-O2", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-w", "-o", out, in, "-lm")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("clang.Compile: clang failed: %v\n%s", err, msg)
	}
	path := C.CString(out)
	defer C.free(unsafe.Pointer(path))
	h := C.dlopen(path, C.RTLD_NOW|C.RTLD_LOCAL)
	if h == nil {
		return nil, fmt.Errorf("clang.Compile: cannot load what clang made: %s", C.GoString(C.dlerror()))
	}
	lib := &library{h}
	runtime.AddCleanup(lib, func(h unsafe.Pointer) { C.dlclose(h) }, h)
	return lib, nil
}

// Run runs the kernel, for all thread numbers one after the other.
func (k *Kernel) Run(bufs []unsafe.Pointer, vars []int64) error {
	if len(bufs) < k.nbufs || len(vars) < k.nvars {
		return fmt.Errorf("clang.Kernel.Run: kernel %s: got %d buffers and %d variables, expected %d and %d", k.name, len(bufs), len(vars), k.nbufs, k.nvars)
	}
	if k.thread >= 0 {
		vars = slices.Insert(slices.Clone(vars), k.thread, 0)
	}
	// The arguments are copied to C memory: C must not see Go memory that holds pointers.
	n := max(1, len(bufs)+len(vars))
	mem := C.malloc(C.size_t(n) * 8)
	defer C.free(mem)
	cells := unsafe.Slice((*uintptr)(mem), n)
	for i, b := range bufs {
		cells[i] = uintptr(b)
	}
	for t := range k.threads {
		if k.thread >= 0 {
			vars[k.thread] = int64(t)
		}
		for i, v := range vars {
			cells[len(bufs)+i] = uintptr(v)
		}
		C.polygrad_call(k.fn, mem, unsafe.Add(mem, len(bufs)*8))
	}
	runtime.KeepAlive(bufs)
	runtime.KeepAlive(k.lib)
	return nil
}
