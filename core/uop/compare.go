package uop

// Gt is Python's >: false if one side is NaN.
func (c Const) Gt(o Const) bool { return o.Less(c) }

// Le is Python's <=: false if one side is NaN or Invalid.
func (c Const) Le(o Const) bool { return o.Ge(c) }

// Ge is Python's >=: false if one side is NaN or Invalid.
func (c Const) Ge(o Const) bool {
	if c.kind == KindInvalid || o.kind == KindInvalid || c.isNaN() || o.isNaN() {
		return false
	}
	return c.Cmp(o) >= 0
}

func (c Const) isNaN() bool { return c.kind == KindFloat && c.F() != c.F() }
