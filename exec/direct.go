package exec

import "polygrad/exec/device"

// Direct is a bound step as calls that C can make without Go, for steps so short that the way to Go and back costs more.
type Direct struct {
	bound *Bound
	calls []device.Call
	// Arena and Memory are the bytes of memory (aligned to 64) for temporaries and for the kernels themselves.
	Arena  int64
	Memory uintptr
}

// Limits of direct steps: the caller's thread cannot be interrupted meanwhile, and the memory is not shared with other steps.
const (
	maxDirectCalls  = 64
	maxDirectMemory = 64 << 10
)

// Direct is nil if the step cannot run directly, or not yet.
func (b *Bound) Direct() *Direct {
	p := b.step.plan
	if len(p.before)+len(p.after)+len(p.vars)+len(p.loops) > 0 || len(p.launches) > maxDirectCalls || p.arena > maxDirectMemory {
		return nil
	}
	d := &Direct{bound: b, Arena: aligned(p.arena)}
	for i := range p.launches {
		k, ok := p.launches[i].code.(device.Direct)
		if !ok {
			return nil
		}
		c, ok := k.Call()
		if !ok || c.Memory > maxDirectMemory {
			return nil
		}
		d.calls = append(d.calls, c)
		d.Memory = max(d.Memory, c.Memory)
	}
	return d
}

// Words is the number of words of the arguments of all calls.
func (d *Direct) Words() int {
	n := 0
	for i := range d.calls {
		n += len(d.bound.step.plan.launches[i].slots) + len(d.calls[i].Own)
	}
	return n
}

// Each calls f for every call in order, with its arguments for an arena and private memory. They are valid until f returns.
func (d *Direct) Each(arena, memory uintptr, f func(entry uintptr, args []uint64)) {
	p := d.bound.step.plan
	var args []uint64
	for i, c := range d.calls {
		args = args[:0]
		for _, s := range p.launches[i].slots {
			if off := p.offsets[s]; off >= 0 {
				args = append(args, uint64(arena)+uint64(off))
			} else {
				args = append(args, uint64(uintptr(d.bound.bufs[s].Pointer())))
			}
		}
		own := len(args)
		args = append(args, c.Own...)
		args[own+c.Inside] += uint64(memory)
		f(c.Entry, args)
	}
}
