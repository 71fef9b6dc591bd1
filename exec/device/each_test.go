package device

import (
	"sync/atomic"
	"testing"
)

func TestEachCallsOnceForEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		counts := make([]atomic.Int32, n)
		Each(n, func(i int) { counts[i].Add(1) })
		for i := range counts {
			if c := counts[i].Load(); c != 1 {
				t.Errorf("of %d: %d was called %d times", n, i, c)
			}
		}
	}
}

func TestEachPassesPanicsOn(t *testing.T) {
	defer func() {
		if r := recover(); r != "seven" {
			t.Errorf("recovered %v", r)
		}
	}()
	Each(16, func(i int) {
		if i == 7 {
			panic("seven")
		}
	})
	t.Error("the panic was lost")
}
