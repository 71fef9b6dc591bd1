// Package exec computes graphs: it turns a request (a SINK of STOREs and ASSIGNs) into a plan of compiled kernels, caches plans
// and kernels by structure, and runs them on memory that the caller binds to buffers.
package exec

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/settings"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// Binding gives a BUFFER its memory: that of the host at Ptr, of so many Bytes (0 if unknown), or Array on a device with memory of its own, for
// which Ptr is the host's memory if there is any.
type Binding struct {
	Buffer *uop.UOp
	Ptr    unsafe.Pointer
	Bytes  int64
	Array  *Array
}

// Executor computes requests on one device. It may be used from any goroutine; the graph of a request must not change meanwhile
// (its context holds a lock).
type Executor struct {
	dev  device.Device
	pool *pool
	// host runs kernels that need a type that the device lacks, nil before the first one.
	host device.Device
	// fusion are the limits of kernel fusion, nil for none.
	fusion *fuse.Options

	// building is held while a plan is made, so equal kernels are compiled once.
	building sync.Mutex
	// asts holds the graphs of kernels, interned: equal structure is one pointer.
	asts    *uop.Graph
	kernels map[*uop.UOp]*kernel

	// mu is held for look-ups only: a run of a cached plan never waits for a compilation. It is locked after building.
	mu sync.Mutex
	// requests interns requests.
	requests *uop.Graph
	plans    map[*uop.UOp]*plan
	families map[familyKey]*family
	launches int64 // of all plans
	code     int64 // bytes of all kernels, and of what plans keep
	limits   limits
}

// New makes an executor for a device.
func New(dev device.Device) *Executor {
	e := &Executor{dev: dev, pool: newPool(dev, settings.CacheBytes(2)), fusion: fusionOf(dev), limits: usual()}
	e.forget()
	return e
}

// Flush empties the caches and releases idle memory for temporaries.
func (e *Executor) Flush() {
	e.building.Lock()
	defer e.building.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forget()
	e.pool.trim(0, 0)
}

// Device is the device that the executor runs on.
func (e *Executor) Device() device.Device { return e.dev }

// Realize computes a SINK of STORE(buffer, value) and ASSIGN(target, value).
//
// STOREs see all buffers as before any ASSIGN. ASSIGNs take effect in source order: a later one that reads an assigned buffer
// element by element sees the new value, through a reduction the old one, and after an ASSIGN to a part the old contents. Every BUFFER
// in the graph must be bound; of several bindings of one buffer the first counts. vars overrides the values in BINDs.
func (e *Executor) Realize(sink *uop.UOp, binds []Binding, vars map[string]int64) error {
	s, err := e.Prepare(sink)
	if err != nil {
		return err
	}
	return s.Run(binds, vars)
}

// Step is a compiled request. It can run any number of times, also from several goroutines at once.
type Step struct {
	plan    *plan
	buffers []*uop.UOp
	index   map[*uop.UOp]int // of the buffers if there are many, else nil
	vars    map[string]int64
	// numbers are the elements of the buffers that follow: see family.
	numbers []uint64
}

// Compile compiles a request.
func (e *Executor) Compile(sink *uop.UOp) (*Step, error) { return e.step(sink, false) }

// Prepare is Compile for a request that is made anew for each run: when several differed in numbers only, the next ones share a plan.
func (e *Executor) Prepare(sink *uop.UOp) (*Step, error) { return e.step(sink, true) }

func (e *Executor) step(sink *uop.UOp, once bool) (*Step, error) {
	if sink == nil || sink.Op != uop.Sink {
		return nil, fmt.Errorf("exec.Compile: sink: got %v, expected a SINK of STOREs and ASSIGNs", sink)
	}
	_, s, err := e.find(sink)
	if err != nil || s.plan != nil {
		return s, err
	}
	e.building.Lock()
	defer e.building.Unlock()
	e.sweep()
	root, s, err := e.find(sink) // another goroutine may have made the plan meanwhile
	if err != nil || s.plan != nil {
		return s, err
	}
	inputs := s.buffers
	if once {
		if root, inputs = e.share(root, s); s.plan != nil {
			return s, nil
		}
	}
	if s.plan, err = e.build(e.copyOf(root), inputs); err != nil {
		return nil, err
	}
	e.keep(root, s.plan)
	return s, nil
}

// find normalises a request and looks up its plan.
func (e *Executor) find(sink *uop.UOp) (root *uop.UOp, s *Step, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s = &Step{}
	if root, s.buffers, s.vars, err = schedule.NormalizeFor(e.requests, sink, e.fusion.Target()); err != nil {
		return nil, nil, err
	}
	if s.plan = e.plans[root]; s.plan != nil {
		s.plan.used = true
	}
	if len(s.buffers) > manyBuffers {
		s.index = make(map[*uop.UOp]int, len(s.buffers))
		for i, b := range s.buffers {
			s.index[b] = i
		}
	}
	return root, s, nil
}

// copyOf is the request in a graph of its own, so its plan is made without the lock.
func (e *Executor) copyOf(root *uop.UOp) *uop.UOp {
	e.mu.Lock()
	defer e.mu.Unlock()
	return root.Graph().Scratch().Import(root)
}

// Kernels is the number of kernels of a run.
func (s *Step) Kernels() int { return len(s.plan.launches) }

// OwnMemory reports whether the device of the step has memory of its own.
func (s *Step) OwnMemory() bool { return !s.plan.pool.limits.HostMemory }

// Temporaries is the number of intermediate buffers.
func (s *Step) Temporaries() int { return s.plan.temps }

// Memory is the number of bytes that the intermediate buffers take at once.
func (s *Step) Memory() int64 { return s.plan.arena }

// Buffers are the BUFFERs of a run, in order of first use in the graph.
func (s *Step) Buffers() []*uop.UOp { return s.buffers }

// manyBuffers is the number of buffers from which a map is faster than linear search.
const manyBuffers = 12

// position is the index of a buffer in the step, -1 if it is not there.
func (s *Step) position(b *uop.UOp) int {
	if s.index != nil {
		if i, ok := s.index[b]; ok {
			return i
		}
		return -1
	}
	for i, x := range s.buffers {
		if x == b {
			return i
		}
	}
	return -1
}

// Run runs the step on bound memory; see Realize. The host may interrupt it (SetPoll).
func (s *Step) Run(binds []Binding, vars map[string]int64) error {
	return s.run(binds, vars, poll.Load())
}

// RunDetached is Run on another thread than the host's: the host is not polled for interruption.
func (s *Step) RunDetached(binds []Binding, vars map[string]int64) error {
	return s.run(binds, vars, nil)
}

func (s *Step) run(binds []Binding, vars map[string]int64, stop *func() bool) error {
	r := s.plan.take()
	err := s.bind(r.bufs, r.arrays, binds)
	if err == nil {
		err = s.plan.run(r, s.vars, vars, stop, nil)
	}
	s.plan.give(r)
	runtime.KeepAlive(s)
	return err
}

// Bound is a step with memory for all of its buffers.
type Bound struct {
	step   *Step
	bufs   []device.Buffer
	arrays []*Array
}

// Bind sets the memory of a step's buffers for later runs.
func (s *Step) Bind(binds []Binding) (*Bound, error) {
	b := &Bound{s, make([]device.Buffer, s.plan.inputs), make([]*Array, s.plan.inputs)}
	return b, s.bind(b.bufs, b.arrays, binds)
}

// Run is Step.Run on the bound memory.
func (b *Bound) Run(vars map[string]int64) error {
	p := b.step.plan
	r := p.take()
	copy(r.bufs, b.bufs)
	copy(r.arrays, b.arrays)
	err := p.run(r, b.step.vars, vars, poll.Load(), nil)
	p.give(r)
	runtime.KeepAlive(b)
	return err
}

// bind finds the memory of every buffer: the host's, and arrays.
func (s *Step) bind(bufs []device.Buffer, arrays []*Array, binds []Binding) error {
	for i := range binds {
		b := &binds[i]
		n := s.position(b.Buffer)
		if n < 0 || bufs[n] != (device.Buffer{}) || arrays[n] != nil {
			continue
		}
		need := s.plan.bytes[n]
		if b.Array != nil && need > 0 && !s.plan.pool.limits.HostMemory {
			if b.Array.bytes < need {
				return fmt.Errorf("exec.Run: buffer %d (%s of %s elements) needs %d bytes, is bound to an array of %d", n, b.Buffer.DType, b.Buffer.Arg, need, b.Array.bytes)
			}
			bufs[n], arrays[n] = device.At(b.Ptr), b.Array
			continue
		}
		if b.Ptr == nil && need > 0 {
			return fmt.Errorf("exec.Run: buffer %d (%s of %s elements) is bound to a null pointer", n, b.Buffer.DType, b.Buffer.Arg)
		}
		if b.Bytes > 0 && b.Bytes < need {
			return fmt.Errorf("exec.Run: buffer %d (%s of %s elements) needs %d bytes, is bound to %d", n, b.Buffer.DType, b.Buffer.Arg, need, b.Bytes)
		}
		bufs[n] = device.At(b.Ptr)
		if need == 0 {
			bufs[n] = nothing
		}
	}
	for n, b := range s.buffers {
		if bufs[n] == (device.Buffer{}) && arrays[n] == nil {
			if s.plan.bytes[n] > 0 {
				return fmt.Errorf("exec.Run: buffer %d (%s of %s elements) is not bound to memory: %d buffers are needed", n, b.DType, b.Arg, len(s.buffers))
			}
			bufs[n] = nothing
		}
	}
	for i := range s.numbers {
		bufs[len(s.buffers)+i] = device.At(unsafe.Pointer(&s.numbers[i]))
	}
	return nil
}

// nothing is the memory of buffers without elements.
var nothing = device.At(unsafe.Pointer(&[64]byte{}))
