//go:build !race

package device

import "unsafe"

func copyBytes(to, from unsafe.Pointer, n int64) {
	copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
}
