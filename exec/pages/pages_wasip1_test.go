package pages

import (
	"slices"
	"testing"
	"unsafe"
)

func reserve(t *testing.T, n uintptr) uintptr {
	t.Helper()
	p, err := Reserve(0, n)
	if err != nil {
		t.Fatal(err)
	}
	b := unsafe.Slice((*byte)(Pointer(p)), n)
	if p%line != 0 || slices.ContainsFunc(b, func(v byte) bool { return v != 0 }) {
		t.Errorf("%d bytes at %#x begin at no cache line or are not zero", n, p)
	}
	b[0], b[n-1] = 1, 1
	return p
}

func release(t *testing.T, p, n uintptr) {
	t.Helper()
	if err := Release(p, n); err != nil {
		t.Fatal(err)
	}
}

// TestRangesJoin: released neighbours are one range again, in whatever order they are released.
func TestRangesJoin(t *testing.T) {
	const n, parts = 1 << 20, 16
	p := reserve(t, n)
	release(t, p, n)
	before := slices.Clone(free.ranges)
	for _, step := range []int{1, 3, 5, 15} {
		var all []uintptr
		for range parts {
			all = append(all, reserve(t, n/parts))
		}
		for i := range parts {
			release(t, all[i*step%parts], n/parts)
		}
		if !slices.Equal(free.ranges, before) {
			t.Fatalf("free are %v, expected %v", free.ranges, before)
		}
	}
}

// TestGrowingSizes: memory that grows and is freed each time takes no more than the largest size needs.
func TestGrowingSizes(t *testing.T) {
	var most uintptr
	for n := uintptr(1 << 20); n <= 64<<20; n += 1 << 20 {
		p := reserve(t, n)
		most = max(most, p+n)
		release(t, p, n)
	}
	lowest := free.ranges[0].at
	if used := most - lowest; used > 66<<20 {
		t.Errorf("%d bytes were needed for 64 MiB", used)
	}
}

// TestNoMemory: a request that cannot be satisfied is an error, and memory that is idle is used for one that can.
func TestNoMemory(t *testing.T) {
	if _, err := Reserve(0, 5<<30); err == nil {
		t.Error("5 GiB were found in 4")
	}
	p, err := Freed.Take(256 << 20)
	if err != nil {
		t.Fatal(err)
	}
	Freed.Give(p, 256<<20)
	const most = 3840 << 20
	at, err := Reserve(0, most)
	if err != nil {
		t.Fatalf("%d bytes beside what is idle: %v", most, err)
	}
	if at > p {
		t.Errorf("%d bytes are at %#x, expected them to begin with what was idle at %#x", most, at, p)
	}
	release(t, at, most)
}
