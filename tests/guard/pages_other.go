//go:build !unix

package guard

// reserve takes memory for some bytes, where pages cannot be shut, with room beside them in which writing shows.
func reserve(size int) (mapped, room []byte, err error) {
	const beside = 4096
	room = make([]byte, size+2*beside)
	return room, room, nil
}

// Free leaves the memory to the collector.
func (b *Block) Free() {}
