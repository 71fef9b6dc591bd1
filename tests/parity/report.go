package parity

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"polygrad/tests/parity/dump"
)

// Options choose cases and what to do with them.
type Options struct {
	// Data is the folder of the reference data, Sets a list of its sub-folders, Match a pattern for names of cases.
	Data, Sets, Match string
	Stage             Stage
	Force, Verbose    bool
}

// tally counts cases of one set.
type tally struct {
	set          string
	cases, equal int
	levels       [numLevels]int
}

// wanted are the levels at which a case has to be equal. The order of the linear list is only required of the named cases.
func wanted(set string, stage Stage) []Level {
	if set != "golden" && stage == Whole {
		return []Level{Kern, Graph, AST, Vals}
	}
	return stage.Levels()
}

// Run runs cases, writes a line for each one that is not equal, and the totals at the end. It reports whether all are equal.
func Run(w io.Writer, o Options) (bool, error) {
	r := &Runner{Data: o.Data, Stage: o.Stage, Passes: true, Force: o.Force}
	allEqual := true
	var tallies []tally
	for _, set := range strings.Split(o.Sets, ",") {
		cases, err := dump.Names(filepath.Join(o.Data, set))
		if err != nil {
			return false, err
		}
		t := tally{set: set}
		for _, name := range cases {
			if ok, err := path.Match(o.Match, name); err != nil || !ok {
				continue
			}
			out := r.Case(set, name)
			t.add(out, o.Stage)
			if !out.Equal(o.Stage.Levels()...) || out.First != nil || len(out.Forced) > 0 {
				report(w, out, o)
			}
		}
		if t.cases == 0 {
			return false, fmt.Errorf("no case %q in %s", o.Match, filepath.Join(o.Data, set))
		}
		allEqual = allEqual && t.equal == t.cases
		tallies = append(tallies, t)
	}
	summary(w, tallies, o.Stage)
	return allEqual, nil
}

func (t *tally) add(o *Outcome, stage Stage) {
	t.cases++
	if o.Equal(wanted(o.Set, stage)...) {
		t.equal++
	}
	for l, ok := range o.Levels {
		if ok {
			t.levels[l]++
		}
	}
}

func report(w io.Writer, out *Outcome, o Options) {
	fmt.Fprintf(w, "%-40s", out.Set+"/"+out.Name)
	for _, l := range o.Stage.Levels() {
		state := "ok"
		if !out.Levels[l] {
			state = "NO"
		}
		fmt.Fprintf(w, " %s=%s", l, state)
	}
	if out.First != nil {
		fmt.Fprintf(w, "  first: %s", out.First)
	}
	if out.Err != nil {
		fmt.Fprintf(w, "  error: %v", out.Err)
	}
	fmt.Fprintln(w)
	for _, d := range out.Forced {
		fmt.Fprintf(w, "    alone: %s\n", d)
	}
	if !o.Verbose {
		return
	}
	if out.First != nil {
		fmt.Fprint(w, out.First.Detail())
	}
	for _, d := range out.Forced {
		fmt.Fprintf(w, "alone: %s\n%s", d, d.Detail())
	}
}

func summary(w io.Writer, ts []tally, stage Stage) {
	var parts []string
	for _, t := range ts {
		var counts []string
		for _, l := range stage.Levels() {
			counts = append(counts, fmt.Sprintf("%s %d", l, t.levels[l]))
		}
		fmt.Fprintf(w, "%s: %d cases: %s\n", t.set, t.cases, strings.Join(counts, ", "))
		parts = append(parts, fmt.Sprintf("%s %d/%d", t.set, t.equal, t.cases))
	}
	fmt.Fprintf(w, "parity: %s\n", strings.Join(parts, ", "))
}
