package guard

import (
	"fmt"
	"runtime/debug"
	"testing"
	"unsafe"
)

var placed = []struct {
	size  int
	side  Side
	shift int
}{{0, End, 0}, {1, End, 0}, {100, End, 0}, {100, Begin, 0}, {4096, Begin, 0}, {4097, End, 4}, {10, Begin, 12}}

func TestBlocks(t *testing.T) {
	for _, c := range placed {
		b, err := New(c.size, c.side, c.shift)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Data) != c.size {
			t.Errorf("%v: %d bytes", c, len(b.Data))
		}
		for i := range b.Data {
			b.Data[i] = byte(i)
		}
		if err := b.Check(); err != nil {
			t.Errorf("%v: %v after its own bytes were written", c, err)
		}
		if b.at > 0 {
			*(*byte)(unsafe.Add(b.Pointer(), -1)) = 0
			if b.Check() == nil {
				t.Errorf("%v: nothing told of a byte before it", c)
			}
		}
		b.Free()
	}
}

// touch reads a byte and reports whether that can be done.
func touch(p unsafe.Pointer) (fault error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Errorf("%v", r)
		}
	}()
	sink = *(*byte)(p)
	return nil
}

var sink byte

func TestNothingBesideCanBeTouched(t *testing.T) {
	for _, c := range placed {
		b, err := New(c.size, c.side, c.shift)
		if err != nil {
			t.Fatal(err)
		}
		outside := unsafe.Add(b.Pointer(), c.size+c.shift)
		if c.side == Begin {
			outside = unsafe.Add(b.Pointer(), -c.shift-1)
		}
		if touch(outside) == nil {
			t.Errorf("%v: the page beside it can be read", c)
		}
		if c.size > 0 {
			if err := touch(b.Pointer()); err != nil {
				t.Errorf("%v: %v", c, err)
			}
		}
		b.Free()
	}
}
