package model

import (
	"fmt"
	"slices"
	"unsafe"

	"polygrad/core/uop"
	"polygrad/exec"
)

// resident is host memory whose elements stay on a device with memory of its own between runs.
type resident struct {
	data  []float32
	array *exec.Array
	// shared: the caller may read and write the host memory at any time, so each run copies it to the device and copies back what it has written.
	shared bool
}

func newResident(data []float32) *resident {
	return &resident{data: data, array: exec.NewArray(4*int64(len(data)), true)}
}

// bind binds a BUFFER to the memory.
func (r *resident) bind(node *uop.UOp) exec.Binding {
	b := exec.Binding{Buffer: node, Ptr: unsafe.Pointer(unsafe.SliceData(r.data)), Bytes: 4 * int64(len(r.data))}
	if !r.shared {
		b.Array = r.array
	}
	return b
}

// read copies the elements to the host, if a device has newer ones.
func (r *resident) read() error {
	if r == nil || r.shared {
		return nil
	}
	return r.array.Read(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(r.data))), 4*len(r.data)))
}

// written records that the host has the newest elements: after read, or after overwriting all of them.
func (r *resident) written() { r.array.Written() }

func (r *resident) free() {
	if r != nil {
		r.array.Free()
	}
}

// Read copies the elements of a buffer, and its gradient, to Data and Grad, if a device with memory of its own has newer ones.
func (m *Instance) Read(b *Buffer) error { return m.use("Read", b, func() {}) }

// Write copies elements to the beginning of a buffer.
func (m *Instance) Write(b *Buffer, from []float32) error {
	return m.use("Write", b, func() {
		copy(b.Data, from)
		b.data.written()
	})
}

// Share makes the programs of the instance read and write Data of a buffer from now on, on all devices: the caller may use it at any time between
// calls. A device with memory of its own copies it for each run.
func (m *Instance) Share(b *Buffer) error {
	return m.use("Share", b, func() {
		b.data.shared = true
		b.data.written()
	})
}

// ShareGrad is Share for Grad, if there is one.
func (m *Instance) ShareGrad(b *Buffer) error {
	return m.use("ShareGrad", b, func() {
		if b.grad != nil {
			b.grad.shared = true
		}
	})
}

// use copies the newest elements of a buffer to the host and then runs f.
func (m *Instance) use(fn string, b *Buffer, f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := b.data.read()
	if err == nil {
		err = b.grad.read()
	}
	if m.freed {
		err = ErrFreed
	}
	if err != nil {
		return fmt.Errorf("model.Instance.%s: %q: %w", fn, b.Name, err)
	}
	f()
	return nil
}

// readAll copies to the host all elements of which the device has newer ones. With host, the copies on the device are no longer valid.
func (m *Instance) readAll(host bool) error {
	all := slices.Concat(m.training.moments[0], m.training.moments[1])
	for _, b := range m.buffers {
		all = append(all, b.data, b.grad)
	}
	for _, r := range all {
		if err := r.read(); err != nil {
			return err
		}
		if host && r != nil {
			r.written()
		}
	}
	return nil
}
