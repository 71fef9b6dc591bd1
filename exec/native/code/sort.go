//go:build linux && amd64 && cgo

package code

/*
#include "sort.h"
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"

	"polygrad/exec/pages"
)

// Sorting is a kernel that sorts rows of Length unsigned numbers of Bytes bytes, 4 or 8: its buffers are the sorted numbers, and the others. It
// needs AVX-512.
type Sorting struct {
	Name         string
	Rows, Length int64
	Bytes        int
}

// sharedFrom is the length of the shortest row that threads share, where there are fewer rows than threads.
const sharedFrom = 1 << 16

// Specs is the code: one kernel, or two, for NewParted.
func (s Sorting) Specs() ([]Spec, error) {
	type entries struct{ sort, cut, parts C.uintptr_t }
	var e entries
	switch s.Bytes {
	case 4:
		e = entries{C.poly_native_sort_address32(), C.poly_native_cut_address32(), C.poly_native_sort_parts_address32()}
	case 8:
		e = entries{C.poly_native_sort_address64(), C.poly_native_cut_address64(), C.poly_native_sort_parts_address64()}
	default:
		return nil, fmt.Errorf("code.Sorting: %s: got numbers of %d bytes, expected 4 or 8", s.Name, s.Bytes)
	}
	bytes := float64(s.Rows * s.Length * int64(s.Bytes))
	passes := max(1, bits.Len64(uint64(s.Length))-7)
	spec := Spec{
		Name: s.Name, Text: s.call(e.sort, 0), Buffers: 2, Items: s.Rows, Scratch: s.Length * int64(s.Bytes), Calls: true,
		Flops: bytes * float64(2+2*passes), Bytes: bytes * float64(1+passes),
	}
	if s.Rows >= int64(threads) || s.Length < sharedFrom {
		return []Spec{spec}, nil
	}
	times := 2
	if threads > 2 {
		times = 4
	}
	cut := Spec{Name: s.Name + "_cut", Text: s.call(e.cut, times), Buffers: 4, Items: 1, Calls: true, Flops: bytes * 8, Bytes: bytes * 4}
	spec.Text, spec.Buffers, spec.Items, spec.Scratch = s.call(e.parts, 0), 3, 1<<times, 0
	return []Spec{cut, spec}, nil
}

// call is code that calls a function with two more arguments.
func (s Sorting) call(entry C.uintptr_t, times int) []byte {
	// mov rsi, length; mov edx, times; mov rax, entry; jmp rax
	text := binary.LittleEndian.AppendUint64([]byte{0x48, 0xbe}, uint64(s.Length))
	text = binary.LittleEndian.AppendUint32(append(text, 0xba), uint32(times))
	text = binary.LittleEndian.AppendUint64(append(text, 0x48, 0xb8), uint64(entry))
	return append(text, 0xff, 0xe0)
}

// Parted sorts rows whose parts threads share: what is less comes first, then each part is sorted.
type Parted struct {
	of         Sorting
	cut, parts *Kernel
}

// NewParted is the kernel of two.
func (s Sorting) NewParted(cut, parts *Kernel) *Parted { return &Parted{s, cut, parts} }

// CodeBytes is the size of the code.
func (p *Parted) CodeBytes() int64 { return p.cut.CodeBytes() + p.parts.CodeBytes() }

// Run sorts row after row.
func (p *Parted) Run(bufs []unsafe.Pointer, vars []int64) error {
	if len(bufs) != 2 || len(vars) > 0 {
		return fmt.Errorf("code.Parted.Run: %s: got %d buffers and %d variables, expected 2 and 0", p.of.Name, len(bufs), len(vars))
	}
	row := p.of.Length * int64(p.of.Bytes)
	w, err := takeWorkspace(int(p.parts.c.items)+1, aligned(row))
	if err != nil {
		return fmt.Errorf("code.Parted.Run: %s: %w", p.of.Name, err)
	}
	defer w.give()
	// Addresses are numbers here: the memory is not Go's, or its owner keeps it in place.
	other, bounds := pages.Pointer(w.memory), unsafe.Pointer(&w.args[0])
	for i := range p.of.Rows {
		to, from := unsafe.Add(bufs[0], i*row), unsafe.Add(bufs[1], i*row)
		if err := p.cut.Run([]unsafe.Pointer{other, to, from, bounds}, nil); err != nil {
			return err
		}
		if err := p.parts.Run([]unsafe.Pointer{to, other, bounds}, nil); err != nil {
			return err
		}
	}
	return nil
}
