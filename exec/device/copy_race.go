//go:build race

package device

import "unsafe"

// copyBytes avoids copy, which reports its writes to the race detector. Arenas may lie between parts of Go's heap, where the
// detector faults on memory that it does not know.
//
//go:norace
func copyBytes(to, from unsafe.Pointer, n int64) {
	const word = 8
	i := int64(0)
	for ; i+word <= n; i += word {
		*(*[word]byte)(unsafe.Add(to, i)) = *(*[word]byte)(unsafe.Add(from, i))
	}
	for ; i < n; i++ {
		*(*byte)(unsafe.Add(to, i)) = *(*byte)(unsafe.Add(from, i))
	}
}
