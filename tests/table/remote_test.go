package table

import (
	"slices"
	"strings"
	"testing"

	"polygrad/exec"
	"polygrad/tests/devices/remote"
	"polygrad/tests/part"
)

// byDouble are the operations that compute floats of other types by way of float64.
var byDouble = []string{"erfc", "erfinv", "ndtri", "lgamma", "digamma", "mod", "fmod", "floordiv", "pow"}

// TestGoRemote runs the table on a device with memory of its own. It has no float64: what needs that is refused and runs on one
// that has it.
func TestGoRemote(t *testing.T) {
	if testing.Short() {
		t.Skip("tests/fuzz runs random graphs on such a device")
	}
	cases, err := Read(Path)
	if err != nil {
		t.Fatal(err)
	}
	e, double := exec.New(remote.New()), exec.New(remote.NewDouble())
	for _, c := range part.Of(t, cases, part.Week, 0) {
		t.Run(c.Name, func(t *testing.T) {
			err := runOn(t, c, e)
			if err != nil && strings.Contains(err.Error(), "device remote has no float64") {
				if !c.hasDouble() && !slices.Contains(byDouble, c.Op) {
					t.Errorf("there is no float64 in the case: %v", err)
				}
				err = runOn(t, c, double)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// hasDouble reports whether an input or a result is of float64.
func (c *Case) hasDouble() bool {
	is := func(t *Tensor) bool { return t != nil && t.DType == "float64" }
	return slices.ContainsFunc(c.Outputs, is) || slices.ContainsFunc(c.Inputs, func(in Input) bool { return is(in.Tensor) })
}
