package exec

import (
	"errors"
	"testing"
	"unsafe"

	"polygrad/exec/device"
	"polygrad/exec/interp"
)

// reaching is a device on the host's memory that reaches a few addresses only.
type reaching struct {
	device.Device
	reach uintptr
}

func (r reaching) Limits() device.Limits { return device.Limits{HostMemory: true, Reach: r.reach} }

func TestStagingCopiesUnreachableInputs(t *testing.T) {
	near, far := make([]float32, 1024), make([]float32, 4)
	p := &plan{pool: newPool(reaching{interp.New(), 1}, 0), inputs: 2, slots: 2, bytes: []int64{4096, 16}, written: []bool{false, true}, overwritten: make([]bool, 2)}
	far[0] = 7
	r := p.take()
	copy(r.bufs, []device.Buffer{device.At(unsafe.Pointer(&near[0])), device.At(unsafe.Pointer(&far[0]))})
	if err := errors.Join(p.place(r, false), r.copyIn(p.overwritten)); err != nil {
		t.Fatal(err)
	}
	staged := unsafe.Slice((*float32)(r.bufs[1].Pointer()), 4)
	if &staged[0] == &far[0] || staged[0] != 7 {
		t.Fatalf("the far buffer was not copied: %v", staged)
	}
	staged[1] = 9
	if err := r.copyOut(p.written); err != nil || far[1] != 9 {
		t.Error("what was written did not come back:", err)
	}
}
