package ir

// WhereUnlikely is Where(k, c, unlikely, likely) with a branch: unlikely is computed only if c holds in any lane, in a loop that runs once
// or not at all. Values that only unlikely needs are sunk into the loop and depend on its phis, so that none of them is hoisted again.
func (b *Builder) WhereUnlikely(k Kind, c, unlikely, likely *Value) *Value {
	if c.Op == Const || k == Bool {
		return b.ALU(Where, k, c, unlikely, likely)
	}
	c, unlikely, likely = b.plain(c), b.plain(unlikely), b.plain(likely)
	if max(c.Lanes, unlikely.Lanes, likely.Lanes) > 1 {
		c, unlikely, likely = b.Splat(c), b.Splat(unlikely), b.Splat(likely)
	}
	d := sinker{b: b, live: map[*Value]bool{}, copies: map[*Value]*Value{}}
	d.markLive(c)
	d.markLive(likely)
	at := c.Block
	for _, v := range append(d.inputs(unlikely, map[*Value]bool{}, nil), likely) {
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
	b.Loop("unlikely", b.convert(I64, needed), func(l *Loop) {
		result = b.Phi(l, likely)
		d.loop = l
		result.Next = b.Where(Arithmetic(k), c, d.sink(unlikely), result.V)
	})
	v := b.Final(result)
	b.Cur = outer
	return v
}

// sinker copies the computation of a value into a loop.
type sinker struct {
	b      *Builder
	loop   *Loop
	live   map[*Value]bool // values that are needed outside of the loop
	copies map[*Value]*Value
}

func (d sinker) markLive(v *Value) {
	if d.live[v] {
		return
	}
	d.live[v] = true
	for _, a := range v.Args {
		d.markLive(a)
	}
}

// available reports whether a value is computed outside of the loop: live values, loads, loop variables and leaves.
func (d sinker) available(v *Value) bool {
	return d.live[v] || v.At != nil || v.Loop != nil || len(v.Args) == 0 || len(v.Args) > 3 || v.Op == Final
}

// inputs appends the available values that v depends on.
func (d sinker) inputs(v *Value, seen map[*Value]bool, out []*Value) []*Value {
	if seen[v] {
		return out
	}
	seen[v] = true
	if d.available(v) {
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

// sink returns the copy of a value in the loop. Available values enter it as phis.
func (d sinker) sink(v *Value) *Value {
	if c := d.copies[v]; c != nil {
		return c
	}
	c := v
	switch {
	case v.Op == Const || v.Op == Lane:
	case d.available(v):
		p := d.b.Phi(d.loop, v)
		p.Next, c = p.V, p.V
	default:
		args := make([]*Value, len(v.Args))
		for i, a := range v.Args {
			args[i] = d.sink(a)
		}
		c = d.b.New(v.Op, v.Kind, v.Lanes, v.Bits, args...)
	}
	d.copies[v] = c
	return c
}
