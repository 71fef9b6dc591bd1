package exec

import (
	"unsafe"

	"polygrad/core/schedule"
	"polygrad/exec/device"
)

// staged is an input that is copied into the arena for a run, because the device cannot use it in place.
type staged struct {
	slot int
	home []byte // the caller's memory
}

// span is a range of host addresses.
type span struct{ lo, hi uintptr }

func (s span) with(b device.Buffer, n int64) span {
	a := uintptr(b.Pointer())
	if s.hi == 0 {
		return span{a, a + uintptr(n)}
	}
	return span{min(s.lo, a), max(s.hi, a+uintptr(n))}
}

func (s span) size() uintptr { return s.hi - s.lo }

// place assigns memory to temporaries and to inputs that the device cannot use in place, except inputs used only by launches that ran on
// the host.
func (p *plan) place(r *run, hostRan bool) error {
	var near span
	need := p.arena
	switch {
	case !p.pool.limits.HostMemory:
		n, err := p.stageAll(r, hostRan)
		if err != nil {
			return err
		}
		need += n
	case p.pool.limits.Reach > 0:
		need += p.stageUnreachable(r, &near)
	}
	if need == 0 {
		return nil
	}
	a, err := p.pool.take(need, near)
	if err != nil {
		return err
	}
	r.arena = a
	for i, off := range p.offsets {
		if off >= 0 {
			r.bufs[i] = p.pool.dev.Part(a.base, off)
		}
	}
	at := p.arena
	for i := range r.staged {
		s := &r.staged[i]
		r.bufs[s.slot] = p.pool.dev.Part(a.base, at)
		at += aligned(int64(len(s.home)))
	}
	return p.keptFor(r, near)
}

// aligned rounds a size up to the alignment of temporaries.
func aligned(bytes int64) int64 {
	return (bytes + schedule.ArenaAlign - 1) &^ (schedule.ArenaAlign - 1)
}

// stage marks an input for copying and returns its size.
func (p *plan) stage(r *run, i int) int64 {
	r.staged = append(r.staged, staged{i, unsafe.Slice((*byte)(r.bufs[i].Pointer()), p.bytes[i])})
	return aligned(p.bytes[i])
}

// stageAll stages all inputs except arrays, for a device with its own memory. Empty inputs get some memory, too.
func (p *plan) stageAll(r *run, hostRan bool) (bytes int64, err error) {
	for i := range p.bytes {
		if hostRan && !p.host.others[i] {
			continue
		}
		if a := r.arrays[i]; a != nil {
			if r.bufs[i], err = a.use(r.queue, p.pool, hostBytes(r.bufs[i].Pointer(), a.bytes), p.written[i]); err != nil {
				return 0, err
			}
			continue
		}
		bytes += max(p.stage(r, i), aligned(1))
	}
	return bytes, nil
}

// stageUnreachable stages the inputs out of reach of the largest one. near is set to the range of the others.
func (p *plan) stageUnreachable(r *run, near *span) (bytes int64) {
	largest := -1
	for i, n := range p.bytes {
		if n > 0 && (largest < 0 || n > p.bytes[largest]) {
			largest = i
		}
	}
	if largest < 0 {
		return 0
	}
	*near = near.with(r.bufs[largest], p.bytes[largest])
	for i, n := range p.bytes {
		if n == 0 {
			r.bufs[i] = r.bufs[largest] // never accessed
			continue
		}
		if s := near.with(r.bufs[i], n); s.size() <= p.pool.limits.Reach/2 {
			*near = s
			continue
		}
		bytes += p.stage(r, i)
	}
	return bytes
}

// copyIn copies the staged inputs to the device, but those that are overwritten.
func (r *run) copyIn(overwritten []bool) error {
	for _, s := range r.staged {
		if overwritten[s.slot] {
			continue
		}
		if err := r.queue.CopyIn(r.bufs[s.slot], s.home); err != nil {
			return err
		}
	}
	return nil
}

// copyOut copies the changed inputs back to the caller's memory.
func (r *run) copyOut(written []bool) error {
	for _, s := range r.staged {
		if !written[s.slot] {
			continue
		}
		if err := r.queue.CopyOut(s.home, r.bufs[s.slot]); err != nil {
			return err
		}
	}
	return nil
}
