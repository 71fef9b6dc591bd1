package uop

// MemoSlot names a memoized function: its result depends on the node alone and is stored with the node.
type MemoSlot uint8

// The memoized functions: two of core/symbolic, then two of core/ranges.
const (
	MemoDivMod MemoSlot = iota
	MemoSimplify
	MemoReshape
	MemoPad
	numMemos
)

type memo struct {
	v    [numMemos]*UOp
	have [numMemos]bool
}

// Memo is the stored result of a function of u; ok is false if there is none yet.
func (u *UOp) Memo(s MemoSlot) (v *UOp, ok bool) {
	if u.p == nil || u.p.memo == nil {
		return nil, false
	}
	return u.p.memo.v[s], u.p.memo.have[s]
}

// SetMemo stores the result of a function of u, which may be nil.
func (u *UOp) SetMemo(s MemoSlot, v *UOp) {
	p := u.props()
	if p.memo == nil {
		p.memo = &memo{}
	}
	p.memo.v[s], p.memo.have[s] = v, true
}
