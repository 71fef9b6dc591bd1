package exec

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"polygrad/exec/device"
)

// An Array is a buffer that stays in the memory of a device: the host's memory is copied there before the first program that reads it, and
// copied back when the host reads it. A Binding without an Array is copied for each run.
//
// An Array may be bound in programs of any executor; it moves to the device that uses it.
type Array struct {
	bytes int64

	mu sync.Mutex
	// on is the memory on a device, nil for none.
	on *onDevice
	// device and host say whose memory is up to date; neither, if the elements were never written.
	device, host bool
	changes      int64 // by programs and the host
	// lent: a program may write the memory on the device at any time, so the host's copy is never up to date.
	lent bool
	// arrived counts the fetches of lent memory whose elements have come to the host and were not read since.
	arrived int
}

// onDevice is memory on a device.
type onDevice struct {
	dev    device.Device
	buffer device.Buffer
	bytes  int64
	// generation is that of the device when its contents were written.
	generation int64
	cleanup    runtime.Cleanup
}

var errLost = errors.New("the device was lost, and the elements of the tensor with it")

// NewArray makes an Array of so many bytes. host says that the host's memory has its elements.
func NewArray(bytes int64, host bool) *Array { return &Array{bytes: bytes, host: host} }

// generationOf is the generation of a device, 0 if it is never lost.
func generationOf(d device.Device) int64 {
	if l, ok := d.(device.Loser); ok {
		return l.Generation()
	}
	return 0
}

// use gets the memory on the device of a pool, for a run that writes it if written is set: with the elements of the host's memory, if
// the host has newer ones.
func (a *Array) use(q device.Queue, p *pool, host []byte, written bool) (device.Buffer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.on != nil && a.on.dev != p.dev {
		if err := a.toHost(host); err != nil {
			return device.Buffer{}, err
		}
		a.host = a.host || a.device // the last elements, if the memory was lent
		a.drop()
	}
	now := generationOf(p.dev)
	if a.on != nil && a.device && a.on.generation != now {
		if !a.host {
			return device.Buffer{}, fmt.Errorf("exec.Run: %w", errLost)
		}
		a.device = false
	}
	if a.on == nil {
		b, err := p.dev.Allocate(max(a.bytes, 1))
		if err != nil {
			return b, fmt.Errorf("exec.Run: no memory for a tensor: device %s: %w", p.dev.Name(), err)
		}
		a.hold(p.dev, b, max(a.bytes, 1))
	}
	if !a.device && a.host {
		if err := q.CopyIn(a.on.buffer, host[:a.bytes]); err != nil {
			return device.Buffer{}, err
		}
		a.device, a.host, a.on.generation = true, !a.lent, now
	}
	if written {
		a.device, a.host, a.on.generation, a.arrived = true, false, now, 0
		a.changes++
	}
	return a.on.buffer, nil
}

// Upload copies elements of the host to the device of an executor; they are there only then.
func (a *Array) Upload(e *Executor, from []byte) error {
	a.Written()
	q := e.dev.NewQueue()
	_, err := a.use(q, &pool{dev: e.dev}, from, false)
	if done := finish(q); err == nil {
		err = done
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.host = false
	return err
}

// Lend is the buffer of the elements on an executor's device, for a program: see device.Exchanger. host are the elements if the host has newer
// ones. ok is false if the device has no such buffers.
func (a *Array) Lend(e *Executor, host []byte) (buffer uintptr, ok bool, err error) {
	x, ok := e.dev.(device.Exchanger)
	if !ok {
		return 0, false, nil
	}
	q := e.dev.NewQueue()
	b, err := a.use(q, &pool{dev: e.dev}, host, false)
	if done := finish(q); err == nil {
		err = done
	}
	if err == nil {
		buffer, err = x.Lend(b)
	}
	if err != nil {
		return 0, true, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.device, a.host, a.lent = true, false, true
	return buffer, true, nil
}

// Adopt makes an Array of a program's buffer. ok is false if the device has no such buffers.
func (e *Executor) Adopt(buffer uintptr, offset, bytes, room int64) (a *Array, ok bool, err error) {
	x, ok := e.dev.(device.Exchanger)
	if !ok {
		return nil, false, nil
	}
	b, err := x.Adopt(buffer, offset, room)
	if err != nil {
		return nil, true, err
	}
	a = &Array{bytes: bytes, device: true, lent: true}
	a.hold(e.dev, b, room)
	a.on.generation = generationOf(e.dev)
	return a, true, nil
}

// hold makes a buffer the memory on a device, which is freed with the array.
func (a *Array) hold(dev device.Device, b device.Buffer, bytes int64) {
	on := &onDevice{dev: dev, buffer: b, bytes: bytes}
	on.cleanup = runtime.AddCleanup(a, func(on *onDevice) { _ = on.dev.Free(on.buffer, on.bytes) }, on)
	a.on = on
}

// drop frees the memory on the device.
func (a *Array) drop() {
	if a.on != nil {
		a.on.cleanup.Stop()
		_ = a.on.dev.Free(a.on.buffer, a.on.bytes)
	}
	a.on, a.device, a.lent, a.arrived = nil, false, false, 0
}

// toHost copies the elements to the host, unless it has them.
func (a *Array) toHost(host []byte) error {
	if a.host || !a.device {
		return nil
	}
	if a.arrived > 0 {
		a.arrived--
		return nil
	}
	if a.on.generation != generationOf(a.on.dev) {
		return fmt.Errorf("exec.Array: %w", errLost)
	}
	if int64(len(host)) < a.bytes {
		return fmt.Errorf("exec.Array: got %d bytes of host memory, expected %d", len(host), a.bytes)
	}
	q := a.on.dev.NewQueue()
	err := q.CopyOut(host[:a.bytes], a.on.buffer)
	if waited := q.Wait(); err == nil {
		err = waited
	}
	a.host = err == nil && !a.lent
	return err
}

// Lent reports whether a program may write the elements at any time.
func (a *Array) Lent() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lent
}

// OnDevice reports whether the elements are on a device and not in the host's memory.
func (a *Array) OnDevice() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.device && !a.host
}

// Read copies the elements to the host's memory, unless they are there.
func (a *Array) Read(host []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.toHost(host)
}

// Written notes that the host has written all of its memory, or changed elements after Read.
func (a *Array) Written() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.device, a.host, a.arrived = false, true, 0
	a.changes++
}

// A Fetch is a copy of the elements of an Array that is on its way to the host.
type Fetch struct {
	a       *Array
	changes int64
	copied  []byte
}

// Fetch starts to copy the elements to the host, for one that cannot wait: it is told the number later. The number is 0 if there is nothing to
// wait for: the host has the elements, or can wait for them.
func (a *Array) Fetch() (f *Fetch, number int32, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.host || !a.device {
		return nil, 0, nil
	}
	if a.on.generation != generationOf(a.on.dev) {
		return nil, 0, fmt.Errorf("exec.Array: %w", errLost)
	}
	q, ok := a.on.dev.NewQueue().(device.Fetcher)
	if !ok {
		return nil, 0, nil
	}
	f = &Fetch{a, a.changes, make([]byte, a.bytes)}
	number, err = q.Fetch(f.copied, a.on.buffer)
	return f, number, err
}

// Arrived stores the elements to the host's memory, unless they have changed since the fetch began. Those of lent memory are valid for the
// next Read only.
func (f *Fetch) Arrived(host []byte) {
	f.a.mu.Lock()
	defer f.a.mu.Unlock()
	if f.a.changes != f.changes {
		return
	}
	copy(host, f.copied)
	if f.a.lent {
		f.a.arrived++
	} else {
		f.a.host = true
	}
}

// CopyFrom copies another array of the same size on its device, if its elements are there; ok is false if they are not.
func (a *Array) CopyFrom(b *Array) (ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.device || b.bytes != a.bytes || b.on.generation != generationOf(b.on.dev) {
		return false, nil
	}
	q := b.on.dev.NewQueue()
	to, err := a.use(q, &pool{dev: b.on.dev}, nil, true)
	if err == nil {
		err = q.Copy(to, b.on.buffer, a.bytes)
	}
	if done := finish(q); err == nil {
		err = done
	}
	return true, err
}

// Free frees the memory on the device. No run may be using it.
func (a *Array) Free() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop()
	a.host = false
}

// finish starts all operations of a queue, and waits for those that need it.
func finish(q device.Queue) error {
	if s, ok := q.(device.Submitter); ok {
		return s.Submit()
	}
	return q.Wait()
}

// OwnMemory reports whether the device has memory of its own, on which Arrays stay.
func (e *Executor) OwnMemory() bool { return !e.pool.limits.HostMemory }

// LimitedReach reports whether the device copies buffers that lie far from the others of a launch.
func (e *Executor) LimitedReach() bool { return e.pool.limits.Reach > 0 }

// Counts are the numbers of launches, copies and allocations of a device.
type Counts = device.Counts

// Counts are those since the device was opened; ok is false if it does not count.
func (e *Executor) Counts() (c Counts, ok bool) {
	if d, can := e.dev.(device.Counter); can {
		return d.Counts(), true
	}
	return c, false
}

// hostBytes are the bytes of a binding in the host's memory.
func hostBytes(p unsafe.Pointer, n int64) []byte {
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(p), n)
}
