package uop

import "sync/atomic"

// Args are interfaces, and converting a value to an interface allocates, so the most frequent args are cached.

const boxed = 1 << 10

var (
	boxedInts  [2 * boxed]atomic.Pointer[Arg] // filled on first use, so that they cost nothing when a program starts
	boxedBools = [2]Arg{BoolConst(false), BoolConst(true)}
	boxedNums  [64]atomic.Pointer[Arg]
)

// kept is the arg in a slot of the cache, made on first use.
func kept(place *atomic.Pointer[Arg], make func() Arg) Arg {
	if a := place.Load(); a != nil {
		return *a
	}
	a := make()
	place.Store(&a)
	return a
}

// constArg is c as an arg.
func constArg(c Const) Arg {
	switch {
	case c.kind == KindInt && c.big == nil && int64(c.bits) >= -boxed && int64(c.bits) < boxed:
		return kept(&boxedInts[int64(c.bits)+boxed], func() Arg { return c })
	case c.kind == KindBool:
		return boxedBools[c.bits]
	}
	return c
}

// oneNum is the arg Nums{i}.
func oneNum(i int) Arg {
	if i >= 0 && i < len(boxedNums) {
		return kept(&boxedNums[i], func() Arg { return Nums{i} })
	}
	return Nums{i}
}
