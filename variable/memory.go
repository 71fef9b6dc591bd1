package variable

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/pages"
)

// A memory is the elements of a leaf, in row-major order.
type memory struct {
	// data is the host's memory; nil while the elements have only been on a device.
	data unsafe.Pointer
	size uintptr
	// mapped: data lies outside Go's heap.
	mapped bool
	// array is the memory on a device that has memory of its own, nil for none. It may have newer elements than data: see bytes.
	array *exec.Array
	// owner is the object that owns shared memory; nil for the library's own.
	owner any
	// pins counts the hosts that use the memory; it is freed after the last one.
	pins  int
	freed bool
}

// hostMu guards what hosts change without the lock of a context: pins, freed and the tokens of shared memory.
var hostMu sync.Mutex

// stays reports whether a host or a program uses the memory: then writes to the variable must go to this memory.
func (m *memory) stays() bool { return m.shared() || m.lent() }

// shared reports whether a host uses the memory.
func (m *memory) shared() bool {
	hostMu.Lock()
	defer hostMu.Unlock()
	return m.owner != nil || m.pins > 0
}

// lent reports whether a program may write the elements on a device at any time.
func (m *memory) lent() bool { return m.array != nil && m.array.Lent() }

// alignment of memory: a cache line, and the widest vector.
const alignment = 64

// small holds freed blocks by size class: without reuse, garbage collection cost as much as the kernels of a training step. Go's collector
// empties it.
var small [23]sync.Pool

// inUse is the number of bytes of all variables.
var inUse atomic.Int64

// InUse returns the bytes of memory of all variables.
func InUse() int64 { return inUse.Load() }

// allocate makes memory of undefined contents, which the host writes.
func allocate(size uintptr) (*memory, error) {
	return allocateAs(size, size >= pages.HugeFrom)
}

func allocateAs(size uintptr, mapped bool) (*memory, error) {
	m := &memory{size: size, mapped: mapped}
	if err := m.take(); err != nil {
		return nil, err
	}
	inUse.Add(int64(size))
	return m, nil
}

// nearFrom is the size from which C libraries map memory. Devices whose kernels reach a part of the addresses need what the library makes
// to lie beside it, and Go's heap is far away: a kernel that reads an array of NumPy's and makes one as large would copy one of them.
const nearFrom = 128 << 10

// allocate makes memory of undefined contents, which programs of a device write: there, if it has memory of its own.
func (c *Context) allocate(size uintptr, device string) (*memory, error) {
	if !c.ownMemory(device) {
		return c.hostMemory(size, device)
	}
	inUse.Add(int64(size))
	return &memory{size: size, mapped: size >= pages.HugeFrom, array: exec.NewArray(int64(size), false)}, nil
}

// hostMemory is allocate, at a place that suits a device.
func (c *Context) hostMemory(size uintptr, device string) (*memory, error) {
	mapped := size >= pages.HugeFrom
	if !mapped && size >= nearFrom {
		_, mapped = c.memoryOf(device)
	}
	return allocateAs(size, mapped)
}

// take takes host memory of undefined contents.
func (m *memory) take() error {
	if m.mapped {
		p, err := pages.Freed.Take(m.size)
		if err != nil {
			return noMemory(m.size)
		}
		m.data = pages.Pointer(p)
		return nil
	}
	class := sizeClass(m.size)
	p, ok := small[class].Get().(unsafe.Pointer)
	if !ok {
		p = aligned(uintptr(alignment) << class)
	}
	m.data = p
	return nil
}

// noMemory is the error of an allocation that failed, with advice if tensors hold most of the memory.
func noMemory(size uintptr) error {
	if held := inUse.Load(); held >= 1<<30 {
		return fmt.Errorf("memory: none for %d bytes: tensors hold %d MiB; release those that are not needed", size, held>>20)
	}
	return fmt.Errorf("memory: none for %d bytes", size)
}

func sizeClass(size uintptr) (class int) {
	for uintptr(alignment)<<class < size {
		class++
	}
	return class
}

// aligned is memory of Go's heap that begins at a cache line.
func aligned(size uintptr) unsafe.Pointer {
	b := unsafe.Pointer(unsafe.SliceData(make([]byte, size+alignment)))
	return unsafe.Add(b, -uintptr(b)&(alignment-1))
}

// free returns memory, or ends the use of a host's memory.
func (m *memory) free() {
	hostMu.Lock()
	pinned := m.pins > 0
	m.freed = pinned
	if l, lent := m.owner.(hostToken); lent && !pinned {
		l.ctx.released = append(l.ctx.released, l.token)
	}
	hostMu.Unlock()
	if pinned {
		return
	}
	if m.owner == nil && (m.data != nil || m.array != nil) {
		inUse.Add(-int64(m.size))
	}
	m.leaveDevice()
	switch {
	case m.owner != nil || m.data == nil:
	case m.mapped:
		pages.Freed.Give(uintptr(m.data), m.size)
	default:
		small[sizeClass(m.size)].Put(m.data)
	}
	m.data, m.owner = nil, nil
}

// A hostToken owns memory shared by a host: Context.Released returns the token when the memory is no longer in use.
type hostToken struct {
	ctx   *Context
	token uint64
}

// A Pin keeps the memory of a variable alive while a host uses it.
type Pin struct{ m *memory }

// pin counts a host that uses the memory.
func (m *memory) pin() *Pin {
	hostMu.Lock()
	defer hostMu.Unlock()
	m.pins++
	return &Pin{m}
}

// Free ends the use by the host. It needs no lock of the context, which may have been freed.
func (p *Pin) Free() {
	hostMu.Lock()
	p.m.pins--
	last := p.m.pins == 0 && p.m.freed
	hostMu.Unlock()
	if last {
		p.m.free()
	}
}

// room is the host's memory, which may have older elements than the device.
func (m *memory) room() ([]byte, error) {
	if m.data == nil {
		if err := m.take(); err != nil {
			return nil, err
		}
	}
	return unsafe.Slice((*byte)(m.data), m.size), nil
}

// bytes are the elements in the host's memory, copied from the device if newer ones are there.
func (m *memory) bytes() ([]byte, error) {
	b, err := m.room()
	if m.array == nil || err != nil {
		return b, err
	}
	return b, m.array.Read(b)
}

// change is bytes for a caller that changes them.
func (m *memory) change() ([]byte, error) {
	b, err := m.bytes()
	if m.array != nil && err == nil {
		m.array.Written()
	}
	return b, err
}

// onDevice reports whether the elements are only on a device.
func (m *memory) onDevice() bool { return m.array != nil && m.array.OnDevice() }

// leaveDevice frees the memory on the device; the elements in it are lost.
func (m *memory) leaveDevice() {
	if m.array != nil {
		m.array.Free()
		m.array = nil
	}
}

// toHost moves the elements to the host, which may write them at any time from now on.
func (m *memory) toHost() error {
	_, err := m.bytes()
	if err == nil {
		m.leaveDevice()
	}
	return err
}

// binding binds a buffer to the memory: to that on the device if that has its own, unless a host uses the memory.
func (m *memory) binding(b *uop.UOp, own bool) (exec.Binding, error) {
	switch {
	case !own || m.shared():
		if m.array == nil {
			break
		}
		if err := m.toHost(); err != nil {
			return exec.Binding{}, err
		}
	case m.array == nil:
		m.array = exec.NewArray(int64(m.size), true)
	}
	return exec.Binding{Buffer: b, Ptr: m.data, Bytes: int64(m.size), Array: m.array}, nil
}

// copyFrom copies the elements of other memory of the same size, on the device if they are there.
func (m *memory) copyFrom(other *memory) error {
	if other.onDevice() && m.array != nil {
		if ok, err := m.array.CopyFrom(other.array); ok || err != nil {
			return err
		}
	}
	from, err := other.bytes()
	if err != nil {
		return err
	}
	to, err := m.change()
	copy(to, from)
	return err
}

// copied is a copy of shared memory, by the library's own.
func (m *memory) copied() (*memory, error) {
	c, err := allocate(m.size)
	if err == nil {
		copy(unsafe.Slice((*byte)(c.data), m.size), unsafe.Slice((*byte)(m.data), m.size))
	}
	return c, err
}

// sizeOf is the number of bytes of the elements of a type and shape.
func sizeOf(n int64, dt *uop.DType) uintptr { return uintptr(n) * uintptr(dt.Itemsize()) }
