package exec

import "slices"

// Run-invariant kernels, which depend on no input of a request (the tables of a Fourier transform), compute the same values in each run of
// its plan. From the second run on their results are kept, up to a limit, and the kernels are skipped.

// maxKeptBytes limits the kept results of a plan.
const maxKeptBytes = 64 << 20

// constants are the run-invariant results of a plan.
type constants struct {
	launch []bool // per launch: it is run-invariant
	kept   []kept // the results that other launches read
	bytes  int64
}

// kept is a slot whose values are kept, at an offset of the memory for them.
type kept struct {
	slot   int
	offset int64
}

// findConstants is nil if nothing is worth keeping. sizes are the bytes of the temporaries, outs the slots that each launch writes.
func (p *plan) findConstants(sizes []int64, outs [][]int) *constants {
	varies := make([]bool, len(p.launches))
	users := make([][]int, p.slots) // launches
	var changed []int               // slots whose values vary, or whose memory is the caller's
	for i := range p.launches {
		l := &p.launches[i]
		for _, s := range l.slots {
			users[s] = append(users[s], i)
		}
		varies[i] = len(l.vars) > 0 || slices.ContainsFunc(p.loops, func(o loop) bool { return o.first <= i && i < o.last })
		if varies[i] {
			changed = append(changed, outs[i]...)
		}
	}
	for s, offset := range p.offsets {
		if offset < 0 {
			changed = append(changed, s)
		}
	}
	for _, m := range p.before {
		changed = append(changed, m.to)
	}
	done := make([]bool, p.slots)
	for len(changed) > 0 {
		s := changed[len(changed)-1]
		changed = changed[:len(changed)-1]
		if done[s] {
			continue
		}
		done[s] = true
		for _, i := range users[s] {
			if !varies[i] {
				varies[i] = true
				changed = append(changed, outs[i]...)
			}
		}
	}
	c := &constants{launch: make([]bool, len(p.launches))}
	for i := range c.launch {
		c.launch[i] = !varies[i]
	}
	for s := range p.slots {
		constant := func(i int) bool { return c.launch[i] }
		read := slices.ContainsFunc(p.after, func(m move) bool { return m.from == s })
		if done[s] || !slices.ContainsFunc(users[s], constant) || !read && !slices.ContainsFunc(users[s], func(i int) bool { return varies[i] }) {
			continue
		}
		c.kept = append(c.kept, kept{s, c.bytes})
		c.bytes += aligned(sizes[s])
	}
	if len(c.kept) == 0 || c.bytes > maxKeptBytes {
		return nil
	}
	return c
}

// keptFor sets the memory of the kept values for a run. The first run keeps nothing, as many plans run only once; the second one fills the memory,
// and later ones leave out the kernels that do. near is the address range of the inputs: on a device with limited reach nothing is kept too far from
// it.
func (p *plan) keptFor(r *run, near span) error {
	c := p.constants
	if c == nil {
		return nil
	}
	m := p.kept.Load()
	if m != nil && m.generation != generationOf(p.pool.dev) {
		p.kept.Store(nil)
		p.runs.Store(1)
		m = nil
	}
	if r.leaveOut = m != nil; !r.leaveOut {
		if p.runs.Add(1) != 2 {
			return nil
		}
		var err error
		if m, err = newArena(p.pool.dev, c.bytes, 0); err != nil {
			return err
		}
		r.fills = m
	}
	if reach := p.pool.limits.Reach; reach > 0 && near.with(m.base, c.bytes).size() > reach/2 {
		r.leaveOut, r.fills = false, nil
		return nil
	}
	for _, k := range c.kept {
		r.bufs[k.slot] = p.pool.dev.Part(m.base, k.offset)
	}
	r.kept = m
	return nil
}

// filled ends the run that computed the kept values.
func (p *plan) filled(r *run, err error) {
	switch {
	case r.fills == nil:
	case err == nil:
		p.kept.Store(r.fills)
	default:
		p.runs.Store(1)
	}
	r.fills, r.kept, r.leaveOut = nil, nil, false
}

// keptBytes are the bytes that a plan keeps between runs.
func (p *plan) keptBytes() int64 {
	if p.constants == nil {
		return 0
	}
	return p.constants.bytes
}
