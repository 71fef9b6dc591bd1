package exec

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/schedule"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// kernel is a compiled kernel with what a launch needs to know.
type kernel struct {
	prog *lower.Program
	code device.Kernel
}

// launch is one kernel with the slots of its buffers.
type launch struct {
	*kernel
	slots []int
	vars  []uop.VarArg // the variables, in the order in which the kernel takes them
}

// move copies one slot to another.
type move struct {
	from, to int
	bytes    int64
}

// Plan is a request as a list of launches.
type Plan struct {
	before   []move // copies of inputs, done first
	launches []launch
	after    []move
	inputs   int
	slots    int
	temps    int
	offsets  []int64 // arena offset per slot, -1 if the slot is not a temporary
	arena    int64   // bytes
	reach    uintptr // of the device
	bytes    []int64 // per input
	written  []bool  // per input: the request changes it
	maxBufs  int
	maxVars  int

	mu   sync.Mutex
	free []*run
}

// run is the memory that one run of a plan needs, kept for the next.
type run struct {
	ptrs  []unsafe.Pointer // per slot
	args  []unsafe.Pointer
	vars  []int64
	arena *arena
	// staged are the inputs that lie too far from the others and are copied for the run.
	staged []staged
}

// build makes the plan of a normalised request.
func (e *Executor) build(root *uop.UOp, buffers []*uop.UOp) (*Plan, error) {
	req, err := split(root)
	if err != nil {
		return nil, err
	}
	sched, err := schedule.New(req.sink)
	if err != nil {
		return nil, err
	}
	kernels, err := e.compile(sched)
	if err != nil {
		return nil, err
	}
	p := newPlan(buffers)
	p.reach = e.dev.Reach()
	slot, err := p.layout(req, sched)
	if err != nil {
		return nil, err
	}
	for i, k := range sched.Kernels {
		if k.AST.Op == uop.Copy {
			from, to := slot[k.Bufs[1]], slot[k.Bufs[0]]
			return nil, fmt.Errorf("exec.build: a copy between devices (slot %d to %d) in a request for one device", from, to)
		}
		l := launch{kernel: kernels[i]}
		for _, b := range kernels[i].prog.Globals {
			l.slots = append(l.slots, slot[k.Bufs[b]])
		}
		for _, b := range kernels[i].prog.Outs {
			if s := slot[k.Bufs[b]]; s < p.inputs {
				p.written[s] = true
			}
		}
		for _, v := range kernels[i].prog.Vars {
			if a := v.Arg.(uop.VarArg); a.Name != lower.ThreadVar {
				l.vars = append(l.vars, a)
			}
		}
		p.maxBufs, p.maxVars = max(p.maxBufs, len(l.slots)), max(p.maxVars, len(l.vars))
		p.launches = append(p.launches, l)
	}
	return p, nil
}

func newPlan(buffers []*uop.UOp) *Plan {
	p := &Plan{inputs: len(buffers), bytes: make([]int64, len(buffers)), written: make([]bool, len(buffers))}
	for i, b := range buffers {
		p.bytes[i] = int64(b.Arg.(uop.Num)) * int64(b.DType.Itemsize())
	}
	return p
}

// layout gives every slot of the schedule a slot of the plan: the request's buffers come first, in
// order, then temporaries. What a STORE asks for is computed in place, unless its buffer is read
// by the request too, or the value exists already; then it is copied.
func (p *Plan) layout(req *request, sched *schedule.Schedule) ([]int, error) {
	inputs, bytes := p.inputs, p.bytes
	slot := make([]int, len(sched.Slots))
	p.slots = inputs
	p.offsets = make([]int64, inputs)
	for i := range p.offsets {
		p.offsets[i] = -1
	}
	p.arena = sched.ArenaBytes
	used := make([]bool, inputs)
	for i, s := range sched.Slots {
		slot[i] = -1
		if s.Input >= 0 {
			slot[i] = s.Input
			used[s.Input] = true
		}
	}
	var late []func()
	for j, o := range sched.Outputs {
		t := req.targets[j]
		if t < 0 || bytes[t] == 0 {
			continue
		}
		in, err := inputOf(o)
		if err != nil {
			return nil, fmt.Errorf("exec.Realize: source %d: %w", j, err)
		}
		switch s := o.Slot; {
		case in >= 0:
			p.before = append(p.before, move{in, t, bytes[t]})
		case slot[s] < 0 && !used[t]:
			slot[s], used[t] = t, true
		default:
			late = append(late, func() { p.after = append(p.after, move{slot[s], t, bytes[t]}) })
		}
	}
	for i, s := range sched.Slots {
		if slot[i] >= 0 {
			continue
		}
		slot[i] = p.slots
		p.slots++
		p.temps++
		off := s.Offset
		if s.Output >= 0 { // the scheduler leaves results to us
			off = p.arena
			p.arena += (s.Size*int64(s.DType.Itemsize()) + 63) &^ 63
		}
		p.offsets = append(p.offsets, off)
	}
	for _, f := range late {
		f()
	}
	for _, moves := range [][]move{p.before, p.after} {
		for _, m := range moves {
			p.written[m.to] = true
		}
	}
	return slot, nil
}

// inputOf is the input whose contents are the output as they are, -1 if the output is computed.
func inputOf(o schedule.Output) (int, error) {
	v := o.Value
	for v.Op == uop.Reshape {
		v = v.Src[0]
	}
	if v.Op == uop.Param {
		return int(v.Arg.(uop.Num)), nil
	}
	if o.Slot < 0 || v.Op != uop.Buffer {
		return -1, fmt.Errorf("no kernel computes %s", v)
	}
	return -1, nil
}

// compile finds or makes the kernels of a schedule. Those that are new are lowered side by side and compiled together.
func (e *Executor) compile(sched *schedule.Schedule) ([]*kernel, error) {
	out := make([]*kernel, len(sched.Kernels))
	var fresh []*kernel
	var asts []*uop.UOp
	for i, k := range sched.Kernels {
		if k.AST.Op == uop.Copy {
			continue
		}
		ast := e.asts.Import(k.AST)
		if e.kernels[ast] == nil {
			e.kernels[ast] = &kernel{}
			fresh, asts = append(fresh, e.kernels[ast]), append(asts, ast)
		}
		out[i] = e.kernels[ast]
	}
	if err := e.lowerAll(fresh, asts); err != nil {
		for _, ast := range asts {
			delete(e.kernels, ast)
		}
		return nil, err
	}
	return out, nil
}

func (e *Executor) lowerAll(ks []*kernel, asts []*uop.UOp) error {
	if len(ks) == 0 {
		return nil
	}
	target := e.dev.Target()
	errs := make([]error, len(ks))
	var wg sync.WaitGroup
	next := make(chan int, len(ks))
	for i := range ks {
		next <- i
	}
	close(next)
	work := func() {
		for i := range next {
			ks[i].prog, errs[i] = lower.Lower(asts[i], target)
		}
	}
	for range min(runtime.GOMAXPROCS(0), len(ks)) - 1 {
		wg.Add(1)
		go func() { defer wg.Done(); work() }()
	}
	work()
	wg.Wait()
	progs := make([]*lower.Program, len(ks))
	for i, k := range ks {
		if errs[i] != nil {
			return errs[i]
		}
		progs[i] = k.prog
	}
	code, err := e.dev.Compile(progs)
	if err != nil {
		return err
	}
	for i, k := range ks {
		k.code = code[i]
	}
	return nil
}
