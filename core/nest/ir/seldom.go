package ir

// Seldom is Where(k, c, rare, usual) for values of a kind that computes rare only if any lane needs it: in a loop that otherwise
// runs zero times. What only rare needs is computed in that loop from variables of it, so that none of it is hoisted.
func (b *Builder) Seldom(k Kind, c, rare, usual *Value) *Value {
	if c.Op == Const || k == Bool {
		return b.ALU(Where, k, c, rare, usual)
	}
	c, rare, usual = b.plain(c), b.plain(rare), b.plain(usual)
	if max(c.Lanes, rare.Lanes, usual.Lanes) > 1 {
		c, rare, usual = b.Splat(c), b.Splat(rare), b.Splat(usual)
	}
	d := delayed{b: b, elsewhere: map[*Value]bool{}, copies: map[*Value]*Value{}}
	d.markElsewhere(c)
	d.markElsewhere(usual)
	at := c.Block
	for _, v := range append(d.inputs(rare, map[*Value]bool{}, nil), usual) {
		if v.Block.Depth > at.Depth {
			at = v.Block
		}
	}
	needed := c
	if c.Lanes > 1 {
		needed = b.New(AnyLane, Bool, 1, 0, c)
	}
	outer := b.Cur
	b.Cur = at
	var result *PhiVar
	b.Loop("seldom", b.convert(I64, needed), func(l *Loop) {
		result = b.Phi(l, usual)
		d.loop = l
		result.Next = b.Where(Arithmetic(k), c, d.copy(rare), result.V)
	})
	v := b.Final(result)
	b.Cur = outer
	return v
}

// delayed copies values into a loop.
type delayed struct {
	b         *Builder
	loop      *Loop
	elsewhere map[*Value]bool // what is computed anyway
	copies    map[*Value]*Value
}

func (d delayed) markElsewhere(v *Value) {
	if d.elsewhere[v] {
		return
	}
	d.elsewhere[v] = true
	for _, a := range v.Args {
		d.markElsewhere(a)
	}
}

// given reports whether a value is there without the loop: what others use, memory, scalars among vectors, and constants.
func (d delayed) given(v *Value) bool {
	return d.elsewhere[v] || v.At != nil || v.Loop != nil || len(v.Args) == 0 || len(v.Args) > 3 || v.Op == Final
}

// inputs are the given values that others depend on.
func (d delayed) inputs(v *Value, seen map[*Value]bool, out []*Value) []*Value {
	if seen[v] {
		return out
	}
	seen[v] = true
	if d.given(v) {
		if v.Op != Const {
			out = append(out, v)
		}
		return out
	}
	for _, a := range v.Args {
		out = d.inputs(a, seen, out)
	}
	return out
}

// copy is a value in the loop: given ones are variables of it.
func (d delayed) copy(v *Value) *Value {
	if c := d.copies[v]; c != nil {
		return c
	}
	c := v
	switch {
	case v.Op == Const || v.Op == Lane:
	case d.given(v):
		p := d.b.Phi(d.loop, v)
		p.Next, c = p.V, p.V
	default:
		args := make([]*Value, len(v.Args))
		for i, a := range v.Args {
			args[i] = d.copy(a)
		}
		c = d.b.New(v.Op, v.Kind, v.Lanes, v.Bits, args...)
	}
	d.copies[v] = c
	return c
}
