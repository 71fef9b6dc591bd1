package exec

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"polygrad/core/draw"
	"polygrad/core/lower"
	"polygrad/core/schedule"
	"polygrad/core/uop"
	"polygrad/exec/device"
	"polygrad/exec/report"
)

// MaxInspectRuns bounds how often Inspect runs a computation.
const MaxInspectRuns = 1_000_000

// Inspect reports the kernels of a SINK's computation. They are compiled anew and run on the memory that bind gives for the
// buffers: once to warm up, then runs times, each timed. Buffers without memory get zeros. Afterwards the memory is restored.
func (e *Executor) Inspect(sink *uop.UOp, bind func(buffers []*uop.UOp) []Binding, runs int) (*report.Report, error) {
	if runs < 0 || runs > MaxInspectRuns {
		return nil, fmt.Errorf("exec.Inspect: runs: %d, expected 0 to %d", runs, MaxInspectRuns)
	}
	if sink == nil || sink.Op != uop.Sink {
		return nil, fmt.Errorf("exec.Inspect: sink: got %v, expected a SINK of STOREs and ASSIGNs", sink)
	}
	root, buffers, vars, err := schedule.NormalizeFor(sink.Graph().Scratch(), sink, e.fusion.Target())
	if err != nil {
		return nil, err
	}
	in := &inspection{e: e, report: &report.Report{Device: e.dev.Name(), Kernels: []report.Kernel{}, Copies: []report.Copy{}, Runs: runs}}
	if err := in.build(root, buffers); err != nil {
		return nil, err
	}
	in.describe(sink, buffers)
	if runs == 0 {
		return in.report, nil
	}
	step := &Step{plan: in.plan, buffers: buffers, vars: vars}
	return in.report, in.measure(step, bind(buffers))
}

// inspection is a report under construction.
type inspection struct {
	e      *Executor
	plan   *plan
	sched  *schedule.Schedule
	slot   []int // of the plan, by those of the schedule
	report *report.Report
}

// build is Executor.build that keeps all intermediate results.
func (in *inspection) build(root *uop.UOp, buffers []*uop.UOp) error {
	e := in.e
	var err error
	if in.sched, err = e.schedule(root); err != nil {
		return err
	}
	p := newPlan(buffers)
	p.pool = e.pool
	in.slot = p.layout(in.sched)
	in.plan = p
	var asts []*uop.UOp
	for _, k := range in.sched.Kernels {
		if k.AST.Op == uop.Copy {
			return fmt.Errorf("exec.Inspect: the request copies between devices (%s), expected one device", k.AST)
		}
		if !slices.Contains(asts, k.AST) {
			asts = append(asts, k.AST)
		}
	}
	start := time.Now()
	e.building.Lock() // the host's device may be opened
	asts, progs, code, err := e.compileAll(asts)
	e.building.Unlock()
	if err != nil {
		return err
	}
	in.report.Compile = time.Since(start).Seconds()
	for _, k := range in.sched.Kernels {
		i := slices.Index(asts, k.AST)
		p.add(newKernel(progs[i], code[i]), in.slot, k.Bufs)
		dev := e.dev
		if h, ok := code[i].(*hostKernel); ok {
			dev = h.dev
		}
		r, err := in.kernel(dev, progs[i], k.Bufs)
		if err != nil {
			return err
		}
		in.report.Kernels = append(in.report.Kernels, r)
	}
	p.repeat(in.sched.Loops, in.slot)
	return nil
}

// kernel describes a kernel and its launch.
func (in *inspection) kernel(dev device.Device, p *lower.Program, bufs []int) (report.Kernel, error) {
	language, code, err := device.Listing(dev, p)
	if err != nil {
		return report.Kernel{}, err
	}
	work := p.Estimate()
	slots := func(globals []int) []int {
		out := []int{}
		for _, b := range globals {
			out = append(out, in.slot[bufs[b]])
		}
		return out
	}
	return report.Kernel{
		Name: p.Name, Reads: slots(p.Ins), Writes: slots(p.Outs), Ops: work.Ops, Bytes: work.Memory,
		Graph: draw.Nodes(p.AST).Tree(), Language: language, Code: code,
	}, nil
}

// describe lists the buffers of the plan: the request's, then temporaries.
func (in *inspection) describe(sink *uop.UOp, buffers []*uop.UOp) {
	p, r := in.plan, in.report
	r.Temporary = p.arena
	shapes := shapesOf(sink)
	for i, b := range buffers {
		n := int64(b.Arg.(uop.Num))
		shape, ok := shapes[b]
		if !ok {
			shape = []int64{n}
		}
		r.Buffers = append(r.Buffers, report.Buffer{Role: "input", DType: b.DType.NumpyName(), Shape: shape, Bytes: p.bytes[i]})
	}
	for range p.temps {
		r.Buffers = append(r.Buffers, report.Buffer{Role: "temporary", DType: "uint8", Shape: []int64{0}})
	}
	for i, s := range in.sched.Slots {
		if at := in.slot[i]; at >= len(buffers) {
			size := s.Size * int64(s.DType.Itemsize())
			r.Buffers[at] = report.Buffer{Role: "temporary", DType: s.DType.NumpyName(), Shape: []int64{s.Size}, Bytes: size}
		}
	}
	for _, m := range slices.Concat(p.before, p.after) {
		r.Copies = append(r.Copies, report.Copy{From: m.from, To: m.to, Bytes: m.bytes})
		if b := &r.Buffers[m.to]; b.Bytes == 0 {
			b.Bytes, b.Shape = m.bytes, []int64{m.bytes}
		}
	}
	read := map[int]bool{}
	for _, k := range r.Kernels {
		for _, b := range k.Reads {
			read[b] = true
		}
	}
	for _, c := range r.Copies {
		read[c.From] = true
	}
	for i, written := range p.written {
		switch {
		case written && read[i]:
			r.Buffers[i].Role = "updated"
		case written:
			r.Buffers[i].Role = "output"
		}
	}
}

// shapesOf finds the shapes of buffers: of the first RESHAPE, or of the stored value.
func shapesOf(sink *uop.UOp) map[*uop.UOp][]int64 {
	shapes := map[*uop.UOp][]int64{}
	for _, u := range sink.Toposort() {
		var of *uop.UOp
		shape := u
		switch u.Op {
		case uop.Reshape:
			of = u.Src[0]
		case uop.Store:
			of, shape = u.Src[0], u.Src[1]
		default:
			continue
		}
		if _, known := shapes[of]; known || of.Op != uop.Buffer {
			continue
		}
		if dims, ok := shape.Shape().Ints(); ok {
			shapes[of] = dims
		}
	}
	return shapes
}

// measure runs the plan and times its kernels.
func (in *inspection) measure(s *Step, binds []Binding) error {
	p := s.plan
	// Written memory of the caller is restored.
	saved := make([][]byte, p.inputs)
	bound := func(i int) int {
		return slices.IndexFunc(binds, func(b Binding) bool { return b.Buffer == s.buffers[i] })
	}
	for i := range s.buffers {
		if at := bound(i); at < 0 && p.bytes[i] > 0 {
			// The buffer is host memory on every device.
			zeros, err := device.AllocateNear(0, p.bytes[i])
			if err != nil {
				return err
			}
			defer func() { _ = device.Host{}.Free(zeros, p.bytes[i]) }()
			binds = append(binds, Binding{Buffer: s.buffers[i], Ptr: zeros.Pointer()})
		} else if at >= 0 && p.written[i] && binds[at].Ptr != nil {
			saved[i] = slices.Clone(unsafe.Slice((*byte)(binds[at].Ptr), p.bytes[i]))
		}
	}
	restore := func() {
		for i, b := range saved {
			if b != nil {
				copy(unsafe.Slice((*byte)(binds[bound(i)].Ptr), len(b)), b)
			}
		}
	}
	defer restore()
	n := len(p.launches)
	times, sum, fastest := make([]time.Duration, n), make([]time.Duration, n), make([]time.Duration, n)
	for run := range in.report.Runs + 1 {
		restore()
		if err := in.once(s, binds, times); err != nil {
			return err
		}
		switch run {
		case 0: // warm-up
			continue
		case 1:
			copy(fastest, times)
		}
		for i, t := range times {
			sum[i], fastest[i] = sum[i]+t, min(fastest[i], t)
		}
	}
	for i := range in.report.Kernels {
		k := &in.report.Kernels[i]
		k.Fastest = fastest[i].Seconds()
		k.Mean = max(sum[i].Seconds()/float64(in.report.Runs), k.Fastest) // equal times may have a mean that is rounded down
		if k.Fastest == 0 {                                               // a tick of a browser's clock, which has 5 to 100 us, is longer
			k.Fastest = k.Mean
		}
	}
	return nil
}

// once runs the plan and times its launches.
func (in *inspection) once(s *Step, binds []Binding, times []time.Duration) error {
	p := s.plan
	r := p.take()
	defer p.give(r)
	if err := s.bind(r.bufs, r.arrays, binds); err != nil {
		return err
	}
	clear(times)
	return p.run(r, s.vars, nil, poll.Load(), times)
}
