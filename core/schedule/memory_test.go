package schedule

import (
	"testing"

	"polygrad/core/uop"
)

// plan lays out float32 temporaries with the given sizes, each written by one kernel and read by the next.
func plan(sizes ...int64) *Schedule {
	s := &Schedule{}
	for i, n := range sizes {
		s.Slots = append(s.Slots, Slot{DType: uop.Float32, Size: n, Input: -1, Output: -1})
		k := Kernel{Bufs: []int{i}}
		if i > 0 {
			k.Bufs = append(k.Bufs, i-1)
		}
		s.Kernels = append(s.Kernels, k)
	}
	s.Kernels = append(s.Kernels, Kernel{Bufs: []int{len(sizes) - 1}})
	s.PlanMemory()
	return s
}

func TestAChainNeedsTwoBuffers(t *testing.T) {
	if s := plan(64, 64, 64, 64, 64, 64); s.ArenaBytes != 2*256 {
		t.Errorf("a chain of six buffers of 256 bytes takes %d, expected 512", s.ArenaBytes)
	}
}

func TestSmallOnesFillGaps(t *testing.T) {
	// Each neighbour pair needs at most 1024+256 bytes at a time.
	if s := plan(256, 64, 256, 64, 16, 64); s.ArenaBytes != 1024+256 {
		t.Errorf("arena of %d bytes, expected 1280", s.ArenaBytes)
	}
}

func TestBestGapIsTheSmallestThatFits(t *testing.T) {
	live := func(offset, size int64) *temporary { return &temporary{first: 0, last: 9, offset: offset, size: size} }
	placed := []*temporary{live(0, 64), live(256, 64), live(448, 64)}
	if at := bestGap(placed, &temporary{first: 3, last: 4, size: 128}); at != 320 {
		t.Errorf("placed at %d, expected in the gap of 128 bytes at 320", at)
	}
	if at := bestGap(placed, &temporary{first: 3, last: 4, size: 256}); at != 512 {
		t.Errorf("placed at %d, expected behind all others at 512", at)
	}
	if at := bestGap(placed, &temporary{first: 10, last: 11, size: 256}); at != 0 {
		t.Errorf("placed at %d, expected at 0: nothing else is alive", at)
	}
}
