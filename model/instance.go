package model

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"polygrad/core/uop"
	"polygrad/exec"
)

// ErrFreed is the error of an instance that is used after Free.
var ErrFreed = errors.New("the instance was freed")

// Buffer is a named buffer of an instance. Data stays at one address until Free. A device with memory of its own may have newer elements than Data
// and Grad, except for outputs, until Instance.Read or Share. Elements are changed by Instance.Write; Data may be written directly only before the
// first run and after Share.
type Buffer struct {
	Name  string
	Role  Role
	Shape []int64
	Data  []float32
	// Grad is the gradient of a parameter after ValueAndGrad or TrainStep, nil before.
	Grad []float32

	node       *uop.UOp
	data, grad *resident
	// given marks an input with initial contents in Data: callers need not feed it.
	given bool
}

// saved reports whether the contents are saved with the model.
func (b *Buffer) saved() bool { return b.Role == Param || b.Role == Aux || b.given }

// Instance is a model with its memory. Its methods may be called from any goroutine; calls are serialized.
type Instance struct {
	mu      sync.Mutex
	freed   bool
	exec    *exec.Executor
	g       *uop.Graph
	entries []*entry

	buffers []*Buffer
	params  []*Buffer
	named   map[string]*Buffer
	memory  *block
	flat    []float32 // all parameters, with the padding between them
	// stored are the matrices kept in a data type other than float32.
	stored       []*stored
	storedMemory *block
	// text is the language model of the instance, nil if it is none.
	text decoder
	// ends are the tokens that end a text.
	ends []int32

	ir       []byte    // the file it was loaded from, nil if the definition was made here
	sections []Section // unknown sections of a loaded bundle

	training training
	notes    []string
}

// entry is an entry point with its compiled programs.
type entry struct {
	name string
	sink *uop.UOp
	run  *exec.Step
	grad *exec.Step
	// train is one program for the loss, its gradients and the optimizer's update, on a device with memory of its own.
	train *exec.Step
	// updated are the buffers of train beside those of the model and the gradients.
	updated map[*uop.UOp]*resident
	// The gradient program writes the loss and the gradients of all parameters; unused lists the parameters that the loss does not use.
	loss   *Buffer
	unused []*Buffer
}

// New makes an instance of a definition. All buffers are zero.
func New(d *Definition, e *exec.Executor) (*Instance, error) {
	m := &Instance{exec: e, g: d.Graph, named: map[string]*Buffer{}}
	var plain, others []Variable
	for _, v := range d.Variables {
		if v.Stored == nil {
			plain = append(plain, v)
		} else {
			others = append(others, v)
		}
	}
	err := m.allocate(plain)
	if err == nil && len(others) > 0 {
		if err = m.allocateStored(others); err != nil {
			m.memory.free()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("model.New: definition: %w", err)
	}
	known := map[*uop.UOp]bool{}
	for _, b := range m.buffers {
		known[b.node] = true
	}
	for _, s := range m.stored {
		known[s.node] = true
	}
	for _, en := range d.Entries {
		for _, u := range en.Sink.Toposort() {
			if u.Op == uop.Buffer && !known[u] {
				m.memory.free()
				m.storedMemory.free()
				return nil, fmt.Errorf("model.New: definition: entry %q uses a buffer of %s elements that has no name", en.Name, u.Arg)
			}
		}
		m.entries = append(m.entries, &entry{name: en.Name, sink: en.Sink})
	}
	return m, nil
}

// allocate makes the buffers: the parameters are adjacent, in order.
func (m *Instance) allocate(vs []Variable) error {
	order := make([]int, 0, len(vs))
	sizes := make([]int64, 0, len(vs))
	params := int64(0)
	for _, params := range []bool{true, false} {
		for i, v := range vs {
			if (v.Role == Param) == params {
				order = append(order, i)
			}
		}
	}
	for _, i := range order {
		n, err := elements(vs[i].Shape)
		if err != nil {
			return fmt.Errorf("buffer %q: %w", vs[i].Name, err)
		}
		sizes = append(sizes, n)
		if vs[i].Role == Param {
			params += paddedFloats(n)
		}
	}
	mem, err := newBlock(sizes...)
	if err != nil {
		return err
	}
	m.memory = mem
	if params > 0 {
		m.flat = unsafe.Slice((*float32)(unsafe.Pointer(&mem.mem[0])), params)
	}
	m.buffers = make([]*Buffer, len(vs))
	for k, i := range order {
		v := vs[i]
		m.buffers[i] = &Buffer{Name: v.Name, Role: v.Role, Shape: slices.Clone(v.Shape), Data: mem.arrays[k], node: v.Node, data: newResident(mem.arrays[k])}
		m.buffers[i].data.shared = v.Role == Output // they are read after each run
	}
	for _, b := range m.buffers {
		if m.named[b.Name] != nil {
			mem.free()
			return fmt.Errorf("two buffers are called %q", b.Name)
		}
		m.named[b.Name] = b
		if b.Role == Param {
			m.params = append(m.params, b)
		}
	}
	return nil
}

// Free releases the memory. Slices and addresses of buffers must not be used afterwards.
func (m *Instance) Free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		return
	}
	m.freed = true
	m.memory.free()
	m.storedMemory.free()
	m.stored = nil
	m.training.free()
	m.entries = nil
	for _, b := range m.buffers {
		b.data.free()
		b.grad.free()
		b.Data, b.Grad = nil, nil
	}
}

// SetExecutor moves the instance to another device; parameters and moments are kept.
func (m *Instance) SetExecutor(e *exec.Executor) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		return ErrFreed
	}
	if err := m.readAll(true); err != nil {
		return fmt.Errorf("model.Instance.SetExecutor: %w", err)
	}
	m.exec = e
	for _, en := range m.entries {
		en.run, en.grad, en.train = nil, nil, nil
	}
	m.training.step = nil
	clear(m.training.gradOf) // programs that are compiled later make buffers of their own
	return nil
}

// Params are the parameters, in order.
func (m *Instance) Params() []*Buffer { return m.params }

// Buffers are all named buffers, in order.
func (m *Instance) Buffers() []*Buffer { return m.buffers }

// Buffer finds a buffer by name, nil if there is none.
func (m *Instance) Buffer(name string) *Buffer { return m.named[name] }

// Entries are the names of the entry points, in order.
func (m *Instance) Entries() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]string, len(m.entries))
	for i, e := range m.entries {
		out[i] = e.name
	}
	return out
}

// Notes lists the problems of the last import of weights: tensors that are missing, unknown or of another size.
func (m *Instance) Notes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.notes)
}

func (m *Instance) entry(name string) (*entry, error) {
	for _, e := range m.entries {
		if e.name == name {
			return e, nil
		}
	}
	return nil, fmt.Errorf("entry: there is no %q", name)
}
