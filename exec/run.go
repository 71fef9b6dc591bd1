package exec

import (
	"fmt"
	"unsafe"
)

// run is the state of one run of a plan.
type run struct {
	ptrs []unsafe.Pointer // per slot
	vals []int64          // per variable of the plan
	// args and vars are what one launch gets.
	args []unsafe.Pointer
	vars []int64
	// arena holds the temporaries, nil if there are none.
	arena *arena
	// staged are the inputs that lie too far from the others and are copied for the run.
	staged []staged
}

// take gets the state for a run: that of the last one, if no other run is using it.
func (p *plan) take() *run {
	if r := p.spare.Swap(nil); r != nil {
		return r
	}
	return &run{
		ptrs: make([]unsafe.Pointer, p.slots), vals: make([]int64, len(p.vars)),
		args: make([]unsafe.Pointer, p.maxBufs), vars: make([]int64, p.maxVars),
	}
}

// give ends a run. Its state keeps no pointer to memory that may be gone when it is used again.
func (p *plan) give(r *run) {
	if r.arena != nil {
		p.pool.give(r.arena)
		r.arena = nil
	}
	clear(r.ptrs)
	clear(r.args)
	clear(r.staged)
	r.staged = r.staged[:0]
	p.spare.Store(r)
}

// run launches the kernels in order, unless stop (which may be nil) ends that. r.ptrs holds the bound buffers.
func (p *plan) run(r *run, bound, vars map[string]int64, stop *func() bool) error {
	if err := p.variables(r, bound, vars); err != nil {
		return err
	}
	if err := p.place(r); err != nil {
		return err
	}
	for _, m := range p.before {
		r.copy(m)
	}
	for i := range p.launches {
		if stop != nil && stopped(stop) {
			return ErrInterrupted
		}
		if err := p.launches[i].run(r); err != nil {
			return err
		}
	}
	for _, m := range p.after {
		r.copy(m)
	}
	r.unstage(p.written)
	return nil
}

// variables gives the variables their values: those in vars before those that the request bound.
func (p *plan) variables(r *run, bound, vars map[string]int64) error {
	for i := range p.vars {
		arg := &p.vars[i]
		v, ok := vars[arg.Name]
		if !ok {
			v, ok = bound[arg.Name]
		}
		if !ok {
			return fmt.Errorf("exec.Run: variable %q has no value", arg.Name)
		}
		if v < arg.Min.I() || v > arg.Max.I() {
			return fmt.Errorf("exec.Run: variable %q is %d, outside its bounds [%s, %s]", arg.Name, v, arg.Min, arg.Max)
		}
		r.vals[i] = v
	}
	return nil
}

func (r *run) copy(m move) { copyBytes(r.ptrs[m.to], r.ptrs[m.from], m.bytes) }

func (l *launch) run(r *run) error {
	args := r.args[:len(l.slots)]
	for i, s := range l.slots {
		args[i] = r.ptrs[s]
	}
	vars := r.vars[:len(l.vars)]
	for i, v := range l.vars {
		vars[i] = r.vals[v]
	}
	return l.code.Run(args, vars)
}
