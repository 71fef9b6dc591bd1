package exec

import "unsafe"

// staged is an input that is copied into the arena for a run, because the device cannot reach it together with the others.
type staged struct {
	slot  int
	home  unsafe.Pointer // where the caller has it
	bytes int64
}

// span is a range of addresses.
type span struct{ lo, hi uintptr }

func (s span) with(p unsafe.Pointer, n int64) span {
	a := uintptr(p)
	if s.hi == 0 {
		return span{a, a + uintptr(n)}
	}
	return span{min(s.lo, a), max(s.hi, a+uintptr(n))}
}

func (s span) size() uintptr { return s.hi - s.lo }

// place gives the temporaries their memory. Where the device wants the buffers of a launch near each
// other, that memory lies near the largest input, and inputs too far from that one are copied into it.
func (p *plan) place(r *run) error {
	var near span
	need := p.arena
	if p.reach > 0 {
		need += p.stage(r, &near)
	}
	if need == 0 {
		return nil
	}
	a, err := p.pool.take(need, near, p.reach)
	if err != nil {
		return err
	}
	r.arena = a
	for i, off := range p.offsets {
		if off >= 0 {
			r.ptrs[i] = unsafe.Add(a.base, off)
		}
	}
	at := p.arena
	for i := range r.staged {
		s := &r.staged[i]
		r.ptrs[s.slot] = unsafe.Add(a.base, at)
		copyBytes(r.ptrs[s.slot], s.home, s.bytes)
		at += aligned(s.bytes)
	}
	return nil
}

// aligned rounds a size up to a cache line.
func aligned(bytes int64) int64 { return (bytes + 63) &^ 63 }

// stage lists the inputs to copy and returns how many bytes they take. near is set to the range of the others.
func (p *plan) stage(r *run, near *span) (bytes int64) {
	largest := -1
	for i, n := range p.bytes {
		if n > 0 && (largest < 0 || n > p.bytes[largest]) {
			largest = i
		}
	}
	if largest < 0 {
		return 0
	}
	*near = near.with(r.ptrs[largest], p.bytes[largest])
	for i, n := range p.bytes {
		if n == 0 {
			r.ptrs[i] = r.ptrs[largest] // never accessed
			continue
		}
		if s := near.with(r.ptrs[i], n); s.size() <= p.reach/2 {
			*near = s
			continue
		}
		r.staged = append(r.staged, staged{i, r.ptrs[i], n})
		bytes += aligned(n)
	}
	return bytes
}

// unstage copies what the request changed back to where the caller has it.
func (r *run) unstage(written []bool) {
	for _, s := range r.staged {
		if written[s.slot] {
			copyBytes(s.home, r.ptrs[s.slot], s.bytes)
		}
	}
}
