package exec

import (
	"fmt"
	"slices"
	"time"

	"polygrad/exec/device"
)

// run is the state of one run of a plan.
type run struct {
	queue device.Queue
	bufs  []device.Buffer // per slot
	// arrays are per input, nil for those in the host's memory.
	arrays []*Array
	vals   []int64 // per variable of the plan
	// args and vars are the arguments of one launch.
	args []device.Buffer
	vars []int64
	// arena holds the temporaries and the staged inputs, nil if there are none.
	arena *arena
	// kept is the memory of the plan's constants, if they are kept. The run fills it, or leaves out the kernels that do.
	kept, fills *arena
	leaveOut    bool
	flag        [1]byte // the condition of a loop
	// hostMemory holds the temporaries of the launches that run on the host.
	hostMemory []byte
	// staged are the inputs copied for the run.
	staged []staged
}

// take gets the state for a run: the last one's, unless another run is using it.
func (p *plan) take() *run {
	if r := p.spare.Swap(nil); r != nil {
		return r
	}
	return &run{
		queue: p.pool.dev.NewQueue(),
		bufs:  make([]device.Buffer, p.slots), arrays: make([]*Array, p.inputs), vals: make([]int64, len(p.vars)),
		args: make([]device.Buffer, p.maxBufs), vars: make([]int64, p.maxVars),
	}
}

// give ends a run. Its state keeps no pointer to memory that may be freed before its next use.
func (p *plan) give(r *run) {
	if r.arena != nil {
		p.pool.give(r.arena)
		r.arena = nil
	}
	clear(r.bufs)
	clear(r.arrays)
	clear(r.args)
	clear(r.staged)
	r.staged = r.staged[:0]
	p.spare.Store(r)
}

// run launches the kernels in order and waits for them, unless stop (may be nil) ends the run. r.bufs holds the bound buffers.
// Unless times is nil it is set to the time of each launch alone.
func (p *plan) run(r *run, bound, vars map[string]int64, stop *func() bool, times []time.Duration) error {
	if err := p.variables(r, bound, vars); err != nil {
		return err
	}
	first, err := p.runHost(r)
	if err != nil {
		return err
	}
	if err := p.place(r, first > 0); err != nil {
		return err
	}
	err = p.enqueue(r, first, stop, times)
	// The memory is in use until the queue is empty, also after an error.
	if done := finish(r.queue); err == nil {
		err = done
	}
	p.filled(r, err)
	return err
}

// enqueue puts all operations of a run into its queue, but the first launches, which ran on the host.
func (p *plan) enqueue(r *run, first int, stop *func() bool, times []time.Duration) error {
	if err := r.copyIn(p.overwritten); err != nil {
		return err
	}
	if first > 0 {
		if err := p.copyHost(r); err != nil {
			return err
		}
	}
	if err := r.move(p.before); err != nil {
		return err
	}
	if err := p.launch(r, first, len(p.launches), p.loops, stop, times); err != nil {
		return err
	}
	if err := r.move(p.after); err != nil {
		return err
	}
	return r.copyOut(p.written)
}

// launch launches the kernels from first to last-1, and repeats those in loops.
func (p *plan) launch(r *run, first, last int, loops []loop, stop *func() bool, times []time.Duration) error {
	for i := first; i < last; {
		if len(loops) > 0 && loops[0].first == i {
			l := &loops[0]
			inner := loops[1:]
			for loops = inner; len(loops) > 0 && loops[0].first < l.last; loops = loops[1:] {
			}
			for n := range l.count {
				if on, err := l.conditionHolds(r); !on || err != nil {
					if err != nil {
						return err
					}
					break
				}
				r.vals[l.variable] = n
				if err := p.launch(r, l.first, l.last, inner[:len(inner)-len(loops)], stop, times); err != nil {
					return err
				}
			}
			i = l.last
			continue
		}
		if r.leaveOut && p.constants.launch[i] {
			i++
			continue
		}
		if stop != nil && stopped(stop) {
			return ErrInterrupted
		}
		if times != nil {
			if err := p.launches[i].time(r, &times[i]); err != nil {
				return err
			}
		} else if err := p.launches[i].run(r); err != nil {
			return err
		}
		i++
	}
	return nil
}

// conditionHolds reports whether the condition of another iteration holds.
func (l *loop) conditionHolds(r *run) (bool, error) {
	if l.while < 0 {
		return true, nil
	}
	if err := r.queue.Wait(); err != nil {
		return false, err
	}
	err := r.queue.CopyOut(r.flag[:], r.bufs[l.while])
	if err == nil {
		err = r.queue.Wait()
	}
	return r.flag[0] != 0, err
}

// variables sets the values of the variables: vars takes precedence over the request's bindings.
func (p *plan) variables(r *run, bound, vars map[string]int64) error {
	for i := range p.vars {
		arg := &p.vars[i]
		if slices.ContainsFunc(p.loops, func(l loop) bool { return l.variable == i }) {
			continue
		}
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

// move copies between slots.
func (r *run) move(moves []move) error {
	for _, m := range moves {
		if err := r.queue.Copy(r.bufs[m.to], r.bufs[m.from], m.bytes); err != nil {
			return err
		}
	}
	return nil
}

func (l *launch) run(r *run) error {
	args := r.args[:len(l.slots)]
	for i, s := range l.slots {
		args[i] = r.bufs[s]
	}
	vars := r.vars[:len(l.vars)]
	for i, v := range l.vars {
		vars[i] = r.vals[v]
	}
	if h, ok := l.code.(*hostKernel); ok {
		return h.launch(r.queue, args, vars)
	}
	return r.queue.Launch(l.code, args, vars)
}

// time runs the launch between two waits.
func (l *launch) time(r *run, took *time.Duration) error {
	t, err := device.Time(r.queue, func() error { return l.run(r) })
	*took += t
	return err
}
