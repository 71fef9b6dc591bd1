package ir

// ScratchMemory allocates the scratch memory of a kernel.
type ScratchMemory struct {
	// Bytes is the number of allocated bytes, a multiple of 64.
	Bytes int64
	// Shared is the number of allocated bytes of workgroup memory.
	Shared  int64
	buffers int32
}

// New allocates a buffer.
func (m *ScratchMemory) New(k Kind, size int64) *Buffer {
	m.buffers++
	b := &Buffer{ID: 1<<20 + m.buffers, Kind: k, Size: size, Param: -1, Offset: m.Bytes}
	m.Bytes += (size*k.Size() + 63) &^ 63
	return b
}

// NewUpdated allocates a buffer that is read as well as written.
func (m *ScratchMemory) NewUpdated(k Kind, size int64) *Buffer {
	b := m.New(k, size)
	b.Read, b.Written = true, true
	return b
}

// NewShared allocates a buffer of vectors of four elements in the memory of a workgroup.
func (m *ScratchMemory) NewShared(k Kind, quads int64) *Buffer {
	m.buffers++
	m.Shared += 4 * quads * k.Size()
	return &Buffer{ID: 1<<20 + m.buffers, Kind: k, Size: 4 * quads, Param: -1, Shared: true, Read: true, Written: true}
}

// GrowShared enlarges a buffer of NewShared.
func (m *ScratchMemory) GrowShared(b *Buffer, quads int64) {
	if more := 4*quads - b.Size; more > 0 {
		m.Shared += more * b.Kind.Size()
		b.Size += more
	}
}
