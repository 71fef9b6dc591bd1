package ir

// ScratchMemory gives out pieces of the scratch memory of a kernel.
type ScratchMemory struct {
	// Bytes is how many are given out, a multiple of 64.
	Bytes int64
	// Shared is how many bytes are given out of what the invocations of a workgroup share.
	Shared  int64
	buffers int32
}

// New is a buffer of so many elements.
func (m *ScratchMemory) New(k Kind, size int64) *Buffer {
	m.buffers++
	b := &Buffer{ID: 1<<20 + m.buffers, Kind: k, Size: size, Param: -1, Offset: m.Bytes}
	m.Bytes += (size*k.Size() + 63) &^ 63
	return b
}

// NewUpdated is one that is read as well as written.
func (m *ScratchMemory) NewUpdated(k Kind, size int64) *Buffer {
	b := m.New(k, size)
	b.Read, b.Written = true, true
	return b
}

// NewShared is a buffer of so many vectors of four elements that the invocations of a workgroup share.
func (m *ScratchMemory) NewShared(k Kind, quads int64) *Buffer {
	m.buffers++
	m.Shared += 4 * quads * k.Size()
	return &Buffer{ID: 1<<20 + m.buffers, Kind: k, Size: 4 * quads, Param: -1, Shared: true, Read: true, Written: true}
}

// GrowShared makes a buffer of NewShared one of so many vectors at least.
func (m *ScratchMemory) GrowShared(b *Buffer, quads int64) {
	if more := 4*quads - b.Size; more > 0 {
		m.Shared += more * b.Kind.Size()
		b.Size += more
	}
}
