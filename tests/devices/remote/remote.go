// Package remote is a device that has as little in common with the host as a device may have: memory of its own, behind
// handles; queues that do nothing before they are waited for; few buffers a kernel; no float64. What runs on it takes
// no buffer for a host pointer and no launch for finished. Its kernels are interpreted.
package remote

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/uop"
	"polygrad/exec/device"
	"polygrad/exec/interp"
)

// MaxBuffers is how many buffers a kernel may take.
const MaxBuffers = 8

// Device is the device "remote".
type Device struct {
	// Before is asked before a kernel runs, unless it is nil; an error is one of the launch.
	Before func(kernel string) error

	target *lower.Target
	work   chan *queue

	mu   sync.Mutex
	last uint64              // the last handle
	at   map[uint64][]uint64 // the memory of each handle, in words
}

// handle is what a Buffer points to: a number and an offset in bytes.
type handle struct {
	id     uint64
	offset int64
}

// poison is what fresh memory contains: it is not a number, in every type of float, and out of range as an index.
const poison = 0xffff_ffff_ffff_fff1

// New makes a device without float64, whose goroutine runs until the process ends.
func New() *Device { return newDevice(uop.Float64) }

// NewDouble makes one that has float64.
func NewDouble() *Device { return newDevice() }

func newDevice(missing ...*uop.DType) *Device {
	t := *interp.New().Target()
	d := &Device{
		target: &lower.Target{Name: "remote", Ops: t.Ops, Threads: 1, Missing: missing},
		work:   make(chan *queue), at: map[uint64][]uint64{},
	}
	go func() {
		for q := range d.work {
			q.done <- q.run()
		}
	}()
	return d
}

// Name is "remote".
func (d *Device) Name() string { return "remote" }

// Target is that of the interpreter, without float64.
func (d *Device) Target() *lower.Target { return d.target }

// Limits are memory of its own and few buffers.
func (d *Device) Limits() device.Limits { return device.Limits{Buffers: MaxBuffers} }

// kernel is an interpreted list with the bytes that each of its buffers must have.
type kernel struct {
	*interp.Kernel
	name  string
	bytes []int64
}

// Compile prepares lists, which must keep to what the device has.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	out := make([]device.Kernel, len(progs))
	for i, p := range progs {
		k := &kernel{name: p.Name}
		for _, u := range p.Linear {
			if dt := u.DType.Base().Scalar(); !d.target.Supports(dt) {
				return nil, fmt.Errorf("remote: kernel %s: got %s of %s", p.Name, u.Op, dt)
			}
			if u.Op == uop.Param {
				k.bytes = append(k.bytes, u.DType.Size*int64(u.DType.Base().Itemsize()))
			}
		}
		if len(k.bytes) > MaxBuffers {
			return nil, fmt.Errorf("remote: kernel %s: got %d buffers, expected at most %d", p.Name, len(k.bytes), MaxBuffers)
		}
		var err error
		if k.Kernel, err = interp.Compile(p.Name, p.Linear); err != nil {
			return nil, err
		}
		out[i] = k
	}
	return out, nil
}

// Allocate makes memory that is full of poison.
func (d *Device) Allocate(bytes int64) (device.Buffer, error) {
	mem := make([]uint64, (bytes+7)/8)
	for i := range mem {
		mem[i] = poison
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	d.at[d.last] = mem
	return device.At(unsafe.Pointer(&handle{id: d.last})), nil
}

// Free ends a handle: it is never valid again.
func (d *Device) Free(b device.Buffer, bytes int64) error {
	if _, err := d.bytes(b, bytes); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := (*handle)(b.Pointer()).id
	for i := range d.at[id] {
		d.at[id][i] = poison
	}
	delete(d.at, id)
	return nil
}

// Part is the same handle with an offset.
func (d *Device) Part(b device.Buffer, offset int64) device.Buffer {
	h := *(*handle)(b.Pointer())
	h.offset += offset
	return device.At(unsafe.Pointer(&h))
}

// bytes is the memory of a buffer of at least n bytes.
func (d *Device) bytes(b device.Buffer, n int64) ([]byte, error) {
	h := (*handle)(b.Pointer())
	d.mu.Lock()
	mem, ok := d.at[h.id]
	d.mu.Unlock()
	if size := int64(len(mem)) * 8; !ok || h.offset < 0 || h.offset+n > size {
		return nil, fmt.Errorf("remote: got bytes %d to %d of handle %d, which has %d", h.offset, h.offset+n, h.id, size)
	}
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), h.offset)), n), nil
}

// NewQueue makes a queue.
func (d *Device) NewQueue() device.Queue { return &queue{d: d, done: make(chan error)} }

// queue is a list of what is to be done, which waits until Wait: no device is slower.
type queue struct {
	d    *Device
	list []func() error
	done chan error
}

// run does what is in the list, up to the first error.
func (q *queue) run() error {
	for _, f := range q.list {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (q *queue) add(f func() error) error {
	q.list = append(q.list, f)
	return nil
}

// Launch notes the kernel with its arguments.
func (q *queue) Launch(k device.Kernel, bufs []device.Buffer, vars []int64) error {
	bufs, vars = slices.Clone(bufs), slices.Clone(vars)
	return q.add(func() error { return q.d.launch(k.(*kernel), bufs, vars) })
}

func (d *Device) launch(k *kernel, bufs []device.Buffer, vars []int64) error {
	if d.Before != nil {
		if err := d.Before(k.name); err != nil {
			return fmt.Errorf("remote: kernel %s: %w", k.name, err)
		}
	}
	if len(bufs) != len(k.bytes) {
		return fmt.Errorf("remote: kernel %s: got %d buffers, expected %d", k.name, len(bufs), len(k.bytes))
	}
	ptrs := make([]unsafe.Pointer, len(bufs))
	for i, b := range bufs {
		mem, err := d.bytes(b, k.bytes[i])
		if err != nil {
			return fmt.Errorf("%w (buffer %d of kernel %s)", err, i, k.name)
		}
		ptrs[i] = unsafe.Pointer(unsafe.SliceData(mem))
	}
	return k.Run(ptrs, vars)
}

// Copy notes a copy.
func (q *queue) Copy(to, from device.Buffer, bytes int64) error {
	return q.add(func() error {
		src, err := q.d.bytes(from, bytes)
		if err != nil {
			return err
		}
		return q.d.fill(to, src)
	})
}

// CopyIn notes a copy from the host.
func (q *queue) CopyIn(to device.Buffer, from []byte) error {
	return q.add(func() error { return q.d.fill(to, from) })
}

func (d *Device) fill(to device.Buffer, from []byte) error {
	dst, err := d.bytes(to, int64(len(from)))
	copy(dst, from)
	return err
}

// CopyOut notes a copy to the host.
func (q *queue) CopyOut(to []byte, from device.Buffer) error {
	return q.add(func() error {
		src, err := q.d.bytes(from, int64(len(to)))
		copy(to, src)
		return err
	})
}

// Wait has the device do what the queue noted.
func (q *queue) Wait() error {
	if len(q.list) == 0 {
		return nil
	}
	q.d.work <- q
	err := <-q.done
	clear(q.list)
	q.list = q.list[:0]
	return err
}
