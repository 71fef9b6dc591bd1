package wasm

import (
	"testing"

	"polygrad/core/uop"
	render "polygrad/render/wasm"
	"polygrad/tests/parity/replay"
)

const data = "../../tests/parity/testdata"

// TestReferenceKernels runs the lists of the reference data, with and without
// bounds checks.
func TestReferenceKernels(t *testing.T) {
	for _, opt := range []render.Options{{}, {Check: true}} {
		for _, set := range []string{"golden", "cases", "opt"} {
			replay.All(t, data, set, func(name string, list []*uop.UOp) (replay.Kernel, error) {
				r, err := render.Render(name, list, opt)
				if err != nil {
					return nil, err
				}
				ks, err := Compile(r)
				if err != nil {
					return nil, err
				}
				return ks[0].Run, nil
			})
		}
	}
}
