package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// What is allocated once the first memory of the heap is used up has huge pages, and the block that they were asked for with is free.
func TestEarlyHeapHasHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip(err)
	}
	enlargePages()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > earlyHeap {
		t.Errorf("%d bytes of the heap are in use, expected less than %d", m.HeapAlloc, earlyHeap)
	}
	var blocks [][]byte
	for range 64 {
		block := make([]byte, 256<<10)
		if blocks = append(blocks, block); strings.Contains(flagsAt(t, uintptr(unsafe.Pointer(&block[0]))), " hg") {
			return
		}
	}
	t.Errorf("none of %d blocks of 256 KiB has huge pages", len(blocks))
}

// flagsAt are the flags of the mapping of an address.
func flagsAt(t *testing.T, p uintptr) string {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	here := false
	for s := bufio.NewScanner(f); s.Scan(); {
		var from, to uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &from, &to); n == 2 {
			here = from <= p && p < to
		} else if rest, is := strings.CutPrefix(s.Text(), "VmFlags:"); is && here {
			return rest
		}
	}
	return ""
}
