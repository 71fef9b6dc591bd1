package uop

// Args are interfaces, and putting a value into one allocates. The commonest are kept.

const boxed = 1 << 10

var (
	boxedInts = func() (b [2 * boxed]Arg) {
		for i := range b {
			b[i] = Int(int64(i - boxed))
		}
		return b
	}()
	boxedBools = [2]Arg{BoolConst(false), BoolConst(true)}
	boxedNums  = func() (b [64]Arg) {
		for i := range b {
			b[i] = Nums{i}
		}
		return b
	}()
)

// constArg is c as an arg.
func constArg(c Const) Arg {
	switch {
	case c.kind == KindInt && c.big == nil && int64(c.bits) >= -boxed && int64(c.bits) < boxed:
		return boxedInts[int64(c.bits)+boxed]
	case c.kind == KindBool:
		return boxedBools[c.bits]
	}
	return c
}

// oneNum is the arg Nums{i}.
func oneNum(i int) Arg {
	if i >= 0 && i < len(boxedNums) {
		return boxedNums[i]
	}
	return Nums{i}
}
