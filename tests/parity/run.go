package parity

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"polygrad/core/lower"
	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// Stage says how much of the compiler is run on a case.
type Stage string

// Stages. Lower begins with the reference's kernels; Sched ends with the kernels before lowering, Graphs with the lowered
// ones; Whole also runs them.
const (
	Lower  Stage = "lower"
	Sched  Stage = "sched"
	Graphs Stage = "graph"
	Whole  Stage = "vals"
)

// Levels are those that a stage can say something about; nil if there is no such stage.
func (s Stage) Levels() []Level {
	switch s {
	case Lower:
		return []Level{Struct, Ops, Full, Graph}
	case Sched:
		return []Level{Kern, AST}
	case Graphs:
		return []Level{Kern, Struct, Ops, Full, Graph, AST}
	case Whole:
		return []Level{Kern, Struct, Ops, Full, Graph, AST, Vals}
	}
	return nil
}

// Outcome is what came of one case.
type Outcome struct {
	Set, Name string
	Levels    Levels
	// First is the first pass whose graph differs, nil if there is none.
	First *Difference
	// Forced are the passes that differ when each is run on the reference graph before it.
	Forced []*Difference
	Err    error
}

// Equal reports whether a case is equal at all the given levels.
func (o *Outcome) Equal(levels ...Level) bool {
	for _, l := range levels {
		if !o.Levels[l] {
			return false
		}
	}
	return o.Err == nil
}

// Runner runs cases of the reference data in a folder.
type Runner struct {
	Data  string
	Stage Stage
	// Passes asks for a comparison after each pass of a case that differs.
	Passes bool
	// Force asks to run each pass alone on the reference graph before it.
	Force bool
}

// Case runs one case.
func (r *Runner) Case(set, name string) *Outcome {
	o := &Outcome{Set: set, Name: name}
	ref, err := dump.ReadCase(filepath.Join(r.Data, set, name+".json.gz"))
	if err != nil {
		o.Err = err
		return o
	}
	got, traces, err := r.candidate(ref)
	o.Levels = Compare(ref, got)
	o.Err = err
	if o.Equal(r.Stage.Levels()...) && !r.Force || !r.Passes {
		return o
	}
	stages, err := dump.ReadPasses(filepath.Join(r.Data, "passes", set, name+".json.gz"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !r.Force:
		return o
	case err != nil:
		o.Err = err
		return o
	}
	o.First = firstOf(stages, traces)
	if r.Force {
		o.force(stages, Target(ref.Settings))
	}
	return o
}

func (o *Outcome) force(stages []dump.Stage, t *lower.Target) {
	for _, s := range stages {
		if s.Stage == "schedule" {
			continue
		}
		d, err := ForcePasses(s, t)
		if err != nil {
			o.Err = err
		}
		o.Forced = append(o.Forced, d...)
	}
}

func firstOf(stages []dump.Stage, traces []Trace) *Difference {
	for _, s := range stages {
		for _, t := range traces {
			if t.Stage == s.Stage {
				if d := FirstDifference(s, t, notHere); d != nil {
					return d
				}
			}
		}
	}
	return nil
}

// candidate makes what the reference has, as far as the stage goes.
func (r *Runner) candidate(ref *dump.Case) (got *dump.Case, traces []Trace, err error) {
	got = &dump.Case{Name: ref.Name}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	asts, sched, traces, err := r.kernels(ref)
	if err != nil {
		return got, traces, err
	}
	got.NKernels = len(asts)
	if r.Stage == Sched {
		for _, ast := range asts {
			got.Kernels = append(got.Kernels, dump.Kernel{AST: dump.Graph(ast)})
		}
		return got, traces, nil
	}
	target, used := Target(ref.Settings), names{}
	progs := make([]*lower.Program, len(asts))
	for i, ast := range asts {
		p, k, trace, err := lowered(i, ast, target, used)
		progs[i] = p
		traces = append(traces, trace)
		got.Kernels = append(got.Kernels, k)
		if err != nil {
			return got, traces, err
		}
	}
	if r.Stage == Whole {
		got.Outputs, err = evaluate(sched, progs, ref)
	}
	return got, traces, err
}

// kernels are the kernels before lowering: those of the reference, or those that the scheduler makes of the tensor
// graph, with the whole schedule.
func (r *Runner) kernels(ref *dump.Case) ([]*uop.UOp, *schedule.Schedule, []Trace, error) {
	var asts []*uop.UOp
	if r.Stage == Lower {
		for i, k := range ref.Kernels {
			ast, err := dump.Root(symbolic.NewGraph(), k.AST)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("kernel %d: %w", i, err)
			}
			asts = append(asts, ast)
		}
		return asts, nil, nil, nil
	}
	s, trace, err := scheduled(ref)
	if err != nil {
		return nil, nil, []Trace{trace}, err
	}
	for _, k := range s.Kernels {
		if k.AST.Op == uop.Sink {
			asts = append(asts, k.AST)
		}
	}
	return asts, s, []Trace{trace}, nil
}

// scheduled schedules the tensor graph of a case.
func scheduled(ref *dump.Case) (*schedule.Schedule, Trace, error) {
	trace := Trace{Stage: "schedule"}
	sink, err := dump.Root(symbolic.NewGraph(), ref.TensorGraph)
	if err != nil {
		return nil, trace, err
	}
	root, _, _, err := schedule.Normalize(sink.Graph().Scratch(), sink)
	if err != nil {
		return nil, trace, err
	}
	opts := []schedule.Option{schedule.WithTrace(trace.Record), schedule.WithMaxBuffers(ref.Settings.MaxBuffers)}
	if split := ref.Settings.SplitReduce; split != nil && *split == 0 {
		opts = append(opts, schedule.WithRows(1)) // any number of values is enough
	}
	s, err := schedule.New(root, opts...)
	return s, trace, err
}
