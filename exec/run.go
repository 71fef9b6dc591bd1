package exec

import (
	"fmt"
	"unsafe"
)

// take gets the memory for a run: that of an earlier run, if there is one that nobody uses.
func (p *Plan) take() *run {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		r := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return r
	}
	p.mu.Unlock()
	return &run{ptrs: make([]unsafe.Pointer, p.slots), args: make([]unsafe.Pointer, p.maxBufs), vars: make([]int64, p.maxVars)}
}

func (p *Plan) give(r *run) {
	p.mu.Lock()
	p.free = append(p.free, r)
	p.mu.Unlock()
}

// run launches the kernels in order. r.ptrs holds the bound buffers.
func (p *Plan) run(r *run, bound, vars map[string]int64) error {
	if err := p.place(r); err != nil {
		return err
	}
	for _, m := range p.before {
		r.copy(m)
	}
	for i := range p.launches {
		if err := p.launches[i].run(r, bound, vars); err != nil {
			return err
		}
	}
	for _, m := range p.after {
		r.copy(m)
	}
	r.unstage(p.written)
	return nil
}

func (r *run) copy(m move) { copyBytes(r.ptrs[m.to], r.ptrs[m.from], m.bytes) }

func copyBytes(to, from unsafe.Pointer, n int64) {
	copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
}

func (l *launch) run(r *run, bound, vars map[string]int64) error {
	args := r.args[:len(l.slots)]
	for i, s := range l.slots {
		args[i] = r.ptrs[s]
	}
	vals := r.vars[:len(l.vars)]
	for i, arg := range l.vars {
		name := arg.Name
		v, ok := vars[name]
		if !ok {
			v, ok = bound[name]
		}
		if !ok {
			return fmt.Errorf("exec.Run: variable %q has no value", name)
		}
		if lo, hi := arg.Min, arg.Max; v < lo.I() || v > hi.I() {
			return fmt.Errorf("exec.Run: variable %q is %d, outside its bounds [%s, %s]", name, v, lo, hi)
		}
		vals[i] = v
	}
	return l.code.Run(args, vals)
}
