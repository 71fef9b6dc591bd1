//go:build linux && amd64 && cgo

package code

/*
#include "fault.h"
*/
import "C"

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"polygrad/exec/pages"
)

// Code memory is never writable and executable at one address. A region is a memory file that is mapped twice: code is written
// through one mapping and runs in the other. So neither loading nor freeing calls the system, and kernels lie side by side in
// pages whose neighbours are running. Loading and freeing a kernel of 500 bytes takes 0.4 us this way; with a mapping of its
// own and mprotect, 5 us and a page (measured). Where memory files may not be executed, a batch gets an anonymous mapping that
// is made executable after writing. It also does when perf wants names of kernels: perf takes a file for a library and looks
// up names there.

// regionBytes is the size of a region, unless a batch needs a larger one.
const regionBytes = 1 << 20

// unit is the size and alignment unit of blocks: a cache line, and the size of a header.
const unit = uintptr(unsafe.Sizeof(C.poly_native_header_t{}))

// region is executable memory.
type region struct {
	write, run uintptr // address for writing (0: no longer writable) and for running
	size       uintptr
	free       []extent // in order
	live       int      // blocks
}

// extent is a part of a region.
type extent struct{ at, size uintptr }

// block is the memory of one kernel, its header first.
type block struct {
	of *region
	extent
}

// memory is the code memory of the process.
type memory struct {
	mu      sync.Mutex
	regions []*region
	// single: each batch gets a mapping of its own.
	single bool
}

// text is code to load.
type text struct {
	name string
	code []byte
}

func (t text) bytes() uintptr {
	return unit + (uintptr(len(t.code)+len(t.name))+unit-1)&^(unit-1)
}

// load makes code runnable.
func (m *memory) load(texts []text) ([]block, error) {
	total := uintptr(0)
	for _, t := range texts {
		if len(t.code) == 0 || len(t.code) > math.MaxInt32 {
			return nil, fmt.Errorf("code.Load: %s: got %d bytes of code, expected 1 to %d", t.name, len(t.code), math.MaxInt32)
		}
		total += t.bytes()
	}
	if total == 0 {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.single {
		if out, err := m.share(texts, total); err == nil {
			return out, nil
		}
		m.single = true
	}
	return m.separate(texts, total)
}

// share puts code into a region with room.
func (m *memory) share(texts []text, total uintptr) ([]block, error) {
	out := make([]block, len(texts))
	for i, t := range texts {
		b, ok := m.take(t.bytes())
		if !ok {
			r, err := newRegion(max(total, regionBytes))
			if err != nil {
				for _, b := range out[:i] {
					m.give(b)
				}
				return nil, err
			}
			m.regions = append(m.regions, r)
			b, _ = m.take(t.bytes())
		}
		total -= t.bytes()
		b.fill(t)
		out[i] = b
	}
	return out, nil
}

// separate maps a region for this code alone.
func (m *memory) separate(texts []text, total uintptr) ([]block, error) {
	at, err := pages.Reserve(0, total)
	if err != nil {
		return nil, err
	}
	r := &region{write: at, run: at, size: total}
	out := make([]block, len(texts))
	next := uintptr(0)
	for i, t := range texts {
		out[i] = block{r, extent{next, t.bytes()}}
		out[i].fill(t)
		next += t.bytes()
	}
	if err := unix.Mprotect(unsafe.Slice((*byte)(pages.Pointer(at)), total), unix.PROT_READ|unix.PROT_EXEC); err != nil {
		_ = pages.Release(at, total)
		return nil, fmt.Errorf("mprotect: %w", err)
	}
	r.write, r.live = 0, len(texts)
	C.poly_native_add_range(C.uintptr_t(at), C.uintptr_t(at+total))
	return out, nil
}

// take allocates a block.
func (m *memory) take(size uintptr) (block, bool) {
	for _, r := range m.regions {
		for i := range r.free {
			f := &r.free[i]
			if f.size < size {
				continue
			}
			b := block{r, extent{f.at, size}}
			if f.at, f.size = f.at+size, f.size-size; f.size == 0 {
				r.free = slices.Delete(r.free, i, i+1)
			}
			r.live++
			return b, true
		}
	}
	return block{}, false
}

// fill writes code, its header and its name.
func (b block) fill(t text) {
	to := unsafe.Slice((*byte)(pages.Pointer(b.of.write+b.at)), b.size)
	*(*C.poly_native_header_t)(unsafe.Pointer(&to[0])) = C.poly_native_header_t{
		magic: [2]C.uint64_t{C.POLY_NATIVE_MAGIC0, C.POLY_NATIVE_MAGIC1}, code: C.uint64_t(b.entry()),
		bytes: C.uint32_t(len(t.code)), name: C.uint32_t(len(t.name)),
	}
	n := copy(to[unit:], t.code)
	copy(to[int(unit)+n:], t.name)
}

// entry is the address of the code.
func (b block) entry() uintptr { return b.of.run + b.at + unit }

// trap is an instruction that faults.
const trap = 0xcc

// free frees the memory of a kernel.
func (m *memory) free(b block) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.give(b)
}

func (m *memory) give(b block) {
	r := b.of
	r.live--
	if r.write != 0 {
		old := unsafe.Slice((*byte)(pages.Pointer(r.write+b.at)), b.size)
		for i := range old {
			old[i] = trap
		}
		C.poly_native_forget_code(C.uintptr_t(r.run+b.at), C.size_t(b.size))
		r.release(b.extent)
	}
	// One empty region is kept.
	if r.live == 0 && (r.write == 0 || len(m.regions) > 1) {
		m.regions = slices.DeleteFunc(m.regions, func(o *region) bool { return o == r })
		r.unmap()
	}
}

// release adds an extent to the free list and merges it with its neighbours.
func (r *region) release(e extent) {
	i, _ := slices.BinarySearchFunc(r.free, e.at, func(f extent, at uintptr) int {
		if f.at < at {
			return -1
		}
		return 1
	})
	if i < len(r.free) && e.at+e.size == r.free[i].at {
		e.size += r.free[i].size
		r.free = slices.Delete(r.free, i, i+1)
	}
	if i > 0 && r.free[i-1].at+r.free[i-1].size == e.at {
		r.free[i-1].size += e.size
		return
	}
	r.free = slices.Insert(r.free, i, e)
}

// newRegion maps a memory file twice.
func newRegion(size uintptr) (*region, error) {
	page := uintptr(os.Getpagesize())
	size = (size + page - 1) &^ (page - 1)
	// Newer systems want the flag of executable files, older ones do not know it.
	fd, err := unix.MemfdCreate("polygrad", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if err != nil {
		fd, err = unix.MemfdCreate("polygrad", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, fmt.Errorf("ftruncate: %w", err)
	}
	write, err := pages.File(fd, size, unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	run, err := pages.File(fd, size, unix.PROT_READ|unix.PROT_EXEC)
	if err != nil {
		_ = pages.Release(write, size)
		return nil, err
	}
	r := &region{write: write, run: run, size: size, free: []extent{{0, size}}}
	C.poly_native_add_range(C.uintptr_t(run), C.uintptr_t(run+size))
	return r, nil
}

func (r *region) unmap() {
	C.poly_native_remove_range(C.uintptr_t(r.run))
	if r.write != 0 {
		_ = pages.Release(r.write, r.size)
	}
	_ = pages.Release(r.run, r.size)
}
