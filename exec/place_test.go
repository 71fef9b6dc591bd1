package exec

import (
	"testing"
	"unsafe"
)

// TestArenasFindRoom makes more arenas near one address than there are hints at its side.
func TestArenasFindRoom(t *testing.T) {
	const reach = 1 << 31
	var keep []*arena
	first, err := newArena(1<<16, span{}, reach)
	if err != nil {
		t.Fatal(err)
	}
	near := span{}.with(first.base, first.size)
	for range 200 {
		a, err := newArena(1<<20, near, reach)
		if err != nil {
			t.Fatal(err)
		}
		if d := near.with(a.base, a.size).size(); d > reach {
			t.Fatalf("an arena lies %d bytes away, the reach is %d", d, reach)
		}
		keep = append(keep, a)
	}
	if keep[0].base == keep[1].base {
		t.Error("two arenas share memory")
	}
}

func TestStagingCopiesWhatIsFar(t *testing.T) {
	near, far := make([]float32, 1024), make([]float32, 4)
	p := &Plan{inputs: 2, slots: 2, reach: 1, bytes: []int64{4096, 16}, written: []bool{false, true}}
	far[0] = 7
	r := &run{ptrs: []unsafe.Pointer{unsafe.Pointer(&near[0]), unsafe.Pointer(&far[0])}}
	if err := p.place(r); err != nil {
		t.Fatal(err)
	}
	staged := unsafe.Slice((*float32)(r.ptrs[1]), 4)
	if &staged[0] == &far[0] || staged[0] != 7 {
		t.Fatalf("the far buffer was not copied: %v", staged)
	}
	staged[1] = 9
	r.unstage(p.written)
	if far[1] != 9 {
		t.Error("what was written did not come back")
	}
}
