package webgpu

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"polygrad/core/settings"
	"polygrad/exec/device"
)

// block is memory of an adapter: a buffer, or a part of a slab.
type block struct {
	object        object
	offset, bytes int64
	slab          *slab // nil for a buffer of its own
	lent          bool  // a program has the buffer, too
}

// slab is a buffer that small blocks are parts of.
type slab struct {
	object object
	used   int // blocks that are not idle
}

const (
	slabBytes = 1 << 20
	slabMost  = slabBytes / 16 // larger blocks are buffers of their own
)

// pool is the idle memory of an adapter. As the adapter does everything in the order of submission, a block may go back to the pool, and be given out
// again, before submitted work has used it for the last time.
type pool struct {
	mu    sync.Mutex
	idle  map[int64][]*block // by size
	bytes int64              // of all idle ones
	limit int64
	// used is the size of the blocks in use, most its maximum in this period, before its maximum in the last one. taken counts the blocks that were
	// taken in this period.
	used, most, before int64
	taken              int
}

// period is the number of blocks of a period.
const period = 1000

// mayKeep is the limit of idle memory: the cache's share, or more if the program has lately used more at once than now, as it may do so again.
func (p *pool) mayKeep() int64 { return max(p.limit, max(p.most, p.before)-p.used) }

// enter counts a block as in use.
func (p *pool) enter(b *block) {
	if p.taken++; p.taken == period {
		p.taken, p.before, p.most = 0, p.most, p.used
	}
	p.used += b.bytes
	p.most = max(p.most, p.used)
}

// leave stops counting a block that does not come back to the pool.
func (p *pool) leave(b *block) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= b.bytes
}

func newPool() pool { return pool{idle: map[int64][]*block{}, limit: settings.CacheBytes(1)} }

// sizeOf rounds up to one of four sizes in each doubling, so blocks of similar sizes replace each other.
func sizeOf(bytes int64) int64 {
	bytes = max(bytes, alignment)
	step := max(int64(1)<<max(bits.Len64(uint64(bytes-1))-3, 0), alignment)
	return (bytes + step - 1) &^ (step - 1)
}

// take is a block of at least so many bytes, of undefined contents.
func (a *adapter) take(bytes int64) (*block, error) {
	if bytes > a.limits.allocation {
		return nil, fmt.Errorf("got %d bytes, expected at most %d, the limit of adapter %s", bytes, a.limits.allocation, a.limits.name)
	}
	size := sizeOf(bytes)
	if size > a.limits.allocation {
		size = (bytes + alignment - 1) &^ (alignment - 1)
	}
	p := &a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[size]) == 0 {
		if err := a.more(size); err != nil {
			return nil, err
		}
	}
	idle := p.idle[size]
	b := idle[len(idle)-1]
	p.idle[size] = idle[:len(idle)-1]
	p.bytes -= b.bytes
	p.enter(b)
	if b.slab != nil {
		b.slab.used++
	}
	return b, nil
}

// more makes idle blocks of a size. The pool is locked.
func (a *adapter) more(size int64) error {
	p, total := &a.pool, size
	if size <= slabMost {
		total = slabBytes
	}
	o, err := a.allocate(total, storage)
	if err != nil && p.bytes > 0 {
		a.trim(0)
		o, err = a.allocate(total, storage)
	}
	if err != nil {
		return fmt.Errorf("%d bytes: %w", total, err)
	}
	a.counts.buffers.Add(1)
	if total == size {
		p.idle[size] = append(p.idle[size], &block{object: o, bytes: size})
		p.bytes += size
		return nil
	}
	s := &slab{object: o}
	for at := int64(0); at+size <= total; at += size {
		p.idle[size] = append(p.idle[size], &block{object: o, offset: at, bytes: size, slab: s})
		p.bytes += size
	}
	return nil
}

// give returns a block.
func (a *adapter) give(b *block) {
	p := &a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.slab != nil {
		b.slab.used--
	}
	p.idle[b.bytes] = append(p.idle[b.bytes], b)
	p.bytes += b.bytes
	p.used -= b.bytes
	if most := p.mayKeep(); p.bytes > most {
		a.trim(most / 2)
	}
}

// trim frees idle memory, the largest blocks first, down to a number of bytes. The pool is locked.
func (a *adapter) trim(bytes int64) {
	p := &a.pool
	var sizes []int64
	for size := range p.idle {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	freed := map[*slab]bool{}
	for _, size := range slices.Backward(sizes) {
		p.idle[size] = slices.DeleteFunc(p.idle[size], func(b *block) bool {
			switch {
			case b.slab != nil && freed[b.slab]:
			case p.bytes <= bytes || b.slab != nil && b.slab.used > 0:
				return false
			default:
				a.free(b.object)
				if b.slab != nil {
					freed[b.slab] = true
				}
			}
			p.bytes -= b.bytes
			return true
		})
	}
}

// allocation is the memory of Allocate: a block of the adapter that it was used on last.
type allocation struct {
	d     *Device
	bytes int64

	mu    sync.Mutex
	a     *adapter
	block *block
}

// memory is the target of a Buffer: an allocation from an offset on.
type memory struct {
	*allocation
	offset int64
}

func memoryOf(b device.Buffer) *memory { return (*memory)(b.Pointer()) }

// on is the block of an allocation on an adapter. It has no contents if the allocation was used on another one before.
func (m *allocation) on(a *adapter) (*block, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.a == a {
		if m.block.lent {
			if err := a.usable(m.block.object); err != nil {
				return nil, fmt.Errorf("webgpu: a buffer of the program: %w", err)
			}
		}
		return m.block, nil
	}
	b, err := a.take(m.bytes)
	if err != nil {
		return nil, fmt.Errorf("webgpu: memory: %w", err)
	}
	m.release()
	m.a, m.block = a, b
	return b, nil
}

// release returns the block, if there is one.
func (m *allocation) release() {
	switch {
	case m.a == nil:
	case m.block.lent:
		m.a.forget(m.block.object)
	case m.a.lost():
		if m.block.slab == nil {
			m.a.free(m.block.object)
		}
	default:
		m.a.give(m.block)
	}
	m.a, m.block = nil, nil
}

// Allocate takes memory.
func (d *Device) Allocate(bytes int64) (device.Buffer, error) {
	a, err := d.adapter()
	if err != nil {
		return device.Buffer{}, err
	}
	m := &memory{allocation: &allocation{d: d, bytes: (max(bytes, 1) + alignment - 1) &^ (alignment - 1)}}
	if _, err := m.on(a); err != nil {
		return device.Buffer{}, fmt.Errorf("webgpu.Allocate: %w", err)
	}
	return device.At(unsafe.Pointer(m)), nil
}

// Free returns memory.
func (d *Device) Free(b device.Buffer, _ int64) error {
	m := memoryOf(b)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release()
	return nil
}

// Part is the same memory from an offset on.
func (d *Device) Part(b device.Buffer, offset int64) device.Buffer {
	m := *memoryOf(b)
	m.offset += offset
	return device.At(unsafe.Pointer(&m))
}
