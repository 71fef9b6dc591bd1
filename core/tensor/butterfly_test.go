package tensor

import (
	"slices"
	"testing"
)

// Radices are those of the machine: a pass whose elements do not fit the registers stores and loads them again.
func TestRadicesSuitTheRegisters(t *testing.T) {
	for _, c := range []struct {
		n, vectors, lanes int64
		want              []int64
	}{
		{4096, 32, 16, []int64{16, 16, 16}},
		{4096, 32, 8, []int64{16, 16, 16}},
		{4096, 16, 8, []int64{8, 8, 8, 8}},
		{4096, 16, 4, []int64{8, 8, 8, 8}},
		{7, 16, 8, []int64{7}},
		{1, 16, 8, nil},
	} {
		if got := butterflies(c.n, 1, c.vectors, c.lanes); !slices.Equal(got, c.want) {
			t.Errorf("%d elements, %d registers of %d lanes: radices %v, expected %v", c.n, c.vectors, c.lanes, got, c.want)
		}
	}
}
