package main

import (
	"unsafe"

	"polygrad/exec"
	"polygrad/model"
)

func poly_bundle_encode(ir *byte, irLen int32, weights *byte, weightsLen int32, meta *byte, n *int32) *byte {
	if n != nil {
		*n = 0
	}
	return withoutContext("poly_bundle_encode", nil, func() (*byte, error) {
		b, err := bytesFrom("ir", unsafe.Pointer(ir), int64(irLen))
		if err == nil && len(b) == 0 {
			err = badArg("ir", "is empty")
		}
		if err != nil {
			return nil, err
		}
		w := must(bytesFrom("weights", unsafe.Pointer(weights), int64(weightsLen)))
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

func poly_bundle_decode(data *byte, n int32, out *bundleSections) int32 {
	return withoutContext("poly_bundle_decode", -1, func() (int32, error) {
		if out == nil {
			return -1, badArg("out", "is NULL")
		}
		b := must(bytesFrom("data", unsafe.Pointer(data), int64(n)))
		sections, flags, err := model.DecodeBundle(b)
		if err != nil {
			return -1, err
		}
		found := bundleSections{version: 1, flags: flags}
		for _, s := range sections {
			p, size := unsafe.SliceData(s.Data), int32(len(s.Data))
			switch {
			case s.Type == model.SectionIR && found.ir == nil:
				found.ir, found.ir_len = p, size
			case s.Type == model.SectionWeights && found.weights == nil:
				found.weights, found.weights_len = p, size
			case s.Type == model.SectionMetadata && found.meta == nil:
				found.meta, found.meta_len = (*byte)(unsafe.Pointer(p)), size
			}
		}
		store(out, found)
		return 0, nil
	})
}

func poly_init_param_kaiming(seed uint64, name *byte, data *float32, n, fanIn int64) {
	if data != nil && n > 0 && fanIn > 0 {
		model.InitKaiming(seed, goString(name), unsafe.Slice(data, n), fanIn)
	}
}

func poly_gpt2_build(c *gpt2Config, batch int32) uintptr {
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
