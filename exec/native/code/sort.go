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

// Sorting is a kernel that sorts rows of Length numbers of Bytes bytes, 4 or 8: its buffers are the sorted numbers, and the others.
type Sorting struct {
	Name         string
	Rows, Length int64
	Bytes        int
	Kind         SortKind
	// Vector is the size of vectors in bytes: 64, which needs AVX-512, or 32, which needs AVX2.
	Vector int
}

// SortKind is the kind of numbers, unsigned ones if neither floats nor signed, and their order; NaN is the greatest number.
type SortKind uint32

const (
	SortFloats     SortKind = C.POLY_FLOATS
	SortSigned     SortKind = C.POLY_SIGNED
	SortDescending SortKind = C.POLY_DESCENDING
)

// sharedFrom is the length of the shortest row that threads share, where there are fewer rows than threads.
const sharedFrom = 1 << 16

// Specs is the code: one kernel, or those of NewShared.
func (s Sorting) Specs() ([]Spec, error) {
	if s.Bytes != 4 && s.Bytes != 8 {
		return nil, fmt.Errorf("code.Sorting: %s: got numbers of %d bytes, expected 4 or 8", s.Name, s.Bytes)
	}
	bytes := float64(s.Rows * s.Length * int64(s.Bytes))
	passes := float64(max(1, bits.Len64(uint64(s.Length))-7))
	if s.Rows >= int64(threads) || s.Length < sharedFrom {
		return []Spec{{
			Name: s.Name, Text: s.call(0, 0), Buffers: 2, Items: s.Rows, Scratch: s.Length * int64(s.Bytes), Calls: true,
			Flops: bytes * (2 + 2*passes), Bytes: bytes * (1 + passes),
		}}, nil
	}
	bytes /= float64(s.Rows)
	var out []Spec
	for step, work := range []float64{1 / float64(s.Length), 1, 2, 1 + passes} {
		spec := Spec{
			Name: fmt.Sprint(s.Name, "_", step), Text: s.call(1, step), Buffers: 4, Items: s.parts(), Calls: true,
			Flops: bytes * 2 * work, Bytes: bytes * work,
		}
		if step == 0 {
			spec.Items = 1
		}
		out = append(out, spec)
	}
	return out, nil
}

// parts is the number of parts of a row that threads share: for more than two threads twice as many as threads, as parts differ in size.
func (s Sorting) parts() int64 {
	if threads <= 2 {
		return 2
	}
	return int64(min(2*threads, C.POLY_MOST_PARTS))
}

// call is machine code that calls the C function of sorts with four more arguments: for whole rows, or for one step of a row that threads share.
func (s Sorting) call(shared, step int) []byte {
	entry := C.poly_native_sort_address(C.int(s.Vector), C.int(s.Bytes), C.int(shared))
	// mov rsi, length; mov edx, kind; mov ecx, parts; mov r8d, step; mov rax, entry; jmp rax
	text := binary.LittleEndian.AppendUint64([]byte{0x48, 0xbe}, uint64(s.Length))
	text = binary.LittleEndian.AppendUint32(append(text, 0xba), uint32(s.Kind))
	text = binary.LittleEndian.AppendUint32(append(text, 0xb9), uint32(s.parts()))
	text = binary.LittleEndian.AppendUint32(append(text, 0x41, 0xb8), uint32(step))
	text = binary.LittleEndian.AppendUint64(append(text, 0x48, 0xb8), uint64(entry))
	return append(text, 0xff, 0xe0)
}

// Shared sorts rows that threads share: each thread counts the elements of each part in its share of a row and moves them there, then sorts a part.
type Shared struct {
	of    Sorting
	steps []*Kernel
}

// NewShared is the kernel of several.
func (s Sorting) NewShared(steps []*Kernel) *Shared { return &Shared{s, steps} }

// CodeBytes is the size of the code.
func (p *Shared) CodeBytes() (n int64) {
	for _, k := range p.steps {
		n += k.CodeBytes()
	}
	return n
}

// Run sorts row after row.
func (p *Shared) Run(bufs []unsafe.Pointer, vars []int64) error {
	if len(bufs) != 2 || len(vars) > 0 {
		return fmt.Errorf("code.Shared.Run: %s: got %d buffers and %d variables, expected 2 and 0", p.of.Name, len(bufs), len(vars))
	}
	row, parts := p.of.Length*int64(p.of.Bytes), int(p.of.parts())
	w, err := takeWorkspace(parts*(parts+1), aligned(row))
	if err != nil {
		return fmt.Errorf("code.Shared.Run: %s: %w", p.of.Name, err)
	}
	defer w.give()
	// Addresses are numbers here: the memory is not Go's, or its owner keeps it in place.
	other, table := pages.Pointer(w.memory), unsafe.Pointer(&w.args[0])
	for i := range p.of.Rows {
		args := []unsafe.Pointer{unsafe.Add(bufs[0], i*row), other, unsafe.Add(bufs[1], i*row), table}
		for _, k := range p.steps {
			if err := k.Run(args, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
