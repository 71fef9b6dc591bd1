package plan

import (
	"fmt"
	"strings"

	"polygrad/core/nest/analysis"
)

var (
	levelNames = [...]string{Walk: "iterations", Blocks: "blocks", Tiles: "tiles"}
	formNames  = [...]string{Sequential: "as it stands", Unrolled: "unrolled", Along: "along vectors", AlongUnknown: "along vectors, count unknown",
		AroundVectors: "around vectors", InStages: "in stages", AcrossLanes: "across lanes", InOnlineSoftmax: "online softmax"}
	wayNames = [...]string{oneByOne: "one by one", ByRows: "by vectors of rows", BySteps: "by transposed vectors of steps", Broadcast: "in all lanes"}
)

// String prints a plan: for each band its choice, its axes, its loops from the outermost on, and the operands that are packed before each.
func (k *Kernel) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d lanes, masks %v, %d items, %d bytes of scratch memory\n", k.Lanes, k.Masks, k.Items, k.Memory.Bytes)
	if k.Setup > 0 {
		fmt.Fprintf(&s, "each call repeats %.3g %% of the work\n", 100*k.Setup)
	}
	for i, p := range k.bands {
		fmt.Fprintf(&s, "band %d: %s\n", i+1, choiceOf([]Knobs{p.used.used}))
		p.print(&s, k)
	}
	if q := k.Online; q != nil {
		fmt.Fprintf(&s, "online softmax of %d columns at a time: scores in stages of %d steps, results of %d columns in stages of %d\n",
			q.Wide, q.Scores.Workgroup.Sums[0].Stage, q.Results.Workgroup.Columns.Count, q.Product.Stage)
	}
	return s.String()
}

func (p *Band) print(s *strings.Builder, k *Kernel) {
	for _, a := range p.Axes {
		fmt.Fprintf(s, "  axis %d: %s of %s", a.Number, a.Region.Label(), iterations(a.Count, a.Dynamic))
		if !a.Plain() {
			fmt.Fprintf(s, ", tiles of %d x %d", a.Units, a.Unit)
		}
		if a.Spread != nil {
			s.WriteString(" lanes")
		}
		if a.Unroll > 0 {
			fmt.Fprintf(s, ", unrolled by %d", a.Unroll)
		}
		for _, is := range []struct {
			yes  bool
			word string
		}{{a.Vector, "vectors"}, {a == p.Rows, "rows"}, {a == p.secondRows, "more rows"}, {a == p.Transpose, "transposed"}, {a.Vector && p.LanesAreRows, "rows of squares"}, {a.ordered, "in order"}, {a.Descending, "descending"}, {a.Overlaps, "the last one overlaps"}} {
			if is.yes {
				s.WriteString(", " + is.word)
			}
		}
		s.WriteString("\n")
	}
	for i, l := range p.Levels {
		p.printPacks(s, i)
		fmt.Fprintf(s, "  loop over %s of axis %d", levelNames[l.Kind], l.Axis.Number)
		if l.Kind == Blocks {
			fmt.Fprintf(s, " of %d tiles", l.Axis.Group)
		}
		if p.Grid {
			s.WriteString(", shared by workgroups")
		} else if p.Items == i {
			s.WriteString(", shared by threads")
			for _, a := range p.Joined {
				fmt.Fprintf(s, " with axis %d", a.Number)
			}
		}
		s.WriteString("\n")
	}
	p.printPacks(s, len(p.Levels))
	if p.Held {
		s.WriteString("  a row is held in registers\n")
	}
	if p.Split != nil {
		fmt.Fprintf(s, "  %d lanes of sums\n", p.Split.Lanes)
	}
	p.printSums(s, k, p.Leaf)
	if q := p.Product; q != nil {
		fmt.Fprintf(s, "  dot of %s and %s: %d steps, %d in a pass, %d terms\n", q.Rows.Kind, q.Columns.Kind, q.Steps, q.PassSteps, q.Splits)
	}
	fmt.Fprintf(s, "  %d transposed stores, %d around the caches", len(p.transposed), len(p.Streams))
	k.printPrefetches(s, p.Leaf)
	s.WriteString("\n")
}

// iterations is a number of iterations in words; -1 stands for one that is not known.
func iterations(n int64, dynamic bool) string {
	switch {
	case n < 0:
		return "unknown length"
	case dynamic:
		return fmt.Sprint("at most ", n)
	}
	return fmt.Sprint(n)
}

// printSums prints the reduction loops of a region, inner ones behind those around.
func (p *Band) printSums(s *strings.Builder, k *Kernel, around *analysis.Region) {
	for _, r := range around.Loops() {
		n := k.ReductionOf[r]
		if n == nil {
			continue
		}
		fmt.Fprintf(s, "  sum over %s of %s: %s", r.Label(), iterations(r.Trip(), false), formNames[n.Form])
		switch {
		case n.Form == Sequential && n.FullyUnrolled(p.copies()):
			s.WriteString(", without a loop")
		case n.long && n.Form == Unrolled && r.Trip() > 0:
			ways := n.Ways(p.copies(), p.trip(r))
			fmt.Fprintf(s, ", %d steps an iteration", ways*n.Rounds(p.copies(), ways, p.trip(r)/ways))
		}
		k.printPrefetches(s, r)
		if q := p.Workgroup.Of(r); q != nil {
			fmt.Fprintf(s, " of %d steps", q.Stage)
			for _, o := range q.Operands {
				fmt.Fprintf(s, ", %s of axis %d", o.U.Op, o.Axis.Number)
			}
		}
		s.WriteString("\n")
		p.printSums(s, k, r)
	}
}

// printPrefetches prints the prefetches of a region.
func (k *Kernel) printPrefetches(s *strings.Builder, r *analysis.Region) {
	for _, q := range k.Prefetches[r] {
		fmt.Fprintf(s, ", prefetch of %s", prefetchRules[q.Rule].name)
		if q.Bytes > 0 {
			fmt.Fprintf(s, ", %d bytes", q.Bytes)
		}
	}
}

// printPacks prints the operands that are packed before a level.
func (p *Band) printPacks(s *strings.Builder, at int) {
	for _, q := range p.Packs {
		if at == q.At {
			what := "columns"
			if q.Axis != p.Vec {
				what = fmt.Sprint("batches of axis ", q.Axis.Number)
			}
			fmt.Fprintf(s, "  pack %s for %s, %d steps\n", q.U.Op, what, q.Sum.Steps)
		}
	}
	if at == p.RowPackAt {
		for _, q := range p.RowPacks {
			fmt.Fprintf(s, "  pack %s for rows, %d steps, %s\n", q.U.Op, q.Sum.Steps, wayNames[q.Method])
		}
	}
	if q := p.MultiPass; q != nil && at == q.At {
		if q.SplitK != nil {
			fmt.Fprintf(s, "  split the sum into parts of %d steps\n", q.SplitK.Steps)
		} else {
			s.WriteString("  in passes over rows\n")
		}
	}
	if q := p.Product; q != nil {
		for _, o := range []*DotOperand{q.Rows, q.Columns} {
			if o.PackAt == at {
				fmt.Fprintf(s, "  pack %s of axis %d\n", o.Kind, o.Axis.Number)
			}
		}
	}
}
