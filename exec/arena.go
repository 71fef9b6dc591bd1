package exec

import (
	"fmt"
	"runtime"

	"polygrad/exec/device"
)

// arena is device memory for the temporaries of a run.
type arena struct {
	dev  device.Device
	base device.Buffer
	size int64
	// generation is that of the device: when it changes the contents are lost.
	generation int64
	// cleanup frees an unreleased arena that is garbage.
	cleanup runtime.Cleanup
}

// newArena allocates an arena. With a hint other than 0 it is host memory near that address, if the system permits.
func newArena(dev device.Device, bytes int64, hint uintptr) (*arena, error) {
	a := &arena{dev: dev, size: bytes, generation: generationOf(dev)}
	var err error
	if hint == 0 {
		a.base, err = dev.Allocate(bytes)
	} else {
		a.base, err = device.AllocateNear(hint, bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("exec.Run: no memory for temporaries: device %s: %w", dev.Name(), err)
	}
	a.cleanup = runtime.AddCleanup(a, func(b device.Buffer) { _ = dev.Free(b, bytes) }, a.base)
	return a, nil
}

// newArenaNear maps host memory within the device's reach together with near: where the system places it, or else in the first
// free one of many places. It is nil if there is none.
func newArenaNear(dev device.Device, bytes int64, near span) (*arena, error) {
	const places = 64
	hint, reach := uintptr(0), dev.Limits().Reach
	for i := range uintptr(places) {
		a, err := newArena(dev, bytes, hint)
		if err != nil {
			return nil, err
		}
		if a.within(bytes, near, reach) {
			return a, nil
		}
		a.release()
		hint = (near.hi + (i+1)*reach/(2*places)) &^ (1<<16 - 1)
	}
	return nil, nil
}

// release frees the memory at once.
func (a *arena) release() {
	a.cleanup.Stop()
	_ = a.dev.Free(a.base, a.size)
	runtime.KeepAlive(a)
}

// within reports whether near and the first bytes of the arena lie in a range of reach bytes.
func (a *arena) within(bytes int64, near span, reach uintptr) bool {
	return near.hi == 0 || near.with(a.base, bytes).size() <= reach
}
