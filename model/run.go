package model

import (
	"fmt"
	"unsafe"

	"polygrad/core/uop"
	"polygrad/exec"
)

// Feed is a named array for an instance. Data of inputs and targets is copied; other names are ignored. A nil Data is an error.
// Data may be longer than the buffer.
type Feed struct {
	Name string
	Data []float32
}

// Size is the number of elements of an input or target, -1 if there is none of this name.
func (m *Instance) Size(name string) int64 {
	b := m.named[name]
	if b == nil || b.Role != Input && b.Role != Target {
		return -1
	}
	return int64(len(b.Data))
}

// Call runs an entry point. Inputs that are not fed keep their last values; results lie in the output buffers.
func (m *Instance) Call(name string, feeds []Feed) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		err = ErrFreed
	} else {
		err = m.call(name, feeds)
	}
	if err != nil {
		return fmt.Errorf("model.Instance.Call: %w", err)
	}
	return nil
}

func (m *Instance) call(name string, feeds []Feed) error {
	e, err := m.entry(name)
	if err == nil && e.run == nil {
		e.run, err = m.exec.Compile(e.sink)
	}
	if err == nil {
		err = m.feed(feeds)
	}
	if err == nil {
		err = e.run.Run(m.bind(e.run), nil)
	}
	return err
}

// Forward runs the entry point "forward".
func (m *Instance) Forward(feeds []Feed) error { return m.Call(EntryForward, feeds) }

// feed copies inputs; nothing is changed if one of them is wrong.
func (m *Instance) feed(feeds []Feed) error {
	for i, f := range feeds {
		if n := m.Size(f.Name); n >= 0 && int64(len(f.Data)) < n {
			return fmt.Errorf("inputs[%d]: %q has %d elements, expected %d", i, f.Name, len(f.Data), n)
		}
	}
	for _, f := range feeds {
		if m.Size(f.Name) >= 0 {
			b := m.named[f.Name]
			copy(b.Data, f.Data)
			b.data.written()
		}
	}
	return nil
}

// bind lists the memory of named buffers, and more bindings.
func (m *Instance) bind(s *exec.Step, more ...map[*uop.UOp]*resident) []exec.Binding {
	binds := make([]exec.Binding, 0, len(s.Buffers()))
	for _, b := range m.buffers {
		if b.node != nil {
			binds = append(binds, b.data.bind(b.node))
		}
	}
	for _, s := range m.stored {
		binds = append(binds, exec.Binding{Buffer: s.node, Ptr: unsafe.Pointer(unsafe.SliceData(s.data)), Bytes: int64(len(s.data))})
	}
	for _, of := range more {
		for node, r := range of {
			binds = append(binds, r.bind(node))
		}
	}
	return binds
}

func binding(node *uop.UOp, data []float32) exec.Binding {
	return exec.Binding{Buffer: node, Ptr: unsafe.Pointer(unsafe.SliceData(data)), Bytes: int64(len(data)) * 4}
}
