// Package guard gives tests memory beside which nothing can be touched: what reads or writes outside of it dies there.
package guard

import (
	"fmt"
	"testing"
	"unsafe"
)

// Side says where memory lies between two pages that must not be touched.
type Side int

const (
	// End is right before the second page: what comes after the last element is never touched.
	End Side = iota
	// Begin is right behind the first page: what comes before the first element is never touched.
	Begin
)

// Block is memory between two pages that must not be touched. What lies between it and them is filled with ones (which
// make floats that are not numbers), and has to stay so.
type Block struct {
	// Data is the memory, zeroed.
	Data []byte

	mapped []byte // all of it, with the two pages
	room   []byte // what is between them
	at     int    // of Data in room
}

// filling is what is beside the memory.
const filling = 0xff

// New makes memory of some bytes that is shift bytes away from the page on that side.
func New(size int, side Side, shift int) (*Block, error) {
	mapped, room, err := reserve(size + shift)
	if err != nil {
		return nil, fmt.Errorf("guard.New: %d bytes: %w", size, err)
	}
	b := &Block{mapped: mapped, room: room, at: shift}
	if side == End {
		b.at = len(room) - size - shift
	}
	b.Data = room[b.at : b.at+size : b.at+size]
	b.eachBeside(func(p *byte) bool { *p = filling; return true })
	return b, nil
}

// For is the pointer to new memory that is checked and freed when a test ends.
func For(t testing.TB, size int, side Side, shift int) unsafe.Pointer {
	t.Helper()
	b, err := New(size, side, shift)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Check(); err != nil {
			t.Error(err)
		}
		b.Free()
	})
	return b.Pointer()
}

// Pointer is where the memory begins, also if it has no bytes.
func (b *Block) Pointer() unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(b.room)), b.at)
}

// Check tells whether something beside the memory was written.
func (b *Block) Check() (err error) {
	b.eachBeside(func(p *byte) bool {
		if *p != filling {
			at := int(uintptr(unsafe.Pointer(p))-uintptr(unsafe.Pointer(unsafe.SliceData(b.room)))) - b.at
			err = fmt.Errorf("byte %d of %d was written: it is %#x", at, len(b.Data), *p)
		}
		return err == nil
	})
	return err
}

// eachBeside calls f for the bytes that are beside the memory, until it returns false.
func (b *Block) eachBeside(f func(p *byte) bool) {
	for _, part := range [][]byte{b.room[:b.at], b.room[b.at+len(b.Data):]} {
		for i := range part {
			if !f(&part[i]) {
				return
			}
		}
	}
}

// Slice is memory for n elements that is checked and freed when a test ends. Place chooses where it lies: the numbers
// 0 to 5 stand for the end and the beginning, with nothing or one or two elements between it and the page.
func Slice[V any](t testing.TB, n, place int) []V {
	t.Helper()
	var v V
	size := int(unsafe.Sizeof(v))
	p := For(t, n*size, Side(place%2), place/2%3*size)
	return unsafe.Slice((*V)(p), n)
}
