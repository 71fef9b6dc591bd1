package nest

func (b *Builder) ALU(op Op, k Kind, args ...*Value) *Value {
	switch op {
	case Less, Equal, NotEqual:
		return b.Do(op, Bool, args...)
	}
	return b.Do(op, k, args...)
}
func (b *Builder) LoadAs(k Kind, at *Place, lanes int, alt *Value) *Value {
	return b.Load(at, lanes, alt)
}
func (b *Builder) StoreAs(at *Place, v *Value) { b.Store(at, v) }
