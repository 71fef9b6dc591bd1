package nest

import (
	"polygrad/core/nest/ir"
	"slices"
)

// Layout is how the bands of loops of a kernel were laid out, and what else could be chosen.
type Layout []*Laid

// Laid is how a band was laid out, and what else could be chosen.
type Laid struct {
	// used are the values of the knobs that have an effect on the band, open for others.
	used band
	want band
	// axes are the iterations of the axes, -1 if they are not constant; items are the levels that could be shared.
	axes  []int64
	items []int64
	sums  bool
}

// number gives a band its knobs.
func (im *importer) number(p *plan, c []*region) {
	i, again := im.numbered[c[0]]
	if !again {
		i = len(im.numbered)
		im.numbered[c[0]] = i
		im.layout = append(im.layout, &Laid{})
	}
	if i < len(im.wanted) {
		p.want = im.wanted[i]
	}
	// What is made several times, for whole tiles and for rests, is told as it was made last.
	p.used = im.layout[i]
	*p.used = Laid{want: p.want}
	for _, a := range p.axes {
		p.used.axes = append(p.used.axes, a.n)
	}
}

// ways is how many partial sums a loop of the band has.
func (p *plan) ways(heuristic, most int64) int64 {
	if p == nil {
		return heuristic
	}
	n := p.want.or(knobWays, heuristic, most)
	p.used.used[knobWays] = n
	return n
}

// shareable are the levels whose iterations may be the work items: their number does not depend on a block around.
func (p *plan) shareable() []int64 {
	var out []int64
	for i, l := range p.levels {
		if p.passes != nil && i >= p.passes.at || p.product != nil && i > 0 {
			break
		}
		if l.a.n > 0 && !l.a.ordered && (l.kind != tiles || l.a.group == 0) {
			out = append(out, int64(i))
		}
	}
	return out
}

// joined moves the levels behind one that has taken in the next.
func (p *plan) joined(at int) {
	after := []*int{&p.packAt, &p.rowPackAt}
	if p.passes != nil {
		after = append(after, &p.passes.at)
	}
	if q := p.product; q != nil {
		after = append(after, &q.a.at, &q.b.at)
	}
	for _, n := range after {
		if *n > at+1 {
			*n--
		}
	}
}

// record notes what has been chosen.
func (p *plan) record(sums bool) {
	l := p.used
	l.sums = sums
	set := func(k knob, is bool) {
		l.used[k] = off
		if is {
			l.used[k] = on
		}
	}
	if p.items >= 0 {
		l.used[knobItems] = int64(p.items + 1)
	}
	if p.product != nil {
		return
	}
	l.used[knobVector] = none
	for _, a := range p.axes {
		if a.vec {
			l.used[knobVector], l.used[knobWide] = a.place, a.jam
			if a.group > 0 {
				l.used[knobAcross] = a.group
			}
		}
	}
	if !sums {
		set(knobTurn, p.turn != nil)
		if p.turn != nil {
			l.used[knobAcross] = p.turn.group
		}
		return
	}
	set(knobPasses, p.passes != nil && p.passes.parts == nil)
	if p.along {
		for _, a := range p.axes {
			if a.jam > 1 {
				l.used[knobRows], l.used[knobTall] = a.place, a.jam
			}
		}
		return
	}
	l.used[knobRows] = none
	if p.rows == nil {
		return
	}
	l.used[knobRows], l.used[knobTall] = p.rows.place, p.rows.jam
	set(knobPacks, len(p.packs) > 0)
	set(knobRowPacks, len(p.rowPacks) > 0)
	l.used[knobParts] = none
	if p.passes != nil {
		l.used[knobParts] = p.passes.parts.steps
	}
	l.used[knobDown] = none
	if p.rows.group > 0 {
		l.used[knobDown] = p.rows.group
	}
	n := len(p.levels)
	set(knobInner, n > 0 && p.levels[n-1].a == p.rows)
}

// near tells of each knob which other values are worth a try. Knobs of value open have no effect on the band.
var near = [numKnobs]func(l *Laid, v int64) []int64{
	knobVector:   otherAxes,
	knobRows:     otherAxes,
	knobTurn:     otherOfTwo,
	knobPasses:   otherOfTwo,
	knobPacks:    otherOfTwo,
	knobRowPacks: otherOfTwo,
	knobWide:     func(_ *Laid, v int64) []int64 { return []int64{v - 1, v + 1, v * 2, v / 2} },
	knobTall:     func(_ *Laid, v int64) []int64 { return []int64{v - 1, v + 1, v - 2, v + 2, v * 2, v / 2} },
	knobInner:    otherOfTwo,
	knobAcross:   halfAndDouble,
	knobDown: func(l *Laid, v int64) []int64 {
		if v == none {
			return []int64{4, 16}
		}
		return append(halfAndDouble(l, v), none)
	},
	knobParts: func(l *Laid, v int64) []int64 {
		if v == none {
			return []int64{128, 256}
		}
		return append(halfAndDouble(l, v), none)
	},
	knobWays: halfAndDouble,
	knobItems: func(l *Laid, _ int64) []int64 {
		var out []int64
		for _, i := range l.items {
			out = append(out, i+1)
		}
		return out
	},
}

func otherOfTwo(_ *Laid, v int64) []int64 { return []int64{-v} }

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

// follows are the knobs whose values mean nothing once another one is changed.
var follows = map[knob][]knob{
	knobVector:   {knobRows, knobTurn, knobWide, knobTall, knobInner, knobAcross, knobDown, knobWays, knobItems},
	knobRows:     {knobTall, knobInner, knobDown, knobItems},
	knobTurn:     {knobVector, knobWide, knobAcross, knobItems},
	knobPasses:   {knobWide, knobAcross, knobWays, knobItems},
	knobPacks:    {knobAcross, knobItems},
	knobRowPacks: {knobDown, knobItems},
	knobParts:    {knobPacks, knobAcross, knobDown, knobItems},
	knobWide:     {knobAcross},
	knobTall:     {knobDown},
}

// Neighbours are the choices that differ in one knob from the one that a kernel was laid out by. Different choices may come to the same code.
func (laid Layout) Neighbours(m ir.Machine) []Choice {
	asked := make([]band, len(laid))
	for i, l := range laid {
		asked[i] = l.want
	}
	var out []Choice
	for n := range numKnobs {
		for i, l := range laid {
			v := l.used[n]
			if v == open || n == knobItems && m.Threads == 1 {
				continue
			}
			for _, w := range near[n](l, v) {
				if w == open || w == v || w < known[n].low || w > known[n].high {
					continue
				}
				bands := slices.Clone(asked)
				for _, f := range follows[n] {
					bands[i][f] = open
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

// Chosen is all that was chosen, by a choice or by the heuristics.
func (laid Layout) Chosen() Choice {
	bands := make([]band, len(laid))
	for i, l := range laid {
		bands[i] = l.used
	}
	return choiceOf(bands)
}
