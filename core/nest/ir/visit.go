package ir

// Visitor has the callbacks of Block.Visit; each may be nil.
type Visitor struct {
	// Enter decides whether to visit the operands of a value, Loop whether to visit the body of a loop.
	Enter func(v *Value) bool
	Loop  func(l *Loop) bool
	// Value is called once for each value, after its operands; Store for each store, after the values that it needs.
	Value func(v *Value)
	Store func(s *Store)
}

// Visit visits the effects of a block in order, including inner loops, and the values that they need.
func (b *Block) Visit(to Visitor) {
	seen := map[*Value]bool{}
	var value func(v *Value)
	value = func(v *Value) {
		if v == nil || seen[v] {
			return
		}
		seen[v] = true
		if to.Enter == nil || to.Enter(v) {
			for _, a := range v.Args {
				value(a)
			}
			if v.At != nil {
				for _, x := range v.At.Values() {
					value(x)
				}
			}
		}
		if to.Value != nil {
			to.Value(v)
		}
	}
	var block func(b *Block)
	block = func(b *Block) {
		for _, it := range b.Items {
			switch {
			case it.Store != nil:
				value(it.Store.Val)
				for _, x := range it.Store.At.Values() {
					value(x)
				}
				if to.Store != nil {
					to.Store(it.Store)
				}
			case it.Load != nil:
				value(it.Load)
			case it.Loop != nil && (to.Loop == nil || to.Loop(it.Loop)):
				value(it.Loop.Count)
				for _, p := range it.Loop.Phis {
					value(p.Init)
				}
				block(it.Loop.Body)
			}
		}
		if b.Loop != nil {
			for _, p := range b.Loop.Phis {
				value(p.Next)
			}
		}
	}
	block(b)
}

// Values are the values that a place depends on.
func (p *Place) Values() []*Value {
	var out []*Value
	for _, t := range p.Terms {
		out = append(out, t.V)
	}
	for _, v := range []*Value{p.Index, p.Gate} {
		if v != nil {
			out = append(out, v)
		}
	}
	return out
}
