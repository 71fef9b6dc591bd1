package plan

import (
	"polygrad/core/nest/ir"
	"slices"
)

// Layout is the layout of the bands of a kernel, and the alternatives.
type Layout []*Laid

// Laid is the layout of a band, and the alternatives.
type Laid struct {
	// used are the values of the knobs that have an effect on the band, auto for others.
	used Knobs
	want Knobs
	// axes are the trip counts of the axes, -1 if not constant; items are the levels that threads could share.
	axes  []int64
	items []int64
	sums  bool
}

// number gives a band its knobs.
func (pl *planner) number(p *Band) {
	if i := len(pl.bands); i < len(pl.wanted) {
		p.want = pl.wanted[i]
	}
	p.used = &Laid{want: p.want}
	if pl.m.Invocations {
		// Lanes are invocations: they neither exchange values through registers nor keep memory between iterations.
		for _, k := range []knob{knobTranspose, knobMultiPass, knobPackColumns, knobPackRows, knobSplitK, knobRowBlock, knobColumnBlock} {
			p.want[k] = off
		}
		if p.want[knobLanes] != auto {
			pl.Group = int(powerOfTwo(p.want.or(knobLanes, usualLanes, pl.m.Group)))
		}
		pl.Subgroups = pl.Subgroups && p.want[knobSubgroups] != off
	}
	for _, a := range p.Axes {
		n := a.Count
		if a.Dynamic {
			n = -1
		}
		p.used.axes = append(p.used.axes, n)
	}
	pl.Layout = append(pl.Layout, p.used)
}

// shareable lists the levels whose iterations may be the work items: their trip count does not depend on an outer block.
func (p *Band) shareable() []int64 {
	var out []int64
	for i, l := range p.Levels {
		if p.MultiPass != nil && i >= p.MultiPass.At || p.Product != nil && i > 0 {
			break
		}
		if l.shareable() {
			out = append(out, int64(i))
		}
	}
	return out
}

// shareable reports whether threads may share the iterations of a level. A dynamic axis counts with its upper bound.
func (l level) shareable() bool {
	a := l.Axis
	return a.Count > 0 && !a.ordered && (l.Kind != Tiles || a.Group == 0) && (!a.Dynamic || l.Kind == Walk || l.Kind == Tiles && a.Vector)
}

// joined renumbers the levels after two of them were collapsed.
func (p *Band) joined(at int) {
	after := []*int{&p.RowPackAt}
	for _, q := range p.Packs {
		after = append(after, &q.At)
	}
	if p.MultiPass != nil {
		after = append(after, &p.MultiPass.At)
	}
	if q := p.Product; q != nil {
		after = append(after, &q.Rows.PackAt, &q.Columns.PackAt)
	}
	for _, n := range after {
		if *n > at+1 {
			*n--
		}
	}
}

// record records the chosen layout.
func (p *Band) record(sums bool) {
	l := p.used
	l.sums = sums
	set := func(k knob, is bool) {
		l.used[k] = off
		if is {
			l.used[k] = on
		}
	}
	if p.Items >= 0 {
		l.used[knobWorkItems] = int64(p.Items + 1)
	}
	if p.Product != nil {
		return
	}
	l.used[knobVectorAxis] = none
	if q := p.Workgroup; q != nil {
		l.used[knobVectorAxis], l.used[knobTileVectors] = q.Columns.Number, q.Columns.Units
		l.used[knobRowAxis], l.used[knobTileRows] = q.Rows.Number, q.Rows.Units
		return
	}
	for _, a := range p.Axes {
		if a.Vector {
			l.used[knobVectorAxis], l.used[knobTileVectors] = a.Number, a.Units
			if a.Group > 0 {
				l.used[knobColumnBlock] = a.Group
			}
		}
	}
	if !sums {
		set(knobTranspose, p.Transpose != nil || p.LanesAreRows)
		if p.Transpose != nil {
			l.used[knobColumnBlock] = p.Transpose.Group
		}
		return
	}
	set(knobMultiPass, p.MultiPass != nil && p.MultiPass.SplitK == nil)
	if p.Along {
		for _, a := range p.Axes {
			if a.Units > 1 {
				l.used[knobRowAxis], l.used[knobTileRows] = a.Number, a.Units
			}
		}
		return
	}
	l.used[knobRowAxis] = none
	if p.Rows == nil {
		return
	}
	l.used[knobRowAxis], l.used[knobTileRows] = p.Rows.Number, p.Rows.Units
	set(knobPackColumns, len(p.Packs) > 0)
	set(knobPackRows, len(p.RowPacks) > 0)
	l.used[knobSplitK] = none
	if p.MultiPass != nil {
		l.used[knobSplitK] = p.MultiPass.SplitK.Steps
	}
	l.used[knobRowBlock] = none
	if p.Rows.Group > 0 {
		l.used[knobRowBlock] = p.Rows.Group
	}
	n := len(p.Levels)
	set(knobRowsInnermost, n > 0 && p.Levels[n-1].Axis == p.Rows)
}

// recordLanes records the layout of the invocations of a GPU for an outermost band.
func (pl *planner) recordLanes(p *Band) {
	u := &p.used.used
	switch {
	case !pl.m.Invocations || pl.Online != nil || pl.serial:
	case pl.Lanes == 1:
		*u = Knobs{knobLanes: int64(pl.Group), knobTileVectors: 1}
		if p.Grid {
			u[knobTileVectors] = quad
		}
	default:
		u[knobLanes] = int64(pl.Lanes)
		if q := p.Workgroup; q != nil {
			u[knobLaneRows] = q.Rows.Spread.Lanes
		} else if p.Split != nil {
			u[knobLaneRows] = p.Split.Lanes
		}
		if pl.m.Subgroups && pl.collects {
			u[knobSubgroups] = off
			if pl.Subgroups {
				u[knobSubgroups] = on
			}
		}
	}
}

// near lists the neighbouring values of each knob that a search tries. Knobs of value auto have no effect on the band.
var near = [numKnobs]func(l *Laid, v int64) []int64{
	knobVectorAxis:    otherAxes,
	knobRowAxis:       otherAxes,
	knobTranspose:     opposite,
	knobMultiPass:     opposite,
	knobPackColumns:   opposite,
	knobPackRows:      opposite,
	knobTileVectors:   func(_ *Laid, v int64) []int64 { return []int64{v - 1, v + 1, v * 2, v / 2} },
	knobTileRows:      func(_ *Laid, v int64) []int64 { return []int64{v - 1, v + 1, v - 2, v + 2, v * 2, v / 2} },
	knobRowsInnermost: opposite,
	knobColumnBlock:   halfAndDouble,
	knobRowBlock: func(l *Laid, v int64) []int64 {
		if v == none {
			return []int64{4, 16}
		}
		return append(halfAndDouble(l, v), none)
	},
	knobSplitK: func(l *Laid, v int64) []int64 {
		if v == none {
			return []int64{128, 256}
		}
		return append(halfAndDouble(l, v), none)
	},
	knobPartialSums: halfAndDouble,
	knobLanes:       halfAndDouble,
	knobLaneRows:    halfAndDouble,
	knobSubgroups:   opposite,
	knobWorkItems: func(l *Laid, _ int64) []int64 {
		var out []int64
		for _, i := range l.items {
			out = append(out, i+1)
		}
		return out
	},
}

func opposite(_ *Laid, v int64) []int64 { return []int64{-v} }

func halfAndDouble(_ *Laid, v int64) []int64 { return []int64{v * 2, v / 2} }

func otherAxes(l *Laid, _ int64) []int64 {
	var out []int64
	for i, n := range l.axes {
		if n > 1 {
			out = append(out, int64(i+1))
		}
	}
	if l.sums {
		out = append(out, none)
	}
	return out
}

// follows lists the dependent knobs that are reset when a knob changes.
var follows = map[knob][]knob{
	knobLanes:       {knobLaneRows},
	knobVectorAxis:  {knobLaneRows, knobRowAxis, knobTranspose, knobTileVectors, knobTileRows, knobRowsInnermost, knobColumnBlock, knobRowBlock, knobPartialSums, knobWorkItems},
	knobRowAxis:     {knobLaneRows, knobTileRows, knobRowsInnermost, knobRowBlock, knobWorkItems},
	knobTranspose:   {knobVectorAxis, knobTileVectors, knobColumnBlock, knobWorkItems},
	knobMultiPass:   {knobTileVectors, knobColumnBlock, knobPartialSums, knobWorkItems},
	knobPackColumns: {knobColumnBlock, knobWorkItems},
	knobPackRows:    {knobRowBlock, knobWorkItems},
	knobSplitK:      {knobPackColumns, knobColumnBlock, knobRowBlock, knobWorkItems},
	knobTileVectors: {knobColumnBlock},
	knobTileRows:    {knobRowBlock},
}

// Neighbours returns the choices that differ in one knob from the choice of a kernel. Different choices may give the same code.
func (laid Layout) Neighbours(m ir.Machine) []Choice {
	asked := make([]Knobs, len(laid))
	for i, l := range laid {
		asked[i] = l.want
	}
	var out []Choice
	for n := range numKnobs {
		for i, l := range laid {
			v := l.used[n]
			if v == auto || n == knobWorkItems && m.Threads == 1 {
				continue
			}
			for _, w := range near[n](l, v) {
				if w == auto || w == v || w < known[n].low || w > known[n].high {
					continue
				}
				bands := slices.Clone(asked)
				for _, f := range follows[n] {
					bands[i][f] = auto
				}
				bands[i][n] = w
				if c := choiceOf(bands); !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// Chosen is the complete layout, with the decisions of the heuristics.
func (laid Layout) Chosen() Choice {
	bands := make([]Knobs, len(laid))
	for i, l := range laid {
		bands[i] = l.used
	}
	return choiceOf(bands)
}
