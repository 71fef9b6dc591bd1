package exec

import (
	"fmt"
	"runtime"

	"polygrad/exec/device"
)

// arena is memory of a device for the temporaries of a run.
type arena struct {
	dev  device.Device
	base device.Buffer
	size int64
	// cleanup frees an arena that was not released, when nothing refers to it any more.
	cleanup runtime.Cleanup
}

// newArena allocates an arena. Unless hint is 0 it is memory of the host near that address, if the system likes.
func newArena(dev device.Device, bytes int64, hint uintptr) (*arena, error) {
	a := &arena{dev: dev, size: bytes}
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

// newArenaNear maps memory of the host that lies in one range of the device's reach together with near: where the system
// puts it by itself if that will do, else in the first free one of many places. It is nil if there is no such place.
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

// release gives the memory back at once.
func (a *arena) release() {
	a.cleanup.Stop()
	_ = a.dev.Free(a.base, a.size)
	runtime.KeepAlive(a)
}

// within reports whether the first bytes of the arena and near lie in one range of the size reach.
func (a *arena) within(bytes int64, near span, reach uintptr) bool {
	return near.hi == 0 || near.with(a.base, bytes).size() <= reach
}
