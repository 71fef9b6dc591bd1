package exec

import (
	"fmt"
	"slices"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/settings"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// A device may lack a type, as GPUs lack float64. With Limits.HostFallback kernels that need it run on the host, on copies of their buffers;
// written buffers are copied back. Most are short, such as the rates of an optimizer.

// missingType is a type that a kernel needs and the target does not have, with the operation that needs it; nil for none.
func missingType(t *lower.Target, ast *uop.UOp) (dt *uop.DType, by *uop.UOp) {
	if len(t.Missing) == 0 {
		return nil, nil
	}
	for _, u := range ast.Toposort() {
		if dt := u.DType.Base().Scalar(); !t.Emulates(dt) {
			return dt, u
		}
	}
	return nil, nil
}

// compileForHost compiles kernels for the host.
func (e *Executor) compileForHost(asts []*uop.UOp) ([]*lower.Program, []device.Kernel, error) {
	if len(asts) == 0 {
		return nil, nil, nil
	}
	if e.host == nil {
		d, err := devices[settings.Device.Default]()
		if err != nil {
			return nil, nil, err
		}
		e.host = d
	}
	progs, err := lowerAll(asts, e.host.Target())
	if err != nil {
		return nil, nil, err
	}
	code, err := e.host.Compile(progs)
	if err != nil {
		return nil, nil, err
	}
	for i, p := range progs {
		h := &hostKernel{HostKernel: code[i].(device.HostKernel), dev: e.host, name: p.Name}
		for _, slot := range p.Globals {
			h.written = append(h.written, slices.Contains(p.Outs, slot))
		}
		for _, u := range p.Linear {
			if u.Op != uop.Param {
				continue
			}
			size := u.DType.Size * int64(u.DType.Base().Itemsize())
			if size < 0 {
				return nil, nil, fmt.Errorf("exec.Compile: kernel %s runs on the host, where the sizes of its buffers must be known", p.Name)
			}
			h.bytes = append(h.bytes, size)
		}
		code[i] = h
	}
	return progs, code, nil
}

// hostKernel is a kernel that runs on the host.
type hostKernel struct {
	device.HostKernel
	dev  device.Device
	name string
	// bytes are the sizes of its buffers; written says which of them it writes, perhaps in part.
	bytes   []int64
	written []bool
}

// launch runs the kernel on copies of buffers of a queue.
func (h *hostKernel) launch(q device.Queue, bufs []device.Buffer, vars []int64) error {
	total := int64(0)
	for _, n := range h.bytes {
		total += aligned(max(n, 1))
	}
	mem, err := h.dev.Allocate(total)
	if err != nil {
		return fmt.Errorf("exec.Run: kernel %s on the host: %w", h.name, err)
	}
	defer func() { _ = h.dev.Free(mem, total) }()
	err = h.onCopies(q, mem.Pointer(), bufs, vars)
	// The memory is in use until the queue is empty, also after an error.
	if waited := q.Wait(); err == nil {
		err = waited
	}
	return err
}

func (h *hostKernel) onCopies(q device.Queue, mem unsafe.Pointer, bufs []device.Buffer, vars []int64) error {
	ptrs, parts := make([]unsafe.Pointer, len(bufs)), make([][]byte, len(bufs))
	for i, n := range h.bytes {
		ptrs[i], parts[i] = mem, unsafe.Slice((*byte)(mem), n)
		mem = unsafe.Add(mem, aligned(max(n, 1)))
		if err := q.CopyOut(parts[i], bufs[i]); err != nil {
			return err
		}
	}
	if err := q.Wait(); err != nil {
		return err
	}
	if err := h.Run(ptrs, vars); err != nil {
		return err
	}
	for i, written := range h.written {
		if !written {
			continue
		}
		if err := q.CopyIn(bufs[i], parts[i]); err != nil {
			return err
		}
	}
	return nil
}
