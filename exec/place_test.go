package exec

import (
	"testing"
	"unsafe"
)

func TestStagingCopiesWhatIsFar(t *testing.T) {
	near, far := make([]float32, 1024), make([]float32, 4)
	p := &plan{pool: &pool{}, inputs: 2, slots: 2, reach: 1, bytes: []int64{4096, 16}, written: []bool{false, true}}
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
