package main

import (
	"testing"
	"unsafe"
)

func TestAllocate(t *testing.T) {
	if allocate(0) != nil {
		t.Error("memory of 0 bytes is somewhere")
	}
	for n := uintptr(1); n < 100_000; n += 1 + n/7 {
		p := allocate(n)
		if uintptr(p)%alignment != 0 {
			t.Fatalf("%d bytes lie at %p, expected a multiple of %d", n, p, alignment)
		}
		for i, b := range unsafe.Slice((*byte)(p), n) {
			if b != 0 {
				t.Fatalf("byte %d of %d is %d", i, n, b)
			}
		}
	}
}
