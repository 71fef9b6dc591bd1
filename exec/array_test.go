package exec

import (
	"errors"
	"testing"
	"unsafe"

	"polygrad/exec/device"
)

// later is a device whose buffers a program may use, and whose elements come later: nothing waits for them.
type later struct {
	device.Device
	memory []byte
}

func (d *later) Name() string                            { return "later" }
func (d *later) NewQueue() device.Queue                  { return laterQueue{d: d} }
func (d *later) Lend(device.Buffer) (uintptr, error)     { return 1, nil }
func (d *later) Free(device.Buffer, int64) error         { return nil }
func (d *later) Allocate(n int64) (device.Buffer, error) { return d.Adopt(1, 0, n) }
func (d *later) Adopt(uintptr, int64, int64) (device.Buffer, error) {
	return device.At(unsafe.Pointer(unsafe.SliceData(d.memory))), nil
}

type laterQueue struct {
	device.Queue
	d *later
}

var errLater = errors.New("results come later")

func (q laterQueue) CopyIn(_ device.Buffer, from []byte) error { copy(q.d.memory, from); return nil }
func (q laterQueue) CopyOut([]byte, device.Buffer) error       { return errLater }
func (q laterQueue) Wait() error                               { return nil }
func (q laterQueue) Fetch(to []byte, _ device.Buffer) (int32, error) {
	copy(to, q.d.memory)
	return 1, nil
}

// TestLentArraysAreReadAgain: a program writes a buffer after the host has read it.
func TestLentArraysAreReadAgain(t *testing.T) {
	for _, adopted := range []bool{false, true} {
		d := &later{memory: make([]byte, 1)}
		e := &Executor{dev: d}
		host := []byte{7}
		a := NewArray(1, true)
		if adopted {
			d.memory[0] = 7
			a, _, _ = e.Adopt(1, 0, 1, 1)
		} else if _, ok, err := a.Lend(e, host); !ok || err != nil {
			t.Fatal(ok, err)
		}
		for written := byte(7); written < 10; written++ {
			d.memory[0] = written
			var fetches [2]*Fetch // two that are under way at a time
			for i := range fetches {
				f, number, err := a.Fetch()
				if number == 0 || err != nil {
					t.Fatalf("adopted %v: nothing is fetched of %d: %v", adopted, written, err)
				}
				fetches[i] = f
			}
			for _, f := range fetches {
				f.Arrived(host)
			}
			for range fetches {
				if err := a.Read(host); err != nil || host[0] != written {
					t.Errorf("adopted %v: read %d, %v, expected %d", adopted, host[0], err, written)
				}
			}
			if err := a.Read(host); !errors.Is(err, errLater) || !a.OnDevice() {
				t.Errorf("adopted %v: a read that was not waited for: %v, on the device %v", adopted, err, a.OnDevice())
			}
		}
	}
}
