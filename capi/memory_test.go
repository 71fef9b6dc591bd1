package main

import (
	"testing"
	"unsafe"
)

func TestAllocate(t *testing.T) {
	if p, err := allocate(0); p != nil || err != nil {
		t.Errorf("memory of 0 bytes: got %p, %v", p, err)
	}
	for n := uintptr(1); n < 20_000_000; n += 1 + n/2 {
		p, err := allocate(n)
		if err != nil {
			t.Fatal(err)
		}
		if uintptr(p)%alignment != 0 {
			t.Fatalf("%d bytes lie at %p, expected a multiple of %d", n, p, alignment)
		}
		mem := unsafe.Slice((*byte)(p), n)
		mem[0], mem[n-1] = 1, 1
		free(p, n)
	}
}
