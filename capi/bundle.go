package main

/*
#include <stdlib.h>
#include "../include/polygrad.h"
*/
import "C"

import (
	"unsafe"

	"polygrad/exec"
	"polygrad/model"
)

//export go_poly_bundle_encode
func go_poly_bundle_encode(ir *C.uint8_t, irLen C.int, weights *C.uint8_t, weightsLen C.int, meta *C.char, n *C.int) *C.uint8_t {
	if n != nil {
		*n = 0
	}
	return withoutContext("poly_bundle_encode", nil, func() (*C.uint8_t, error) {
		b, err := bytesFrom("ir", unsafe.Pointer(ir), C.int64_t(irLen))
		if err == nil && len(b) == 0 {
			err = badArg("ir", "is empty")
		}
		if err != nil {
			return nil, err
		}
		w := must(bytesFrom("weights", unsafe.Pointer(weights), C.int64_t(weightsLen)))
		sections := []model.Section{{Type: model.SectionIR, Data: b}}
		if weights != nil {
			sections = append(sections, model.Section{Type: model.SectionWeights, Data: w})
		}
		if meta != nil {
			sections = append(sections, model.Section{Type: model.SectionMetadata, Data: []byte(goString(meta))})
		}
		out := must(model.EncodeBundle(sections))
		return copyToC(out, n)
	})
}

//export go_poly_bundle_decode
func go_poly_bundle_decode(data *C.uint8_t, n C.int, out *C.PolyBundleSections) C.int {
	return withoutContext("poly_bundle_decode", -1, func() (C.int, error) {
		if out == nil {
			return -1, badArg("out", "is NULL")
		}
		b := must(bytesFrom("data", unsafe.Pointer(data), C.int64_t(n)))
		sections, flags, err := model.DecodeBundle(b)
		if err != nil {
			return -1, err
		}
		*out = C.PolyBundleSections{version: 1, flags: C.uint32_t(flags)}
		for _, s := range sections {
			p, size := (*C.uint8_t)(unsafe.SliceData(s.Data)), C.int32_t(len(s.Data))
			switch {
			case s.Type == model.SectionIR && out.ir == nil:
				out.ir, out.ir_len = p, size
			case s.Type == model.SectionWeights && out.weights == nil:
				out.weights, out.weights_len = p, size
			case s.Type == model.SectionMetadata && out.meta == nil:
				out.meta, out.meta_len = (*C.char)(unsafe.Pointer(p)), size
			}
		}
		return 0, nil
	})
}

//export go_poly_init_param_kaiming
func go_poly_init_param_kaiming(seed C.uint64_t, name *C.char, data *C.float, n, fanIn C.int64_t) {
	if data != nil && n > 0 && fanIn > 0 {
		model.InitKaiming(uint64(seed), goString(name), unsafe.Slice((*float32)(data), n), int64(fanIn))
	}
}

//export go_poly_gpt2_build
func go_poly_gpt2_build(c *C.GPT2Config, batch C.int) C.uintptr_t {
	return newInstance("poly_gpt2_build", func(e *exec.Executor) (*model.Instance, error) {
		if c == nil {
			return nil, badArg("config", "is NULL")
		}
		return model.NewGPT2(e, model.GPT2Config{
			Vocab: int64(c.vocab_size), Embd: int64(c.n_embd), Head: int64(c.n_head), Layer: int64(c.n_layer),
			MaxSeq: int64(c.max_seq_len), NormEps: float64(c.norm_eps),
		}, int64(batch))
	})
}
