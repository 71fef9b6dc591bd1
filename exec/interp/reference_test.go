package interp

import (
	"testing"

	"polygrad/core/uop"
	"polygrad/tests/parity/replay"
)

const data = "../../tests/parity/testdata"

func TestReferenceKernels(t *testing.T) {
	for _, set := range []string{"golden", "cases", "opt"} {
		replay.All(t, data, set, func(name string, list []*uop.UOp) (replay.Kernel, error) {
			k, err := Compile(name, list)
			if err != nil {
				return nil, err
			}
			return k.Run, nil
		})
	}
}
