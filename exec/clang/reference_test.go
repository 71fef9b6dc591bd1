package clang

import (
	"testing"

	"polygrad/core/lower"
	"polygrad/core/uop"
	"polygrad/tests/parity/replay"
)

const data = "../../tests/parity/testdata"

func TestReferenceKernels(t *testing.T) {
	d, err := New()
	if err != nil {
		t.Skip(err)
	}
	for _, set := range []string{"golden", "cases", "opt"} {
		replay.All(t, data, set, func(name string, list []*uop.UOp) (replay.Kernel, error) {
			ks, err := d.Compile([]*lower.Program{{Name: name, Linear: list}})
			if err != nil {
				return nil, err
			}
			return ks[0].Run, nil
		})
	}
}
