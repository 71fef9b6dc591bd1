//go:build race

package device

import "unsafe"

// copyBytes does without copy, which tells the race detector what it writes. Arenas may lie between parts of Go's
// heap, where the detector takes all memory for Go's and faults on what it was not told of.
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
