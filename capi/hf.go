package main

/*
#include <stdint.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/core/model"
	"polygrad/exec"
)

//export go_poly_hf_load
func go_poly_hf_load(config *C.char, configLen C.int, files **C.uint8_t, lens *C.int64_t, n, batch, seq C.int) C.uintptr_t {
	return makeInstance("poly_hf_load", func(e *exec.Executor) (*model.Instance, error) {
		json, err := block("config", unsafe.Pointer(config), configLen)
		if err != nil {
			return nil, err
		}
		if n < 0 || n > 0 && (files == nil || lens == nil) {
			return nil, wrong("files", "%d files at NULL", n)
		}
		contents := make([][]byte, n)
		for i := range contents {
			p, size := unsafe.Slice(files, n)[i], unsafe.Slice(lens, n)[i]
			if size < 0 || size > 0 && p == nil {
				return nil, wrong(indexed("files", i), "%d bytes at NULL", size)
			}
			contents[i] = unsafe.Slice((*byte)(unsafe.Pointer(p)), size)
		}
		if batch < 1 || seq < 0 {
			return nil, wrong("batch", "%d with sequences of %d, expected 1 or more, and 0 or more", batch, seq)
		}
		return model.LoadHF(e, json, contents, int64(batch), int64(seq))
	})
}
