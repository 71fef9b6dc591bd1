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
)

// Sort is the code that sorts rows of length unsigned numbers of 4 or 8 bytes: its buffers are the sorted numbers, and the others. It
// needs AVX-512.
func Sort(name string, rows, length int64, size int) (Spec, error) {
	var entry uintptr
	switch size {
	case 4:
		entry = uintptr(C.poly_native_sort_address32())
	case 8:
		entry = uintptr(C.poly_native_sort_address64())
	default:
		return Spec{}, fmt.Errorf("code.Sort: %s: got numbers of %d bytes, expected 4 or 8", name, size)
	}
	// mov rsi, length; mov rax, entry; jmp rax
	text := binary.LittleEndian.AppendUint64([]byte{0x48, 0xbe}, uint64(length))
	text = binary.LittleEndian.AppendUint64(append(text, 0x48, 0xb8), uint64(entry))
	text = append(text, 0xff, 0xe0)
	bytes := float64(rows * length * int64(size))
	passes := max(1, bits.Len64(uint64(length))-7)
	return Spec{
		Name: name, Text: text, Buffers: 2, Items: rows, Scratch: length * int64(size), Calls: true,
		Flops: bytes * float64(2+2*passes), Bytes: bytes * float64(1+passes),
	}, nil
}
