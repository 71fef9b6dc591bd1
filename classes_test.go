package polygrad_test

import (
	"strings"
	"testing"

	"polygrad"
)

// A class that does not exist would count as predicted perfectly.
func TestClassesOutOfRangeAreTold(t *testing.T) {
	x := polygrad.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for _, c := range []struct {
		classes []int32
		want    string
	}{{[]int32{0, 3}, "class 3 is out of range, expected 0 to 2"}, {[]int32{-2, 0}, "class -2 is out of range"}, {[]int32{0, 2}, ""}} {
		y := polygrad.From(c.classes, 2)
		for name, loss := range map[string]*polygrad.Tensor{
			"CrossEntropy": x.CrossEntropy(y), "NLLLoss": x.NLLLoss(y), "Sparse": x.SparseCategoricalCrossEntropy(y),
		} {
			switch err := loss.Err(); {
			case c.want == "" && err != nil:
				t.Errorf("%s of %v: %v", name, c.classes, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s of %v: %v, expected %s", name, c.classes, err, c.want)
			}
		}
	}
	if err := x.SparseCategoricalCrossEntropy(polygrad.From([]int32{0, -1}, 2)).Err(); err != nil {
		t.Errorf("ignored class: %v", err)
	}
}
