package webgpu

import (
	"fmt"
	"sync"
	"unsafe"

	"polygrad/exec/device"
)

// Buffers of the driver are lent to a program, and buffers of the program are adopted. A tensor and the program share such memory: it does not go
// back to the pool, and is not destroyed. All work is done in the order of submission.

// Given is a device of the program: its handles, and the file of the library that they belong to, which the program has loaded.
type Given struct {
	Library         string
	Adapter, Device uintptr
}

var given struct {
	sync.Mutex
	Given
}

// Give has adapters opened on a device of the program, or without one on a device of the library's choice. It returns the setting before.
func Give(g Given) (last Given) {
	given.Lock()
	defer given.Unlock()
	last, given.Given = given.Given, g
	return last
}

// Reopen opens an adapter on a device of the program, or without one on a device of the library's choice, and gives up the adapter in use. It does
// nothing if that is on such a device already.
func (d *Device) Reopen(g Given) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.opened
	if last != nil && !last.lost() && last.isGiven(g.Device) {
		return nil
	}
	Give(g)
	_, err := d.another()
	if err == nil && last != nil && !last.lost() {
		last.lose()
	}
	return err
}

// Lend is the driver's buffer of memory, all of which belongs to it: a WGPUBuffer, or the number of a GPUBuffer. What was submitted before the call
// comes before what the program submits after it.
func (d *Device) Lend(b device.Buffer) (uintptr, error) {
	a, err := d.adapter()
	if err != nil {
		return 0, err
	}
	m := memoryOf(b)
	of, err := m.on(a)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !of.lent {
		if of, err = m.whole(of); err != nil {
			return 0, fmt.Errorf("webgpu.Lend: %w", err)
		}
		of.lent = true
	}
	return a.lend(of.object), nil
}

// whole makes the block of an allocation a buffer that nothing else uses: a buffer leaves the pool, a part of a slab is copied to a buffer of its
// own. The allocation is locked.
func (m *allocation) whole(b *block) (*block, error) {
	if b.slab == nil {
		m.a.pool.leave(b)
		return b, nil
	}
	o, err := m.a.allocate(m.bytes, storage)
	if err != nil {
		return nil, err
	}
	m.a.counts.buffers.Add(1)
	m.a.counts.copies.Add(1)
	list := m.a.begin(false)
	m.a.copy(list, o, 0, b.object, b.offset, m.bytes)
	m.a.submit(list)
	m.a.give(b)
	m.block = &block{object: o, bytes: m.bytes}
	return m.block, nil
}

// Adopt is a buffer of the program as memory: so many bytes from an offset on, a multiple of 256. It must be for storage and for copies, of the
// device that Lend has buffers of.
func (d *Device) Adopt(buffer uintptr, offset, bytes int64) (device.Buffer, error) {
	a, err := d.adapter()
	switch {
	case err != nil:
		return device.Buffer{}, err
	case offset < 0 || offset%alignment != 0:
		return device.Buffer{}, fmt.Errorf("webgpu.Adopt: offset %d, expected a multiple of %d", offset, alignment)
	case bytes > a.limits.bindable:
		return device.Buffer{}, fmt.Errorf("webgpu.Adopt: %d bytes, expected at most %d, the limit of adapter %s", bytes, a.limits.bindable, a.limits.name)
	}
	o, err := a.adopt(buffer, offset+bytes)
	if err != nil {
		return device.Buffer{}, fmt.Errorf("buffer: %w", err)
	}
	m := &allocation{d: d, bytes: bytes, a: a, block: &block{object: o, offset: offset, bytes: bytes, lent: true}}
	return device.At(unsafe.Pointer(&memory{allocation: m})), nil
}

var _ device.Exchanger = (*Device)(nil)
