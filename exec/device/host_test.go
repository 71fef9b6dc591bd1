package device

import (
	"os"
	"testing"
	"unsafe"
)

// Masked loads may begin before a buffer and end behind it.
func TestAllocateLeavesMargins(t *testing.T) {
	for _, n := range []int64{1, 100, int64(os.Getpagesize()) - margin, int64(os.Getpagesize()), 5 << 20} {
		b, err := Host{}.Allocate(n)
		if err != nil {
			t.Fatal(err)
		}
		sum := byte(0)
		for i := range int64(margin) {
			sum += *(*byte)(unsafe.Add(b.Pointer(), -1-i)) + *(*byte)(unsafe.Add(b.Pointer(), n+i))
		}
		if sum != 0 || uintptr(b.Pointer())%margin != 0 {
			t.Errorf("%d bytes at %p: the margins add up to %d", n, b.Pointer(), sum)
		}
		if err := (Host{}).Free(b, n); err != nil {
			t.Error(err)
		}
	}
}
