package schedule

import (
	"cmp"
	"slices"
)

// ArenaAlign is the alignment of temporaries: a multiple of cache lines, and the alignment at which GPUs bind buffers.
const ArenaAlign = 256

// temporary is a slot in the arena with its live range: the kernels from first to last.
type temporary struct {
	slot        int
	first, last int
	size        int64
	offset      int64
}

// PlanMemory gives the temporaries offsets in one arena; those with intersecting live ranges do not overlap: best fit, the largest
// first.
func (s *Schedule) PlanMemory() {
	s.ArenaBytes = 0
	ts := s.temporaries()
	slices.SortStableFunc(ts, func(a, b *temporary) int { return cmp.Compare(b.size, a.size) })
	var placed []*temporary // by offset
	for _, t := range ts {
		t.offset = bestGap(placed, t)
		at, _ := slices.BinarySearchFunc(placed, t, func(a, b *temporary) int { return cmp.Compare(a.offset, b.offset) })
		placed = slices.Insert(placed, at, t)
		s.Slots[t.slot].Offset = t.offset
		s.ArenaBytes = max(s.ArenaBytes, t.offset+t.size)
	}
}

// bestGap is the offset of the smallest gap for t among the placed temporaries with intersecting live ranges, or the end of them
// all.
func bestGap(placed []*temporary, t *temporary) int64 {
	best, bestSize := int64(-1), int64(0)
	end := int64(0)
	for _, p := range placed {
		if p.last < t.first || t.last < p.first {
			continue
		}
		if gap := p.offset - end; gap >= t.size && (best < 0 || gap < bestSize) {
			best, bestSize = end, gap
		}
		end = max(end, p.offset+p.size)
	}
	if best >= 0 {
		return best
	}
	return end
}

func (s *Schedule) temporaries() []*temporary {
	bySlot := make([]*temporary, len(s.Slots))
	var out []*temporary
	for i, k := range s.Kernels {
		for _, b := range k.Bufs {
			slot := s.Slots[b]
			if slot.Input >= 0 || slot.Output >= 0 {
				continue
			}
			if bySlot[b] == nil {
				size := (slot.Size*int64(slot.DType.Itemsize()) + ArenaAlign - 1) / ArenaAlign * ArenaAlign
				bySlot[b] = &temporary{slot: b, first: i, size: size}
				out = append(out, bySlot[b])
			}
			bySlot[b].last = i
		}
	}
	// A temporary that is live into a loop is live until its end. Outer loops come before inner ones.
	for _, l := range slices.Backward(s.Loops) {
		if l.While >= 0 && bySlot[l.While] != nil {
			t := bySlot[l.While]
			t.first, t.last = min(t.first, l.First), max(t.last, l.Last-1)
		}
		for _, t := range out {
			if inside := t.first < l.Last && t.last >= l.First; inside && (t.first < l.First || t.last >= l.Last) {
				t.first, t.last = min(t.first, l.First), max(t.last, l.Last-1)
			}
		}
	}
	return out
}
